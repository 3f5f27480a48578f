"""What the catalog keeps of a connection: its options, checked and shaped.

    written options  ->  JSON options (core of `Item.details`), the secrets they name, and the
                         same options as `create_sql` shows them

Values of secrets are never here: options name secrets by their ids.

Not here: which options a kind of connection has (sources/connections.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from headwater.catalog.snapshot import SessionNames
from headwater.catalog.state import CatalogState, Item
from headwater.coordinator.api import Notice
from headwater.coordinator.source_details import for_upstream
from headwater.coordinator.variables import flag
from headwater.core.errors import UserError, not_supported
from headwater.sources.connections import Options
from headwater.sources.contract import Secrets
from headwater.sources.dialects import CONNECTION_KINDS
from headwater.sql.connection_options import ConnectionOption, SecretName, without_values
from headwater.sql.cursor import Name
from headwater.sql.options import field_of

_SOCKETS: Final = "enable_unix_socket_connections"


@dataclass(frozen=True, slots=True)
class Resolved:
    """A connection's options: for whoever connects, for the catalog, and for people."""

    options: Options
    secret_ids: tuple[str, ...]
    written: tuple[ConnectionOption, ...]
    notices: tuple[Notice, ...] = ()


def resolve(names: SessionNames, kind: str, written: tuple[ConnectionOption, ...]) -> Resolved:
    """Check the options of a kind and find the secrets they name."""
    known = CONNECTION_KINDS[kind]
    options: Options = dict(known.defaults)
    full: list[ConnectionOption] = []
    secret_ids: list[str] = []
    for option in written:
        value = option.value
        if option.name in known.not_yet:
            raise not_supported(f"{kind} connections with {option.name}")
        if option.name not in known.readers:
            raise UserError(f"{kind} connections do not support {option.name} values", "22023")
        read = known.readers[option.name](option.name, value)
        if isinstance(value, SecretName):
            secret = names.resolve_item(value.name.parts, "secret")
            secret_ids.append(secret.id)
            read = {"secret": secret.id}
            option = replace(option, value=SecretName(Name(names.full_name_parts(secret))))
        options[field_of(option.name)] = read
        full.append(option)
    for name in known.required:
        if field_of(name) not in options:
            raise UserError(f"{name} option is required", "22023")
    known.check(options)
    check_allowed(names, options)
    return Resolved(
        options, tuple(dict.fromkeys(secret_ids)), without_values(tuple(full)), _warnings(options)
    )


def check_allowed(names: SessionNames, options: Mapping[str, Any]) -> None:
    """A socket of this machine is reached as the server's own user, who may be let in without a password."""
    hosts = str(options.get("host", "-")).split(",")
    sockets = [host for host in hosts if not host.strip() or host.strip()[0] in "/@"]
    if sockets and not flag(names.state.system_variables, _SOCKETS):
        raise UserError(
            "connections to Unix sockets are not allowed",
            "42501",
            detail=f'HOST is "{options["host"]}". The upstream would take us for the server\'s own user.',
            hint="Set HOST to a name or an address that the upstream listens on."
            f" The operator can allow sockets: ALTER SYSTEM SET {_SOCKETS} = on.",
        )


def _warnings(options: Options) -> tuple[Notice, ...]:
    """About what would better be a secret."""
    password = options.get("password")
    if not isinstance(password, dict) or "text" not in password:
        return ()
    return (
        Notice(
            "WARNING",
            "the password is kept in the catalog as it is written",
            "01000",
            detail="Whoever can read the data directory or a backup of it can read the password.",
            hint="CREATE SECRET a_password AS '...', then PASSWORD = SECRET a_password.",
        ),
    )


def altered(
    item: Item,
    kind: str,
    before: tuple[ConnectionOption, ...],
    new: tuple[ConnectionOption, ...],
    dropped: tuple[str, ...],
) -> tuple[ConnectionOption, ...]:
    """The options after ALTER; what `create_sql` hides is taken from what the catalog keeps."""
    for name in CONNECTION_KINDS[kind].fixed:
        if name in dropped or any(option.name == name for option in new):
            raise UserError(
                f"cannot ALTER {kind} option {name}", "0A000", hint="Create another connection with it."
            )
    kept = item.connection.options
    changed = {option.name: option for option in new}
    options = []
    for option in before:
        if option.name in dropped:
            continue
        hidden = kept.get(field_of(option.name))
        if isinstance(hidden, dict) and "text" in hidden:
            option = replace(option, value=hidden["text"])
        options.append(changed.pop(option.name, option))
    return (*options, *changed.values())


def validate(state: CatalogState, kind: str, options: Options, secrets: Secrets) -> Options:
    """Ask the upstream whether it can be used; the same options."""
    CONNECTION_KINDS[kind].validate(for_upstream(state, options), secrets)
    return options

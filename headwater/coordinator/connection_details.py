"""What the catalog keeps of a connection: its options, checked and shaped.

    written options  ->  JSON options (core of `Item.details`), the secrets they name, and the
                         same options as `create_sql` shows them

A kind of connection is a table from options to readers.  Values of secrets are never
here: options name secrets by their ids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from headwater.catalog.snapshot import SessionNames
from headwater.catalog.state import Item
from headwater.core.errors import UserError, not_supported
from headwater.sources.contract import Secrets
from headwater.sources.postgres import connection as postgres
from headwater.sql.connection_options import ConnectionOption, OptionValue, SecretName, without_values
from headwater.sql.cursor import Name
from headwater.sql.options import field_of

_Reader = Callable[[str, OptionValue], Any]
Options = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ConnectionKind:
    """One kind; options that are `not_yet` are known and refused by name."""

    readers: Mapping[str, _Reader]
    required: tuple[str, ...]
    defaults: Mapping[str, Any]
    not_yet: tuple[str, ...]
    check: Callable[[Options], None]
    validate: Callable[[Options, Secrets], None]


@dataclass(frozen=True, slots=True)
class Resolved:
    """A connection's options: for whoever connects, for the catalog, and for people."""

    options: Options
    secret_ids: tuple[str, ...]
    written: tuple[ConnectionOption, ...]


def type_of(kind: str) -> str:
    """As mz_connections.type has it."""
    return kind.lower().replace(" ", "-")


def resolve(names: SessionNames, kind: str, written: tuple[ConnectionOption, ...]) -> Resolved:
    """Check the options of a kind and find the secrets they name."""
    known = KINDS[kind]
    options: Options = dict(known.defaults)
    full: list[ConnectionOption] = []
    secret_ids: list[str] = []
    for option in written:
        value = option.value
        if option.name in known.not_yet:
            raise not_supported(f"{kind} connections with {option.name}")
        if option.name not in known.readers:
            raise UserError(f"{kind} connections do not support {option.name} values")
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
            raise UserError(f"{name} option is required")
    known.check(options)
    return Resolved(options, tuple(dict.fromkeys(secret_ids)), without_values(tuple(full)))


def altered(
    item: Item,
    before: tuple[ConnectionOption, ...],
    new: tuple[ConnectionOption, ...],
    dropped: tuple[str, ...],
) -> tuple[ConnectionOption, ...]:
    """The options after ALTER; what `create_sql` hides is taken from what the catalog keeps."""
    kept = item.details["options"]
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


def validate(kind: str, options: Options, secrets: Secrets) -> Options:
    """Ask the upstream whether it can be used; the same options."""
    KINDS[kind].validate(options, secrets)
    return options


# Readers


def _string(name: str, value: OptionValue) -> str:
    if not isinstance(value, str) or isinstance(value, bool):
        raise UserError(f"{name} must be a string", hint=f"{name} = '...'")
    if not value or "\0" in value:
        raise UserError(f"{name} must not be empty")
    return value


def _port(name: str, value: OptionValue) -> int:
    number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) <= 5 else value
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 65_535:
        raise UserError(f"{name} must be a number from 1 to 65535")
    return number


def _string_or_secret(name: str, value: OptionValue) -> Any:
    return None if isinstance(value, SecretName) else {"text": _string(name, value)}


def _secret(name: str, value: OptionValue) -> Any:
    if not isinstance(value, SecretName):
        raise UserError(
            f"{name} must be a secret", hint=f"CREATE SECRET a_key AS '...', then {name} = SECRET a_key."
        )
    return None


_SSL_MODES: Final = ("disable", "require", "verify-ca", "verify-full")


def _ssl_mode(name: str, value: OptionValue) -> str:
    text = _string(name, value)
    mode = text.lower().replace("_", "-")
    if mode not in _SSL_MODES:
        raise UserError(
            f'invalid CONNECTION: unknown SSL MODE "{text}"', hint=f"It is one of {', '.join(_SSL_MODES)}."
        )
    return mode


def _check_postgres(options: Options) -> None:
    if ("ssl_key" in options) != ("ssl_certificate" in options):
        raise UserError("invalid CONNECTION: both SSL KEY and SSL CERTIFICATE are required")
    mode = options["ssl_mode"]
    if mode.startswith("verify") and "ssl_certificate_authority" not in options:
        raise UserError(f"invalid CONNECTION: SSL MODE {mode} requires SSL CERTIFICATE AUTHORITY")


KINDS: Final[Mapping[str, ConnectionKind]] = {
    "POSTGRES": ConnectionKind(
        readers={
            "HOST": _string,
            "PORT": _port,
            "DATABASE": _string,
            "USER": _string,
            "PASSWORD": _string_or_secret,
            "SSL MODE": _ssl_mode,
            "SSL CERTIFICATE": _string_or_secret,
            "SSL KEY": _secret,
            "SSL CERTIFICATE AUTHORITY": _string_or_secret,
        },
        required=("HOST", "DATABASE", "USER"),
        defaults={"port": postgres.PORT_DEFAULT, "ssl_mode": "disable"},
        not_yet=("SSH TUNNEL", "AWS PRIVATELINK"),
        check=_check_postgres,
        validate=postgres.validate,
    ),
}

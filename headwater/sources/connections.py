"""Kinds of connections: which options they have, what each may be, and how an upstream is tried out.

A kind is a table from options to readers.  Options name secrets by their ids; what a secret is worth is
asked for by whoever connects, when it does (`value_of`), and kept nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headwater.core.errors import UserError
from headwater.sources.contract import Secrets
from headwater.sql.connection_options import OptionValue, SecretName

Options = dict[str, Any]
Reader = Callable[[str, OptionValue], Any]
"""(option, what was written) -> what is kept; None of a secret, whose id is kept."""


@dataclass(frozen=True, slots=True)
class ConnectionKind:
    """One kind; options that are `not_yet` are known and refused by name, `fixed` ones stay as they were."""

    words: str  # as SQL has it: CONFLUENT SCHEMA REGISTRY
    readers: Mapping[str, Reader]
    required: tuple[str, ...]
    validate: Callable[[Options, Secrets], None]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    not_yet: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    check: Callable[[Options], None] = lambda options: None

    @property
    def type(self) -> str:
        """As mz_connections.type has it."""
        return self.words.lower().replace(" ", "-")


def string(name: str, value: OptionValue) -> str:
    """A text that says something."""
    if not isinstance(value, str) or isinstance(value, bool):
        raise UserError(f"{name} must be a string", "22023", hint=f"{name} = '...'")
    if not value or "\0" in value:
        raise UserError(f"{name} must not be empty", "22023")
    return value


def port(name: str, value: OptionValue) -> int:
    """The number of a port, perhaps as text."""
    number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) <= 5 else value
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 65_535:
        raise UserError(f"{name} must be a number from 1 to 65535", "22023")
    return number


def string_or_secret(name: str, value: OptionValue) -> Any:
    """A text, or where one is kept."""
    return None if isinstance(value, SecretName) else {"text": string(name, value)}


def secret(name: str, value: OptionValue) -> Any:
    """Nothing but a secret."""
    if not isinstance(value, SecretName):
        raise UserError(
            f"{name} must be a secret",
            "22023",
            hint=f"CREATE SECRET a_key AS '...', then {name} = SECRET a_key.",
        )
    return None


def value_of(connection: Mapping[str, Any], option: str, secrets: Secrets) -> bytes | None:
    """What was given for an option that `string_or_secret` or `secret` reads, as it is now; None: nothing."""
    given = connection.get(option)
    if given is None:
        return None
    return secrets(given["secret"]) if "secret" in given else str(given["text"]).encode()


def text_of(connection: Mapping[str, Any], option: str, secrets: Secrets) -> str | None:
    """The same as text."""
    value = value_of(connection, option, secrets)
    return None if value is None else value.decode()


def ssl_mode(modes: Sequence[str]) -> Reader:
    """One of the modes of a kind, in any case, with hyphens or underscores; kept as the kind writes it."""
    known = {_folded(mode): mode for mode in modes}

    def read(name: str, value: OptionValue) -> str:
        text = string(name, value)
        if _folded(text) not in known:
            raise UserError(
                f'invalid CONNECTION: unknown SSL MODE "{text}"',
                "22023",
                hint=f"It is one of {', '.join(modes)}.",
            )
        return known[_folded(text)]

    return read


def _folded(mode: str) -> str:
    return mode.upper().replace("-", "_")


def check_certificates(options: Options) -> None:
    """A certificate comes with its key, and a mode that verifies the server with who vouches for it."""
    if ("ssl_key" in options) != ("ssl_certificate" in options):
        raise UserError("invalid CONNECTION: both SSL KEY and SSL CERTIFICATE are required", "22023")
    mode = options["ssl_mode"]
    if _folded(mode).startswith("VERIFY") and "ssl_certificate_authority" not in options:
        raise UserError(f"invalid CONNECTION: SSL MODE {mode} requires SSL CERTIFICATE AUTHORITY", "22023")

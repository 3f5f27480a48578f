"""Options of connections: names of all kinds of them, and values before anybody knows what they are for.

    HOST = 'db', PORT 5432, PASSWORD = SECRET pgpass, BROKERS ('a:9092', 'b:9092')

ALTER CONNECTION does not say what kind of connection it is about, so a value is read
as it stands here and judged where the connection is known.  Options that belong to kinds
we do not have are read too: the user is told so, instead of that they cannot be parsed.

A password that is written out is part of the statement, but not of what is shown of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from headwater.core.errors import UserError
from headwater.sql.cursor import Cursor, Name, quote_string
from headwater.sql.options import OptionReader, boolean, parse_options
from headwater.sql.words import Branch, tree

HIDDEN: Final = "********"
"""What stands in the place of a value that is not shown."""

_OTHERS: Final = (
    "ACCESS KEY ID",
    "ASSUME ROLE ARN",
    "ASSUME ROLE SESSION NAME",
    "AVAILABILITY ZONES",
    "AWS CONNECTION",
    "AWS PRIVATELINK",
    "BROKER",
    "BROKERS",
    "CATALOG TYPE",
    "CREDENTIAL",
    "ENDPOINT",
    "PROGRESS TOPIC",
    "PROGRESS TOPIC REPLICATION FACTOR",
    "PUBLIC KEY 1",
    "PUBLIC KEY 2",
    "REGION",
    "REGISTRY",
    "SASL MECHANISMS",
    "SASL PASSWORD",
    "SASL USERNAME",
    "SCOPE",
    "SECRET ACCESS KEY",
    "SECURITY PROTOCOL",
    "SERVICE NAME",
    "SESSION TOKEN",
    "SSH TUNNEL",
    "URL",
    "WAREHOUSE",
)
"""Options of kinds that we do not have."""
_SECRET_OPTIONS: Final = frozenset(
    ("CREDENTIAL", "PASSWORD", "SASL PASSWORD", "SECRET ACCESS KEY", "SESSION TOKEN", "SSL KEY")
)


_kinds: dict[str, tuple[str, ...]] = {}


def register(words: str, options: Iterable[str]) -> None:
    """From now on connections of this kind may be written, with these options."""
    _kinds[words] = tuple(options)


def kinds() -> tuple[str, ...]:
    """Those that may be written, by their words."""
    return tuple(_kinds)


def _names() -> Branch[str]:
    offered = dict.fromkeys(name for options in _kinds.values() for name in options)
    return tree(((name, name) for name in offered), hidden=((name, name) for name in _OTHERS))


@dataclass(frozen=True, slots=True)
class SecretName:
    """`SECRET name`."""

    name: Name

    def __str__(self) -> str:
        return f"SECRET {self.name}"


OptionValue = str | int | bool | SecretName | tuple["OptionValue", ...]


@dataclass(frozen=True, slots=True)
class ConnectionOption:
    """One option; a missing value is True."""

    name: str
    value: OptionValue

    def __str__(self) -> str:
        return f"{self.name} = {_render(self.value)}"


def parse_connection_options(cursor: Cursor) -> tuple[ConnectionOption, ...]:
    """`NAME [=] value, ...`, without parentheses."""
    seen: set[str] = set()
    names = _names()

    def option() -> ConnectionOption:
        position = cursor.error_position()
        name = cursor.choose(names)
        if name in seen:
            raise UserError(f"{name} specified more than once", "42601", position=position)
        seen.add(name)
        cursor.accept_symbol("=")
        return ConnectionOption(name, _value(cursor))

    return cursor.separated(option)


def parse_option_names(cursor: Cursor) -> tuple[str, ...]:
    """`(NAME, ...)`."""
    names = _names()
    return cursor.parenthesized(lambda: cursor.choose(names))


def parse_validate(cursor: Cursor) -> bool | None:
    """`[WITH (VALIDATE [=] bool)]`; None when nothing is said."""
    if not cursor.accept("WITH"):
        return None
    readers: dict[str, OptionReader] = {"VALIDATE": boolean}
    return bool(parse_options(cursor, readers)["validate"])


def render_validate(validate: bool | None) -> str:
    """The clause on a line of its own; nothing when nothing was said."""
    return "" if validate is None else f"\nWITH (VALIDATE = {_render(validate)})"


def without_values(options: tuple[ConnectionOption, ...]) -> tuple[ConnectionOption, ...]:
    """The same options, with passwords and keys that are written out hidden."""
    return tuple(
        ConnectionOption(option.name, HIDDEN)
        if option.name in _SECRET_OPTIONS and not isinstance(option.value, SecretName)
        else option
        for option in options
    )


def _value(cursor: Cursor) -> OptionValue:
    token = cursor.peek()
    if token.kind == "end" or (token.kind == "symbol" and token.value in ",)]") or token.keyword == "WITH":
        return True
    if cursor.at("SECRET") and cursor.at_identifier(1):
        cursor.take()
        return SecretName(cursor.name())
    for opening, closing in (("(", ")"), ("[", "]")):
        if cursor.accept_symbol(opening):
            values = () if cursor.at_symbol(closing) else cursor.separated(lambda: _value(cursor))
            cursor.expect_symbol(closing)
            return values
    if token.kind == "number":
        return cursor.integer()
    if token.keyword in ("TRUE", "FALSE"):
        return cursor.take().keyword == "TRUE"
    if token.kind == "string":
        return cursor.take().value
    if not cursor.at_identifier():
        raise cursor.error("option value")
    name = cursor.name()
    return name.item if len(name.parts) == 1 else str(name)


def _render(value: OptionValue) -> str:
    match value:
        case bool():
            return str(value).upper()
        case str():
            return quote_string(value)
        case tuple():
            return f"({', '.join(_render(item) for item in value)})"
        case _:
            return str(value)

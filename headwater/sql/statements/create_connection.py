"""CREATE CONNECTION: how an upstream is reached.

    CREATE CONNECTION [IF NOT EXISTS] name TO kind (option [=] value, ...) [WITH (VALIDATE [=] bool)]
    CREATE CONNECTION [IF NOT EXISTS] name FOR kind option [=] value, ...

The second form is historical and means the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from headwater.core.errors import not_supported
from headwater.sql.connection_options import (
    ConnectionOption,
    kinds,
    parse_connection_options,
    parse_validate,
    render_validate,
    without_values,
)
from headwater.sql.cursor import Cursor, Name
from headwater.sql.parts import parse_if_not_exists
from headwater.sql.statement import Statement
from headwater.sql.words import tree

PHRASES = ("CREATE CONNECTION",)

_REFUSED: Final = (
    "MYSQL",
    "SQL SERVER",
    "AWS GLUE SCHEMA REGISTRY",
    "SSH TUNNEL",
    "AWS",
    "AWS PRIVATELINK",
    "GCP",
    "ICEBERG CATALOG",
)


@dataclass(frozen=True, slots=True)
class CreateConnection(Statement):
    """A new connection of a kind that is registered."""

    name: Name
    kind: str
    options: tuple[ConnectionOption, ...]
    validate: bool | None = None
    if_not_exists: bool = False

    def render(self) -> str:
        condition = "IF NOT EXISTS " if self.if_not_exists else ""
        options = ", ".join(str(option) for option in self.options)
        validate = render_validate(self.validate)
        return f"CREATE CONNECTION {condition}{self.name}\nTO {self.kind} ({options}){validate};"

    def shown(self, text: str) -> str:
        hidden = without_values(self.options)
        return text if hidden == self.options else replace(self, options=hidden).render()


def parse(cursor: Cursor) -> CreateConnection:
    """Parse the statement."""
    cursor.expect("CREATE", "CONNECTION")
    if_not_exists = parse_if_not_exists(cursor)
    name = cursor.name()
    historical = cursor.expect_any("TO", "FOR") == "FOR"
    position = cursor.error_position()
    supported = kinds()
    kind = cursor.choose(tree((kind, kind) for kind in dict.fromkeys((*supported, *_REFUSED))))
    if kind not in supported:
        raise not_supported(f"{kind} connections", position=position)
    parenthesized = not historical or cursor.at_symbol("(")
    if parenthesized:
        cursor.expect_symbol("(")
    options = parse_connection_options(cursor)
    if parenthesized:
        cursor.expect_symbol(")")
    return CreateConnection(name, kind, options, parse_validate(cursor), if_not_exists)

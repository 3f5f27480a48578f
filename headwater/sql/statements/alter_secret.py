"""ALTER SECRET [IF EXISTS] name AS expression."""

from __future__ import annotations

from dataclasses import dataclass, replace

from headwater.sql.cursor import Cursor, Name, SqlText
from headwater.sql.parts import parse_if_exists
from headwater.sql.secret_values import HIDDEN_VALUE, parse_secret_value
from headwater.sql.statement import Statement

PHRASES = ("ALTER SECRET [IF EXISTS] <name> AS",)


@dataclass(frozen=True, slots=True)
class AlterSecret(Statement):
    """Another value for a secret."""

    name: Name
    value: SqlText
    if_exists: bool = False

    def render(self) -> str:
        return f"ALTER SECRET {'IF EXISTS ' if self.if_exists else ''}{self.name} AS {self.value}"

    def shown(self, text: str) -> str:
        return replace(self, value=HIDDEN_VALUE).render()


def parse(cursor: Cursor) -> AlterSecret:
    """Parse the statement."""
    cursor.expect("ALTER", "SECRET")
    if_exists = parse_if_exists(cursor)
    name = cursor.name()
    return AlterSecret(name, parse_secret_value(cursor), if_exists)

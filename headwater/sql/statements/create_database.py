"""CREATE DATABASE [IF NOT EXISTS] name."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor, quote_identifier
from headwater.sql.parts import parse_if_not_exists
from headwater.sql.statement import Statement

PHRASES = ("CREATE DATABASE",)


@dataclass(frozen=True, slots=True)
class CreateDatabase(Statement):
    """A new database, with a schema `public` in it."""

    name: str
    if_not_exists: bool = False

    def render(self) -> str:
        condition = "IF NOT EXISTS " if self.if_not_exists else ""
        return f"CREATE DATABASE {condition}{quote_identifier(self.name)};"


def parse(cursor: Cursor) -> CreateDatabase:
    """Parse the statement."""
    cursor.expect("CREATE", "DATABASE")
    if_not_exists = parse_if_not_exists(cursor)
    return CreateDatabase(cursor.name(parts_max=1).item, if_not_exists)

"""CREATE SCHEMA [IF NOT EXISTS] [database.]name."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor, Name
from headwater.sql.parts import parse_if_not_exists
from headwater.sql.statement import Statement

PHRASES = ("CREATE SCHEMA",)


@dataclass(frozen=True, slots=True)
class CreateSchema(Statement):
    """A new schema; the name has one or two parts."""

    name: Name
    if_not_exists: bool = False

    def render(self) -> str:
        return f"CREATE SCHEMA {'IF NOT EXISTS ' if self.if_not_exists else ''}{self.name};"


def parse(cursor: Cursor) -> CreateSchema:
    """Parse the statement."""
    cursor.expect("CREATE", "SCHEMA")
    if_not_exists = parse_if_not_exists(cursor)
    return CreateSchema(cursor.name(parts_max=2), if_not_exists)

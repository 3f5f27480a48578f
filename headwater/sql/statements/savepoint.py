"""SAVEPOINT name: a place inside of a transaction block to come back to."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor, quote_identifier
from headwater.sql.statement import Statement

PHRASES = ("SAVEPOINT",)


@dataclass(frozen=True, slots=True)
class Savepoint(Statement):
    """A place by its name."""

    name: str

    def render(self) -> str:
        return f"SAVEPOINT {quote_identifier(self.name)}"


def parse(cursor: Cursor) -> Savepoint:
    """Parse the statement."""
    cursor.expect("SAVEPOINT")
    return Savepoint(cursor.identifier())

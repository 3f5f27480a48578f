"""RELEASE [SAVEPOINT] name: forget a savepoint, and those after it."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor, quote_identifier
from headwater.sql.statement import Statement

PHRASES = ("RELEASE",)


@dataclass(frozen=True, slots=True)
class ReleaseSavepoint(Statement):
    """A savepoint that is not needed any more."""

    name: str

    def render(self) -> str:
        return f"RELEASE SAVEPOINT {quote_identifier(self.name)}"


def parse(cursor: Cursor) -> ReleaseSavepoint:
    """Parse the statement."""
    cursor.expect("RELEASE")
    cursor.accept("SAVEPOINT")
    return ReleaseSavepoint(cursor.identifier())

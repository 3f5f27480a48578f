"""ROLLBACK [WORK | TRANSACTION] TO [SAVEPOINT] name: back to a savepoint, which stays."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor, quote_identifier
from headwater.sql.statement import Statement

PHRASES = (
    "ROLLBACK TO",
    "ROLLBACK WORK TO",
    "ROLLBACK TRANSACTION TO",
)


@dataclass(frozen=True, slots=True)
class RollbackTo(Statement):
    """The savepoint to go back to."""

    name: str

    def render(self) -> str:
        return f"ROLLBACK TO SAVEPOINT {quote_identifier(self.name)}"


def parse(cursor: Cursor) -> RollbackTo:
    """Parse the statement."""
    cursor.expect("ROLLBACK")
    cursor.accept_any("WORK", "TRANSACTION")
    cursor.expect("TO")
    cursor.accept("SAVEPOINT")
    return RollbackTo(cursor.identifier())

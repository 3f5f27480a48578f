"""COMMIT or END [WORK | TRANSACTION] [AND NO CHAIN]."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor
from headwater.sql.statement import Statement
from headwater.sql.transaction_modes import parse_end_of_transaction

PHRASES = ("COMMIT", "END")


@dataclass(frozen=True, slots=True)
class Commit(Statement):
    """The good end of a transaction block."""

    def render(self) -> str:
        return "COMMIT"


def parse(cursor: Cursor) -> Commit:
    """Parse the statement."""
    cursor.expect_any("COMMIT", "END")
    parse_end_of_transaction(cursor)
    return Commit()

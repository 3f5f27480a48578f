"""ROLLBACK or ABORT [WORK | TRANSACTION] [AND NO CHAIN]."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor
from headwater.sql.statement import Statement
from headwater.sql.transaction_modes import parse_end_of_transaction

PHRASES = ("ROLLBACK", "ABORT")


@dataclass(frozen=True, slots=True)
class Rollback(Statement):
    """The end of a transaction block that did not happen."""

    def render(self) -> str:
        return "ROLLBACK"


def parse(cursor: Cursor) -> Rollback:
    """Parse the statement."""
    cursor.expect_any("ROLLBACK", "ABORT")
    parse_end_of_transaction(cursor)
    return Rollback()

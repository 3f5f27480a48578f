"""BEGIN [WORK | TRANSACTION] [mode, ...], START TRANSACTION [mode, ...]."""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.sql.cursor import Cursor
from headwater.sql.statement import Statement
from headwater.sql.transaction_modes import TransactionModes, parse_transaction_modes

PHRASES = ("BEGIN", "START TRANSACTION")


@dataclass(frozen=True, slots=True)
class Begin(Statement):
    """The start of a transaction block."""

    modes: TransactionModes = field(default_factory=TransactionModes)

    def render(self) -> str:
        return f"BEGIN {self.modes}".rstrip()


def parse(cursor: Cursor) -> Begin:
    """Parse the statement."""
    if not cursor.accept("START", "TRANSACTION"):
        cursor.expect("BEGIN")
        cursor.accept_any("WORK", "TRANSACTION")
    return Begin(parse_transaction_modes(cursor))

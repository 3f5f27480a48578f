"""SET [SESSION CHARACTERISTICS AS] TRANSACTION mode, ..."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor
from headwater.sql.statement import Statement
from headwater.sql.transaction_modes import TransactionModes, parse_transaction_modes

PHRASES = ("SET [LOCAL|SESSION] TRANSACTION", "SET SESSION CHARACTERISTICS AS TRANSACTION")


@dataclass(frozen=True, slots=True)
class SetTransaction(Statement):
    """Modes of this transaction, or with `session` of all that follow."""

    modes: TransactionModes
    session: bool = False

    def render(self) -> str:
        session = "SESSION CHARACTERISTICS AS " if self.session else ""
        return f"SET {session}TRANSACTION {self.modes}"


def parse(cursor: Cursor) -> SetTransaction:
    """Parse the statement."""
    cursor.expect("SET")
    session = cursor.accept("SESSION", "CHARACTERISTICS", "AS")
    if not session:
        cursor.accept_any("LOCAL", "SESSION")
    cursor.expect("TRANSACTION")
    if cursor.at_end():
        raise cursor.error("transaction mode")
    return SetTransaction(parse_transaction_modes(cursor), session)

"""VERIFY TABLE name: compare a table with its reference upstream."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor, Name
from headwater.sql.statement import Statement

PHRASES = ("VERIFY TABLE",)


@dataclass(frozen=True, slots=True)
class VerifyTable(Statement):
    """Is a table what it is upstream?"""

    name: Name

    def render(self) -> str:
        return f"VERIFY TABLE {self.name}"


def parse(cursor: Cursor) -> VerifyTable:
    """Parse the statement."""
    cursor.expect("VERIFY", "TABLE")
    return VerifyTable(cursor.name())

"""VALIDATE CONNECTION name."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor, Name
from headwater.sql.statement import Statement

PHRASES = ("VALIDATE CONNECTION",)


@dataclass(frozen=True, slots=True)
class ValidateConnection(Statement):
    """Try a connection out."""

    name: Name

    def render(self) -> str:
        return f"VALIDATE CONNECTION {self.name}"


def parse(cursor: Cursor) -> ValidateConnection:
    """Parse the statement."""
    cursor.expect("VALIDATE", "CONNECTION")
    return ValidateConnection(cursor.name())

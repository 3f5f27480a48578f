"""CLOSE {cursor | ALL}."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor, quote_identifier
from headwater.sql.statement import Statement

PHRASES = ("CLOSE",)


@dataclass(frozen=True, slots=True)
class Close(Statement):
    """A cursor to let go; None is all of them."""

    name: str | None

    def render(self) -> str:
        return f"CLOSE {'ALL' if self.name is None else quote_identifier(self.name)}"


def parse(cursor: Cursor) -> Close:
    """Parse the statement."""
    cursor.expect("CLOSE")
    return Close(None if cursor.accept("ALL") else cursor.identifier())

"""DEALLOCATE [PREPARE] {name | ALL}."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor, quote_identifier
from headwater.sql.statement import Statement

PHRASES = ("DEALLOCATE",)


@dataclass(frozen=True, slots=True)
class Deallocate(Statement):
    """A prepared statement to forget; None is all of them."""

    name: str | None

    def render(self) -> str:
        return f"DEALLOCATE {'ALL' if self.name is None else quote_identifier(self.name)}"


def parse(cursor: Cursor) -> Deallocate:
    """Parse the statement."""
    cursor.expect("DEALLOCATE")
    cursor.accept("PREPARE")
    return Deallocate(None if cursor.accept("ALL") else cursor.identifier())

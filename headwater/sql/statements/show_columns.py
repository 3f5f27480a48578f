"""SHOW COLUMNS FROM relation [LIKE 'pattern' | WHERE condition]."""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.sql.cursor import Cursor, Name
from headwater.sql.parts import Filter, parse_filter
from headwater.sql.statement import Statement

PHRASES = ("SHOW COLUMNS",)


@dataclass(frozen=True, slots=True)
class ShowColumns(Statement):
    """The columns of a relation."""

    name: Name
    filter: Filter = field(default_factory=Filter)

    def render(self) -> str:
        return f"SHOW COLUMNS FROM {self.name}{self.filter}"


def parse(cursor: Cursor) -> ShowColumns:
    """Parse the statement."""
    cursor.expect("SHOW", "COLUMNS")
    if cursor.accept_any("FROM", "IN") is None:
        raise cursor.error("FROM")
    return ShowColumns(cursor.name(), parse_filter(cursor))

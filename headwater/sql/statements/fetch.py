"""FETCH [FORWARD | NEXT] [n | ALL] [FROM | IN] cursor [WITH (TIMEOUT = '1s')]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.sql.cursor import Cursor, quote_identifier
from headwater.sql.options import Duration, OptionReader, clause, duration, parse_with_options, render_options
from headwater.sql.statement import Statement

PHRASES = ("FETCH",)

_OPTIONS: Final[dict[str, OptionReader]] = {"TIMEOUT": duration}


@dataclass(frozen=True, slots=True)
class Fetch(Statement):
    """The next rows of a cursor; `count` None is ALL."""

    name: str
    count: int | None = 1
    timeout: Duration | None = None

    def render(self) -> str:
        count = "ALL" if self.count is None else str(self.count)
        options = clause("WITH", render_options(self, _OPTIONS))
        return f"FETCH FORWARD {count} FROM {quote_identifier(self.name)}{options}"


def parse(cursor: Cursor) -> Fetch:
    """Parse the statement."""
    cursor.expect("FETCH")
    count: int | None = 1
    if not cursor.accept("NEXT"):
        cursor.accept("FORWARD")
        if cursor.accept("ALL"):
            count = None
        elif cursor.peek().kind == "number":
            count = cursor.integer()
    cursor.accept_any("FROM", "IN")
    return Fetch(cursor.identifier(), count, **parse_with_options(cursor, _OPTIONS))

"""SELECT and its like: VALUES, WITH, TABLE, and any of them in parentheses.

    query [AS OF [AT LEAST] timestamp]

The query is kept as text.  Not here: what it means (sql/select).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.sql.cursor import QUERY_WORDS, Cursor, SqlText
from headwater.sql.parts import AsOf, parse_as_of
from headwater.sql.statement import Statement

PHRASES = (*QUERY_WORDS, "(")

# What people write behind AS OF although it belongs before it
_EARLIER: Final = (
    *("WHERE", "GROUP BY", "HAVING", "WINDOW", "ORDER BY", "LIMIT", "OFFSET", "FETCH"),
    *("UNION", "INTERSECT", "EXCEPT", "JOIN"),
)


@dataclass(frozen=True, slots=True)
class Select(Statement):
    """A query to run, at a timestamp of the server's choice unless one is given."""

    query: SqlText
    as_of: AsOf | None = None

    def render(self) -> str:
        return f"{self.query}" if self.as_of is None else f"{self.query}\n{self.as_of}"


def parse(cursor: Cursor) -> Select:
    """Parse the statement."""
    query = cursor.query("AS OF")
    return Select(query, parse_as_of(cursor, *_EARLIER))

"""DECLARE name CURSOR [WITHOUT HOLD] FOR {query | SUBSCRIBE ...}.

Cursors go forward only and live as long as their transaction: SCROLL and WITH HOLD
are not supported.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.core.errors import not_supported
from headwater.sql.cursor import QUERY_WORDS, Cursor, quote_identifier
from headwater.sql.statement import Statement

PHRASES = ("DECLARE",)


@dataclass(frozen=True, slots=True)
class Declare(Statement):
    """A cursor over the rows of a statement."""

    name: str
    statement: Statement

    def render(self) -> str:
        return f"DECLARE {quote_identifier(self.name)} CURSOR FOR {self.statement.render()}"


def parse(cursor: Cursor) -> Declare:
    """Parse the statement."""
    cursor.expect("DECLARE")
    name = cursor.identifier()
    if cursor.peek().keyword in ("BINARY", "SCROLL"):
        raise not_supported(f"DECLARE ... {cursor.peek().keyword} CURSOR", position=cursor.error_position())
    cursor.accept("NO", "SCROLL")
    cursor.expect("CURSOR")
    if cursor.at("WITH", "HOLD"):
        raise not_supported("DECLARE ... WITH HOLD", position=cursor.error_position())
    cursor.accept("WITHOUT", "HOLD")
    cursor.expect("FOR")
    return Declare(name, cursor.nested(*QUERY_WORDS, "SUBSCRIBE"))

"""EXECUTE name [(expression, ...)]."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor, SqlText, quote_identifier
from headwater.sql.statement import Statement

PHRASES = ("EXECUTE",)


@dataclass(frozen=True, slots=True)
class Execute(Statement):
    """A prepared statement to run with these arguments."""

    name: str
    arguments: tuple[SqlText, ...] = ()

    def render(self) -> str:
        arguments = f" ({', '.join(str(item) for item in self.arguments)})" if self.arguments else ""
        return f"EXECUTE {quote_identifier(self.name)}{arguments}"


def parse(cursor: Cursor) -> Execute:
    """Parse the statement."""
    cursor.expect("EXECUTE")
    name = cursor.identifier()
    arguments: tuple[SqlText, ...] = ()
    if cursor.at_symbol("("):
        arguments = cursor.parenthesized(lambda: cursor.span(comma=True))
    return Execute(name, arguments)

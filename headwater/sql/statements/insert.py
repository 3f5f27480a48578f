"""INSERT INTO table [AS alias] [(column, ...)] {query | DEFAULT VALUES} [RETURNING ...].

VALUES is a query like any other.  ON CONFLICT is not supported.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.core.errors import not_supported
from headwater.sql.cursor import QUERY_WORDS, Cursor, Name, SqlText
from headwater.sql.parts import render_alias, render_column_list
from headwater.sql.statement import Statement

PHRASES = ("INSERT",)


@dataclass(frozen=True, slots=True)
class Insert(Statement):
    """Rows for a table; `query` None is DEFAULT VALUES, no columns are all of them."""

    table: Name
    query: SqlText | None
    columns: tuple[str, ...] = ()
    alias: str | None = None
    returning: SqlText | None = None

    def render(self) -> str:
        target = f"{self.table}{render_alias(self.alias)}{render_column_list(self.columns)}"
        rows = "DEFAULT VALUES" if self.query is None else self.query
        returning = "" if self.returning is None else f"\nRETURNING {self.returning}"
        return f"INSERT INTO {target}\n{rows}{returning}"


def parse(cursor: Cursor) -> Insert:
    """Parse the statement."""
    cursor.expect("INSERT", "INTO")
    table = cursor.name()
    alias = cursor.identifier() if cursor.accept("AS") else None
    columns: tuple[str, ...] = ()
    if cursor.at_symbol("(") and cursor.peek(1).keyword not in QUERY_WORDS and not cursor.at_symbol("(", 1):
        columns = cursor.parenthesized(cursor.identifier)
    query: SqlText | None = None
    if not cursor.accept("DEFAULT", "VALUES"):
        query = cursor.query("RETURNING", "ON CONFLICT (", "ON CONFLICT ON", "ON CONFLICT DO")
    if cursor.at("ON"):
        raise not_supported("INSERT ... ON CONFLICT", position=cursor.error_position())
    returning = cursor.span() if cursor.accept("RETURNING") else None
    return Insert(table, query, columns, alias, returning)

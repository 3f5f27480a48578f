"""DELETE FROM table [[AS] alias] [USING relations] [WHERE condition].

RETURNING is not supported.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.core.errors import not_supported
from headwater.sql.cursor import Cursor, Name, SqlText
from headwater.sql.parts import parse_alias, render_alias
from headwater.sql.statement import Statement

PHRASES = ("DELETE",)


@dataclass(frozen=True, slots=True)
class Delete(Statement):
    """Rows to take out of a table; `using` is the text of a FROM list."""

    table: Name
    alias: str | None = None
    using: SqlText | None = None
    where: SqlText | None = None

    def render(self) -> str:
        using = "" if self.using is None else f"\nUSING {self.using}"
        where = "" if self.where is None else f"\nWHERE {self.where}"
        return f"DELETE FROM {self.table}{render_alias(self.alias)}{using}{where}"


def parse(cursor: Cursor) -> Delete:
    """Parse the statement."""
    cursor.expect("DELETE", "FROM")
    table = cursor.name()
    alias = parse_alias(cursor)
    using = cursor.span("WHERE", "RETURNING") if cursor.accept("USING") else None
    where = cursor.span("RETURNING") if cursor.accept("WHERE") else None
    if cursor.at("RETURNING"):
        raise not_supported("DELETE ... RETURNING", position=cursor.error_position())
    return Delete(table, alias, using, where)

"""CREATE [OR REPLACE] [TEMP] VIEW [IF NOT EXISTS] name [(column, ...)] AS query."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor, Name, SqlText
from headwater.sql.parts import parse_column_list, parse_if_not_exists, render_column_list
from headwater.sql.statement import Statement

PHRASES = ("CREATE [OR REPLACE] [TEMP|TEMPORARY] VIEW",)


@dataclass(frozen=True, slots=True)
class CreateView(Statement):
    """A new view."""

    name: Name
    query: SqlText
    columns: tuple[str, ...] = ()
    temporary: bool = False
    replace: bool = False
    if_not_exists: bool = False

    def render(self) -> str:
        replace = "OR REPLACE " if self.replace else ""
        temporary = "TEMPORARY " if self.temporary else ""
        condition = "IF NOT EXISTS " if self.if_not_exists else ""
        columns = render_column_list(self.columns)
        return f"CREATE {replace}{temporary}VIEW {condition}{self.name}{columns}\nAS {self.query};"


def parse(cursor: Cursor) -> CreateView:
    """Parse the statement."""
    cursor.expect("CREATE")
    replace = cursor.accept("OR", "REPLACE")
    temporary = cursor.accept_any("TEMP", "TEMPORARY") is not None
    cursor.expect("VIEW")
    if replace and cursor.at("IF", "NOT"):
        raise cursor.refusal("Cannot specify both OR REPLACE and IF NOT EXISTS", "42601")
    if_not_exists = parse_if_not_exists(cursor)
    name = cursor.name()
    columns = parse_column_list(cursor)
    cursor.expect("AS")
    return CreateView(name, cursor.query(), columns, temporary, replace, if_not_exists)

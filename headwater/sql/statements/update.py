"""UPDATE table [[AS] alias] SET column = expression, ... [WHERE condition].

FROM and RETURNING are not supported.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.core.errors import not_supported
from headwater.sql.cursor import Cursor, Name, SqlText, quote_identifier
from headwater.sql.parts import parse_alias, render_alias
from headwater.sql.statement import Statement

PHRASES = ("UPDATE",)


@dataclass(frozen=True, slots=True)
class Assignment:
    """One column's new value; None is the column's default."""

    column: str
    expression: SqlText | None

    def __str__(self) -> str:
        value = "DEFAULT" if self.expression is None else self.expression
        return f"{quote_identifier(self.column)} = {value}"


@dataclass(frozen=True, slots=True)
class Update(Statement):
    """New values for rows of a table."""

    table: Name
    assignments: tuple[Assignment, ...]
    alias: str | None = None
    where: SqlText | None = None

    def render(self) -> str:
        assignments = ", ".join(str(assignment) for assignment in self.assignments)
        where = "" if self.where is None else f"\nWHERE {self.where}"
        return f"UPDATE {self.table}{render_alias(self.alias)}\nSET {assignments}{where}"


def parse(cursor: Cursor) -> Update:
    """Parse the statement."""
    cursor.expect("UPDATE")
    table = cursor.name()
    alias = parse_alias(cursor, "SET")
    cursor.expect("SET")
    assignments = cursor.separated(lambda: _assignment(cursor))
    if cursor.at("FROM"):
        raise not_supported("UPDATE ... FROM", position=cursor.error_position())
    where = cursor.span("RETURNING") if cursor.accept("WHERE") else None
    if cursor.at("RETURNING"):
        raise not_supported("UPDATE ... RETURNING", position=cursor.error_position())
    return Update(table, assignments, alias, where)


def _assignment(cursor: Cursor) -> Assignment:
    column = cursor.identifier()
    cursor.expect_symbol("=")
    if cursor.accept("DEFAULT"):
        return Assignment(column, None)
    return Assignment(column, cursor.span("FROM", "WHERE", "RETURNING", comma=True))

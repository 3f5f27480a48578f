"""SHOW {variable | ALL}."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor
from headwater.sql.parts import parse_variable, render_variable
from headwater.sql.statement import Statement

PHRASES = ("SHOW",)


@dataclass(frozen=True, slots=True)
class ShowVariable(Statement):
    """A variable's value; None is all variables."""

    variable: str | None

    def render(self) -> str:
        return f"SHOW {'ALL' if self.variable is None else render_variable(self.variable)}"


def parse(cursor: Cursor) -> ShowVariable:
    """Parse the statement."""
    cursor.expect("SHOW")
    if cursor.accept("ALL"):
        return ShowVariable(None)
    if cursor.accept("TIME", "ZONE"):
        return ShowVariable("timezone")
    if cursor.accept("TRANSACTION", "ISOLATION", "LEVEL"):
        return ShowVariable("transaction_isolation")
    return ShowVariable(parse_variable(cursor))

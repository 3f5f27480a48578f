"""RESET {variable | ALL}."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor
from headwater.sql.parts import parse_variable, render_variable
from headwater.sql.statement import Statement

PHRASES = ("RESET",)


@dataclass(frozen=True, slots=True)
class Reset(Statement):
    """A session variable back to its default; None is all of them."""

    variable: str | None

    def render(self) -> str:
        return f"RESET {'ALL' if self.variable is None else render_variable(self.variable)}"


def parse(cursor: Cursor) -> Reset:
    """Parse the statement."""
    cursor.expect("RESET")
    if cursor.accept("ALL"):
        return Reset(None)
    if cursor.accept("TIME", "ZONE"):
        return Reset("timezone")
    return Reset(parse_variable(cursor))

"""ALTER SYSTEM SET variable {= | TO} value | RESET variable | RESET ALL."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor
from headwater.sql.parts import (
    parse_setting_values,
    parse_variable,
    render_setting_values,
    render_variable,
)
from headwater.sql.statement import Statement

PHRASES = ("ALTER SYSTEM",)


@dataclass(frozen=True, slots=True)
class AlterSystem(Statement):
    """A server variable's new value; `values` None is its default, `variable` None all of them."""

    variable: str | None
    values: tuple[str, ...] | None = None

    def render(self) -> str:
        if self.values is not None and self.variable is not None:
            value = render_setting_values(self.values)
            return f"ALTER SYSTEM SET {render_variable(self.variable)} = {value}"
        return f"ALTER SYSTEM RESET {'ALL' if self.variable is None else render_variable(self.variable)}"


def parse(cursor: Cursor) -> AlterSystem:
    """Parse the statement."""
    cursor.expect("ALTER", "SYSTEM")
    if cursor.accept("RESET"):
        return AlterSystem(None if cursor.accept("ALL") else parse_variable(cursor))
    if not cursor.accept("SET"):
        raise cursor.error("SET", "RESET")
    variable = parse_variable(cursor)
    if not cursor.accept_symbol("=") and not cursor.accept("TO"):
        raise cursor.error("equals sign or TO")
    return AlterSystem(variable, parse_setting_values(cursor))

"""SET [SESSION | LOCAL] variable {= | TO} {value, ... | DEFAULT}.

Also SET TIME ZONE {'name' | hours | INTERVAL 'offset' [HOUR [TO MINUTE]] | LOCAL | DEFAULT}, SET NAMES and
SET SCHEMA, which are variables by other words.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor, quote_string
from headwater.sql.parts import (
    parse_setting_values,
    parse_variable,
    render_setting_values,
    render_variable,
)
from headwater.sql.statement import Statement

PHRASES = ("SET",)


@dataclass(frozen=True, slots=True)
class SetVariable(Statement):
    """A session variable's new value, as texts; None is its default."""

    variable: str
    values: tuple[str, ...] | None
    local: bool = False

    def render(self) -> str:
        local = "LOCAL " if self.local else ""
        return f"SET {local}{render_variable(self.variable)} = {render_setting_values(self.values)}"


def _zone(cursor: Cursor) -> tuple[str, ...] | None:
    if cursor.accept("LOCAL"):
        return None
    if not (cursor.at("INTERVAL") and cursor.peek(1).kind == "string"):
        return parse_setting_values(cursor)
    cursor.take()
    text = cursor.string()
    unit = cursor.accept_any("HOUR")
    if unit is not None and cursor.accept("TO"):
        cursor.expect("MINUTE")
        unit = "MINUTE"
    # A bare number counts the last of the fields that follow it.
    bare = unit is not None and text.strip().lstrip("+-").isdecimal()
    return (f"INTERVAL {quote_string(f'{text} {unit}' if bare else text)}",)


def parse(cursor: Cursor) -> SetVariable:
    """Parse the statement."""
    cursor.expect("SET")
    local = cursor.accept_any("SESSION", "LOCAL") == "LOCAL"
    if cursor.accept("TIME", "ZONE"):
        return SetVariable("timezone", _zone(cursor), local)
    if cursor.accept("NAMES"):
        encoding = ("UTF8",) if cursor.at_end() else parse_setting_values(cursor)
        return SetVariable("client_encoding", encoding, local)
    if cursor.at("SCHEMA") and cursor.peek(1).kind == "string":
        cursor.take()
        return SetVariable("search_path", parse_setting_values(cursor), local)
    variable = parse_variable(cursor)
    if not cursor.accept_symbol("=") and not cursor.accept("TO"):
        raise cursor.error("equals sign or TO")
    return SetVariable(variable, parse_setting_values(cursor), local)

"""ALTER ROLE|USER name {[WITH] options | SET variable = value | RESET variable | RESET ALL}."""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.sql.cursor import Cursor
from headwater.sql.grants import parse_role, render_role
from headwater.sql.parts import (
    parse_setting_values,
    parse_variable,
    render_setting_values,
    render_variable,
)
from headwater.sql.role_options import RoleOptions, parse_role_options
from headwater.sql.statement import Statement

PHRASES = ("ALTER ROLE|USER",)


@dataclass(frozen=True, slots=True)
class AlterRole(Statement):
    """`action` is `options`, `set` or `reset`; `variable` None is all of them."""

    name: str
    action: str
    options: RoleOptions = field(default_factory=RoleOptions)
    variable: str | None = None
    values: tuple[str, ...] | None = None  # None is DEFAULT

    def render(self) -> str:
        return self._rendered(hidden=False)

    def shown(self, text: str) -> str:
        return text if not self.options.password else self._rendered(hidden=True)

    def _rendered(self, hidden: bool) -> str:
        start = f"ALTER ROLE {render_role(self.name)}"
        if self.action == "options":
            return start + self.options.render(hidden)
        variable = "ALL" if self.variable is None else render_variable(self.variable)
        if self.action == "reset":
            return f"{start} RESET {variable}"
        return f"{start} SET {variable} = {render_setting_values(self.values)}"


def parse(cursor: Cursor) -> AlterRole:
    """Parse the statement."""
    cursor.expect("ALTER")
    cursor.expect_any("ROLE", "USER")
    name = parse_role(cursor)
    if cursor.accept("RESET"):
        return AlterRole(name, "reset", variable=None if cursor.accept("ALL") else parse_variable(cursor))
    if cursor.accept("SET"):
        variable = parse_variable(cursor)
        if not cursor.accept_symbol("=") and not cursor.accept("TO"):
            raise cursor.error("equals sign or TO")
        return AlterRole(name, "set", variable=variable, values=parse_setting_values(cursor))
    if cursor.at("RENAME") or cursor.at("IN", "DATABASE"):
        raise cursor.refusal(f"ALTER ROLE ... {cursor.peek().keyword} not yet supported", "0A000")
    options = parse_role_options(cursor, new=False)
    if options == RoleOptions():
        raise cursor.error("a role option", "SET", "RESET")
    return AlterRole(name, "options", options)

"""CREATE ROLE|USER [IF NOT EXISTS] name [WITH] options; a user is a role that may log in."""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.sql.cursor import Cursor, quote_identifier
from headwater.sql.parts import parse_if_not_exists
from headwater.sql.role_options import RoleOptions, parse_role_options
from headwater.sql.statement import Statement

PHRASES = ("CREATE ROLE|USER",)


@dataclass(frozen=True, slots=True)
class CreateRole(Statement):
    """A new role; without LOGIN or NOLOGIN a role may not log in and a user may."""

    name: str
    options: RoleOptions = field(default_factory=RoleOptions)
    user: bool = False
    if_not_exists: bool = False

    def render(self) -> str:
        return self._rendered(hidden=False)

    def shown(self, text: str) -> str:
        return text if not self.options.password else self._rendered(hidden=True)

    def _rendered(self, hidden: bool) -> str:
        kind = "USER" if self.user else "ROLE"
        condition = "IF NOT EXISTS " if self.if_not_exists else ""
        return f"CREATE {kind} {condition}{quote_identifier(self.name)}{self.options.render(hidden)};"


def parse(cursor: Cursor) -> CreateRole:
    """Parse the statement."""
    cursor.expect("CREATE")
    user = cursor.expect_any("ROLE", "USER") == "USER"
    if_not_exists = parse_if_not_exists(cursor)
    name = cursor.identifier()
    return CreateRole(name, parse_role_options(cursor, new=True), user, if_not_exists)

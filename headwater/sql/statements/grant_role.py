"""GRANT role, ... TO role, ...: the latter become members of the former."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor
from headwater.sql.grants import parse_role, refuse_grant_option, render_role
from headwater.sql.statement import Statement

PHRASES = ("GRANT",)


@dataclass(frozen=True, slots=True)
class GrantRole(Statement):
    """New members."""

    roles: tuple[str, ...]
    members: tuple[str, ...]

    def render(self) -> str:
        roles, members = (", ".join(map(render_role, names)) for names in (self.roles, self.members))
        return f"GRANT {roles} TO {members}"


def parse(cursor: Cursor) -> GrantRole:
    """Parse the statement."""
    cursor.expect("GRANT")
    roles = cursor.separated(lambda: parse_role(cursor))
    cursor.expect("TO")
    members = cursor.separated(lambda: parse_role(cursor))
    refuse_grant_option(cursor)
    return GrantRole(roles, members)

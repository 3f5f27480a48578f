"""REVOKE role, ... FROM role, ...: the latter are no members of the former any more."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor
from headwater.sql.grants import parse_role, refuse_grant_option, refuse_option_for, render_role
from headwater.sql.statement import Statement

PHRASES = ("REVOKE",)


@dataclass(frozen=True, slots=True)
class RevokeRole(Statement):
    """Members that leave."""

    roles: tuple[str, ...]
    members: tuple[str, ...]

    def render(self) -> str:
        roles, members = (", ".join(map(render_role, names)) for names in (self.roles, self.members))
        return f"REVOKE {roles} FROM {members}"


def parse(cursor: Cursor) -> RevokeRole:
    """Parse the statement."""
    cursor.expect("REVOKE")
    refuse_option_for(cursor)
    roles = cursor.separated(lambda: parse_role(cursor))
    cursor.expect("FROM")
    members = cursor.separated(lambda: parse_role(cursor))
    refuse_grant_option(cursor)
    return RevokeRole(roles, members)

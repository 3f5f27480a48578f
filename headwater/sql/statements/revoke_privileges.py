"""REVOKE privileges ON objects FROM role, ..."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor
from headwater.sql.grants import (
    Target,
    parse_privileges,
    parse_roles,
    parse_target,
    refuse_grant_option,
    refuse_option_for,
    render_privileges,
    render_roles,
)
from headwater.sql.statement import Statement

PHRASES = ("REVOKE ... ON",)


@dataclass(frozen=True, slots=True)
class RevokePrivileges(Statement):
    """Privileges (`ALL`) taken from roles, of which None is everybody."""

    privileges: tuple[str, ...]
    target: Target
    grantees: tuple[str | None, ...]

    def render(self) -> str:
        privileges, grantees = render_privileges(self.privileges), render_roles(self.grantees)
        return f"REVOKE {privileges} ON {self.target} FROM {grantees}"


def parse(cursor: Cursor) -> RevokePrivileges:
    """Parse the statement."""
    cursor.expect("REVOKE")
    refuse_option_for(cursor)
    privileges = parse_privileges(cursor)
    cursor.expect("ON")
    target = parse_target(cursor)
    cursor.expect("FROM")
    grantees = parse_roles(cursor)
    refuse_grant_option(cursor)
    return RevokePrivileges(privileges, target, grantees)

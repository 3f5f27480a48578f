"""GRANT privileges ON objects TO role, ..."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor
from headwater.sql.grants import (
    Target,
    parse_privileges,
    parse_roles,
    parse_target,
    refuse_grant_option,
    render_privileges,
    render_roles,
)
from headwater.sql.statement import Statement

PHRASES = ("GRANT ... ON",)


@dataclass(frozen=True, slots=True)
class GrantPrivileges(Statement):
    """Privileges (`ALL`) for roles, of which None is everybody."""

    privileges: tuple[str, ...]
    target: Target
    grantees: tuple[str | None, ...]

    def render(self) -> str:
        privileges, grantees = render_privileges(self.privileges), render_roles(self.grantees)
        return f"GRANT {privileges} ON {self.target} TO {grantees}"


def parse(cursor: Cursor) -> GrantPrivileges:
    """Parse the statement."""
    cursor.expect("GRANT")
    privileges = parse_privileges(cursor)
    cursor.expect("ON")
    target = parse_target(cursor)
    cursor.expect("TO")
    grantees = parse_roles(cursor)
    refuse_grant_option(cursor)
    return GrantPrivileges(privileges, target, grantees)

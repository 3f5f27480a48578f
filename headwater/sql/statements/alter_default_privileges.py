"""ALTER DEFAULT PRIVILEGES [FOR role, ...] [IN SCHEMA ...] {GRANT | REVOKE} ... ON kinds ..."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.sql.cursor import Cursor, Name
from headwater.sql.grants import (
    PLURALS,
    parse_privileges,
    parse_role,
    parse_roles,
    parse_within,
    refuse_grant_option,
    refuse_option_for,
    render_privileges,
    render_roles,
    render_within,
)
from headwater.sql.statement import Statement

PHRASES = ("ALTER DEFAULT PRIVILEGES",)

_KINDS: Final = tuple(word for word in PLURALS if word not in ("VIEWS", "SOURCES"))


@dataclass(frozen=True, slots=True)
class AlterDefaultPrivileges(Statement):
    """What new objects are given, or not any more."""

    grant: bool
    privileges: tuple[str, ...]
    kind: str  # `table`, also of views and sources
    grantees: tuple[str | None, ...]
    owners: tuple[str | None, ...] = ()  # whose new objects, None is everybody's; nothing: one's own
    within_kind: str | None = None
    within: tuple[Name, ...] = ()

    def render(self) -> str:
        owners = ""
        if self.owners == (None,):
            owners = " FOR ALL ROLES"
        elif self.owners:
            owners = f" FOR ROLE {render_roles(self.owners)}"
        privileges, grantees = render_privileges(self.privileges), render_roles(self.grantees)
        verb, preposition = ("GRANT", "TO") if self.grant else ("REVOKE", "FROM")
        return (
            f"ALTER DEFAULT PRIVILEGES{owners}{render_within(self.within_kind, self.within)}"
            f" {verb} {privileges} ON {self.kind.upper()}S {preposition} {grantees}"
        )


def parse(cursor: Cursor) -> AlterDefaultPrivileges:
    """Parse the statement."""
    cursor.expect("ALTER", "DEFAULT", "PRIVILEGES")
    owners: tuple[str | None, ...] = ()
    if cursor.accept("FOR"):
        if cursor.accept("ALL", "ROLES"):
            owners = (None,)
        else:
            cursor.expect_any("ROLE", "USER")
            owners = cursor.separated(lambda: parse_role(cursor))
    within_kind, within = parse_within(cursor)
    grant = cursor.expect_any("GRANT", "REVOKE") == "GRANT"
    if not grant:
        refuse_option_for(cursor)
    privileges = parse_privileges(cursor)
    cursor.expect("ON")
    kind = PLURALS[cursor.expect_any(*_KINDS)]
    cursor.expect("TO" if grant else "FROM")
    grantees = parse_roles(cursor)
    refuse_grant_option(cursor)
    return AlterDefaultPrivileges(grant, privileges, kind, grantees, owners, within_kind, within)

"""REASSIGN OWNED BY role, ... TO role."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor
from headwater.sql.grants import parse_role, render_role
from headwater.sql.statement import Statement

PHRASES = ("REASSIGN OWNED",)


@dataclass(frozen=True, slots=True)
class ReassignOwned(Statement):
    """All that roles own gets another owner."""

    roles: tuple[str, ...]
    owner: str

    def render(self) -> str:
        return f"REASSIGN OWNED BY {', '.join(map(render_role, self.roles))} TO {render_role(self.owner)}"


def parse(cursor: Cursor) -> ReassignOwned:
    """Parse the statement."""
    cursor.expect("REASSIGN", "OWNED", "BY")
    roles = cursor.separated(lambda: parse_role(cursor))
    cursor.expect("TO")
    return ReassignOwned(roles, parse_role(cursor))

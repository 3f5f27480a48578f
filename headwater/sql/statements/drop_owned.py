"""DROP OWNED BY role, ... [CASCADE | RESTRICT]."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor
from headwater.sql.grants import parse_role, render_role
from headwater.sql.parts import parse_cascade
from headwater.sql.statement import Statement

PHRASES = ("DROP OWNED",)


@dataclass(frozen=True, slots=True)
class DropOwned(Statement):
    """All that roles own goes, and all that they were granted."""

    roles: tuple[str, ...]
    cascade: bool = False

    def render(self) -> str:
        behaviour = " CASCADE" if self.cascade else ""
        return f"DROP OWNED BY {', '.join(map(render_role, self.roles))}{behaviour}"


def parse(cursor: Cursor) -> DropOwned:
    """Parse the statement."""
    cursor.expect("DROP", "OWNED", "BY")
    roles = cursor.separated(lambda: parse_role(cursor))
    return DropOwned(roles, parse_cascade(cursor))

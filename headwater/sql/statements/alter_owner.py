"""ALTER kind [IF EXISTS] name OWNER TO role."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor, Name
from headwater.sql.grants import parse_role, render_role
from headwater.sql.parts import ALTERED, parse_altered, render_altered
from headwater.sql.statement import Statement

PHRASES = (f"ALTER {'|'.join(ALTERED)} [IF EXISTS] <name> OWNER",)


@dataclass(frozen=True, slots=True)
class AlterOwner(Statement):
    """Another owner for an object of a kind (`table`)."""

    kind: str
    name: Name
    owner: str
    if_exists: bool = False

    def render(self) -> str:
        return f"{render_altered(self.kind, self.name, self.if_exists)} OWNER TO {render_role(self.owner)}"


def parse(cursor: Cursor) -> AlterOwner:
    """Parse the statement."""
    kind, name, if_exists = parse_altered(cursor)
    cursor.expect("OWNER", "TO")
    return AlterOwner(kind, name, parse_role(cursor), if_exists)

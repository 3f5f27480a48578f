"""ALTER kind [IF EXISTS] name OWNER TO role."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.sql.cursor import NAME_PARTS_MAX, Cursor, Name
from headwater.sql.grants import parse_role, render_role
from headwater.sql.parts import parse_if_exists
from headwater.sql.statement import Statement

_PARTS_MAX: Final = {
    "SOURCE": NAME_PARTS_MAX,
    "TABLE": NAME_PARTS_MAX,
    "VIEW": NAME_PARTS_MAX,
    "SECRET": NAME_PARTS_MAX,
    "CONNECTION": NAME_PARTS_MAX,
    "SCHEMA": 2,
    "CLUSTER": 1,
    "DATABASE": 1,
}

PHRASES = ("ALTER SOURCE|TABLE|VIEW|SECRET|CONNECTION|SCHEMA|CLUSTER|DATABASE [IF EXISTS] <name> OWNER",)


@dataclass(frozen=True, slots=True)
class AlterOwner(Statement):
    """Another owner for an object of a kind (`table`)."""

    kind: str
    name: Name
    owner: str
    if_exists: bool = False

    def render(self) -> str:
        condition = "IF EXISTS " if self.if_exists else ""
        return f"ALTER {self.kind.upper()} {condition}{self.name} OWNER TO {render_role(self.owner)}"


def parse(cursor: Cursor) -> AlterOwner:
    """Parse the statement."""
    cursor.expect("ALTER")
    kind = cursor.expect_any(*_PARTS_MAX)
    if_exists = parse_if_exists(cursor)
    name = cursor.name(_PARTS_MAX[kind])
    cursor.expect("OWNER", "TO")
    return AlterOwner(kind.lower(), name, parse_role(cursor), if_exists)

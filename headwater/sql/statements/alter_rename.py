"""ALTER kind [IF EXISTS] name RENAME TO name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.sql.cursor import NAME_PARTS_MAX, Cursor, Name, quote_identifier
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

PHRASES = ("ALTER SOURCE|TABLE|VIEW|SECRET|CONNECTION|SCHEMA|CLUSTER|DATABASE [IF EXISTS] <name> RENAME",)


@dataclass(frozen=True, slots=True)
class AlterRename(Statement):
    """Another name for an object of a kind (`table`)."""

    kind: str
    name: Name
    new_name: str
    if_exists: bool = False

    def render(self) -> str:
        condition = "IF EXISTS " if self.if_exists else ""
        return f"ALTER {self.kind.upper()} {condition}{self.name} RENAME TO {quote_identifier(self.new_name)}"


def parse(cursor: Cursor) -> AlterRename:
    """Parse the statement."""
    cursor.expect("ALTER")
    kind = cursor.expect_any(*_PARTS_MAX)
    if_exists = parse_if_exists(cursor)
    name = cursor.name(_PARTS_MAX[kind])
    cursor.expect("RENAME", "TO")
    return AlterRename(kind.lower(), name, cursor.name(parts_max=1).item, if_exists)

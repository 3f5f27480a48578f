"""ALTER kind [IF EXISTS] name RENAME TO name."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor, Name, quote_identifier
from headwater.sql.parts import ALTERED, parse_altered, render_altered
from headwater.sql.statement import Statement

PHRASES = (f"ALTER {'|'.join(ALTERED)} [IF EXISTS] <name> RENAME",)


@dataclass(frozen=True, slots=True)
class AlterRename(Statement):
    """Another name for an object of a kind (`table`)."""

    kind: str
    name: Name
    new_name: str
    if_exists: bool = False

    def render(self) -> str:
        altered = render_altered(self.kind, self.name, self.if_exists)
        return f"{altered} RENAME TO {quote_identifier(self.new_name)}"


def parse(cursor: Cursor) -> AlterRename:
    """Parse the statement."""
    kind, name, if_exists = parse_altered(cursor)
    cursor.expect("RENAME", "TO")
    return AlterRename(kind, name, cursor.name(parts_max=1).item, if_exists)

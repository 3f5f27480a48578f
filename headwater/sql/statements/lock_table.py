"""LOCK [TABLE] name [, ...] [IN ACCESS SHARE MODE]: what pg_dump says before it reads."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.core.errors import not_supported
from headwater.sql.cursor import Cursor, Name
from headwater.sql.statement import Statement

PHRASES = ("LOCK",)


@dataclass(frozen=True, slots=True)
class LockTable(Statement):
    """Keep tables as they are for the block."""

    names: tuple[Name, ...]

    def render(self) -> str:
        return f"LOCK TABLE {', '.join(map(str, self.names))} IN ACCESS SHARE MODE"


def parse(cursor: Cursor) -> LockTable:
    """Parse the statement."""
    position = cursor.error_position()
    cursor.expect("LOCK")
    cursor.accept("TABLE")
    names = [cursor.name()]
    while cursor.accept_symbol(","):
        names.append(cursor.name())
    if not cursor.accept("IN", "ACCESS", "SHARE", "MODE"):
        raise not_supported(
            "LOCK TABLE in another mode than ACCESS SHARE",
            hint="Write LOCK TABLE ... IN ACCESS SHARE MODE; a block reads at one moment in any case.",
            position=position,
        )
    return LockTable(tuple(names))

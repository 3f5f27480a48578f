"""ALTER TABLE [IF EXISTS] name SET (RETAIN HISTORY = FOR i) | RESET (RETAIN HISTORY).

Not here: renaming and swapping, which are the same for all kinds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.sql.cursor import Cursor, Name
from headwater.sql.options import Duration, OptionReader, parse_options, retain_history
from headwater.sql.parts import parse_if_exists
from headwater.sql.statement import Statement

PHRASES = ("ALTER TABLE [IF EXISTS] <name> SET|RESET",)

_OPTIONS: Final[dict[str, OptionReader]] = {"RETAIN HISTORY": retain_history}


@dataclass(frozen=True, slots=True)
class AlterTable(Statement):
    """How long the table's history can be read; None is the default."""

    name: Name
    retain_history: Duration | None = None
    if_exists: bool = False

    def render(self) -> str:
        condition = "IF EXISTS " if self.if_exists else ""
        if self.retain_history is None:
            return f"ALTER TABLE {condition}{self.name} RESET (RETAIN HISTORY)"
        return f"ALTER TABLE {condition}{self.name} SET (RETAIN HISTORY = FOR {self.retain_history})"


def parse(cursor: Cursor) -> AlterTable:
    """Parse the statement."""
    cursor.expect("ALTER", "TABLE")
    if_exists = parse_if_exists(cursor)
    name = cursor.name()
    if cursor.accept("SET"):
        return AlterTable(name, parse_options(cursor, _OPTIONS)["retain_history"], if_exists)
    cursor.expect("RESET")
    cursor.expect_symbol("(")
    cursor.expect("RETAIN", "HISTORY")
    cursor.expect_symbol(")")
    return AlterTable(name, if_exists=if_exists)

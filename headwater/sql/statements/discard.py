"""DISCARD {ALL | PLANS | SEQUENCES | TEMP}."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor
from headwater.sql.statement import Statement

PHRASES = ("DISCARD",)


@dataclass(frozen=True, slots=True)
class Discard(Statement):
    """What the session is to forget: `all`, `plans`, `sequences` or `temp`."""

    what: str = "all"

    def render(self) -> str:
        return f"DISCARD {self.what.upper()}"


def parse(cursor: Cursor) -> Discard:
    """Parse the statement."""
    cursor.expect("DISCARD")
    what = cursor.expect_any("ALL", "PLANS", "SEQUENCES", "TEMP", "TEMPORARY")
    return Discard("temp" if what == "TEMPORARY" else what.lower())

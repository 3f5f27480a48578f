"""ALTER SOURCE .. DROP SUBSOURCE: less of what a legacy source ingests.

ALTER SOURCE [IF EXISTS] name DROP {SUBSOURCE | TABLE} [IF EXISTS] subsource, ... [CASCADE | RESTRICT]
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.sql.cursor import Cursor, Name
from headwater.sql.parts import parse_cascade, parse_if_exists
from headwater.sql.statement import Statement

PHRASES = ("ALTER SOURCE [IF EXISTS] <name> DROP",)


@dataclass(frozen=True, slots=True)
class AlterSourceDrop(Statement):
    """These subsources go; `missing_ok` is the second IF EXISTS."""

    name: Name
    subsources: tuple[Name, ...]
    cascade: bool = False
    if_exists: bool = False
    missing_ok: bool = False

    def render(self) -> str:
        condition = "IF EXISTS " if self.if_exists else ""
        missing = "IF EXISTS " if self.missing_ok else ""
        names = ", ".join(str(name) for name in self.subsources)
        cascade = " CASCADE" if self.cascade else ""
        return f"ALTER SOURCE {condition}{self.name} DROP SUBSOURCE {missing}{names}{cascade}"


def parse(cursor: Cursor) -> AlterSourceDrop:
    """Parse the statement."""
    cursor.expect("ALTER", "SOURCE")
    if_exists = parse_if_exists(cursor)
    name = cursor.name()
    cursor.expect("DROP")
    cursor.expect_any("SUBSOURCE", "TABLE")
    missing_ok = parse_if_exists(cursor)
    subsources = cursor.separated(cursor.name)
    return AlterSourceDrop(name, subsources, parse_cascade(cursor), if_exists, missing_ok)

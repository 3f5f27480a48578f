"""ALTER kind a SWAP WITH b: exchange two names in one step.

A swapped table or view takes the other's place for everyone who looks it up by
name; `b` is in the same schema (or database) as `a` and is given without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.sql.cursor import NAME_PARTS_MAX, Cursor, Name, quote_identifier
from headwater.sql.statement import Statement

_PARTS_MAX: Final = {"TABLE": NAME_PARTS_MAX, "VIEW": NAME_PARTS_MAX, "SCHEMA": 2, "CLUSTER": 1}

PHRASES = ("ALTER SCHEMA|TABLE|VIEW|CLUSTER <name> SWAP",)


@dataclass(frozen=True, slots=True)
class AlterSwap(Statement):
    """Two objects of a kind (`schema`) exchange their names."""

    kind: str
    name: Name
    other: str

    def render(self) -> str:
        return f"ALTER {self.kind.upper()} {self.name} SWAP WITH {quote_identifier(self.other)}"


def parse(cursor: Cursor) -> AlterSwap:
    """Parse the statement."""
    cursor.expect("ALTER")
    kind = cursor.expect_any(*_PARTS_MAX)
    name = cursor.name(_PARTS_MAX[kind])
    cursor.expect("SWAP", "WITH")
    return AlterSwap(kind.lower(), name, cursor.name(parts_max=1).item)

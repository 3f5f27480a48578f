"""SHOW [REDACTED] CREATE kind name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.sql.cursor import Cursor, Name
from headwater.sql.statement import Statement
from headwater.sql.words import tree

PHRASES = ("SHOW CREATE", "SHOW REDACTED CREATE")

_KIND_NAMES: Final = (
    "source",
    "table",
    "view",
    "materialized view",
    "index",
    "sink",
    "connection",
    "cluster",
    "type",
)
_KINDS: Final = tree((kind.upper(), kind) for kind in _KIND_NAMES)


@dataclass(frozen=True, slots=True)
class ShowCreate(Statement):
    """The statement that creates an object of a kind (`table`)."""

    kind: str
    name: Name
    redacted: bool = False

    def render(self) -> str:
        return f"SHOW {'REDACTED ' if self.redacted else ''}CREATE {self.kind.upper()} {self.name}"


def parse(cursor: Cursor) -> ShowCreate:
    """Parse the statement."""
    cursor.expect("SHOW")
    redacted = cursor.accept("REDACTED")
    cursor.expect("CREATE")
    kind = cursor.choose(_KINDS)
    return ShowCreate(kind, cursor.name(1) if kind == "cluster" else cursor.name(), redacted)

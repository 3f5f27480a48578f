"""DROP kind [IF EXISTS] name, ... [CASCADE | RESTRICT].

All kinds of the dialect are read, also those of which there are no objects: then
IF EXISTS has nothing to drop, and that is what the client wants to hear.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.sql.cursor import NAME_PARTS_MAX, Cursor, Name
from headwater.sql.parts import parse_cascade, parse_if_exists
from headwater.sql.statement import Statement
from headwater.sql.words import tree

_PARTS_MAX: Final = {
    "source": NAME_PARTS_MAX,
    "table": NAME_PARTS_MAX,
    "view": NAME_PARTS_MAX,
    "materialized view": NAME_PARTS_MAX,
    "index": NAME_PARTS_MAX,
    "sink": NAME_PARTS_MAX,
    "connection": NAME_PARTS_MAX,
    "secret": NAME_PARTS_MAX,
    "type": NAME_PARTS_MAX,
    "schema": 2,
    "cluster": 1,
    "database": 1,
    "role": 1,
}
_KINDS: Final = tree([*((kind.upper(), kind) for kind in _PARTS_MAX), ("USER", "role")])

PHRASES = (*(f"DROP {kind.upper()}" for kind in _PARTS_MAX), "DROP USER")


@dataclass(frozen=True, slots=True)
class Drop(Statement):
    """Objects of one kind (`materialized view`) to drop together."""

    kind: str
    names: tuple[Name, ...]
    cascade: bool = False
    if_exists: bool = False

    def render(self) -> str:
        condition = "IF EXISTS " if self.if_exists else ""
        names = ", ".join(str(name) for name in self.names)
        # A database is dropped with all that is in it unless somebody says RESTRICT.
        behaviour = "" if self.cascade == (self.kind == "database") else _WORDS[self.cascade]
        return f"DROP {self.kind.upper()} {condition}{names}{behaviour}"


_WORDS: Final = {True: " CASCADE", False: " RESTRICT"}


def parse(cursor: Cursor) -> Drop:
    """Parse the statement."""
    cursor.expect("DROP")
    kind = cursor.choose(_KINDS)
    if_exists = parse_if_exists(cursor)
    names = cursor.separated(lambda: cursor.name(_PARTS_MAX[kind]))
    return Drop(kind, names, parse_cascade(cursor, default=kind == "database"), if_exists)

"""COMMENT ON kind name IS 'text' | NULL; a column is named with its relation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.sql.cursor import NAME_PARTS_MAX, Cursor, Name, quote_string
from headwater.sql.statement import Statement

_PARTS_MAX: Final = {
    "TABLE": NAME_PARTS_MAX,
    "SOURCE": NAME_PARTS_MAX,
    "VIEW": NAME_PARTS_MAX,
    "SECRET": NAME_PARTS_MAX,
    "CONNECTION": NAME_PARTS_MAX,
    "SCHEMA": 2,
    "DATABASE": 1,
    "CLUSTER": 1,
    "ROLE": 1,
    "COLUMN": NAME_PARTS_MAX + 1,
}

PHRASES = ("COMMENT ON " + "|".join(_PARTS_MAX),)


@dataclass(frozen=True, slots=True)
class CommentOn(Statement):
    """The comment of an object, or of its column when `kind` is `column`; None takes it away."""

    kind: str
    name: Name  # of the relation, for a column
    comment: str | None
    column: str | None = None

    def render(self) -> str:
        name = self.name if self.column is None else Name((*self.name.parts, self.column))
        comment = "NULL" if self.comment is None else quote_string(self.comment)
        return f"COMMENT ON {self.kind.upper()} {name} IS {comment}"


def parse(cursor: Cursor) -> CommentOn:
    """Parse the statement."""
    cursor.expect("COMMENT", "ON")
    kind = cursor.expect_any(*_PARTS_MAX)
    name = cursor.name(_PARTS_MAX[kind])
    column: str | None = None
    if kind == "COLUMN":
        if len(name.parts) < 2:
            raise cursor.error("dot")
        name, column = Name(name.parts[:-1], name.position), name.item
    cursor.expect("IS")
    if cursor.accept("NULL"):
        return CommentOn(kind.lower(), name, None, column)
    return CommentOn(kind.lower(), name, cursor.string(), column)

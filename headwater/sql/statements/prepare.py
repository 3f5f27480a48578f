"""PREPARE name [(type, ...)] AS statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.core.types import SqlType
from headwater.sql.cursor import QUERY_WORDS, Cursor, SqlText, quote_identifier
from headwater.sql.statement import Statement
from headwater.sql.type_names import parse_type, render_type

PHRASES = ("PREPARE",)

_PREPARABLE: Final = (*QUERY_WORDS, "INSERT", "UPDATE", "DELETE", "SHOW", "SUBSCRIBE", "EXPLAIN")


@dataclass(frozen=True, slots=True)
class Prepare(Statement):
    """A statement to keep under a name; `text` is how it was written."""

    name: str
    statement: Statement
    text: SqlText
    types: tuple[SqlType, ...] = ()

    def render(self) -> str:
        types = f" ({', '.join(render_type(type_) for type_ in self.types)})" if self.types else ""
        return f"PREPARE {quote_identifier(self.name)}{types} AS {self.text}"


def parse(cursor: Cursor) -> Prepare:
    """Parse the statement."""
    cursor.expect("PREPARE")
    name = cursor.identifier()
    types: tuple[SqlType, ...] = ()
    if cursor.at_symbol("("):
        types = cursor.parenthesized(lambda: parse_type(cursor))
    cursor.expect("AS")
    mark = cursor.mark()
    statement = cursor.nested(*_PREPARABLE)
    return Prepare(name, statement, cursor.text_since(mark), types)

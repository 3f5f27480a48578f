"""CREATE SUBSOURCE: how the catalog keeps what a legacy source made.

    CREATE SUBSOURCE name (column type [NOT NULL], ... [, PRIMARY KEY (..)] [, UNIQUE (..)])
    OF SOURCE source
    WITH (EXTERNAL REFERENCE = reference, TEXT COLUMNS = (..), EXCLUDE COLUMNS = (..), RETAIN HISTORY = FOR i)

    CREATE SUBSOURCE name (column type, ...) WITH (PROGRESS = TRUE)

Users see it in SHOW CREATE SOURCE; when they type it, it is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.core.relation import Column, Relation
from headwater.sql.cursor import Cursor, Name, quote_identifier
from headwater.sql.options import (
    Duration,
    OptionReader,
    boolean,
    clause,
    column_names,
    parse_options,
    render_options,
    retain_history,
)
from headwater.sql.parts import render_key
from headwater.sql.statement import Statement
from headwater.sql.type_names import parse_type, render_type

PHRASES = ("CREATE SUBSOURCE",)

_OPTIONS: Final[dict[str, OptionReader]] = {
    "EXTERNAL REFERENCE": Cursor.name,
    "TEXT COLUMNS": column_names,
    "EXCLUDE COLUMNS": column_names,
    "RETAIN HISTORY": retain_history,
    "PROGRESS": boolean,
}


@dataclass(frozen=True, slots=True)
class CreateSubsource(Statement):
    """A subsource of `source`, or with None the progress relation of one."""

    name: Name
    relation: Relation
    source: Name | None = None
    external_reference: Name | None = None
    text_columns: tuple[str, ...] = ()
    exclude_columns: tuple[str, ...] = ()
    retain_history: Duration | None = None
    progress: bool | None = None

    def render(self) -> str:
        columns = [_render_column(column) for column in self.relation.columns]
        names = self.relation.column_names()
        for number, key in enumerate(self.relation.keys):
            columns.append(render_key([names[place] for place in key], primary=number == 0))
        source = "" if self.source is None else f"\nOF SOURCE {self.source}"
        options = clause("WITH", render_options(self, _OPTIONS))
        return f"CREATE SUBSOURCE {self.name} ({', '.join(columns)}){source}{options};"


def _render_column(column: Column) -> str:
    null = "" if column.nullable else " NOT NULL"
    return f"{quote_identifier(column.name)} {render_type(column.type)}{null}"


def parse(cursor: Cursor) -> CreateSubsource:
    """Parse the statement."""
    cursor.expect("CREATE", "SUBSOURCE")
    name = cursor.name()
    columns: list[Column] = []
    keys: list[tuple[str, ...]] = []
    cursor.expect_symbol("(")
    while not cursor.at_symbol(")"):
        if cursor.accept("PRIMARY", "KEY") or cursor.accept("UNIQUE"):
            keys.append(cursor.parenthesized(cursor.identifier))
        else:
            column = cursor.identifier()
            type_ = parse_type(cursor)
            columns.append(Column(column, type_, nullable=not cursor.accept("NOT", "NULL")))
        if not cursor.accept_symbol(","):
            break
    cursor.expect_symbol(")")
    source = cursor.name() if cursor.accept("OF", "SOURCE") else None
    cursor.expect("WITH")
    options = parse_options(cursor, _OPTIONS)
    return CreateSubsource(name, _relation(cursor, columns, keys), source, **options)


def _relation(cursor: Cursor, columns: list[Column], keys: list[tuple[str, ...]]) -> Relation:
    places = {column.name: place for place, column in enumerate(columns)}
    for key in keys:
        for column in key:
            if column not in places:
                raise cursor.refusal(f'column "{column}" does not exist', "42703")
    return Relation(tuple(columns), tuple(tuple(places[column] for column in key) for key in keys))

"""ALTER TABLE .. ADD COLUMN: a table from a source gets a column that its upstream has.

    ALTER TABLE [IF EXISTS] name ADD [COLUMN] [IF NOT EXISTS] column [FROM UPSTREAM], ...
    [WITH (TEXT COLUMNS = (column, ...))]

The type comes from the upstream.  In further items of the list ADD [COLUMN] may be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.core.errors import not_supported
from headwater.sql.cursor import Cursor, Name, quote_identifier
from headwater.sql.options import OptionReader, clause, column_names, parse_with_options, render_options
from headwater.sql.parts import parse_if_exists, parse_if_not_exists
from headwater.sql.statement import Statement

PHRASES = ("ALTER TABLE [IF EXISTS] <name> ADD",)

_OPTIONS: Final[dict[str, OptionReader]] = {"TEXT COLUMNS": column_names}


@dataclass(frozen=True, slots=True)
class AddedColumn:
    """A column by its name upstream."""

    name: str
    if_not_exists: bool = False

    def __str__(self) -> str:
        condition = "IF NOT EXISTS " if self.if_not_exists else ""
        return f"ADD COLUMN {condition}{quote_identifier(self.name)} FROM UPSTREAM"


@dataclass(frozen=True, slots=True)
class AlterTableAddColumn(Statement):
    """Columns to add together."""

    name: Name
    columns: tuple[AddedColumn, ...]
    text_columns: tuple[str, ...] = ()
    if_exists: bool = False

    def render(self) -> str:
        condition = "IF EXISTS " if self.if_exists else ""
        columns = ", ".join(str(column) for column in self.columns)
        options = clause("WITH", render_options(self, _OPTIONS))
        return f"ALTER TABLE {condition}{self.name} {columns}{options}"


def parse(cursor: Cursor) -> AlterTableAddColumn:
    """Parse the statement."""
    cursor.expect("ALTER", "TABLE")
    if_exists = parse_if_exists(cursor)
    name = cursor.name()
    cursor.expect("ADD")
    columns = cursor.separated(lambda: _column(cursor))
    options = parse_with_options(cursor, _OPTIONS)
    return AlterTableAddColumn(name, columns, if_exists=if_exists, **options)


def _column(cursor: Cursor) -> AddedColumn:
    cursor.accept("ADD")
    cursor.accept("COLUMN")
    if_not_exists = parse_if_not_exists(cursor)
    name = cursor.identifier()
    if not cursor.accept("FROM", "UPSTREAM") and cursor.at_identifier():
        # Only tables that are filled by INSERT could have a column of any type.
        raise not_supported("ALTER TABLE ... ADD COLUMN with a type", position=cursor.error_position())
    return AddedColumn(name, if_not_exists)

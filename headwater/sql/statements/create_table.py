"""CREATE TABLE: a table that is filled by INSERT and COPY.

    CREATE [TEMP] TABLE [IF NOT EXISTS] name (column type [NOT NULL] [DEFAULT expression], ...)
    [WITH (RETAIN HISTORY = FOR i, PARTITION BY = (column, ...))]

Not here: tables fed by a source (create_table_from_source.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headwater.core.errors import UserError, not_supported
from headwater.core.types import SqlType
from headwater.sql.cursor import Cursor, Name, SqlText, quote_identifier
from headwater.sql.options import (
    Duration,
    OptionReader,
    clause,
    column_names,
    parse_with_options,
    render_options,
    retain_history,
)
from headwater.sql.parts import parse_if_not_exists
from headwater.sql.statement import Statement
from headwater.sql.type_names import parse_type, render_type

PHRASES = ("CREATE [TEMP|TEMPORARY] TABLE",)

_OPTIONS: Final[dict[str, OptionReader]] = {
    "RETAIN HISTORY": retain_history,
    "PARTITION BY": column_names,
}
_CONSTRAINT_WORDS: Final = ("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "REFERENCES", "FOREIGN", "COLLATE")
_AFTER_DEFAULT: Final = ("NOT NULL", "NULL", "DEFAULT", *_CONSTRAINT_WORDS)


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """One column."""

    name: str
    type: SqlType
    nullable: bool = True
    default: SqlText | None = None

    def __str__(self) -> str:
        null = "" if self.nullable else " NOT NULL"
        default = "" if self.default is None else f" DEFAULT {self.default}"
        return f"{quote_identifier(self.name)} {render_type(self.type)}{null}{default}"


@dataclass(frozen=True, slots=True)
class CreateTable(Statement):
    """A new table."""

    name: Name
    columns: tuple[ColumnDefinition, ...]
    retain_history: Duration | None = None
    partition_by: tuple[str, ...] = ()
    temporary: bool = False
    if_not_exists: bool = False

    def render(self) -> str:
        temporary = "TEMPORARY " if self.temporary else ""
        condition = "IF NOT EXISTS " if self.if_not_exists else ""
        columns = ", ".join(str(column) for column in self.columns)
        options = clause("WITH", render_options(self, _OPTIONS))
        return f"CREATE {temporary}TABLE {condition}{self.name} ({columns}){options};"


def parse(cursor: Cursor) -> CreateTable:
    """Parse the statement."""
    cursor.expect("CREATE")
    temporary = cursor.accept_any("TEMP", "TEMPORARY") is not None
    cursor.expect("TABLE")
    if_not_exists = parse_if_not_exists(cursor)
    name = cursor.name()
    if cursor.at("AS"):
        raise not_supported("CREATE TABLE AS", position=cursor.error_position())
    cursor.expect_symbol("(")
    columns: tuple[ColumnDefinition, ...] = ()
    if not cursor.at_symbol(")"):
        columns = cursor.separated(lambda: _column(cursor))
    cursor.expect_symbol(")")
    options = parse_with_options(cursor, _OPTIONS)
    return CreateTable(name, columns, temporary=temporary, if_not_exists=if_not_exists, **options)


def _column(cursor: Cursor) -> ColumnDefinition:
    if cursor.peek().keyword in _CONSTRAINT_WORDS:
        raise _constraint_refusal(cursor, "table")
    name = cursor.identifier()
    type_ = parse_type(cursor)
    nullable: bool | None = None
    default: SqlText | None = None
    while not cursor.at_end() and not cursor.at_symbol(",") and not cursor.at_symbol(")"):
        position = cursor.error_position()
        if cursor.accept("NOT", "NULL"):
            nullable = _said_once(nullable, False, name, position)
        elif cursor.accept("NULL"):
            nullable = _said_once(nullable, True, name, position)
        elif cursor.accept("DEFAULT"):
            if default is not None:
                message = f'multiple default values specified for column "{name}"'
                raise UserError(message, "42601", position=position)
            default = cursor.span(*_AFTER_DEFAULT, comma=True)
        elif cursor.peek().keyword in _CONSTRAINT_WORDS:
            raise _constraint_refusal(cursor, "column")
        else:
            raise cursor.error("NOT NULL", "DEFAULT", "comma", "right parenthesis")
    return ColumnDefinition(name, type_, nullable is not False, default)


def _said_once(before: bool | None, nullable: bool, column: str, position: int) -> bool:
    if before is not None and before != nullable:
        message = f'conflicting NULL/NOT NULL declarations for column "{column}"'
        raise UserError(message, "42601", position=position)
    return nullable


def _constraint_refusal(cursor: Cursor, place: str) -> UserError:
    """Why the constraint that begins here cannot be had."""
    position = cursor.error_position()
    mark = cursor.mark()
    if cursor.accept("CONSTRAINT"):
        cursor.identifier()
    if cursor.peek().keyword in ("PRIMARY", "UNIQUE"):
        return UserError(
            "CREATE TABLE with a primary key or unique constraint is not supported",
            "0A000",
            detail="Keys are behind the flag unsafe_enable_table_keys and would not be enforced.",
            position=position,
        )
    cursor.take()
    cursor.span(*_AFTER_DEFAULT, comma=True)
    text = cursor.text_since(mark)
    return not_supported(f"CREATE TABLE with {place} constraint: {text}", position=position)

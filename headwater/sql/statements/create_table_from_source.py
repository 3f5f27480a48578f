"""CREATE TABLE ... FROM SOURCE: a read-only table fed by one reference of a source.

    CREATE TABLE [IF NOT EXISTS] name [(column, ...)]
    FROM SOURCE source [(REFERENCE [=] reference)]
    [FORMAT ..] [INCLUDE ..] [ENVELOPE ..]
    [WITH (TEXT COLUMNS = (..), EXCLUDE COLUMNS = (..), PARTITION BY = (..), RETAIN HISTORY = FOR i,
           ON VALUE ERROR = {FAIL | NULL | COLUMN name})]

A list of columns has names only: which are taken, in this order, where an upstream has many references, or
what they are called where it has one.  IGNORE COLUMNS is another word for
EXCLUDE COLUMNS, and an empty list of columns is the same as none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from headwater.core.errors import UserError
from headwater.sql.cursor import Cursor, Name, quote_identifier
from headwater.sql.encoding import Encoding, parse_encoding
from headwater.sql.options import (
    Duration,
    OptionReader,
    clause,
    column_names,
    exclude_or_ignore,
    parse_options,
    parse_with_options,
    refused,
    render_options,
    retain_history,
)
from headwater.sql.parts import parse_if_not_exists, render_column_list
from headwater.sql.statement import Statement

PHRASES = ("CREATE [TEMP|TEMPORARY] TABLE ... FROM SOURCE",)


_refuse_details = refused("DETAILS option cannot be explicitly set")


@dataclass(frozen=True, slots=True)
class ValueErrorRule:
    """What becomes of a row with a value that cannot be stored."""

    action: str  # FAIL, NULL or COLUMN
    column: str | None = None

    def __str__(self) -> str:
        return self.action if self.column is None else f"{self.action} {quote_identifier(self.column)}"


def _value_error_rule(cursor: Cursor) -> ValueErrorRule:
    if cursor.accept("COLUMN"):
        return ValueErrorRule("COLUMN", cursor.identifier())
    action = cursor.accept_any("FAIL", "NULL")
    if action is None:
        raise cursor.error("FAIL, NULL or COLUMN")
    return ValueErrorRule(action)


_OPTIONS: Final[dict[str, OptionReader]] = {
    "TEXT COLUMNS": column_names,
    "EXCLUDE COLUMNS": column_names,
    "IGNORE COLUMNS": column_names,
    "PARTITION BY": column_names,
    "RETAIN HISTORY": retain_history,
    "ON VALUE ERROR": _value_error_rule,
    "DETAILS": _refuse_details,
}
_RENDERED: Final = ("TEXT COLUMNS", "EXCLUDE COLUMNS", "PARTITION BY", "RETAIN HISTORY", "ON VALUE ERROR")
_CONSTRAINT_WORDS: Final = ("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN")


@dataclass(frozen=True, slots=True)
class CreateTableFromSource(Statement):
    """A new table on a source; the reference has one to three parts, None is the only one."""

    name: Name
    source: Name
    reference: Name | None = None
    columns: tuple[str, ...] = ()
    text_columns: tuple[str, ...] = ()
    exclude_columns: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    retain_history: Duration | None = None
    on_value_error: ValueErrorRule | None = None
    if_not_exists: bool = False
    encoding: Encoding = field(default_factory=Encoding)

    def render(self) -> str:
        condition = "IF NOT EXISTS " if self.if_not_exists else ""
        columns = render_column_list(self.columns)
        reference = "" if self.reference is None else f" (REFERENCE = {self.reference})"
        options = clause("WITH", render_options(self, _RENDERED))
        return (
            f"CREATE TABLE {condition}{self.name}{columns}\nFROM SOURCE {self.source}{reference}"
            f"{self.encoding.render()}{options};"
        )


def parse(cursor: Cursor) -> CreateTableFromSource:
    """Parse the statement."""
    cursor.expect("CREATE")
    if cursor.accept_any("TEMP", "TEMPORARY") is not None:
        raise cursor.refusal("temporary tables FROM SOURCE are not supported", "0A000")
    cursor.expect("TABLE")
    if_not_exists = parse_if_not_exists(cursor)
    name = cursor.name()
    columns = _columns(cursor) if cursor.at_symbol("(") else ()
    cursor.expect("FROM", "SOURCE")
    source = cursor.name()
    reference: Name | None = None
    if cursor.at_symbol("("):
        reference = parse_options(cursor, {"REFERENCE": Cursor.name, "DETAILS": _refuse_details})["reference"]
    encoding = parse_encoding(cursor)
    position = cursor.error_position()
    options = parse_with_options(cursor, _OPTIONS)
    exclude_or_ignore(options, position)
    return CreateTableFromSource(
        name, source, reference, columns, if_not_exists=if_not_exists, encoding=encoding, **options
    )


def _columns(cursor: Cursor) -> tuple[str, ...]:
    """Names only: definitions and constraints come from the upstream."""
    position = cursor.error_position()
    cursor.expect_symbol("(")
    names: list[str] = []
    definition_count = constraint_count = 0
    while not cursor.at_symbol(")"):
        if cursor.peek().keyword in _CONSTRAINT_WORDS:
            constraint_count += 1
            cursor.span(comma=True)
        else:
            name = cursor.identifier()
            if cursor.at_symbol(",") or cursor.at_symbol(")"):
                names.append(name)
            else:
                definition_count += 1
                cursor.span(comma=True, what="comma or right parenthesis")
        if not cursor.accept_symbol(","):
            break
    cursor.expect_symbol(")")
    message = None
    if definition_count and names:
        message = "cannot mix column definitions and column names"
    elif definition_count:
        message = "CREATE TABLE .. FROM SOURCE column definitions cannot be specified directly"
    elif constraint_count:
        message = "CREATE TABLE .. FROM SOURCE constraint definitions cannot be specified directly"
    if message is not None:
        raise UserError(message, "42601", position=position)
    return tuple(names)

"""SUBSCRIBE: the contents of a relation or query, and then its changes for ever.

SUBSCRIBE [TO] {relation | (query)}
[output] [WITH (PROGRESS, SNAPSHOT = false)] [AS OF [AT LEAST] t] [UP TO t] [output]

output: ENVELOPE UPSERT (KEY (column, ...)) | ENVELOPE DEBEZIUM (KEY (column, ...))
      | WITHIN TIMESTAMP ORDER BY expression [ASC | DESC] [NULLS FIRST | LAST], ...
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from headwater.core.errors import UserError
from headwater.sql.cursor import Cursor, Name, SqlText, quote_identifier
from headwater.sql.options import OptionReader, boolean, clause, parse_with_options
from headwater.sql.parts import AsOf, parse_as_of
from headwater.sql.statement import Statement

PHRASES = ("SUBSCRIBE",)

_OPTIONS: Final[dict[str, OptionReader]] = {"PROGRESS": boolean, "SNAPSHOT": boolean}
_CLAUSES: Final = ("UP TO", "ENVELOPE", "WITHIN TIMESTAMP", "WITH", "AS OF")


@dataclass(frozen=True, slots=True)
class KeyEnvelope:
    """ENVELOPE UPSERT or DEBEZIUM: changes of one key become one row."""

    kind: Literal["upsert", "debezium"]
    key: tuple[str, ...]

    def __str__(self) -> str:
        key = ", ".join(quote_identifier(column) for column in self.key)
        return f"ENVELOPE {self.kind.upper()} (KEY ({key}))"


@dataclass(frozen=True, slots=True)
class OrderItem:
    """One item of ORDER BY; `nulls_first` None is the order's own default."""

    expression: SqlText
    descending: bool = False
    nulls_first: bool | None = None

    def __str__(self) -> str:
        nulls = "" if self.nulls_first is None else " NULLS FIRST" if self.nulls_first else " NULLS LAST"
        return f"{self.expression}{' DESC' if self.descending else ''}{nulls}"


@dataclass(frozen=True, slots=True)
class WithinTimestamp:
    """WITHIN TIMESTAMP ORDER BY: rows of one timestamp are sorted."""

    items: tuple[OrderItem, ...]

    def __str__(self) -> str:
        return f"WITHIN TIMESTAMP ORDER BY {', '.join(str(item) for item in self.items)}"


@dataclass(frozen=True, slots=True)
class Subscribe(Statement):
    """A subscription to a relation (a name) or a query (a text)."""

    target: Name | SqlText
    progress: bool = False
    snapshot: bool = True
    as_of: AsOf | None = None
    up_to: SqlText | None = None
    output: KeyEnvelope | WithinTimestamp | None = None

    def render(self) -> str:
        target = f"({self.target})" if isinstance(self.target, SqlText) else str(self.target)
        output = "" if self.output is None else f"\n{self.output}"
        options = ["PROGRESS = TRUE"] * self.progress + ["SNAPSHOT = FALSE"] * (not self.snapshot)
        as_of = "" if self.as_of is None else f"\n{self.as_of}"
        up_to = "" if self.up_to is None else f"\nUP TO {self.up_to}"
        return f"SUBSCRIBE {target}{output}{clause('WITH', ', '.join(options))}{as_of}{up_to}"


def parse(cursor: Cursor) -> Subscribe:
    """Parse the statement."""
    cursor.expect("SUBSCRIBE")
    cursor.accept("TO")
    target: Name | SqlText
    if cursor.accept_symbol("("):
        target = cursor.query()
        cursor.expect_symbol(")")
    else:
        target = cursor.name()
    output = _output(cursor)
    options = parse_with_options(cursor, _OPTIONS)
    as_of = parse_as_of(cursor, *_CLAUSES)
    up_to = cursor.span(*_CLAUSES) if cursor.accept("UP", "TO") else None
    position = cursor.error_position()
    late_output = _output(cursor)
    if output is not None and late_output is not None:
        raise UserError("SUBSCRIBE output specified more than once", "42601", position=position)
    return Subscribe(target, as_of=as_of, up_to=up_to, output=output or late_output, **options)


def _output(cursor: Cursor) -> KeyEnvelope | WithinTimestamp | None:
    if cursor.accept("ENVELOPE"):
        kind = cursor.expect_any("UPSERT", "DEBEZIUM")
        cursor.expect_symbol("(")
        cursor.expect("KEY")
        key = cursor.parenthesized(cursor.identifier)
        cursor.expect_symbol(")")
        return KeyEnvelope("upsert" if kind == "UPSERT" else "debezium", key)
    if cursor.accept("WITHIN"):
        cursor.expect("TIMESTAMP", "ORDER", "BY")
        return WithinTimestamp(cursor.separated(lambda: _order_item(cursor)))
    return None


def _order_item(cursor: Cursor) -> OrderItem:
    expression = cursor.span("ASC", "DESC", "NULLS FIRST", "NULLS LAST", *_CLAUSES, comma=True)
    direction = cursor.accept_any("ASC", "DESC")
    nulls_first: bool | None = None
    if cursor.accept("NULLS"):
        nulls_first = cursor.expect_any("FIRST", "LAST") == "FIRST"
    return OrderItem(expression, direction == "DESC", nulls_first)

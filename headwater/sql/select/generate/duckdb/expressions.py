"""Expressions in DuckDB's SQL.

Every text made here is an atom: a name, a literal, a call, or something in parentheses, so
that forms of the function table may put it anywhere.

Not here: literals (literals.py), nodes (query.py), aggregates (aggregates.py), the forms (functions/).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from headwater.core import pace
from headwater.core.errors import InvariantViolation, UserError, not_supported
from headwater.core.limits import FOLDED_CHARACTERS_MAX, LITERAL_ROWS_MIN
from headwater.core.types import BOOL, SqlType, format_type, in_zone
from headwater.formats.engine_types import duckdb_working
from headwater.formats.text import from_text
from headwater.sql.select.functions import assignment_cast, equality_key, find_cast, sort_key, written
from headwater.sql.select.functions.entry import Form, Function
from headwater.sql.select.functions.forms import DUCKDB, trimmed
from headwater.sql.select.functions.written import simple, untrimmed
from headwater.sql.select.generate.arrays import array_value, gathered
from headwater.sql.select.generate.branches import case
from headwater.sql.select.generate.duckdb.literals import literal, quoted, to_working
from headwater.sql.select.plan.nodes import (
    ArrayOf,
    Call,
    Case,
    Cast,
    ColumnId,
    ColumnRef,
    Constant,
    Expression,
    InList,
    Logical,
    Node,
    Parameter,
    RecordOf,
    SortKey,
    Subquery,
    zoned_types,
)
from headwater.sql.select.plan.walk import constant

_TESTS: Final = {
    "not": "(NOT {0})",
    "is null": "({0} IS NULL)",
    "is not null": "({0} IS NOT NULL)",
    "is true": "({0} IS TRUE)",
    "is false": "({0} IS FALSE)",
}


class Data:
    """Constants that are too many for a text: tables of one or more columns c0, c1, ... in stored form."""

    def __init__(self, tables: dict[str, pa.Table]) -> None:
        self._tables = tables

    def add(self, columns: Sequence[tuple[Iterable[str | None], SqlType]]) -> str:
        """A relation with these values, given in canonical text; its name."""
        pace.stride()
        arrays = [from_text(pa.array(values, pa.string()), type_) for values, type_ in columns]
        name = f"hw_constants{len(self._tables)}"
        self._tables[name] = pa.table(arrays, names=[f"c{place}" for place in range(len(arrays))])
        return name


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What expressions need of the query around them: the time, and the text of a query inside.

    `prefix` begins the names of all columns; no output column has such a name, because DuckDB
    would take it for ours in an ORDER BY.
    """

    mz_now: int | None
    select: Callable[[Node], str]
    prefix: str = "c"
    with_zeros: frozenset[ColumnId] = frozenset()
    data: Data | None = None  # None where nothing may be handed in as data

    def column(self, number: ColumnId) -> str:
        """How a column is called everywhere."""
        return f"{self.prefix}{number}"

    def value(self, number: ColumnId) -> str:
        """A column's value: a numeric that carries its zeros loses them."""
        name = simple(self.column(number))
        return trimmed(DUCKDB, name) if number in self.with_zeros else name

    def kept(self, number: ColumnId, text: str) -> str:
        """An expression as it becomes a column."""
        return untrimmed(text) if number in self.with_zeros else text


def apply(form: Form | None, name: str, texts: tuple[str, ...], types: tuple[SqlType, ...]) -> str:
    """A form with its arguments put in."""
    if form is None:
        raise not_supported(f"{name} in this statement", hint="Call it as a column of a SELECT.")
    if not isinstance(form, str):
        return form(texts, types)
    made = form.format(*texts)
    return written.native(made, *texts) if written.of_the_engine(form) else made


def expression(value: Expression, around: Surroundings) -> str:
    """An expression as an atom."""
    pace.step()
    match value:
        case Constant():
            return written.literal(literal(value.value, value.type), value.value)
        case ColumnRef():
            return around.value(value.id)
        case Call():
            return _call(value, around)
        case Cast():
            source, target = in_zone(value.input.type, value.zone), in_zone(value.type, value.zone)
            (text,) = _operands(value, (value.input,), around)
            return cast(text, source, target, value.implicit)
        case Case():
            return case(DUCKDB, value, lambda part: expression(part, around))
        case Logical():
            texts = [expression(argument, around) for argument in value.arguments]
            if value.operator in ("and", "or"):
                return "(" + f" {value.operator.upper()} ".join(texts) + ")"
            return _TESTS[value.operator].format(texts[0])
        case InList():
            return _in_list(value, around)
        case Subquery():
            return _subquery(value, around)
        case ArrayOf():
            items = ", ".join(expression(item, around) for item in value.elements)
            return array_value(DUCKDB, f"[{items}]", value.elements, value.type)
        case RecordOf():
            return _record(value, around)
        case Parameter():
            raise InvariantViolation(f"parameter ${value.number} was not bound before generation")


def _in_list(value: InList, around: Surroundings) -> str:
    type_ = value.input.type
    key = equality_key(DUCKDB, expression(value.input, around), type_)
    items = [item.value for item in value.items if isinstance(item, Constant) and item.type == type_]
    if around.data is not None and len(value.items) == len(items) >= LITERAL_ROWS_MIN:
        column = equality_key(DUCKDB, to_working("c0", type_), type_)
        return f"({key} IN (SELECT {column} FROM {around.data.add([(items, type_)])}))"
    keys = [equality_key(DUCKDB, expression(item, around), type_) for item in value.items]
    return f"({key} IN ({', '.join(keys)}))"


def _call(value: Call, around: Surroundings) -> str:
    function = value.function
    if function.name == "mz_now":
        if around.mz_now is None:
            raise not_supported("mz_now() without a timestamp")
        return f"CAST({around.mz_now} AS BIGINT)"
    texts = _operands(value, value.arguments, around)
    types = zoned_types(value.arguments, value.zone)
    made = apply(function.duckdb, function.name, texts, types)
    if not function.null_guard:
        return made
    tests = " OR ".join(f"{text} IS NULL" for text in texts)
    return f"(CASE WHEN {tests} THEN CAST(NULL AS {duckdb_working(value.type)}) ELSE {made} END)"


def _operands(value: Call | Cast, operands: Sequence[Expression], around: Surroundings) -> tuple[str, ...]:
    """Their texts, in which a text that becomes an array is no constant unless it is short.

    What is constant DuckDB computes while it plans, when it hears no interrupt, and keeps item by item.  A
    query inside is computed with the rest.
    """
    texts = [expression(operand, around) for operand in operands]
    splits = value.type.element is not None and all(operand.type.element is None for operand in operands)
    if splits and all(map(constant, operands)):
        for place, operand in enumerate(operands):
            if not _short(operand):
                texts[place] = f"(SELECT {texts[place]})"
    return tuple(texts)


def _short(value: Expression) -> bool:
    """Whether a constant is no longer than the statement has it."""
    match value:
        case Constant():
            return len(value.value or "") <= FOLDED_CHARACTERS_MAX
        case Cast():
            return _short(value.input)
    return False


def cast(text: str, source: SqlType, target: SqlType, implicit: bool) -> str:
    """A conversion between working types."""
    if source.kind == "unknown":
        source = SqlType("text")
    if source == target:
        return text
    entry = assignment_cast(source, target) if implicit else find_cast(source, target)
    if entry is None:
        raise UserError(f"cannot cast type {format_type(source)} to {format_type(target)}", "42846")
    return apply(entry.duckdb, "cast", (text,), (source, target))


def _record(value: RecordOf, around: Surroundings) -> str:
    fields = ", ".join(
        f"{quoted(name)}: {expression(field, around)}"
        for (name, _), field in zip(value.type.fields, value.fields, strict=True)
    )
    if not fields:
        raise not_supported("an empty row")
    return "{" + fields + "}"


# Queries inside


def _subquery(value: Subquery, around: Surroundings) -> str:
    inner = around.select(value.root)
    if value.kind == "exists":
        return f"(EXISTS ({inner}))"
    if value.column is None:
        raise InvariantViolation(f"a {value.kind} subquery without a column")
    picked = around.column(value.column)
    if value.kind == "scalar":
        made = f"(SELECT {picked} FROM ({inner}))"
        return trimmed(DUCKDB, made) if value.column in around.with_zeros else made
    if value.kind == "array":
        return f"(SELECT {gathered(DUCKDB, f'list({picked})', value)} FROM ({inner}))"
    return _quantified(value, inner, picked, around)


def _quantified(value: Subquery, inner: str, picked: str, around: Surroundings) -> str:
    """ANY and ALL: by DuckDB's own where the comparison is a plain one, else by counting answers."""
    function, operand = value.comparison, value.operand
    if function is None or operand is None:
        raise InvariantViolation(f"{value.kind} without a comparison")
    left = expression(operand, around)
    types = (operand.type, _compared_type(function, operand.type))
    test = apply(function.duckdb, function.name, (left, picked), types)
    if test == f"({left} {function.name} {picked})" and function.name in ("=", "<>", "<", "<=", ">", ">="):
        return f"({left} {function.name} {value.kind.upper()} (SELECT {picked} FROM ({inner})))"
    rows = f"(SELECT {test} AS t FROM ({inner}))"
    if value.kind == "any":
        answer = "CASE WHEN bool_or(t) THEN TRUE WHEN count(*) > count(t) THEN NULL ELSE FALSE END"
    else:
        answer = "CASE WHEN NOT bool_and(t) THEN FALSE WHEN count(*) > count(t) THEN NULL ELSE TRUE END"
    return f"(SELECT {answer} FROM {rows})"


def _compared_type(function: Function, operand: SqlType) -> SqlType:
    """The type of a query's column: what the entry wants there."""
    wanted = function.arguments[-1]
    return wanted if isinstance(wanted, SqlType) and wanted.kind != operand.kind else operand


def order(keys: tuple[SortKey, ...], around: Surroundings) -> str:
    """ORDER BY with its items, or nothing."""
    if not keys:
        return ""
    items = []
    for key in keys:
        text = sort_key(DUCKDB, expression(key.expression, around), key.expression.type)
        direction = "DESC" if key.descending else "ASC"
        items.append(f"{text} {direction} NULLS {'FIRST' if key.nulls_first else 'LAST'}")
    return "ORDER BY " + ", ".join(items)


def truth(value: Expression) -> bool:
    """Whether a condition is the constant TRUE."""
    return isinstance(value, Constant) and value.type == BOOL and value.value in ("t", "true")

"""Expressions in DuckDB's SQL.

Every text made here is an atom: a name, a literal, a call, or something in parentheses, so
that forms of the function table may put it anywhere.

Not here: literals (duckdb_values.py), nodes (duckdb.py), the forms (functions/).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from headwater.core.errors import InvariantViolation, UserError, not_supported
from headwater.core.types import BOOL, SqlType, format_type
from headwater.sql.select.duckdb_values import literal, quoted
from headwater.sql.select.functions import assignment_cast, equality_key, find_cast, sort_key
from headwater.sql.select.functions.entry import Form, Function
from headwater.sql.select.functions.forms import DUCKDB, duckdb_type, retrimmed, trimmed, untrimmed
from headwater.sql.select.plan import (
    AggregateCall,
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
    WindowCall,
)
from headwater.sql.select.zeros import unconstrained

_ENGINE_CALL: Final = re.compile(r"<<(\w+)\|")
_TESTS: Final = {
    "not": "(NOT {0})",
    "is null": "({0} IS NULL)",
    "is not null": "({0} IS NOT NULL)",
    "is true": "({0} IS TRUE)",
    "is false": "({0} IS FALSE)",
}


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

    def column(self, number: ColumnId) -> str:
        """How a column is called everywhere."""
        return f"{self.prefix}{number}"

    def value(self, number: ColumnId) -> str:
        """A column's value: a numeric that carries its zeros loses them."""
        name = self.column(number)
        return trimmed(DUCKDB, name) if number in self.with_zeros else name

    def kept(self, number: ColumnId, text: str) -> str:
        """An expression as it becomes a column."""
        return untrimmed(DUCKDB, text) if number in self.with_zeros else text


def apply(form: Form | None, name: str, texts: tuple[str, ...], types: tuple[SqlType, ...]) -> str:
    """A form with its arguments put in."""
    if form is None:
        raise not_supported(f"{name} on DuckDB")
    return form.format(*texts) if isinstance(form, str) else form(texts, types)


def expression(value: Expression, around: Surroundings) -> str:
    """An expression as an atom."""
    match value:
        case Constant():
            return literal(value.value, value.type)
        case ColumnRef():
            return around.value(value.id)
        case Call():
            return _call(value, around)
        case Cast():
            return cast(expression(value.input, around), value.input.type, value.type, value.implicit)
        case Case():
            return _case(value, around)
        case Logical():
            texts = [expression(argument, around) for argument in value.arguments]
            if value.operator in ("and", "or"):
                return "(" + f" {value.operator.upper()} ".join(texts) + ")"
            return _TESTS[value.operator].format(texts[0])
        case InList():
            keys = [
                equality_key(DUCKDB, expression(item, around), value.input.type)
                for item in (value.input, *value.items)
            ]
            return f"({keys[0]} IN ({', '.join(keys[1:])}))"
        case Subquery():
            return _subquery(value, around)
        case ArrayOf():
            items = ", ".join(expression(item, around) for item in value.elements)
            return f"CAST([{items}] AS {duckdb_type(value.type)})"
        case RecordOf():
            return _record(value, around)
        case Parameter():
            raise InvariantViolation(f"parameter ${value.number} was not bound before generation")


def _case(value: Case, around: Surroundings) -> str:
    results = [expression(then, around) for then in (*(then for _, then in value.branches), value.otherwise)]
    bare = [untrimmed(DUCKDB, text) for text in results] if unconstrained(value.type) else results
    branches = "".join(
        f" WHEN {expression(when, around)} THEN {text}"
        for (when, _), text in zip(value.branches, bare[:-1], strict=True)
    )
    made = f"(CASE{branches} ELSE {bare[-1]} END)"
    return made if bare == results else trimmed(DUCKDB, made)


def _call(value: Call, around: Surroundings) -> str:
    function = value.function
    if function.name == "mz_now":
        if around.mz_now is None:
            raise not_supported("mz_now() without a timestamp")
        return f"CAST({around.mz_now} AS BIGINT)"
    texts = tuple(expression(argument, around) for argument in value.arguments)
    types = tuple(argument.type for argument in value.arguments)
    made = apply(function.duckdb, function.name, texts, types)
    if not function.null_guard:
        return made
    tests = " OR ".join(f"{text} IS NULL" for text in texts)
    return f"(CASE WHEN {tests} THEN CAST(NULL AS {duckdb_type(value.type)}) ELSE {made} END)"


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
        return f"(SELECT coalesce(list({picked}), CAST([] AS {duckdb_type(value.type)})) FROM ({inner}))"
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


# Sorting, aggregates, windows


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


def aggregate(call: AggregateCall, around: Surroundings, over: str = "") -> str:
    """An aggregate: DISTINCT, ORDER BY, FILTER and OVER go into every engine call of its form.

    Arguments are put in last, so that nothing a user wrote is ever taken for a mark.
    """
    texts = tuple(expression(argument, around) for argument in call.arguments)
    types = tuple(argument.type for argument in call.arguments)
    bare = tuple(untrimmed(DUCKDB, text) for text in texts) if unconstrained(call.type) else texts
    places = tuple(f"\x01{index}\x01" for index in range(len(texts)))
    form = apply(call.function.duckdb, call.function.name, places, types)
    suffix = over
    if call.filter is not None:
        suffix = f" FILTER (WHERE {expression(call.filter, around)}){over}"
    ordering = order(call.order_by, around)
    while (start := _last_call(form)) is not None:
        end = form.index(">>", start.end())
        made = _engine_call(start.group(1), form[start.end() : end], call, bool(ordering), bare != texts)
        form = f"{form[: start.start()]}{made}{form[end + 2 :]}"

    def filled(found: re.Match[str]) -> str:
        mark = found.group()
        return ordering if mark == "\x02" else suffix if mark == "\x03" else bare[int(mark.strip("\x01"))]

    made = re.sub("\x01\\d+\x01|[\x02\x03]", filled, form)
    return made if bare == texts else retrimmed(DUCKDB, made)


def _engine_call(name: str, arguments: str, call: AggregateCall, ordered: bool, with_zeros: bool) -> str:
    """One of the engine's aggregates; \x02 stands for the ORDER BY, \x03 for what is behind it."""
    if name == "count" and not arguments.strip():
        return "count(*)\x03"
    if not arguments.strip():
        return f"{name}()\x03"
    if not call.distinct:
        return f"{name}({arguments} \x02)\x03" if ordered else f"{name}({arguments})\x03"
    if with_zeros and name == "list":
        return f"hw_numeric_once(list({arguments})\x03)"
    if with_zeros:
        return f"{name}(DISTINCT {trimmed(DUCKDB, arguments)})\x03"
    if name == "count" and len(call.arguments) == 1:
        return f"count(DISTINCT {equality_key(DUCKDB, arguments, call.arguments[0].type)})\x03"
    if name != "list":  # what it answers does not depend on any order
        return f"{name}(DISTINCT {arguments})\x03"
    return f"{name}(DISTINCT {arguments} {_distinct_order(arguments, call)})\x03"


def _distinct_order(arguments: str, call: AggregateCall) -> str:
    """The order of a list of distinct values: DuckDB takes it only in terms of what is listed.

    Without an ORDER BY the values come sorted, because PostgreSQL finds them by sorting.
    """
    if not call.order_by:
        plain = len(call.arguments) == 1
        return "ORDER BY " + (sort_key(DUCKDB, arguments, call.arguments[0].type) if plain else arguments)
    items = []
    for key in call.order_by:
        place = call.arguments.index(key.expression)
        listed = f"({arguments})[{place + 1}]" if arguments.startswith("[") else arguments
        text = sort_key(DUCKDB, listed, key.expression.type)
        direction = "DESC" if key.descending else "ASC"
        items.append(f"{text} {direction} NULLS {'FIRST' if key.nulls_first else 'LAST'}")
    return "ORDER BY " + ", ".join(items)


def _last_call(form: str) -> re.Match[str] | None:
    found = None
    for found in _ENGINE_CALL.finditer(form):  # noqa: B007
        pass
    return found


def window(call: WindowCall, around: Surroundings) -> str:
    """A window function with its OVER."""
    parts = []
    if call.partition_by:
        keys = [equality_key(DUCKDB, expression(item, around), item.type) for item in call.partition_by]
        parts.append("PARTITION BY " + ", ".join(keys))
    if call.order_by:
        parts.append(order(call.order_by, around))
    if call.frame is not None:
        bounds = [_bound(word, offset, around) for word, offset in (call.frame.start, call.frame.end)]
        parts.append(f"{call.frame.unit.upper()} BETWEEN {bounds[0]} AND {bounds[1]}")
    return aggregate(call.call, around, over=f" OVER ({' '.join(parts)})")


def _bound(word: str, offset: Expression | None, around: Surroundings) -> str:
    return word.upper() if offset is None else f"{expression(offset, around)} {word.upper()}"


def truth(value: Expression) -> bool:
    """Whether a condition is the constant TRUE."""
    return isinstance(value, Constant) and value.type == BOOL and value.value in ("t", "true")

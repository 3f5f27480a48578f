"""Aggregates and window functions as Spark SQL.

A form marks each engine aggregate in it as `<<name|arguments>>`; here such a segment gets
its DISTINCT, FILTER and OVER.  Arguments, filters and sort keys are computed in a SELECT
below (`Prepared`), so that segments hold plain names: a Python function may then be anywhere
in them, and a constant in GROUP BY is no column's place.

The segment `list` means all values, NULLs too, in the call's order, NULL without any row.

Not here: which aggregates there are (functions/).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from headwater.core.errors import InvariantViolation, not_supported
from headwater.core.types import FLOATS, SIGNED, SqlType, unconstrained
from headwater.sql.select import functions
from headwater.sql.select.functions.forms import SPARK, trimmed
from headwater.sql.select.functions.forms import call as kernel_call
from headwater.sql.select.functions.written import Column, Trimmed, untrimmed
from headwater.sql.select.generate.spark.expressions import (
    Writer,
    direction,
    expression,
    fill,
    ordered_list,
    spark_form,
)
from headwater.sql.select.plan.nodes import (
    AggregateCall,
    Constant,
    Expression,
    SortKey,
    WindowCall,
    WindowFrame,
    zoned_types,
)
from headwater.sql.select.plan.walk import column_ids

_SEGMENT: Final = re.compile(r"<<(\w+)\|((?:(?!<<|>>).)*)>>", re.DOTALL)

# Spark refuses these without an ORDER BY, and refuses a frame for them.
_RANKING: Final = frozenset(
    ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead")
)


@dataclass(slots=True)
class Prepared:
    """The SELECT below: names for what is computed there."""

    writer: Writer
    columns: list[tuple[str, str]] = field(default_factory=list)

    def name(self, plan: Expression) -> str:
        """An atom for the expression: itself when it is one already, or a column of the SELECT below.

        What uses no column stays in its place: some arguments must be constants there.
        """
        text = expression(plan, self.writer)
        return text if isinstance(text, Column) or not column_ids(plan) else self.add(text)

    def bare(self, plan: Expression, always: bool = False) -> str:
        """The same for what a numeric's zeros count of; `always` for a name even for a constant."""
        text = untrimmed(expression(plan, self.writer))
        stays = isinstance(text, Column) or not (always or column_ids(plan))
        return text if stays else self.add(text)

    def add(self, text: str) -> str:
        """The name of a new column."""
        name = self.writer.fresh()
        self.columns.append((name, text))
        return name

    def key(self, text: str) -> str:
        """A name for a key that was made of a name: the same one when it is the name itself."""
        return text if isinstance(text, Column) else self.add(text)

    def sort_key(self, key: SortKey) -> str:
        """What rows are sorted by."""
        return self.key(functions.sort_key(SPARK, self.name(key.expression), key.expression.type))

    def select(self, below: str) -> str:
        """The SELECT around its input; the input itself when there is nothing to compute."""
        if not self.columns:
            return below
        computed = ", ".join(f"{text} AS {name}" for name, text in self.columns)
        return f"SELECT *, {computed} FROM ({below})"


def aggregate(call: AggregateCall, prepared: Prepared, over: str = "") -> str:
    """An aggregate; `over` is the OVER clause of a window."""
    numbers = unconstrained(call.type)
    with_zeros = numbers and any(unconstrained(argument.type) for argument in call.arguments)
    texts = tuple(map(prepared.bare if numbers else prepared.name, call.arguments))
    types = zoned_types(call.arguments, call.zone)
    condition = None if call.filter is None else prepared.name(call.filter)
    where = "" if condition is None else f" FILTER (WHERE {condition})"
    keys = [prepared.sort_key(key) for key in call.order_by]

    def expand(segment: re.Match[str]) -> str:
        name, arguments = segment.groups()
        if name == "list" and call.distinct and with_zeros:
            return kernel_call(SPARK, "hw_numeric_once", f"collect_list({arguments}){where}")
        if name == "list":
            return _list(arguments, call, keys, where, over)
        inner = arguments or ("*" if name == "count" else "")
        if call.distinct and name == "count" and texts == (arguments,) and not with_zeros:
            inner = prepared.key(functions.equality_key(SPARK, texts[0], types[0]))
        if call.distinct and with_zeros and arguments:
            inner = trimmed(SPARK, inner)
        return f"{name}({'DISTINCT ' if call.distinct else ''}{inner}){where}{over}"

    text = fill(spark_form(call.function), texts, types)
    expanded, segments = _SEGMENT.subn(expand, untrimmed(text))
    if not segments:
        raise InvariantViolation(f"the Spark form of {call.function.name} aggregates nothing")
    return trimmed(SPARK, expanded) if numbers or isinstance(text, Trimmed) else expanded


def _list(value: str, call: AggregateCall, keys: list[str], where: str, over: str) -> str:
    gather = f"collect_list({{0}}){where}{over}"
    if call.distinct:
        gather = _once(gather, call)
    if call.order_by:
        rows = ordered_list(value, call.order_by, keys, gather)
    else:
        rows = gather.replace("{0}", f"struct({value} AS v)")
    return f"(CASE WHEN size({rows}) = 0 THEN NULL ELSE transform({rows}, e -> e.v) END)"


def _once(gather: str, call: AggregateCall) -> str:
    """Of values that are equal one, which for some is a matter of their keys."""
    plain = len(call.arguments) == 1
    key = functions.equality_key(SPARK, "d.v", call.arguments[0].type) if plain else "d.v"
    if key == "d.v":
        return f"array_distinct({gather})"
    return f"map_values(map_from_entries(transform({gather}, d -> struct(struct({key}), d))))"


def window(call: WindowCall, prepared: Prepared) -> str:
    """A window function, or an aggregate over a window."""
    partition = ", ".join(
        prepared.key(functions.equality_key(SPARK, prepared.name(part), part.type))
        for part in call.partition_by
    )
    order = ", ".join(f"{prepared.sort_key(key)} {direction(key)}" for key in call.order_by)
    ranking = call.call.function.name in _RANKING
    # Equal rows are one peer group, so the frame is the whole partition as without an order.
    if not order and (ranking or call.call.function.name == "nth_value"):
        order = "TRUE"
    parts = [f"PARTITION BY {partition}" if partition else "", f"ORDER BY {order}" if order else ""]
    if call.frame is not None and not ranking:
        parts.append(_frame(call.frame, call.order_by))
    over = f" OVER ({' '.join(part for part in parts if part)})"
    return aggregate(call.call, prepared, over)


def _frame(frame: WindowFrame, order_by: tuple[SortKey, ...]) -> str:
    if frame.unit == "groups":
        raise not_supported("GROUPS frames on Spark")
    start, end = (_bound(word, offset, frame.unit, order_by) for word, offset in (frame.start, frame.end))
    return f"{frame.unit.upper()} BETWEEN {start} AND {end}"


def _bound(word: str, offset: Expression | None, unit: str, order_by: tuple[SortKey, ...]) -> str:
    if offset is None:
        return word.upper()
    if not isinstance(offset, Constant) or offset.value is None:
        raise not_supported("window frames with an expression on Spark")
    if unit == "range" and not _plain_number(order_by[0].expression.type):
        raise not_supported(f"RANGE frames over {order_by[0].expression.type} on Spark")
    return f"{offset.value} {word.upper()}"


def _plain_number(type_: SqlType) -> bool:
    return type_.kind in (*SIGNED, *FLOATS)

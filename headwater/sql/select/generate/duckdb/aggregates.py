"""Aggregates and window functions in DuckDB's SQL.

A form marks each engine aggregate in it as `<<name|arguments>>`; here such a segment gets its DISTINCT,
ORDER BY, FILTER and OVER.

Not here: the forms (functions/aggregates.py), other expressions (expressions.py).
"""

from __future__ import annotations

import re
from typing import Final

from headwater.core.types import JSONB, TEXT, SqlType, unconstrained
from headwater.sql.select.functions import equality_key, sort_key
from headwater.sql.select.functions.forms import DUCKDB, trimmed
from headwater.sql.select.functions.forms import call as kernel_call
from headwater.sql.select.functions.written import Trimmed, untrimmed
from headwater.sql.select.generate.duckdb.expressions import Surroundings, apply, expression, order
from headwater.sql.select.plan.nodes import AggregateCall, Expression, WindowCall, zoned_types

_ENGINE_CALL: Final = re.compile(r"<<(\w+)\|")


def aggregate(call: AggregateCall, around: Surroundings, over: str = "") -> str:
    """An aggregate: DISTINCT, ORDER BY, FILTER and OVER go into every engine call of its form.

    Arguments are put in last, so that nothing a user wrote is ever taken for a mark.
    """
    texts = tuple(expression(argument, around) for argument in call.arguments)
    types = zoned_types(call.arguments, call.zone)
    bare = tuple(untrimmed(text) for text in texts) if unconstrained(call.type) else texts
    places = tuple(f"\x01{index}\x01" for index in range(len(texts)))
    whole = apply(call.function.duckdb, call.function.name, places, types)
    form = untrimmed(whole)
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
    return trimmed(DUCKDB, made) if bare != texts or isinstance(whole, Trimmed) else made


def _engine_call(name: str, arguments: str, call: AggregateCall, ordered: bool, with_zeros: bool) -> str:
    """One of the engine's aggregates; \x02 stands for the ORDER BY, \x03 for what is behind it."""
    if name == "count" and not arguments.strip():
        return "count(*)\x03"
    if not arguments.strip():
        return f"{name}()\x03"
    if not call.distinct:
        return f"{name}({arguments} \x02)\x03" if ordered else f"{name}({arguments})\x03"
    if with_zeros and name == "list":
        return kernel_call(DUCKDB, "hw_numeric_once", f"list({arguments})\x03")
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
        text = sort_key(DUCKDB, *_listed(arguments, call, call.arguments.index(key.expression)))
        direction = "DESC" if key.descending else "ASC"
        items.append(f"{text} {direction} NULLS {'FIRST' if key.nulls_first else 'LAST'}")
    return "ORDER BY " + ", ".join(items)


def _listed(arguments: str, call: AggregateCall, place: int) -> tuple[str, SqlType]:
    """One argument as part of what is listed: all of it, or of a pair, or of a record of key and value."""
    type_ = call.arguments[place].type
    if len(call.arguments) == 1:
        return arguments, type_
    if call.type.kind == JSONB.kind:
        return f"struct_extract({arguments}, '{'kv'[place]}')", (TEXT, type_)[place]
    return f"({arguments})[{place + 1}]", type_


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

"""Functions that no query names: the passes put them where an answer must not depend on chance.

    spelling     values that are equal need not be the same (0 and -0, '1 month' and '30 days');
                 these tell them apart
    aggregates   whose result does not depend on the order in which rows come

Not here: where they are put (passes/total_order.py).
"""

from __future__ import annotations

from typing import Final

from headwater.core.calendar import HOUR_US, MINUTE_US
from headwater.core.types import BOOL, FLOAT4, FLOAT8, INT4, INT8, TEXT, SqlType
from headwater.sql.select.functions.entry import Form, Function
from headwater.sql.select.functions.forms import (
    DUCKDB,
    SPARK,
    Texts,
    Types,
    both,
    bound,
    call,
    cast_to,
    failure,
    first,
)
from headwater.sql.select.functions.written import untrimmed

# Spelling


def _unsigned_zero(engine: str, texts: Texts, types: Types) -> str:
    return f"(CASE WHEN {texts[0]} = 0 THEN {cast_to(engine, '0', types[0])} ELSE {texts[0]} END)"


NEGATIVE_ZERO: Final = Function(
    "negative_zero", ("any",), BOOL, "({0} = 0 AND signbit({0}))", "(CAST({0} AS STRING) = '-0.0')"
)
"""Of a float: whether it is -0, which is equal to 0."""

UNSIGNED_ZERO: Final = Function("unsigned_zero", ("any",), first, *both(_unsigned_zero))
"""A float, and 0 for -0."""

STORED_TEXT: Final = Function(
    "stored_text", ("any",), TEXT, *both(lambda engine, texts, types: untrimmed(texts[0]))
)
"""A value of a type that both engines keep as text, by that text."""

MONTHS: Final = Function(
    "months",
    ("any",),
    INT8,
    "CAST(datepart('year', {0}) * 12 + datepart('month', {0}) AS BIGINT)",
    "CAST({0}.months AS BIGINT)",
)
DAYS: Final = Function(
    "days", ("any",), INT8, "CAST(datepart('day', {0}) AS BIGINT)", "CAST({0}.days AS BIGINT)"
)
MICROSECONDS: Final = Function(
    "microseconds",
    ("any",),
    INT8,
    f"CAST(datepart('hour', {{0}}) * {HOUR_US} + datepart('minute', {{0}}) * {MINUTE_US}"
    " + datepart('microsecond', {0}) AS BIGINT)",
    "{0}.microseconds",
)
"""The three parts of an interval."""


def parts(engine: str, text: str) -> Texts:
    """An interval as a kernel takes it that must tell a day from 24 hours: to DuckDB they are equal, so of
    two calls that differ in nothing else it makes but one."""
    forms = ((each.spark if engine == SPARK else each.duckdb) for each in (MONTHS, DAYS, MICROSECONDS))
    return tuple(form.format(text) for form in forms if isinstance(form, str))


ANY_FLOAT: Final = Function("any_float", ("any",), first, "<<any_value|{0}>>", "<<first|{0}>>", "aggregate")
"""One of a group's floats, where all are the same; Spark shows 0 for -0 when it groups by it."""


# Aggregates


def _listed(kernel: str, source: SqlType) -> tuple[Form, Form]:
    def make(engine: str, texts: Texts, types: Types) -> str:
        value = texts[0] if source == FLOAT8 else cast_to(engine, texts[0], FLOAT8)
        return call(engine, kernel, f"<<list|{value}>>")

    return both(make)


FLOAT_TOTALS: Final = {
    (name, source.kind): Function(
        name, (source,), FLOAT8, *_listed(f"hw_float8_{name}", source), shape="aggregate"
    )
    for name, source in (("sum", FLOAT8), ("avg", FLOAT8), ("avg", FLOAT4))
}
"""Sums and averages of floats that are rounded once, so that the order of addition does not show."""


def _element(engine: str, values: str, place: str) -> str:
    """The element of a list at a place from 1, or from the end if it is negative; NULL beyond."""
    if engine != SPARK:
        return f"({values})[{place}]"
    body = f"CASE WHEN abs({place}) <= size(r) THEN element_at(r, {place}) END"
    return bound(engine, f"coalesce({values}, array())", body)


def _first_present(engine: str, texts: Texts, types: Types) -> str:
    values = f"<<list|{texts[0]}>>"
    if engine == SPARK:
        return _element(engine, f"filter({values}, v -> v IS NOT NULL)", "1")
    return _element(engine, f"list_filter({values}, lambda v: v IS NOT NULL)", "1")


def _nth(engine: str, texts: Texts, types: Types) -> str:
    place = texts[1]
    if engine == DUCKDB:
        refused = failure(DUCKDB, "argument of nth_value must be greater than zero", "22016")
        place = f"CASE WHEN {place} <= 0 THEN {refused} ELSE {place} END"
    return _element(engine, f"<<list|{texts[0]}>>", place)


FIRST_PRESENT: Final = Function("first_present", ("any",), first, *both(_first_present), shape="aggregate")
"""The first value in the call's order that is not NULL.

DuckDB's own arg_min and any_value of a list or record take 0 for -0.
"""

PLACES: Final = {
    "first_value": Function(
        "first_value", ("any",), first, *both(lambda e, texts, _: _element(e, f"<<list|{texts[0]}>>", "1")),
        shape="aggregate",
    ),
    "last_value": Function(
        "last_value", ("any",), first, *both(lambda e, texts, _: _element(e, f"<<list|{texts[0]}>>", "-1")),
        shape="aggregate",
    ),
    "nth_value": Function("nth_value", ("any", INT4), first, *both(_nth), shape="aggregate"),
}  # fmt: skip
"""The window functions of these names, in the call's order instead of the window's."""

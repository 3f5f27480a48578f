"""Functions and operators over dates, times, timestamps and intervals.

The session's zone is UTC, so what has a zone and what has none are computed alike.  DuckDB
adds intervals as PostgreSQL does; Spark has no such interval and uses kernels.

Not here: now() and its kin, which the binder makes constants; text (casts.py).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from headwater.core.types import (
    BOOL,
    DATE,
    FLOAT8,
    INT4,
    INTERVAL,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    SqlType,
    numeric,
)
from headwater.sql.select.functions.entry import Form, Function
from headwater.sql.select.functions.forms import (
    SPARK,
    Texts,
    Types,
    both,
    bound,
    call,
    cast_to,
    kernel_function,
    native,
    numeric_text,
    operator,
)
from headwater.sql.select.kernels.times import FIELDS

_MOMENTS: Final = (TIMESTAMP, TIMESTAMPTZ)
_DAY_US: Final = 86_400_000_000


# Sums and differences


def _shifted(symbol: str, type_: SqlType) -> Function:
    kernel = f"hw_{type_.kind}_{'add' if symbol == '+' else 'sub'}"
    duckdb = f"({{0}} {symbol} {{1}})"
    if type_ == TIMESTAMPTZ:  # with a zone DuckDB takes days before months; in UTC none is needed
        duckdb = f"CAST((CAST({{0}} AS TIMESTAMP) {symbol} {{1}}) AS TIMESTAMPTZ)"
    return operator(symbol, (type_, INTERVAL), type_, duckdb, call(SPARK, kernel, "{0}", "{1}"))


def _shifted_date(symbol: str) -> Function:
    kernel = f"hw_timestamp_{'add' if symbol == '+' else 'sub'}"
    duckdb = f"(CAST({{0}} AS TIMESTAMP) {symbol} {{1}})"
    spark = call(SPARK, kernel, "CAST({0} AS TIMESTAMP_NTZ)", "{1}")
    return operator(symbol, (DATE, INTERVAL), TIMESTAMP, duckdb, spark)


def _swapped(function: Function) -> Function:
    """interval + x for x + interval."""

    def turn(form: Form | None) -> Form | None:
        return None if form is None or not isinstance(form, str) else form.replace("{0}", "{9}").replace(
            "{1}", "{0}").replace("{9}", "{1}")  # fmt: skip

    left, right = function.arguments
    return Function(
        function.name,
        (right, left),
        function.returns,
        turn(function.duckdb),
        turn(function.spark),
        "operator",
    )


def _apart(engine: str, texts: Texts, types: Types) -> str:
    """The time between two moments, in days and a rest."""
    if engine == SPARK:
        difference = f"timestampdiff(MICROSECOND, {texts[1]}, {texts[0]})"
        parts = (
            f"named_struct('months', 0, 'days', CAST(r div {_DAY_US} AS INT), 'microseconds', r % {_DAY_US})"
        )
        return bound(engine, difference, f"CASE WHEN r IS NOT NULL THEN {parts} END")
    difference = f"(epoch_us({texts[0]}) - epoch_us({texts[1]}))"
    return bound(
        engine, difference, f"to_days(CAST(r // {_DAY_US} AS INTEGER)) + to_microseconds(r % {_DAY_US})"
    )


def _sums() -> list[Function]:
    forward = [*(_shifted("+", type_) for type_ in _MOMENTS), _shifted_date("+")]
    plus_days = operator("+", (DATE, INT4), DATE, "({0} + {1})", "date_add({0}, {1})")
    clock_add = kernel_function("+", (TIME, INTERVAL), TIME, "hw_time_add", shape="operator")
    day_us = "CAST({0} AS TIMESTAMP) + to_microseconds({1})"
    moment = operator(
        "+",
        (DATE, TIME),
        TIMESTAMP,
        f"({day_us})",
        "timestampadd(MICROSECOND, {1}, CAST({0} AS TIMESTAMP_NTZ))",
    )
    entries = [
        *forward,
        plus_days,
        clock_add,
        moment,
        *map(_swapped, (*forward, plus_days, clock_add, moment)),
    ]
    entries += [_shifted("-", type_) for type_ in _MOMENTS]
    entries += [
        _shifted_date("-"),
        operator("-", (DATE, INT4), DATE, "({0} - {1})", "date_sub({0}, {1})"),
        operator("-", (DATE, DATE), INT4, "CAST(({0} - {1}) AS INTEGER)", "datediff({0}, {1})"),
        kernel_function("-", (TIME, INTERVAL), TIME, "hw_time_sub", shape="operator"),
        kernel_function("-", (TIME, TIME), INTERVAL, "hw_time_to_interval", "({0} - {1})", shape="operator"),
        operator(
            "+", (INTERVAL, INTERVAL), INTERVAL, "({0} + {1})", call(SPARK, "hw_interval_add", "{0}", "{1}")
        ),
        operator(
            "-", (INTERVAL, INTERVAL), INTERVAL, "({0} - {1})", call(SPARK, "hw_interval_sub", "{0}", "{1}")
        ),
        kernel_function("-", (INTERVAL,), INTERVAL, "hw_interval_neg", shape="operator"),
        operator("+", (INTERVAL,), INTERVAL, "{0}"),
        kernel_function("*", (INTERVAL, FLOAT8), INTERVAL, "hw_interval_mul", shape="operator"),
        kernel_function("*", (FLOAT8, INTERVAL), INTERVAL, "hw_interval_mul", "{1}", "{0}", shape="operator"),
        kernel_function("/", (INTERVAL, FLOAT8), INTERVAL, "hw_interval_div", shape="operator"),
    ]
    entries += [Function("-", (type_, type_), INTERVAL, *both(_apart), "operator") for type_ in _MOMENTS]
    return entries


# Fields


def _extract(kind: str, scale: int = 6) -> tuple[Form, Form]:
    """Millionths from a kernel, as a numeric with so many of the six digits."""

    def make(engine: str, texts: Texts, types: Types) -> str:
        number = call(engine, f"hw_extract_{kind}", *texts)
        if scale < 6:
            number = f"({number} {'div' if engine == SPARK else '//'} {10 ** (6 - scale)})"
        whole = f"CAST({number} AS DECIMAL(38,0))"
        return f"({whole} * CAST({10.0**-scale:.{scale}f} AS DECIMAL(38,{scale})))" if scale else whole

    return both(make)


def extracting(function: Function, field: str) -> Function:
    """extract() of a field that is known: its number has the digits after the point it can have."""
    kind = function.arguments[1]
    if not isinstance(kind, SqlType):
        return function
    scale = {"second": 6, "milliseconds": 3, "epoch": 0 if kind == DATE else 6}.get(
        FIELDS.get(field.lower(), ""), 0
    )
    duckdb, spark = _extract(kind.kind, scale)
    return replace(function, returns=numeric(scale), duckdb=duckdb, spark=spark)


def _date_part(kind: str) -> tuple[Form, Form]:
    def make(engine: str, texts: Texts, types: Types) -> str:
        value = cast_to(engine, texts[1], TIMESTAMP) if kind == "date" else texts[1]
        return call(engine, f"hw_date_part_{'timestamp' if kind == 'date' else kind}", texts[0], value)

    return both(make)


def _fields() -> list[Function]:
    entries = []
    for type_ in (TIMESTAMP, TIMESTAMPTZ, DATE, TIME, INTERVAL):
        entries += [
            Function("extract", (TEXT, type_), numeric(6), *_extract(type_.kind)),
            Function("date_part", (TEXT, type_), FLOAT8, *_date_part(type_.kind)),
        ]
    for type_ in (TIMESTAMP, TIMESTAMPTZ, INTERVAL):
        entries.append(kernel_function("date_trunc", (TEXT, type_), type_, f"hw_date_trunc_{type_.kind}"))
    for type_ in _MOMENTS:
        entries += [
            kernel_function("date_bin", (INTERVAL, type_, type_), type_, f"hw_date_bin_{type_.kind}"),
            Function("age", (type_, type_), INTERVAL, *both(_age)),
        ]
    entries.append(Function("date_trunc", (TEXT, TIMESTAMPTZ, TEXT), TIMESTAMPTZ, *both(_trunc_in_zone)))
    for type_ in (DATE, *_MOMENTS, INTERVAL):
        entries.append(native("isfinite", (type_,), BOOL, "({0} IS NOT NULL OR NULL)"))
    return entries


def _age(engine: str, texts: Texts, types: Types) -> str:
    return call(engine, "hw_age", *(cast_to(engine, text, TIMESTAMP) for text in texts))


def _trunc_in_zone(engine: str, texts: Texts, types: Types) -> str:
    local = call(engine, "hw_to_zone", texts[2], texts[1])
    return call(engine, "hw_from_zone", texts[2], call(engine, "hw_date_trunc_timestamp", texts[0], local))


def _overlaps(type_: SqlType) -> list[Function]:
    """Spans are given by two moments, or by a moment and a length."""
    kernel, add = f"hw_overlaps_{type_.kind}", f"hw_{type_.kind}_add"

    def by_length(engine: str, texts: Texts, types: Types) -> str:
        ends = [call(engine, add, texts[index], texts[index + 1]) for index in (0, 2)]
        return call(engine, kernel, texts[0], ends[0], texts[2], ends[1])

    return [
        kernel_function("overlaps", (type_,) * 4, BOOL, kernel),
        Function("overlaps", (type_, INTERVAL, type_, INTERVAL), BOOL, *both(by_length)),
    ]


# Making and showing


def _to_char_numeric(engine: str, texts: Texts, types: Types) -> str:
    return call(engine, "hw_to_char_numeric", numeric_text(engine, texts[0], types[0]), texts[1])


def _making() -> list[Function]:
    whole = (INT4,) * 5
    entries = [
        kernel_function("make_date", (INT4,) * 3, DATE, "hw_make_date"),
        kernel_function("make_time", (INT4, INT4, FLOAT8), TIME, "hw_make_time"),
        kernel_function("make_timestamp", (*whole, FLOAT8), TIMESTAMP, "hw_make_timestamp"),
        kernel_function("make_timestamptz", (*whole, FLOAT8), TIMESTAMPTZ, "hw_make_timestamptz"),
        kernel_function("to_timestamp", (FLOAT8,), TIMESTAMPTZ, "hw_to_timestamp"),
        kernel_function("to_timestamp", (TEXT, TEXT), TIMESTAMPTZ, "hw_text_to_moment"),
        kernel_function("to_date", (TEXT, TEXT), DATE, "hw_text_to_day"),
        kernel_function("to_char", (TIMESTAMP, TEXT), TEXT, "hw_to_char_timestamp"),
        kernel_function("to_char", (TIMESTAMPTZ, TEXT), TEXT, "hw_to_char_timestamptz"),
        kernel_function("to_char", (INTERVAL, TEXT), TEXT, "hw_to_char_interval"),
        Function("to_char", ("numeric", TEXT), TEXT, *both(_to_char_numeric)),
        kernel_function("justify_hours", (INTERVAL,), INTERVAL, "hw_justify_hours"),
        kernel_function("justify_days", (INTERVAL,), INTERVAL, "hw_justify_days"),
        kernel_function("justify_interval", (INTERVAL,), INTERVAL, "hw_justify_interval"),
        kernel_function("timezone", (TEXT, TIMESTAMPTZ), TIMESTAMP, "hw_to_zone"),
        kernel_function("timezone", (TEXT, TIMESTAMP), TIMESTAMPTZ, "hw_from_zone"),
    ]
    # make_interval's arguments all have defaults: years, months, weeks, days, hours, mins, secs.
    for count in range(7):
        places = [f"{{{i}}}" if i < count else "0" for i in range(7)]
        entries.append(
            kernel_function("make_interval", (INT4,) * min(count, 6), INTERVAL, "hw_make_interval", *places)
        )
    entries.append(kernel_function("make_interval", (*(INT4,) * 6, FLOAT8), INTERVAL, "hw_make_interval"))
    return entries


FUNCTIONS: Final[tuple[Function, ...]] = (
    *_sums(),
    *_fields(),
    *_overlaps(TIMESTAMP),
    *_overlaps(TIMESTAMPTZ),
    *_making(),
)

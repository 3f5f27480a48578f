"""Functions and operators over dates, times, timestamps and intervals.

In UTC what has a zone and what has none are computed alike; for sessions elsewhere there are kernels that
are told the zone.  DuckDB adds intervals as PostgreSQL does; Spark has no such interval and uses kernels.

Not here: now() and its kin, which the binder makes constants; text (casts.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Final

from headwater.core.calendar import DAY_US
from headwater.core.errors import InvariantViolation
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
from headwater.sql.select.functions.exact import parts
from headwater.sql.select.functions.forms import (
    DUCKDB,
    SPARK,
    Texts,
    Types,
    both,
    bound,
    bound_pair,
    call,
    cast_to,
    day_cast,
    failure,
    in_zones,
    infinite,
    infinities,
    kernel_function,
    native,
    numeric_text,
    operator,
    quoted,
    zone_of,
)
from headwater.sql.select.kernels.fields import FIELDS

_MOMENTS: Final = (TIMESTAMP, TIMESTAMPTZ)


# Sums and differences


def _shifted(symbol: str, type_: SqlType) -> Function:
    kernel = f"hw_{type_.kind}_{'add' if symbol == '+' else 'sub'}"
    duckdb = f"({{0}} {symbol} {{1}})"
    if type_ == TIMESTAMPTZ:  # with a zone DuckDB takes days before months; in UTC none is needed
        duckdb = f"CAST((CAST({{0}} AS TIMESTAMP) {symbol} {{1}}) AS TIMESTAMPTZ)"
    made = operator(symbol, (type_, INTERVAL), type_, duckdb, call(SPARK, kernel, "{0}", "{1}"))
    if type_ == TIMESTAMP:
        return made
    return _in_zones(made, f"{kernel}_in_zone", lambda engine, texts: (texts[0], *parts(engine, texts[1])))


def _in_zones(
    function: Function,
    kernel: str,
    given: Callable[[str, Texts], Texts] = lambda engine, texts: texts,
) -> Function:
    """The function with a kernel for zones other than UTC, which takes the zone last."""
    if function.duckdb is None or function.spark is None:
        raise InvariantViolation(f"{function.name} has no form for one of the engines")
    forms = in_zones(
        (function.duckdb, function.spark),
        lambda engine, texts, zone: call(engine, kernel, *given(engine, texts), zone),
    )
    return replace(function, duckdb=forms[0], spark=forms[1], zoned=True)


def _shifted_date(symbol: str) -> Function:
    kernel = f"hw_timestamp_{'add' if symbol == '+' else 'sub'}"
    duckdb = f"(CAST({{0}} AS TIMESTAMP) {symbol} {{1}})"
    spark = call(SPARK, kernel, day_cast(SPARK, "{0}", DATE, TIMESTAMP), "{1}")
    return operator(symbol, (DATE, INTERVAL), TIMESTAMP, duckdb, spark)


def _swapped(function: Function) -> Function:
    """interval + x for x + interval."""

    def turn(form: Form | None) -> Form | None:
        if form is None:
            return None
        if isinstance(form, str):
            return form.replace("{0}", "{9}").replace("{1}", "{0}").replace("{9}", "{1}")
        return lambda texts, types: form(texts[::-1], types[::-1])

    return replace(
        function, arguments=function.arguments[::-1], duckdb=turn(function.duckdb), spark=turn(function.spark)
    )


def _apart(engine: str, texts: Texts, types: Types) -> str:
    """The time between two moments, in days and a rest."""

    def make(left: str, right: str) -> str:
        if engine == SPARK:
            parts = (
                f"named_struct('months', 0, 'days', CAST(r div {DAY_US} AS INT),"
                f" 'microseconds', r % {DAY_US})"
            )
            difference = f"timestampdiff(MICROSECOND, {right}, {left})"
            return bound(engine, difference, f"CASE WHEN r IS NOT NULL THEN {parts} END")
        parts = f"to_days(CAST(r // {DAY_US} AS INTEGER)) + to_microseconds(r % {DAY_US})"
        return bound(engine, f"(epoch_us({left}) - epoch_us({right}))", parts)

    return _finite_apart(engine, texts, types[0], make)


def _days_apart(engine: str, texts: Texts, types: Types) -> str:
    def make(left: str, right: str) -> str:
        return f"datediff({left}, {right})" if engine == SPARK else f"CAST(({left} - {right}) AS INTEGER)"

    return _finite_apart(engine, texts, DATE, make)


def _finite_apart(engine: str, texts: Texts, type_: SqlType, make: Callable[[str, str], str]) -> str:
    """A difference of two values, unless one of them is infinite."""
    word = "dates" if type_ == DATE else "timestamps"
    error = failure(engine, f"cannot subtract infinite {word}", "22008")

    def checked(left: str, right: str) -> str:
        beyond = " OR ".join(infinite(engine, side, type_) for side in (left, right))
        return f"CASE WHEN {beyond} THEN {error} ELSE {make(left, right)} END"

    return f"({bound_pair(engine, texts[0], texts[1], checked)})"


def _day_sum(symbol: str, other: SqlType, returns: SqlType, duckdb: str, spark: str) -> list[Function]:
    """A date and something more, and for a sum the reverse; Spark's own know no infinite dates."""
    low, high = infinities(SPARK, DATE)
    made_low, made_high = infinities(SPARK, returns)

    def checked(day: str, more: str) -> str:
        cases = f"WHEN {day} = {low} THEN {made_low} WHEN {day} = {high} THEN {made_high}"
        return f"(CASE WHEN {more} IS NULL THEN NULL {cases} ELSE {spark.format(day, more)} END)"

    def make(day: int) -> tuple[Form, Form]:
        return (
            lambda texts, types: duckdb.format(texts[day], texts[1 - day]),
            lambda texts, types: bound_pair(SPARK, texts[day], texts[1 - day], checked),
        )

    entries = [Function(symbol, (DATE, other), returns, *make(0), "operator")]
    if symbol == "+":
        entries.append(Function(symbol, (other, DATE), returns, *make(1), "operator"))
    return entries


def _sums() -> list[Function]:
    forward = [*(_shifted("+", type_) for type_ in _MOMENTS), _shifted_date("+")]
    clock_add = kernel_function("+", (TIME, INTERVAL), TIME, "hw_time_add", shape="operator")
    moment = "timestampadd(MICROSECOND, {1}, CAST({0} AS TIMESTAMP_NTZ))"
    entries = [
        *forward,
        clock_add,
        *map(_swapped, (*forward, clock_add)),
        *_day_sum("+", INT4, DATE, "({0} + {1})", "date_add({0}, {1})"),
        *_day_sum("-", INT4, DATE, "({0} - {1})", "date_sub({0}, {1})"),
        *_day_sum("+", TIME, TIMESTAMP, "(CAST({0} AS TIMESTAMP) + to_microseconds({1}))", moment),
    ]
    entries += [_shifted("-", type_) for type_ in _MOMENTS]
    entries += [
        _shifted_date("-"),
        Function("-", (DATE, DATE), INT4, *both(_days_apart), "operator"),
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
        if zone := zone_of(types):
            number = call(engine, "hw_extract_in_zone", *texts, quoted(zone, engine))
        if scale < 6:
            number = f"({number} {'div' if engine == SPARK else '//'} {10 ** (6 - scale)})"
        whole = f"CAST({number} AS DECIMAL(38,0))"
        return f"({whole} * CAST({10.0**-scale:.{scale}f} AS DECIMAL(38,{scale})))" if scale else whole

    return both(make)


@lru_cache(maxsize=256)  # the same call is the same function: GROUP BY compares them
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
        if zone := zone_of(types):
            return call(engine, "hw_date_part_in_zone", *texts, quoted(zone, engine))
        value = day_cast(engine, texts[1], DATE, TIMESTAMP) if kind == "date" else texts[1]
        return call(engine, f"hw_date_part_{'timestamp' if kind == 'date' else kind}", texts[0], value)

    return both(make)


def _fields() -> list[Function]:
    entries = []
    for type_ in (TIMESTAMP, TIMESTAMPTZ, DATE, TIME, INTERVAL):
        entries += [
            Function("extract", (TEXT, type_), numeric(6), *_extract(type_.kind), zoned=True),
            Function("date_part", (TEXT, type_), FLOAT8, *_date_part(type_.kind), zoned=True),
        ]
    for type_ in (TIMESTAMP, TIMESTAMPTZ, INTERVAL):
        made = kernel_function("date_trunc", (TEXT, type_), type_, f"hw_date_trunc_{type_.kind}")
        entries.append(_in_zones(made, "hw_date_trunc_in_zone") if type_ == TIMESTAMPTZ else made)
    for type_ in _MOMENTS:
        entries += [
            kernel_function("date_bin", (INTERVAL, type_, type_), type_, f"hw_date_bin_{type_.kind}"),
            Function("age", (type_, type_), INTERVAL, *both(_age), zoned=True),
        ]
    entries.append(
        kernel_function("date_trunc", (TEXT, TIMESTAMPTZ, TEXT), TIMESTAMPTZ, "hw_date_trunc_at_zone")
    )
    for type_ in (DATE, *_MOMENTS):
        forms = [f"(NOT {infinite(engine, '{0}', type_)})" for engine in (DUCKDB, SPARK)]
        entries.append(native("isfinite", (type_,), BOOL, forms[0], forms[1]))
    entries.append(native("isfinite", (INTERVAL,), BOOL, "({0} IS NOT NULL OR NULL)"))
    return entries


def _age(engine: str, texts: Texts, types: Types) -> str:
    if zone := zone_of(types):
        return call(
            engine, "hw_age", *(call(engine, "hw_clock", text, quoted(zone, engine)) for text in texts)
        )
    return call(engine, "hw_age", *(cast_to(engine, text, TIMESTAMP) for text in texts))


def _overlaps(type_: SqlType) -> list[Function]:
    """Spans are given by two moments, or by a moment and a length."""
    kernel, add = f"hw_overlaps_{type_.kind}", f"hw_{type_.kind}_add"

    def by_length(engine: str, texts: Texts, types: Types) -> str:
        ends = [call(engine, add, texts[index], texts[index + 1]) for index in (0, 2)]
        if zone := zone_of(types):
            ends = [
                call(engine, f"{add}_in_zone", texts[i], *parts(engine, texts[i + 1]), quoted(zone, engine))
                for i in (0, 2)
            ]
        return call(engine, kernel, texts[0], ends[0], texts[2], ends[1])

    return [
        kernel_function("overlaps", (type_,) * 4, BOOL, kernel),
        Function("overlaps", (type_, INTERVAL, type_, INTERVAL), BOOL, *both(by_length), zoned=True),
    ]


# Making and showing


def _to_char_numeric(engine: str, texts: Texts, types: Types) -> str:
    return call(engine, "hw_to_char_numeric", numeric_text(engine, texts[0], types[0]), texts[1])


def _of_clock(engine: str, clock: str, zone: str) -> str:
    return call(engine, "hw_of_clock", clock, zone)


def _moments_by_clocks() -> list[Function]:
    """Moments of what the session's clocks show; in another zone than UTC it is the last argument."""
    given = ((INT4,) * 5) + (FLOAT8,)

    def made(engine: str, texts: Texts, types: Types) -> str:
        return _of_clock(engine, call(engine, "hw_make_timestamp", *texts[:-1]), texts[-1])

    def read(engine: str, texts: Texts, types: Types) -> str:
        clock = cast_to(engine, call(engine, "hw_text_to_moment", *texts[:-1]), TIMESTAMP)
        return _of_clock(engine, clock, texts[-1])

    entries = []
    for name, arguments, kernel, form in (
        ("make_timestamptz", given, "hw_make_timestamptz", made),
        ("to_timestamp", (TEXT, TEXT), "hw_text_to_moment", read),
    ):
        zoned = Function(name, (*arguments, TEXT), TIMESTAMPTZ, *both(form))
        entries.append(replace(kernel_function(name, arguments, TIMESTAMPTZ, kernel), zoned=zoned))
    return entries


def _made_in_zone(engine: str, texts: Texts, types: Types) -> str:
    zone = call(engine, "hw_zone_as_written", texts[-1])
    return call(engine, "hw_from_zone", zone, call(engine, "hw_make_timestamp", *texts[:-1]))


def _making() -> list[Function]:
    whole = (INT4,) * 5
    entries = [
        kernel_function("make_date", (INT4,) * 3, DATE, "hw_make_date"),
        kernel_function("make_time", (INT4, INT4, FLOAT8), TIME, "hw_make_time"),
        kernel_function("make_timestamp", (*whole, FLOAT8), TIMESTAMP, "hw_make_timestamp"),
        *_moments_by_clocks(),
        kernel_function("to_timestamp", (FLOAT8,), TIMESTAMPTZ, "hw_to_timestamp"),
        kernel_function("to_date", (TEXT, TEXT), DATE, "hw_text_to_day"),
        kernel_function("to_char", (TIMESTAMP, TEXT), TEXT, "hw_to_char_timestamp"),
        _in_zones(
            kernel_function("to_char", (TIMESTAMPTZ, TEXT), TEXT, "hw_to_char_timestamptz"),
            "hw_to_char_in_zone",
        ),
        kernel_function("to_char", (INTERVAL, TEXT), TEXT, "hw_to_char_interval"),
        Function("to_char", ("numeric", TEXT), TEXT, *both(_to_char_numeric)),
        kernel_function("justify_hours", (INTERVAL,), INTERVAL, "hw_justify_hours"),
        kernel_function("justify_days", (INTERVAL,), INTERVAL, "hw_justify_days"),
        kernel_function("justify_interval", (INTERVAL,), INTERVAL, "hw_justify_interval"),
        kernel_function("timezone", (TEXT, TIMESTAMPTZ), TIMESTAMP, "hw_to_zone"),
        kernel_function("timezone", (TEXT, TIMESTAMP), TIMESTAMPTZ, "hw_from_zone"),
        kernel_function("timezone", (INTERVAL, TIMESTAMPTZ), TIMESTAMP, "hw_to_offset"),
        kernel_function("timezone", (INTERVAL, TIMESTAMP), TIMESTAMPTZ, "hw_from_offset"),
        Function("make_timestamptz", (*whole, FLOAT8, TEXT), TIMESTAMPTZ, *both(_made_in_zone)),
    ]
    # make_interval's arguments all have defaults: years, months, weeks, days, hours, mins, secs.
    for count in range(7):
        places = [f"{{{i}}}" if i < count else "0" for i in range(7)]
        entries.append(
            kernel_function("make_interval", (INT4,) * min(count, 6), INTERVAL, "hw_make_interval", *places)
        )
    entries.append(kernel_function("make_interval", (*(INT4,) * 6, FLOAT8), INTERVAL, "hw_make_interval"))
    return entries


INTERVAL_FIT: Final = kernel_function("interval", (INTERVAL, TEXT, INT4), INTERVAL, "hw_interval_fit")
"""A cast to an interval of some fields, or of some digits after the point; no query names it."""

FUNCTIONS: Final[tuple[Function, ...]] = (
    *_sums(),
    *_fields(),
    *_overlaps(TIMESTAMP),
    *_overlaps(TIMESTAMPTZ),
    *_making(),
)

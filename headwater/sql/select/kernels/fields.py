"""Kernels that are given the name of a field: date_trunc, extract and date_part, of moments and intervals.

Timestamps with and without a zone share everything but their type, because the clocks that count here are
those of UTC; others are in zones.py.  Infinite ones stay what they are wherever PostgreSQL leaves them so.
Rows with the same name, which are mostly all of them, are computed together.

Not here: the calendar (core/calendar.py), sums of moments (times.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from headwater.core.calendar import (
    DAY_INFINITE,
    DAY_MIN,
    DAY_S,
    DAY_US,
    DAYS_PER_MONTH,
    HOUR_US,
    MINUTE_US,
    MOMENT_INFINITE,
    MONTHS_PER_YEAR,
    SECOND_US,
    YEAR_S,
    century,
    date_of,
    day_of_year,
    days_of,
    iso_week,
    iso_weekday,
    monday_of,
    shown_year,
    weekday,
)
from headwater.core.errors import UserError, not_supported
from headwater.sql.select.kernels.columns import (
    Floats,
    Numbers,
    Parts,
    array_of,
    interval_out_of_range,
    intervals_of,
    missing_in,
    numbers_of,
    parts_of,
    rows_by_name,
)
from headwater.sql.select.kernels.kernel import Kernel, Mask

Look: TypeAlias = "Callable[[Numbers, str], Numbers]"  # a field of moments

_NAMES: Final = {
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
    "date": "date",
    "time": "time without time zone",
    "interval": "interval",
}

FIELDS: Final[dict[str, str]] = {
    alias: field
    for field, aliases in {
        "microseconds": "us usec usecs usecond useconds microsecon microsecond microseconds",
        "milliseconds": "ms msec msecs msecond mseconds millisecon millisecond milliseconds",
        "second": "s sec secs second seconds",
        "minute": "m min mins minute minutes",
        "hour": "h hr hrs hour hours",
        "day": "d day days",
        "week": "w week weeks",
        "month": "mon mons month months",
        "quarter": "qtr quarter",
        "year": "y yr yrs year years",
        "decade": "dec decs decade decades",
        "century": "c cent century centuries",
        "millennium": "mil mils millennium millennia",
        "epoch": "epoch",
        "dow": "dow",
        "doy": "doy",
        "isodow": "isodow",
        "isoyear": "isoyear",
        "julian": "j jd julian",
        "timezone": "timezone",
        "timezone_hour": "timezone_h timezone_hour",
        "timezone_minute": "timezone_m timezone_minute",
    }.items()
    for alias in aliases.split()
}


def _unknown_field(name: str, kind: str) -> UserError:
    return UserError(f'unit "{name.lower()}" not recognized for type {_NAMES[kind]}', "22023")


def _unsupported_field(name: str, kind: str) -> UserError:
    return UserError(f'unit "{name.lower()}" not supported for type {_NAMES[kind]}', "0A000")


# Fields


_LENGTHS_US: Final = {"microseconds": 1, "milliseconds": 1_000, "second": SECOND_US, "minute": MINUTE_US,
    "hour": HOUR_US, "day": DAY_US}  # fmt: skip


def truncated(moments: Numbers, field: str) -> Numbers:
    """The start of the field that a moment lies in; an infinite one's is itself."""
    infinite = np.abs(moments) == MOMENT_INFINITE
    if infinite.any():
        return np.where(infinite, moments, truncated(np.where(infinite, 0, moments), field))
    if field in _LENGTHS_US:
        return moments // _LENGTHS_US[field] * _LENGTHS_US[field]
    days = moments // DAY_US
    if field == "week":
        return monday_of(days) * DAY_US
    year, month, _ = date_of(days)
    match field:
        case "month":
            return days_of(year, month, 1) * DAY_US
        case "quarter":
            return days_of(year, (month - 1) // 3 * 3 + 1, 1) * DAY_US
        case "decade":
            year = year // 10 * 10
        case "century" | "millennium":
            size = 100 if field == "century" else 1000
            year = (year - 1) // size * size + 1
    return days_of(year, 1, 1) * DAY_US


_SPANS: Final = ("week", "month", "quarter", "year", "decade", "century", "millennium")
_TRUNCATED: Final = frozenset({"microseconds", "milliseconds", "second", "minute", "hour", "day", *_SPANS})


def extracted(moments: Numbers, field: str) -> Numbers:
    """A field's value in millionths."""
    days, clock = moments // DAY_US, moments % DAY_US
    match field:
        case "epoch":
            return moments
        case "microseconds":
            return clock % MINUTE_US * 1_000_000
        case "milliseconds":
            return clock % MINUTE_US * 1_000
        case "second":
            return clock % MINUTE_US
        case "timezone" | "timezone_hour" | "timezone_minute":
            return np.zeros_like(moments)
    whole = _extracted_whole(days, clock, field)
    return whole * 1_000_000


def _extracted_whole(days: Numbers, clock: Numbers, field: str) -> Numbers:
    match field:
        case "minute":
            return clock // MINUTE_US % 60
        case "hour":
            return clock // HOUR_US
        case "dow":
            return weekday(days)
        case "isodow":
            return iso_weekday(days)
        case "julian":  # of dates only: a moment's has a fraction
            return days - DAY_MIN
        case "week":
            return iso_week(days)[1]
        case "isoyear":
            return shown_year(iso_week(days)[0])
    year, month, day = date_of(days)
    match field:
        case "day":
            return day
        case "month":
            return month
        case "quarter":
            return (month - 1) // 3 + 1
        case "year":
            return shown_year(year)
        case "doy":
            return day_of_year(days)
        case "decade":
            return year // 10
        case "century":
            return century(year, 100)
    return century(year, 1000)


# Kernels over a field's name


def _field(name: str, kind: str, allowed: frozenset[str]) -> str:
    """The field of that name, one that this kind of value has."""
    field = FIELDS.get(name.lower())
    # To date_trunc, which cannot take the epoch, other fields than zones are unknown.
    if field is None or (field not in allowed and "epoch" not in allowed and field not in _ZONES):
        raise _unknown_field(name, kind)
    if field not in allowed:
        raise _unsupported_field(name, kind)
    return field


def _by_field(
    names: pa.Array, numbers: Numbers, missing: Mask, kind: str, allowed: frozenset[str], function: Look
) -> Numbers:
    """`function` for every distinct field name over its rows."""
    result = np.zeros(len(numbers), np.int64)
    for name, rows in rows_by_name(names, missing):
        result[rows] = function(numbers[rows], _field(name, kind, allowed))
    return result


def fields_truncated(kind: str, names: pa.Array, values: pa.Array, cut: Look = truncated) -> pa.Array:
    """The start of the field that each moment lies in."""
    missing = missing_in(names, values)
    return array_of(_by_field(names, numbers_of(values), missing, kind, _TRUNCATED, cut), kind, missing)


_EXTRACTED: Final = _TRUNCATED | {"epoch", "dow", "doy", "isodow", "isoyear"}
_ZONES: Final = frozenset({"timezone", "timezone_hour", "timezone_minute"})
_CLOCK: Final = frozenset({"microseconds", "milliseconds", "second", "minute", "hour", "epoch"})
_EXTRACTED_OF: Final[dict[str, frozenset[str]]] = {
    "timestamp": _EXTRACTED,
    "timestamptz": _EXTRACTED | _ZONES,
    "date": (_EXTRACTED - _CLOCK) | {"epoch", "julian"},
    "time": _CLOCK,
}


_ENDLESS: Final = frozenset({"epoch", "year", "isoyear", "decade", "century", "millennium", "julian"})
"""Fields that are infinite for an infinite moment; the others turn in circles, and have no value there."""


def infinite(kind: str, values: Numbers) -> Mask:
    """Which values are infinite; a time of day never is."""
    if kind == "time":
        return np.zeros(len(values), np.bool_)
    return np.asarray(np.abs(values) == (DAY_INFINITE if kind == "date" else MOMENT_INFINITE))


def _of_days(days: Numbers, field: str) -> Numbers:
    """The same of dates, most of which are too far away for a moment."""
    if field != "epoch":
        return _extracted_whole(days, np.zeros_like(days), field) * 1_000_000
    if (np.abs(days) > MOMENT_INFINITE // DAY_US).any():
        raise not_supported("extract of epoch from a date beyond all timestamps")
    return days * DAY_US


def _extracted_of(kind: str, look: Look) -> Look:
    """The field in millionths; a time of day is one of 1970-01-01."""
    if kind == "date":
        look = _of_days

    def scaled(numbers: Numbers, field: str) -> Numbers:
        if kind == "time" and field == "hour":  # 24:00:00 is allowed
            return numbers // HOUR_US * SECOND_US
        endless = infinite(kind, numbers)
        if not endless.any():
            return look(numbers, field)
        if field in _ENDLESS:
            raise not_supported(f"extract of {field} from an infinite {_NAMES[kind]}", hint=_NO_NUMBER)
        return look(np.where(endless, 0, numbers), field)

    return scaled


def fields_extracted(kind: str, names: pa.Array, values: pa.Array, look: Look = extracted) -> pa.Array:
    """A field of each value as a number of millionths."""
    numbers, missing = numbers_of(values), missing_in(names, values)
    made = _by_field(names, numbers, missing, kind, _EXTRACTED_OF[kind], _extracted_of(kind, look))
    return array_of(made, "int8", missing | infinite(kind, numbers))


_NO_NUMBER: Final = "Use date_part, whose answer can be infinite, or ask isfinite first."


def _as_floats(millionths: Numbers, field: str) -> Floats:
    """date_part's floats, added up from whole seconds and a fraction as PostgreSQL does."""
    size, sign = np.abs(millionths), np.where(millionths < 0, -1.0, 1.0)
    match field:
        case "second":
            return sign * (size // SECOND_US + size % SECOND_US / 1_000_000.0)
        case "milliseconds":
            seconds, rest = np.divmod(size // 1_000, 1_000_000)
            return sign * (seconds * 1000.0 + rest / 1000.0)
    return millionths / 1_000_000.0


def parts_of_dates(kind: str, names: pa.Array, values: pa.Array, look: Look = extracted) -> pa.Array:
    """The same as floats, infinite where the moment is and its fields do not turn in circles."""
    numbers, missing = numbers_of(values), missing_in(names, values)
    result, empty = np.zeros(len(numbers), np.float64), missing.copy()
    scaled = _extracted_of(kind, look)
    for name, rows in rows_by_name(names, missing):
        field = _field(name, kind, _EXTRACTED_OF[kind])
        some = numbers[rows]
        endless = infinite(kind, some)
        made = _as_floats(scaled(np.where(endless, 0, some), field), field)
        result[rows] = np.where(endless, np.where(some > 0, math.inf, -math.inf), made)
        if field not in _ENDLESS:
            empty[rows] |= endless
    return array_of(result, "float8", empty)


# Of intervals


def _toward_zero(value: Numbers, by: int) -> Numbers:
    return (value - np.fmod(value, by)) // by


def _interval_extracted(value: Parts, field: str) -> Numbers:
    """A field's value in millionths."""
    months, days, microseconds = value
    of_year = np.fmod(months, MONTHS_PER_YEAR)
    year = (months - of_year) // MONTHS_PER_YEAR
    of_minute = np.fmod(microseconds, MINUTE_US)
    match field:
        case "microseconds":
            return of_minute * 1_000_000
        case "milliseconds":
            return of_minute * 1_000
        case "second":
            return of_minute
        case "epoch":
            rest = of_year * DAYS_PER_MONTH + days
            about = year * (YEAR_S * 1e6) + rest * float(DAY_US) + microseconds
            exact: Numbers = year * (YEAR_S * SECOND_US) + rest * DAY_US + microseconds
            if (np.abs(about - exact) > 2**62).any():  # it has begun again from the other end
                raise interval_out_of_range()
            return exact
        case "minute":
            whole = np.fmod(_toward_zero(microseconds, MINUTE_US), 60)
        case "hour":
            whole = _toward_zero(microseconds, HOUR_US)
        case "day":
            whole = days
        case "month":
            whole = of_year
        case "quarter":
            whole = _toward_zero(of_year, 3) + 1
        case _:
            whole = _toward_zero(year, {"year": 1, "decade": 10, "century": 100, "millennium": 1000}[field])
    return whole * 1_000_000


def _interval_part(value: Parts, field: str) -> Floats:
    """date_part's float; the epoch has its own formula, as in PostgreSQL."""
    if field != "epoch":
        return _as_floats(_interval_extracted(value, field), field)
    months, days, microseconds = value
    years = _toward_zero(months, MONTHS_PER_YEAR)
    result = microseconds / 1_000_000.0
    result = result + float(YEAR_S) * years
    result = result + float(DAYS_PER_MONTH * DAY_S) * (months - years * MONTHS_PER_YEAR)
    return result + float(DAY_S) * days


_MONTHS_IN: Final = {
    "millennium": 12_000,
    "century": 1_200,
    "decade": 120,
    "year": 12,
    "quarter": 3,
    "month": 1,
}
_EXTRACTED_OF_INTERVAL: Final = frozenset(_MONTHS_IN) | _CLOCK | {"day"}


def _interval_truncated(value: Parts, field: str) -> Parts:
    months, days, microseconds = value
    nothing = np.zeros_like(months)
    if field in _MONTHS_IN:
        return months - np.fmod(months, _MONTHS_IN[field]), nothing, nothing
    if field == "day":
        return months, days, nothing
    return months, days, microseconds - np.fmod(microseconds, _LENGTHS_US[field])


def _of_intervals(
    function: Callable[[Parts, str], Numbers] | Callable[[Parts, str], Floats], returns: str
) -> Callable[[pa.Array, pa.Array], pa.Array]:
    def run(names: pa.Array, values: pa.Array) -> pa.Array:
        parts, missing = parts_of(values), missing_in(names, values)
        result: Floats | Numbers = np.zeros(len(missing), np.int64)
        result = result.astype(np.float64) if returns == "float8" else result
        for name, rows in rows_by_name(names, missing):
            field = _field(name, "interval", _EXTRACTED_OF_INTERVAL)
            months, days, microseconds = parts
            result[rows] = function((months[rows], days[rows], microseconds[rows]), field)
        return array_of(result, returns, missing)

    return run


def _field_to_cut(name: str) -> str:
    field = FIELDS.get(name.lower())
    if field is None or field not in _TRUNCATED | _ZONES:
        raise _unknown_field(name, "interval")
    if field in _ZONES or field == "week":
        error = _unsupported_field(name, "interval")
        error.detail = "Months usually have fractional weeks." if field == "week" else error.detail
        raise error
    return field


def _intervals_truncated(names: pa.Array, values: pa.Array) -> pa.Array:
    parts, missing = parts_of(values), missing_in(names, values)
    results = tuple(np.zeros(len(missing), np.int64) for _ in parts)
    for name, rows in rows_by_name(names, missing):
        months, days, microseconds = parts
        cut = _interval_truncated((months[rows], days[rows], microseconds[rows]), _field_to_cut(name))
        for result, part in zip(results, cut, strict=True):
            result[rows] = part
    return intervals_of((results[0], results[1], results[2]), missing)


def _kernel(verb: str, kind: str, returns: str, function: Callable[..., pa.Array]) -> Kernel:
    argument = "int8" if kind == "time" else kind
    return Kernel(f"hw_{verb}_{kind}", ("text", argument), returns, partial(function, kind))


_BY_NAME: Final = ("text", "interval")

KERNELS: Final[tuple[Kernel, ...]] = (
    *(_kernel("date_trunc", kind, kind, fields_truncated) for kind in ("timestamp", "timestamptz")),
    *(_kernel("extract", kind, "int8", fields_extracted) for kind in _EXTRACTED_OF),
    *(_kernel("date_part", kind, "float8", parts_of_dates) for kind in ("timestamp", "timestamptz", "time")),
    Kernel("hw_extract_interval", _BY_NAME, "int8", _of_intervals(_interval_extracted, "int8")),
    Kernel(
        "hw_date_part_interval",
        _BY_NAME,
        "float8",
        _of_intervals(_interval_part, "float8"),
    ),
    Kernel("hw_date_trunc_interval", _BY_NAME, "interval", _intervals_truncated),
)

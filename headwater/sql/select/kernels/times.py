"""Kernels over dates and timestamps, column-wise on numbers: days and microseconds since 1970.

The calendar (core/calendar.py) works for every year a timestamp can hold.
Timestamps with and without a zone share everything but their type, because the clocks that count here are
those of UTC; others are in zones.py.  Infinite ones stay what they are wherever
PostgreSQL leaves them so.

    date_trunc, extract, date_part, date_bin     by the name of a field
    + and - of months, days and microseconds     the day of the month is clamped
    age                                          one row at a time

Not here: text in either direction (formats/text.py), patterns (patterns.py), zones (zones.py), what
makes dates of numbers (times_made.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.calendar import (
    DAY_INFINITE,
    DAY_MIN,
    DAY_S,
    DAY_US,
    DAYS_PER_MONTH,
    HOUR_US,
    MIDNIGHT_2000_US,
    MINUTE_US,
    MOMENT_DAYS_MAX,
    MOMENT_INFINITE,
    MOMENT_MAX,
    MOMENT_MIN,
    SECOND_US,
    YEAR_S,
    add_months,
    century,
    date_of,
    day_of_year,
    days_of,
    iso_week,
    iso_weekday,
    monday_of,
    month_days,
    shown_year,
    weekday,
)
from headwater.core.errors import UserError, not_supported
from headwater.sql.select.kernels.kernel import Interval, Kernel, arrow_of, row_wise

Numbers: TypeAlias = "npt.NDArray[np.int64]"
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


def numbers_of(array: pa.Array) -> Numbers:
    """Days or microseconds, 0 where there are none."""
    plain = (
        array.cast(pa.int64())
        if not pa.types.is_date32(array.type)
        else array.cast(pa.int32()).cast(pa.int64())
    )
    return plain.fill_null(0).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def missing_in(*arrays: pa.Array) -> npt.NDArray[np.bool_]:
    """The rows in which one of them is NULL."""
    masks = [array.is_null().to_numpy(zero_copy_only=False) for array in arrays]
    return np.asarray(np.logical_or.reduce(masks), np.bool_)


def _by_field(
    names: pa.Array,
    values: pa.Array,
    kind: str,
    allowed: frozenset[str],
    function: Callable[[Numbers, str], Numbers],
) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """`function` for every distinct field name over its rows."""
    moments = numbers_of(values)
    missing = missing_in(names, values)
    result = np.zeros(len(moments), np.int64)
    listed = np.array(names.to_pylist(), dtype=object)
    for name in {name for name, gone in zip(listed, missing, strict=True) if not gone}:
        field = FIELDS.get(name.lower())
        # To date_trunc, which cannot take the epoch, other fields than zones are unknown.
        if field is None or (field not in allowed and "epoch" not in allowed and field not in _ZONES):
            raise _unknown_field(name, kind)
        if field not in allowed:
            raise _unsupported_field(name, kind)
        rows = (listed == name) & ~missing
        result[rows] = function(moments[rows], field)
    return result, missing


def fields_truncated(kind: str, names: pa.Array, values: pa.Array, cut: Look = truncated) -> pa.Array:
    """The start of the field that each moment lies in."""
    result, missing = _by_field(names, values, kind, _TRUNCATED, cut)
    return pa.array(result, pa.int64(), mask=missing).cast(arrow_of(kind))


def _date_trunc(kind: str) -> Kernel:
    return Kernel(f"hw_date_trunc_{kind}", ("text", kind), kind, partial(fields_truncated, kind))


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


def _infinite(kind: str, values: Numbers) -> npt.NDArray[np.bool_]:
    """Which values are infinite; a time of day never is."""
    if kind == "time":
        return np.zeros(len(values), np.bool_)
    return np.asarray(np.abs(values) == (DAY_INFINITE if kind == "date" else MOMENT_INFINITE))


def fields_extracted(kind: str, names: pa.Array, values: pa.Array, look: Look = extracted) -> pa.Array:
    """The field in millionths; a date is its midnight, a time of day one of 1970-01-01."""
    unit = DAY_US if kind == "date" else 1

    def scaled(numbers: Numbers, field: str) -> Numbers:
        if kind == "time" and field == "hour":  # 24:00:00 is allowed
            return numbers // HOUR_US * 1_000_000
        infinite = _infinite(kind, numbers)
        if field in _ENDLESS and infinite.any():
            raise not_supported(f"extract of {field} from an infinite {_NAMES[kind]}", hint=_NO_NUMBER)
        return look(np.where(infinite, 0, numbers) * unit, field)

    result, missing = _by_field(names, values, kind, _EXTRACTED_OF[kind], scaled)
    return pa.array(result, pa.int64(), mask=missing | _infinite(kind, numbers_of(values)))


def _extract(kind: str) -> Kernel:
    argument = "int8" if kind == "time" else kind
    return Kernel(f"hw_extract_{kind}", ("text", argument), "int8", partial(fields_extracted, kind))


_NO_NUMBER: Final = "Use date_part, whose answer can be infinite, or ask isfinite first."


def _as_float(millionths: int, field: str) -> float:
    """date_part's float, added up from whole seconds and a fraction as PostgreSQL does."""
    size = abs(millionths)
    sign = -1.0 if millionths < 0 else 1.0
    match field:
        case "second":
            return sign * (size // 1_000_000 + size % 1_000_000 / 1_000_000.0)
        case "milliseconds":
            seconds, rest = divmod(size // 1_000, 1_000_000)
            return sign * (seconds * 1000.0 + rest / 1000.0)
    return millionths / 1_000_000.0


def parts_of_dates(kind: str, names: pa.Array, values: pa.Array, look: Look = extracted) -> pa.Array:
    """The same as floats, infinite where the moment is and its fields do not turn in circles."""
    fields = [None if name is None else FIELDS.get(name.lower(), "") for name in names.to_pylist()]
    moments = numbers_of(values)
    endless = _infinite(kind, moments) & np.array([field in _ENDLESS for field in fields], np.bool_)
    finite = pc.if_else(pa.array(endless), pa.scalar(None, values.type), values)
    numbers = fields_extracted(kind, names, finite, look).to_pylist()
    results = [
        None if number is None or field is None else _as_float(number, field)
        for number, field in zip(numbers, fields, strict=True)
    ]
    signs = np.where(moments > 0, math.inf, -math.inf)
    return pc.if_else(pa.array(endless), pa.array(signs), pa.array(results, pa.float64()))


def _date_part(kind: str) -> Kernel:
    argument = "int8" if kind == "time" else kind
    return Kernel(f"hw_date_part_{kind}", ("text", argument), "float8", partial(parts_of_dates, kind))


def _date_part_interval(name: str, value: Interval) -> float:
    field = FIELDS.get(name.lower(), "")
    if field != "epoch":
        return _as_float(_extract_interval(name, value), field)
    months, days, microseconds = value
    years = int(months / 12)
    result = microseconds / 1_000_000.0
    result += float(YEAR_S) * years
    result += float(DAYS_PER_MONTH * DAY_S) * (months - years * 12)
    return result + float(DAY_S) * days


def _extract_interval(name: str, value: Interval) -> int:
    months, days, microseconds = value
    field = FIELDS.get(name.lower())
    if field is None:
        raise _unknown_field(name, "interval")
    sign = -1 if microseconds < 0 else 1
    clock = abs(microseconds)
    year = int(math.copysign(abs(months) // 12, months)) if months else 0
    match field:
        case "microseconds":
            return sign * (clock % MINUTE_US) * 1_000_000
        case "milliseconds":
            return sign * (clock % MINUTE_US) * 1_000
        case "second":
            return sign * (clock % MINUTE_US)
        case "epoch":
            rest = months - year * 12
            # A year counts 365.25 days here, a month 30.
            return year * YEAR_S * SECOND_US + (rest * 30 + days) * DAY_US + microseconds
    whole = {
        "minute": sign * (clock // MINUTE_US % 60),
        "hour": sign * (clock // HOUR_US),
        "day": days,
        "month": months - year * 12,
        "quarter": int((months - year * 12) / 3) + 1,
        "year": year,
        "decade": int(year / 10),
        "century": int(year / 100),
        "millennium": int(year / 1000),
    }.get(field)
    if whole is None:
        raise _unsupported_field(name, "interval")
    return whole * 1_000_000


def _trunc_interval(name: str, value: Interval) -> Interval:
    months, days, microseconds = value
    field = FIELDS.get(name.lower())
    if field is None:
        raise _unknown_field(name, "interval")
    units = {"millennium": 12_000, "century": 1_200, "decade": 120, "year": 12, "quarter": 3, "month": 1}
    if field in units:
        return int(months / units[field]) * units[field], 0, 0
    if field in _ZONES:
        raise _unsupported_field(name, "interval")
    if field == "week":
        error = _unsupported_field(name, "interval")
        error.detail = "Months usually have fractional weeks."
        raise error
    if field not in _LENGTHS_US:
        raise _unknown_field(name, "interval")
    if field == "day":
        return months, days, 0
    whole = abs(microseconds) // _LENGTHS_US[field] * _LENGTHS_US[field]
    return months, days, whole if microseconds >= 0 else -whole


# Sums and differences


def checked(moments: Any) -> Any:
    """Moments that PostgreSQL has too and that have a stored form, or an error."""
    if np.any((moments < MOMENT_MIN) | (moments > MOMENT_MAX)):
        raise UserError("timestamp out of range", "22008")
    return moments


def _add_interval(kind: str, sign: int) -> Kernel:
    def run(values: pa.Array, intervals: pa.Array) -> pa.Array:
        missing = missing_in(values, intervals)
        given = numbers_of(values)
        infinite = _infinite(kind, given)
        moments = np.where(infinite, 0, given)
        months, days, microseconds = (
            sign * intervals.field(i).fill_null(0).cast(pa.int64()).to_numpy(zero_copy_only=False)
            for i in range(3)
        )
        day = add_months(moments // DAY_US, months) + days
        if np.any(np.abs(day[~missing]) > MOMENT_DAYS_MAX):  # so many that their microseconds are no number
            raise UserError("timestamp out of range", "22008")
        result = np.where(missing | infinite, 0, day * DAY_US + moments % DAY_US + microseconds)
        return pa.array(np.where(infinite, given, checked(result)), pa.int64(), mask=missing).cast(
            arrow_of(kind)
        )

    return Kernel(f"hw_{kind}_{'add' if sign > 0 else 'sub'}", (kind, "interval"), kind, run)


def _time_add(clock: int, value: Interval) -> int:
    return (clock + value[2]) % DAY_US


def _time_of(moment: int) -> int | None:
    return None if abs(moment) == MOMENT_INFINITE else moment % DAY_US


def _rescaled(zero: int) -> Callable[[int, int], int]:
    """Rounded to so many digits of a second, half away from `zero`."""

    def run(moment: int, precision: int) -> int:
        if abs(moment) == MOMENT_INFINITE:
            return moment
        step = int(10 ** (6 - min(max(precision, 0), 6)))
        since = moment - zero
        size = (abs(since) + step // 2) // step * step
        return zero + (size if since >= 0 else -size)

    return run


def age(later: int, earlier: int) -> Interval:
    """Years, months and days apart, counted on the calendar."""
    if MOMENT_INFINITE in (abs(later), abs(earlier)):
        raise UserError("timestamp out of range", "22008")
    if later < earlier:
        months, days, microseconds = age(earlier, later)
        return -months, -days, -microseconds
    high_year, high_month, high_day = date_of(later // DAY_US)
    low_year, low_month, low_day = date_of(earlier // DAY_US)
    clock = later % DAY_US - earlier % DAY_US
    days = high_day - low_day
    months = (high_year - low_year) * 12 + high_month - low_month
    if clock < 0:
        clock, days = clock + DAY_US, days - 1
    while days < 0:
        year, month = low_year, low_month
        days, months = days + month_days(year, month), months - 1
    return months, days, clock


def _date_bin(stride: Interval, moment: int, origin: int) -> int:
    if abs(moment) == MOMENT_INFINITE:
        return moment
    if abs(origin) == MOMENT_INFINITE:
        raise UserError("origin out of range", "22008")
    months, days, microseconds = stride
    if months:
        raise UserError("timestamps cannot be binned into intervals containing months or years", "0A000")
    size = days * DAY_US + microseconds
    if size <= 0:
        raise UserError("stride must be greater than zero", "22008")
    return origin + (moment - origin) // size * size


def _overlaps(
    start: int | None, end: int | None, other_start: int | None, other_end: int | None
) -> bool | None:
    """Whether two spans share a moment; a missing end leaves it open only where it matters."""
    first, second = _span(start, end), _span(other_start, other_end)
    if first is None or second is None:
        return None
    (low, high), (other_low, other_high) = first, second
    if low == other_low:
        return None if high is None or other_high is None else True
    if low > other_low:
        low, high, other_low, other_high = other_low, other_high, low, high
    if high is None:
        return None
    if other_low < high:
        return True
    return None if other_high is None else False


def _span(start: int | None, end: int | None) -> tuple[int, int | None] | None:
    if start is None:
        return None if end is None else (end, None)
    return (start, None) if end is None else (min(start, end), max(start, end))


KERNELS: Final[tuple[Kernel, ...]] = (
    *(_date_trunc(kind) for kind in ("timestamp", "timestamptz")),
    *(_extract(kind) for kind in ("timestamp", "timestamptz", "date", "time")),
    *(_date_part(kind) for kind in ("timestamp", "timestamptz", "time")),
    row_wise("hw_date_part_interval", ("text", "interval"), "float8", _date_part_interval),
    row_wise("hw_extract_interval", ("text", "interval"), "int8", _extract_interval),
    row_wise("hw_date_trunc_interval", ("text", "interval"), "interval", _trunc_interval),
    *(_add_interval(kind, sign) for kind in ("timestamp", "timestamptz") for sign in (1, -1)),
    row_wise("hw_time_add", ("int8", "interval"), "int8", _time_add, raises=False),
    row_wise(
        "hw_time_sub",
        ("int8", "interval"),
        "int8",
        lambda clock, value: (clock - value[2]) % DAY_US,
        raises=False,
    ),
    row_wise("hw_timestamp_to_time", ("timestamp",), "int8", _time_of, raises=False),
    row_wise("hw_timestamptz_to_time", ("timestamptz",), "int8", _time_of, raises=False),
    row_wise("hw_interval_to_time", ("interval",), "int8", lambda value: value[2] % DAY_US, raises=False),
    row_wise("hw_time_to_interval", ("int8",), "interval", lambda clock: (0, 0, clock), raises=False),
    row_wise(
        "hw_timestamp_scale", ("timestamp", "int4"), "timestamp", _rescaled(MIDNIGHT_2000_US), raises=False
    ),
    row_wise(
        "hw_timestamptz_scale",
        ("timestamptz", "int4"),
        "timestamptz",
        _rescaled(MIDNIGHT_2000_US),
        raises=False,
    ),
    row_wise("hw_time_scale", ("int8", "int4"), "int8", _rescaled(0), raises=False),
    row_wise("hw_age", ("timestamp", "timestamp"), "interval", age),
    row_wise("hw_date_bin_timestamp", ("interval", "timestamp", "timestamp"), "timestamp", _date_bin),
    row_wise("hw_date_bin_timestamptz", ("interval", "timestamptz", "timestamptz"), "timestamptz", _date_bin),
    *(
        row_wise(f"hw_overlaps_{kind}", (kind,) * 4, "bool", _overlaps, strict=False, raises=False)
        for kind in ("timestamp", "timestamptz")
    ),
)

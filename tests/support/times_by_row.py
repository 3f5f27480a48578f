"""Kernels over times, row by row: what those that work by columns have to answer.

They are plain Python over one row's numbers, and the model of unit tests; benchmarks show what columns gain.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from headwater.core.calendar import (
    DAY_INFINITE,
    DAY_S,
    DAY_US,
    DAYS_PER_MONTH,
    DAYS_PER_WEEK,
    HOUR_US,
    MIDNIGHT_2000_US,
    MINUTE_US,
    MOMENT_DAYS_MAX,
    MOMENT_INFINITE,
    MOMENT_MAX,
    MOMENT_MIN,
    MONTHS_PER_YEAR,
    SECOND_US,
    YEAR_S,
    add_months,
    date_of,
    month_days,
)
from headwater.core.errors import UserError
from headwater.sql.select.kernels.fields import FIELDS
from headwater.sql.select.kernels.kernel import Interval, Kernel, row_wise


def out_of_range() -> UserError:
    """The complaint about an interval no column can hold."""
    return UserError("interval out of range", "22008")


def _rounded_us(value: float) -> float:
    return float(round(value * SECOND_US)) / SECOND_US


def _scaled(value: Interval, scale: Callable[[float], float]) -> Interval:
    months_exact, days_exact = scale(value[0]), scale(value[1])
    if not (abs(months_exact) < 2**31 and abs(days_exact) < 2**31):
        raise out_of_range()
    months, days = int(months_exact), int(days_exact)
    days_left = _rounded_us((months_exact - months) * DAYS_PER_MONTH)
    seconds = _rounded_us((days_exact - days + days_left - int(days_left)) * DAY_S)
    if abs(seconds) >= DAY_S:
        days += int(seconds / DAY_S)
        seconds -= int(seconds / DAY_S) * DAY_S
    days += int(days_left)
    microseconds = scale(value[2]) + seconds * SECOND_US
    if not abs(microseconds) < 2**63:
        raise out_of_range()
    return months, days, round(microseconds)


def multiplied(value: Interval, factor: float) -> Interval:
    """value * factor."""
    if not math.isfinite(factor):
        raise out_of_range()
    return _scaled(value, lambda part: part * factor)


def divided(value: Interval, divisor: float) -> Interval:
    """value / divisor."""
    if divisor == 0:
        raise UserError("division by zero", "22012")
    if math.isnan(divisor):
        raise out_of_range()
    return _scaled(value, lambda part: part / divisor)


def _truncated(value: int, by: int) -> tuple[int, int]:
    """Division towards zero: (quotient, rest)."""
    quotient = abs(value) // by * (1 if value >= 0 else -1)
    return quotient, value - quotient * by


def _balanced(high: int, low: int, unit: int) -> tuple[int, int]:
    """The two given the same sign, one unit of `high` being `unit` of `low`."""
    if high > 0 > low:
        return high - 1, low + unit
    if high < 0 < low:
        return high + 1, low - unit
    return high, low


def justify_hours(value: Interval) -> Interval:
    """Whole days out of the microseconds."""
    months, days, microseconds = value
    whole, microseconds = _truncated(microseconds, DAY_US)
    days, microseconds = _balanced(days + whole, microseconds, DAY_US)
    return months, days, microseconds


def justify_days(value: Interval) -> Interval:
    """Whole months out of the days."""
    months, days, microseconds = value
    whole, days = _truncated(days, DAYS_PER_MONTH)
    months, days = _balanced(months + whole, days, DAYS_PER_MONTH)
    return months, days, microseconds


def justify_interval(value: Interval) -> Interval:
    """Both, with one sign throughout."""
    months, days, microseconds = value
    whole, microseconds = _truncated(microseconds, DAY_US)
    whole_months, days = _truncated(days + whole, DAYS_PER_MONTH)
    months += whole_months
    if months > 0 and (days < 0 or (days == 0 and microseconds < 0)):
        days, months = days + DAYS_PER_MONTH, months - 1
    elif months < 0 and (days > 0 or (days == 0 and microseconds > 0)):
        days, months = days - DAYS_PER_MONTH, months + 1
    days, microseconds = _balanced(days, microseconds, DAY_US)
    return months, days, microseconds


def _add(left: Interval, right: Interval) -> Interval:
    return left[0] + right[0], left[1] + right[1], left[2] + right[2]


def negated(value: Interval) -> Interval:
    """All parts with the other sign."""
    return -value[0], -value[1], -value[2]


def _make(
    years: int, months: int, weeks: int, days: int, hours: int, minutes: int, seconds: float
) -> Interval:
    if not abs(seconds * SECOND_US) < 2**63:  # as PostgreSQL looks at it
        raise out_of_range()
    microseconds = hours * HOUR_US + minutes * MINUTE_US + round(seconds * SECOND_US)
    return years * MONTHS_PER_YEAR + months, weeks * DAYS_PER_WEEK + days, microseconds


def _summed(values: list[dict[str, int] | None]) -> Interval | None:
    present = [(one["months"], one["days"], one["microseconds"]) for one in values if one is not None]
    if not present:
        return None
    months, days, microseconds = (sum(part) for part in zip(*present, strict=True))
    return months, days, microseconds


def _averaged(values: list[dict[str, int] | None]) -> Interval | None:
    total = _summed(values)
    return None if total is None else divided(total, float(len([one for one in values if one is not None])))


_CLOCK_US: Final = {
    "day": DAY_US,
    "hour": HOUR_US,
    "minute": MINUTE_US,
    "second": SECOND_US,
    "milliseconds": 1_000,
    "microseconds": 1,
}


def _shifted(sign: int) -> Callable[[int, Interval], int]:
    def run(moment: int, value: Interval) -> int:
        if abs(moment) == MOMENT_INFINITE:
            return moment
        months, days, microseconds = (sign * part for part in value)
        day, clock = divmod(moment, DAY_US)
        made = (add_months(day, months) + days) * DAY_US + clock + microseconds
        if not MOMENT_MIN <= made <= MOMENT_MAX or abs(made // DAY_US) > MOMENT_DAYS_MAX:
            raise UserError("timestamp out of range", "22008")
        return made

    return run


def _of_milliseconds(milliseconds: int) -> int:
    if not MOMENT_MIN // 1000 <= milliseconds <= MOMENT_MAX // 1000:
        raise UserError("timestamp out of range", "22008")
    return milliseconds * 1000


def _unknown_field(name: str, kind: str) -> UserError:
    return UserError(f'unit "{name.lower()}" not recognized for type {kind}', "22023")


def _unsupported_field(name: str, kind: str) -> UserError:
    return UserError(f'unit "{name.lower()}" not supported for type {kind}', "0A000")


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
            size = year * YEAR_S * SECOND_US + (rest * DAYS_PER_MONTH + days) * DAY_US + microseconds
            if not abs(size) < 2**63:
                raise out_of_range()
            return size
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
    if field in ("timezone", "timezone_hour", "timezone_minute"):
        raise _unsupported_field(name, "interval")
    if field == "week":
        error = _unsupported_field(name, "interval")
        error.detail = "Months usually have fractional weeks."
        raise error
    if field not in _CLOCK_US:
        raise _unknown_field(name, "interval")
    if field == "day":
        return months, days, 0
    whole = abs(microseconds) // _CLOCK_US[field] * _CLOCK_US[field]
    return months, days, whole if microseconds >= 0 else -whole


def _time_added(clock: int, value: Interval) -> int:
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


def _to_milliseconds(moment: int) -> int:
    if moment < 0 or moment == MOMENT_INFINITE:
        raise UserError("mz_timestamp out of range", "22003")
    return moment // 1000


def _day_to_milliseconds(day: int) -> int:
    return _to_milliseconds(MOMENT_INFINITE if day == DAY_INFINITE else day * DAY_US)


_ROWS: Final = (
    row_wise("hw_interval_mul", ("interval", "float8"), "interval", multiplied),
    row_wise("hw_interval_div", ("interval", "float8"), "interval", divided),
    row_wise("hw_interval_add", ("interval", "interval"), "interval", _add),
    row_wise("hw_interval_sub", ("interval", "interval"), "interval", lambda a, b: _add(a, negated(b))),
    row_wise("hw_interval_neg", ("interval",), "interval", negated),
    row_wise("hw_justify_hours", ("interval",), "interval", justify_hours),
    row_wise("hw_justify_days", ("interval",), "interval", justify_days),
    row_wise("hw_justify_interval", ("interval",), "interval", justify_interval),
    row_wise("hw_make_interval", ("int4",) * 6 + ("float8",), "interval", _make),
    row_wise("hw_interval_sum", ("interval[]",), "interval", _summed),
    row_wise("hw_interval_avg", ("interval[]",), "interval", _averaged),
)
_KINDS: Final = ("timestamp", "timestamptz")
_MOMENT_ROWS: Final = (
    row_wise("hw_date_part_interval", ("text", "interval"), "float8", _date_part_interval),
    row_wise("hw_extract_interval", ("text", "interval"), "int8", _extract_interval),
    row_wise("hw_date_trunc_interval", ("text", "interval"), "interval", _trunc_interval),
    row_wise("hw_time_add", ("int8", "interval"), "int8", _time_added),
    row_wise("hw_time_sub", ("int8", "interval"), "int8", lambda clock, value: (clock - value[2]) % DAY_US),
    row_wise("hw_interval_to_time", ("interval",), "int8", lambda value: value[2] % DAY_US),
    row_wise("hw_time_to_interval", ("int8",), "interval", lambda clock: (0, 0, clock)),
    row_wise("hw_time_scale", ("int8", "int4"), "int8", _rescaled(0)),
    row_wise("hw_age", ("timestamp", "timestamp"), "interval", age),
    row_wise("hw_date_to_mz_timestamp", ("date",), "int8", _day_to_milliseconds),
    *(row_wise(f"hw_{kind}_add", (kind, "interval"), kind, _shifted(1)) for kind in _KINDS),
    *(row_wise(f"hw_{kind}_sub", (kind, "interval"), kind, _shifted(-1)) for kind in _KINDS),
    *(row_wise(f"hw_{kind}_to_time", (kind,), "int8", _time_of) for kind in _KINDS),
    *(row_wise(f"hw_{kind}_scale", (kind, "int4"), kind, _rescaled(MIDNIGHT_2000_US)) for kind in _KINDS),
    *(row_wise(f"hw_overlaps_{kind}", (kind,) * 4, "bool", _overlaps, strict=False) for kind in _KINDS),
    *(row_wise(f"hw_{kind}_to_mz_timestamp", (kind,), "int8", _to_milliseconds) for kind in _KINDS),
    *(row_wise(f"hw_mz_timestamp_to_{kind}", ("int8",), kind, _of_milliseconds) for kind in _KINDS),
)
MODELS: Final[dict[str, Kernel]] = {kernel.name: kernel for kernel in (*_ROWS, *_MOMENT_ROWS)}
BOTH_WAYS: Final = frozenset(
    [
        *(f"hw_make_{name}" for name in ("date", "time", "timestamp", "timestamptz")),
        *(f"hw_date_bin_{kind}" for kind in _KINDS),
        "hw_to_timestamp",
    ]
)
"""Kernels that are their own model: what is odd they do row by row, and complain of with the row's values."""

"""Kernels over times, row by row: what those that work by columns have to answer.

They are plain Python over one row's numbers, and the model of unit tests; benchmarks show what columns gain.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from headwater.core.calendar import (
    DAY_S,
    DAY_US,
    DAYS_PER_MONTH,
    DAYS_PER_WEEK,
    HOUR_US,
    MINUTE_US,
    MONTHS_PER_YEAR,
    SECOND_US,
)
from headwater.core.errors import UserError
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
MODELS: Final[dict[str, Kernel]] = {kernel.name: kernel for kernel in _ROWS}

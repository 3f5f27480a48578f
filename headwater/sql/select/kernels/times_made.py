"""Kernels that make dates, times and timestamps of numbers, and numbers of milliseconds of them.

Not here: what is done with dates once they are there (times.py).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from headwater.core.calendar import (
    DATE_MAX,
    DAY_INFINITE,
    DAY_MIN,
    DAY_US,
    HOUR_US,
    MIDNIGHT_2000_US,
    MINUTE_US,
    MOMENT_INFINITE,
    MOMENT_MAX,
    MOMENT_MIN,
    SECOND_US,
    counted_year,
    days_of,
    existing,
)
from headwater.core.errors import UserError
from headwater.sql.select.kernels.kernel import Kernel, row_wise
from headwater.sql.select.kernels.times import checked


def _make_date(year: int, month: int, day: int, with_time: bool = False) -> int:
    counted = counted_year(year)
    shown = f"{year if with_time else counted}-{month:02d}-{day:02d}"
    if year == 0 or not existing(counted, month, day):
        raise UserError(f"date field value out of range: {shown}", "22008")
    days = days_of(counted, month, day)
    if not DAY_MIN <= days <= DATE_MAX:
        raise UserError(f"date out of range: {shown}", "22008")
    return days


def _make_time(hour: int, minute: int, second: float) -> int:
    total = hour * HOUR_US + minute * MINUTE_US + (round(second * SECOND_US) if math.isfinite(second) else -1)
    fine = hour >= 0 and 0 <= minute <= 59 and 0 <= second <= 60 and total <= DAY_US
    if not fine:
        seconds = f"{second:02g}" if math.isfinite(second) else "NaN" if second != second else "Infinity"
        shown = f"{hour}:{minute:02d}:{'-' if second == -math.inf else ''}{seconds}"
        raise UserError(f"time field value out of range: {shown}", "22008")
    return total


def _make_timestamp(year: int, month: int, day: int, hour: int, minute: int, second: float) -> int:
    days = _make_date(year, month, day, with_time=True)
    return int(checked(np.int64(days * DAY_US + _make_time(hour, minute, second))))


def _from_epoch(seconds: float) -> int:
    if math.isnan(seconds):
        raise UserError("timestamp cannot be NaN", "22008")
    if math.isinf(seconds):
        return MOMENT_INFINITE if seconds > 0 else -MOMENT_INFINITE
    near = abs(seconds) < 1e13
    moment = round((seconds - MIDNIGHT_2000_US / SECOND_US) * SECOND_US) + MIDNIGHT_2000_US if near else 0
    if not near or not MOMENT_MIN <= moment <= MOMENT_MAX:
        raise UserError(f'timestamp out of range: "{seconds:g}"', "22008")
    return moment


# Milliseconds since the epoch


def _to_milliseconds(moment: int) -> int:
    if moment < 0 or moment == MOMENT_INFINITE:
        raise UserError("mz_timestamp out of range", "22003")
    return moment // 1000


def _day_to_milliseconds(day: int) -> int:
    return _to_milliseconds(MOMENT_INFINITE if day == DAY_INFINITE else day * DAY_US)


KERNELS: Final[tuple[Kernel, ...]] = (
    row_wise("hw_make_date", ("int4",) * 3, "date", _make_date),
    row_wise("hw_make_time", ("int4", "int4", "float8"), "int8", _make_time),
    row_wise("hw_make_timestamp", ("int4",) * 5 + ("float8",), "timestamp", _make_timestamp),
    row_wise("hw_make_timestamptz", ("int4",) * 5 + ("float8",), "timestamptz", _make_timestamp),
    row_wise("hw_to_timestamp", ("float8",), "timestamptz", _from_epoch),
    row_wise("hw_timestamp_to_mz_timestamp", ("timestamp",), "int8", _to_milliseconds),
    row_wise("hw_timestamptz_to_mz_timestamp", ("timestamptz",), "int8", _to_milliseconds),
    row_wise("hw_date_to_mz_timestamp", ("date",), "int8", _day_to_milliseconds),
    row_wise("hw_mz_timestamp_to_timestamp", ("int8",), "timestamp", lambda ms: ms * 1000),
    row_wise("hw_mz_timestamp_to_timestamptz", ("int8",), "timestamptz", lambda ms: ms * 1000),
)

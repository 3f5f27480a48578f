"""Kernels that make dates, times and timestamps of numbers, and numbers of milliseconds of them.

Not here: what is done with dates once they are there (times.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headwater.core.calendar import (
    DATE_MAX,
    DAY_INFINITE,
    DAY_MIN,
    DAY_US,
    HOUR_US,
    MIDNIGHT_2000_US,
    MINUTE_US,
    MOMENT_DAYS_MAX,
    MOMENT_INFINITE,
    MOMENT_MAX,
    MOMENT_MIN,
    SECOND_US,
    counted_year,
    days_of,
    existing,
)
from headwater.core.errors import UserError
from headwater.sql.select.kernels.columns import (
    Floats,
    Numbers,
    array_of,
    column_wise,
    missing_in,
    numbers_of,
)
from headwater.sql.select.kernels.kernel import Kernel, Mask, Quick, columnar, row_wise
from headwater.sql.select.kernels.times import checked

Made = tuple[pa.Array, "Mask | None"]

_EPOCH_S_MAX: Final = 9e12  # fewer have microseconds that are a number

# By one row, which is what those are given that cannot be made


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
    total = hour * HOUR_US + minute * MINUTE_US + (round(second * SECOND_US) if 0 <= second <= 60 else -1)
    fine = hour >= 0 and 0 <= minute <= 59 and 0 <= second <= 60 and total <= DAY_US
    if not fine:
        seconds = f"{second:02g}" if math.isfinite(second) else "NaN" if second != second else "Infinity"
        shown = f"{hour}:{minute:02d}:{'-' if second == -math.inf else ''}{seconds}"
        raise UserError(f"time field value out of range: {shown}", "22008")
    return total


def _make_timestamp(year: int, month: int, day: int, hour: int, minute: int, second: float) -> int:
    days = _make_date(year, month, day, with_time=True)
    return int(checked(days * DAY_US + _make_time(hour, minute, second)))


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


# By columns


def _from_epochs(seconds: pa.Array) -> Made:
    given = seconds.fill_null(0.0).to_numpy(zero_copy_only=False)
    near = np.abs(given) < _EPOCH_S_MAX
    since_2000 = np.rint((np.where(near, given, 0.0) - MIDNIGHT_2000_US / SECOND_US) * SECOND_US)
    moments = since_2000.astype(np.int64) + MIDNIGHT_2000_US
    odd = ~near | (moments < MOMENT_MIN) | (moments > MOMENT_MAX)
    missing = missing_in(seconds)
    return array_of(moments, "timestamptz", missing), odd & ~missing


def _dates(year: Numbers, month: Numbers, day: Numbers) -> tuple[Numbers, Mask]:
    """Days, and which are none."""
    counted = counted_year(year)
    odd = (year == 0) | ~existing(counted, month, day)
    days = np.where(odd, 0, days_of(counted, month, day))
    return days, odd | (days < DAY_MIN) | (days > DATE_MAX)


def _clocks(hour: Numbers, minute: Numbers, second: Floats) -> tuple[Numbers, Mask]:
    """Microseconds, and which are no time of day."""
    fine = (second >= 0) & (second <= 60) & (hour >= 0) & (minute >= 0) & (minute <= 59)
    made = hour * HOUR_US + minute * MINUTE_US
    made = np.where(fine, made + np.rint(np.where(fine, second, 0) * SECOND_US).astype(np.int64), 0)
    return made, ~fine | (made > DAY_US)


def _quickly(name: str, make: Callable[..., tuple[Numbers, Mask]]) -> Quick:
    def run(*arrays: pa.Array) -> Made:
        missing = missing_in(*arrays)
        columns: list[Any] = [
            array.fill_null(0).to_numpy(zero_copy_only=False)
            if pa.types.is_floating(array.type)
            else numbers_of(array)
            for array in arrays
        ]
        values, odd = make(*columns)
        return array_of(values, name, missing), odd & ~missing

    return run


def _moments(
    year: Numbers, month: Numbers, day: Numbers, hour: Numbers, minute: Numbers, second: Floats
) -> tuple[Numbers, Mask]:
    days, odd = _dates(year, month, day)
    clock, no_clock = _clocks(hour, minute, second)
    odd = odd | no_clock | (np.abs(days) > MOMENT_DAYS_MAX)
    moments = np.where(odd, 0, days * DAY_US + clock)
    return moments, odd | (moments < MOMENT_MIN) | (moments > MOMENT_MAX)


# Milliseconds since the epoch


def _to_milliseconds(moments: Numbers) -> Numbers:
    if ((moments < 0) | (moments == MOMENT_INFINITE)).any():
        raise UserError("mz_timestamp out of range", "22003")
    return moments // 1000


def _days_to_milliseconds(days: Numbers) -> Numbers:
    if (days == DAY_INFINITE).any():
        raise UserError("mz_timestamp out of range", "22003")
    return _to_milliseconds(days * DAY_US)


def _of_milliseconds(milliseconds: Numbers) -> Numbers:
    if ((milliseconds < MOMENT_MIN // 1000) | (milliseconds > MOMENT_MAX // 1000)).any():
        raise UserError("timestamp out of range", "22008")
    return milliseconds * 1000


def _made(name: str, arguments: tuple[str, ...], returns: str, row: Any, make: Any) -> Kernel:
    return columnar(row_wise(name, arguments, returns, row), _quickly(returns, make))


_MOMENT: Final = ("int4",) * 5 + ("float8",)

KERNELS: Final[tuple[Kernel, ...]] = (
    _made("hw_make_date", ("int4",) * 3, "date", _make_date, _dates),
    _made("hw_make_time", ("int4", "int4", "float8"), "int8", _make_time, _clocks),
    _made("hw_make_timestamp", _MOMENT, "timestamp", _make_timestamp, _moments),
    _made("hw_make_timestamptz", _MOMENT, "timestamptz", _make_timestamp, _moments),
    columnar(row_wise("hw_to_timestamp", ("float8",), "timestamptz", _from_epoch), _from_epochs),
    column_wise("hw_timestamp_to_mz_timestamp", ("timestamp",), "int8", _to_milliseconds),
    column_wise("hw_timestamptz_to_mz_timestamp", ("timestamptz",), "int8", _to_milliseconds),
    column_wise("hw_date_to_mz_timestamp", ("date",), "int8", _days_to_milliseconds),
    column_wise("hw_mz_timestamp_to_timestamp", ("int8",), "timestamp", _of_milliseconds),
    column_wise("hw_mz_timestamp_to_timestamptz", ("int8",), "timestamptz", _of_milliseconds),
)

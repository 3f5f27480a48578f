"""Kernels over intervals: triples of months, days and microseconds that never mix by themselves.

Multiplying and dividing let fractions of months fall into days (30 to a month) and of days
into microseconds, with PostgreSQL's roundings at each step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
from headwater.formats.engine_types import INTERVAL_TYPE
from headwater.sql.select.kernels.columns import Floats, Numbers, Parts, column_wise, interval_out_of_range
from headwater.sql.select.kernels.kernel import Kernel

_FIELD_US: Final = {"hour": HOUR_US, "minute": MINUTE_US}


def _rounded_us(value: Floats) -> Floats:
    return np.rint(value * SECOND_US) / SECOND_US


def _scaled(value: Parts, scale: Callable[[Numbers], Floats]) -> Parts:
    with np.errstate(over="ignore"):
        months_exact, days_exact, microseconds = (scale(part) for part in value)
    if not ((np.abs(months_exact) < 2**31) & (np.abs(days_exact) < 2**31)).all():
        raise interval_out_of_range()
    months, days = np.trunc(months_exact), np.trunc(days_exact)
    days_left = _rounded_us((months_exact - months) * DAYS_PER_MONTH)
    seconds = _rounded_us((days_exact - days + days_left - np.trunc(days_left)) * DAY_S)
    days_more = np.trunc(seconds / DAY_S)
    microseconds = microseconds + (seconds - days_more * DAY_S) * SECOND_US
    if not (np.abs(microseconds) < 2**63).all():
        raise interval_out_of_range()
    days = days + days_more + np.trunc(days_left)
    return months.astype(np.int64), days.astype(np.int64), np.rint(microseconds).astype(np.int64)


def _multiplied(value: Parts, factor: Floats) -> Parts:
    if not np.isfinite(factor).all():
        raise interval_out_of_range()
    return _scaled(value, lambda part: part * factor)


def divided(value: Parts, divisor: Floats) -> Parts:
    """value / divisor."""
    wrong = np.isnan(divisor) | (divisor == 0)
    if not wrong.any():
        return _scaled(value, lambda part: part.astype(np.float64) / divisor)
    first = int(wrong.argmax())
    divided(_rows(value, slice(first)), divisor[:first])  # what fails before has its say
    raise interval_out_of_range() if np.isnan(divisor[first]) else UserError("division by zero", "22012")


def _rows(value: Parts, rows: slice) -> Parts:
    months, days, microseconds = value
    return months[rows], days[rows], microseconds[rows]


def _truncated(value: Numbers, by: int) -> tuple[Numbers, Numbers]:
    """Division towards zero: (quotient, rest)."""
    rest = np.fmod(value, by)
    return (value - rest) // by, rest


def _balanced(high: Numbers, low: Numbers, unit: int) -> tuple[Numbers, Numbers]:
    """The two given the same sign, one unit of `high` being `unit` of `low`."""
    moved = ((high > 0) & (low < 0)).astype(np.int64) - ((high < 0) & (low > 0))
    return high - moved, low + moved * unit


def _justified_hours(value: Parts) -> Parts:
    """Whole days out of the microseconds."""
    months, days, microseconds = value
    whole, microseconds = _truncated(microseconds, DAY_US)
    return months, *_balanced(days + whole, microseconds, DAY_US)


def _justified_days(value: Parts) -> Parts:
    """Whole months out of the days."""
    months, days, microseconds = value
    whole, days = _truncated(days, DAYS_PER_MONTH)
    return *_balanced(months + whole, days, DAYS_PER_MONTH), microseconds


def justified(value: Parts) -> Parts:
    """Both, with one sign throughout."""
    months, days, microseconds = value
    whole, microseconds = _truncated(microseconds, DAY_US)
    whole_months, days = _truncated(days + whole, DAYS_PER_MONTH)
    months = months + whole_months
    less = (days < 0) | ((days == 0) & (microseconds < 0))
    more = (days > 0) | ((days == 0) & (microseconds > 0))
    moved = ((months > 0) & less).astype(np.int64) - ((months < 0) & more)
    days = days + moved * DAYS_PER_MONTH
    return months - moved, *_balanced(days, microseconds, DAY_US)


def _sum(left: Parts, right: Parts) -> Parts:
    made = left[2] + right[2]
    if (((left[2] ^ made) & (right[2] ^ made)) < 0).any():
        raise interval_out_of_range()
    return left[0] + right[0], left[1] + right[1], made


def _difference(left: Parts, right: Parts) -> Parts:
    made = left[2] - right[2]
    if (((left[2] ^ right[2]) & (left[2] ^ made)) < 0).any():
        raise interval_out_of_range()
    return left[0] - right[0], left[1] - right[1], made


def _negated(value: Parts) -> Parts:
    nothing = np.zeros_like(value[2])
    return _difference((nothing, nothing, nothing), value)


def _made(
    years: Numbers,
    months: Numbers,
    weeks: Numbers,
    days: Numbers,
    hours: Numbers,
    minutes: Numbers,
    seconds: Floats,
) -> Parts:
    with np.errstate(over="ignore"):
        fraction = np.rint(seconds * SECOND_US)
    clock = hours * HOUR_US + minutes * MINUTE_US
    if not ((np.abs(fraction) < 2**63) & (np.abs(fraction + clock) < 2**63)).all():
        raise interval_out_of_range()
    return years * MONTHS_PER_YEAR + months, weeks * DAYS_PER_WEEK + days, clock + fraction.astype(np.int64)


def fitted(values: pa.Array, last: str, digits: int) -> pa.Array:
    """Intervals cut to what a type such as DAY TO HOUR has room for: its last field counts, not its first.

    Seconds are rounded to `digits` after the point, half away from zero.
    """
    months, days, microseconds = values.flatten()
    nothing = pc.multiply(days, 0)
    if last == "year":
        months = pc.multiply(pc.divide(months, MONTHS_PER_YEAR), MONTHS_PER_YEAR)
    if last in ("year", "month"):
        days = nothing
    if last == "second":
        unit = 10 ** (6 - digits)
        half = pc.multiply(pc.sign(microseconds).cast(pa.int64()), unit // 2)
        microseconds = pc.multiply(pc.divide(pc.add(microseconds, half), unit), unit)
    elif last in _FIELD_US:
        microseconds = pc.multiply(pc.divide(microseconds, _FIELD_US[last]), _FIELD_US[last])
    else:
        microseconds = pc.multiply(microseconds, 0)
    parts = [
        part.cast(field.type) for part, field in zip((months, days, microseconds), INTERVAL_TYPE, strict=True)
    ]
    return pa.StructArray.from_arrays(parts, fields=list(INTERVAL_TYPE), mask=values.is_null())


def _fit(values: pa.Array, last: pa.Array, digits: pa.Array) -> pa.Array:
    """The same, of a query: every row has the same field and number of digits."""
    return fitted(values, last[0].as_py(), digits[0].as_py()) if len(values) else values


KERNELS: Final[tuple[Kernel, ...]] = (
    column_wise("hw_interval_mul", ("interval", "float8"), "interval", _multiplied),
    column_wise("hw_interval_div", ("interval", "float8"), "interval", divided),
    column_wise("hw_interval_add", ("interval", "interval"), "interval", _sum),
    column_wise("hw_interval_sub", ("interval", "interval"), "interval", _difference),
    column_wise("hw_interval_neg", ("interval",), "interval", _negated),
    column_wise("hw_justify_hours", ("interval",), "interval", _justified_hours),
    column_wise("hw_justify_days", ("interval",), "interval", _justified_days),
    column_wise("hw_justify_interval", ("interval",), "interval", justified),
    Kernel("hw_interval_fit", ("interval", "text", "int4"), "interval", _fit, raises=False),
    column_wise("hw_make_interval", ("int4",) * 6 + ("float8",), "interval", _made),
)

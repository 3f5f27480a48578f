"""Kernels over dates and timestamps, column-wise on numbers: days and microseconds since 1970.

Timestamps with and without a zone share everything but their type, because the clocks that count here are
those of UTC; others are in zones.py.  Infinite ones stay what they are wherever PostgreSQL leaves them so.

    + and - of months, days and microseconds     the day of the month is clamped
    age, date_bin, overlaps                      on the calendar, and off it
    times of day, and digits of a second

Not here: fields (fields.py), text in either direction (formats/text.py), patterns (patterns.py), zones
(zones.py), what makes dates of numbers (times_made.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.calendar import (
    DAY_US,
    MIDNIGHT_2000_US,
    MOMENT_DAYS_MAX,
    MOMENT_INFINITE,
    MOMENT_MAX,
    MOMENT_MIN,
    MONTHS_PER_YEAR,
    add_months,
    date_of,
    month_days,
)
from headwater.core.errors import UserError
from headwater.formats.text_times import rounded
from headwater.sql.select.kernels.columns import (
    Numbers,
    Parts,
    array_of,
    column_wise,
    missing_in,
    numbers_of,
    parts_of,
)
from headwater.sql.select.kernels.kernel import Interval, Kernel, Mask, columnar, row_wise


def out_of_range() -> UserError:
    """The complaint about a moment that PostgreSQL has not, or that has no stored form."""
    return UserError("timestamp out of range", "22008")


def checked(moments: Any) -> Any:
    """Moments that PostgreSQL has too and that have a stored form, or an error."""
    if np.any((moments < MOMENT_MIN) | (moments > MOMENT_MAX)):
        raise out_of_range()
    return moments


def finite(moments: Numbers) -> Mask:
    """Which moments are not infinite."""
    return np.asarray(np.abs(moments) != MOMENT_INFINITE)


def _shifted(sign: int) -> Callable[[Numbers, Parts], Numbers]:
    """Moments and a time more, or less."""

    def run(given: Numbers, interval: Parts) -> Numbers:
        months, days, microseconds = interval
        known = finite(given)
        moments = np.where(known, given, 0)
        day = moments // DAY_US
        clock = moments - day * DAY_US
        if months.any():
            day = add_months(day, sign * months)
        day = day + sign * days
        # No number in the end; what is none on the way comes back by the same wrapping round.
        far = np.abs(day * float(DAY_US) + sign * microseconds.astype(np.float64)) > 2**63
        if (far & known).any():
            raise out_of_range()
        made = checked(np.where(known & ~far, day * DAY_US + clock + sign * microseconds, 0))
        if np.any(made // DAY_US > MOMENT_DAYS_MAX):
            raise out_of_range()
        return np.where(known, made, given)

    return run


def _time_of(moments: pa.Array) -> pa.Array:
    numbers = numbers_of(moments)
    return array_of(numbers % DAY_US, "int8", missing_in(moments) | ~finite(numbers))


def _rescaled(zero: int, values: pa.Array, digits: pa.Array) -> pa.Array:
    """Rounded to so many digits of a second, half away from `zero`."""
    result = pa.nulls(len(values), values.type)
    missing, places = missing_in(values, digits), np.clip(numbers_of(digits), 0, 6)
    for number in np.unique(places).tolist():
        rows = pa.array((places == number) & ~missing)
        made = rounded(values.filter(rows).view(pa.int64()), number, zero)
        result = pc.replace_with_mask(result, rows, made.view(values.type))
    return result


def _age(later: Numbers, earlier: Numbers) -> Parts:
    """Years, months and days apart, counted on the calendar."""
    if not (finite(later) & finite(earlier)).all():
        raise out_of_range()
    sign = np.where(later < earlier, -1, 1)
    low, high = np.minimum(later, earlier), np.maximum(later, earlier)
    low_day, high_day = low // DAY_US, high // DAY_US
    (low_year, low_month, low_of), (high_year, high_month, high_of) = date_of(low_day), date_of(high_day)
    clock = (high - high_day * DAY_US) - (low - low_day * DAY_US)
    borrowed = clock < 0
    days = high_of - low_of - borrowed
    short = days < 0
    days = days + short * month_days(low_year, low_month)
    months = (high_year - low_year) * MONTHS_PER_YEAR + high_month - low_month - short
    return sign * months, sign * days, sign * (clock + borrowed * DAY_US)


def _binned(stride: Interval, moment: int, origin: int) -> int:
    """The start of the stride that the moment lies in, of strides that are counted from `origin`."""
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


_BIN_MAX: Final = 2**61
"""Moments and strides of columns: with these no difference and no product is beyond what is a number."""


def _quickly_binned(kind: str, strides: pa.Array, values: pa.Array, origins: pa.Array) -> Any:
    months, days, microseconds = parts_of(strides)
    moments, from_ = numbers_of(values), numbers_of(origins)
    missing = missing_in(strides, values, origins)
    far = (np.abs(moments) > _BIN_MAX) | (np.abs(from_) > _BIN_MAX)
    far |= (np.abs(days) > _BIN_MAX // DAY_US) | (microseconds > _BIN_MAX) | (microseconds < -_BIN_MAX)
    size = np.where(far, 0, days * DAY_US + microseconds)
    odd = (months != 0) | (size <= 0)
    size = np.maximum(size, 1)
    return array_of(from_ + (moments - from_) // size * size, kind, missing), odd & ~missing


def _date_bin(kind: str) -> Kernel:
    rows = row_wise(f"hw_date_bin_{kind}", ("interval", kind, kind), kind, _binned)
    return columnar(rows, partial(_quickly_binned, kind))


def _overlapping(*ends: pa.Array) -> pa.Array:
    """Whether two spans share a moment; a missing end leaves it open only where it matters."""
    (some, low, whole, high), (other, other_low, other_whole, other_high) = _span(*ends[:2]), _span(*ends[2:])
    turned = low > other_low
    first_whole = np.where(turned, other_whole, whole)
    first_high = np.where(turned, other_high, high)
    last_low, last_whole = np.where(turned, low, other_low), np.where(turned, whole, other_whole)
    same, within = low == other_low, last_low < first_high
    known = some & other & first_whole & (last_whole | (within & ~same))
    return pa.array(same | within, mask=~known)


def _span(start: pa.Array, end: pa.Array) -> tuple[Mask, Numbers, Mask, Numbers]:
    """Whether there is one, its beginning, whether it has an end, and that."""
    begun, ended = ~missing_in(start), ~missing_in(end)
    first, last = numbers_of(start), numbers_of(end)
    first, last = np.where(begun, first, last), np.where(ended, last, first)
    return begun | ended, np.minimum(first, last), begun & ended, np.maximum(first, last)


_KINDS: Final = ("timestamp", "timestamptz")

KERNELS: Final[tuple[Kernel, ...]] = (
    *(column_wise(f"hw_{kind}_add", (kind, "interval"), kind, _shifted(1)) for kind in _KINDS),
    *(column_wise(f"hw_{kind}_sub", (kind, "interval"), kind, _shifted(-1)) for kind in _KINDS),
    column_wise(
        "hw_time_add",
        ("int8", "interval"),
        "int8",
        lambda clock, value: (clock + value[2] % DAY_US) % DAY_US,
        raises=False,
    ),
    column_wise(
        "hw_time_sub",
        ("int8", "interval"),
        "int8",
        lambda clock, value: (clock - value[2] % DAY_US) % DAY_US,
        raises=False,
    ),
    *(Kernel(f"hw_{kind}_to_time", (kind,), "int8", _time_of, raises=False) for kind in _KINDS),
    column_wise("hw_interval_to_time", ("interval",), "int8", lambda value: value[2] % DAY_US, raises=False),
    column_wise(
        "hw_time_to_interval",
        ("int8",),
        "interval",
        lambda clock: (np.zeros_like(clock), np.zeros_like(clock), clock),
        raises=False,
    ),
    *(
        Kernel(f"hw_{kind}_scale", (kind, "int4"), kind, partial(_rescaled, MIDNIGHT_2000_US), raises=False)
        for kind in _KINDS
    ),
    Kernel("hw_time_scale", ("int8", "int4"), "int8", partial(_rescaled, 0), raises=False),
    column_wise("hw_age", ("timestamp", "timestamp"), "interval", _age),
    *(_date_bin(kind) for kind in _KINDS),
    *(Kernel(f"hw_overlaps_{kind}", (kind,) * 4, "bool", _overlapping, raises=False) for kind in _KINDS),
)

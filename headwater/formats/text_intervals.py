"""Columns of intervals to text and back, as PostgreSQL writes them (IntervalStyle postgres).

Not here: what a text means (core/interval.py).
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.calendar import HOUR_US, MONTHS_PER_YEAR
from headwater.core.interval import parse_interval
from headwater.formats.columns import joined, map_distinct
from headwater.formats.engine_types import INTERVAL_TYPE

# Values to text


def interval_to_text(array: pa.Array) -> pa.Array:
    """`1 year 2 mons -3 days +04:05:06`; a part that follows a negative one shows its plus."""
    months, days, us = (pc.struct_field(array, index).cast(pa.int64()) for index in range(3))
    years = pc.divide(months, MONTHS_PER_YEAR)
    rest = pc.subtract(months, pc.multiply(years, MONTHS_PER_YEAR))
    nothing = pa.scalar(None, pa.string())
    parts: list[pa.Array] = []
    negative = pc.less(months, months)  # false, or NULL where the interval is
    zero = pc.invert(negative)
    for count, unit in ((years, "year"), (rest, "mon"), (days, "day")):
        present = pc.not_equal(count, 0)
        sign = pc.if_else(pc.and_(negative, pc.greater(count, 0)), "+", "")
        plural = pc.if_else(pc.equal(count, 1), unit, f"{unit}s")
        text = joined(" ", joined("", sign, pc.cast(count, pa.string())), plural)
        parts.append(pc.if_else(present, text, nothing))
        negative = pc.if_else(present, pc.less(count, 0), negative)
        zero = pc.and_(zero, pc.invert(present))
    sign = pc.if_else(pc.less(us, 0), "-", pc.if_else(negative, "+", ""))
    clock = joined("", sign, _clock_text(pc.abs(us)))
    clock = pc.if_else(pc.or_(zero, pc.not_equal(us, 0)), clock, nothing)
    # Joining drops a row all of whose parts are skipped, so that no row may be like that.
    parts.append(pc.if_else(array.is_null(), "", clock))
    text = pc.binary_join_element_wise(*parts, " ", null_handling="skip")
    return pc.if_else(array.is_valid(), text, nothing)


def _clock_text(us: pa.Array) -> pa.Array:
    hours = pc.divide(us, HOUR_US)
    within = pc.subtract(us, pc.multiply(hours, HOUR_US))
    # Always six digits after the point, so trimming zeros stops there.
    rest = pc.utf8_slice_codeunits(pc.cast(within.cast(pa.time64("us")), pa.string()), 2)
    rest = pc.utf8_rtrim(pc.utf8_rtrim(rest, "0"), ".")
    digits = pc.cast(hours, pa.string())
    padded = pc.if_else(pc.less(hours, 10), pc.utf8_lpad(digits, 2, "0"), digits)
    return joined("", padded, rest)


# Text to values


def interval_from_text(array: pa.Array) -> pa.Array:
    """Stored intervals of their texts."""
    return map_distinct(array, _one_interval, INTERVAL_TYPE)


def _one_interval(text: str) -> dict[str, int]:
    interval = parse_interval(text)
    return {"months": interval.months, "days": interval.days, "microseconds": interval.microseconds}

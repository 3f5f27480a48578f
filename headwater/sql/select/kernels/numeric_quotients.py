"""Quotients of numerics by columns, with the digits that PostgreSQL gives them.

    a / b     digits in groups, as by hand:     whole = a // b               rest = a % b
                                                group = rest * 10^n // b     rest = rest * 10^n % b

A group has so many digits that rest * 10^n is an integer of 64 bits without a sign.  A fraction of up to 32
digits is kept as two numbers, high * 10^16 + low.

Not here: how many digits they are in general (numerics.py), other operations (numeric_columns.py).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.formats.spans import Numbers, missing_of
from headwater.sql.select.kernels.numeric_columns import DIGITS_MAX, PART_DIGITS, POWERS, Made, parsed, placed

Unsigned = npt.NDArray[np.uint64]

_SIGNIFICANT_MIN: Final = 16
_POWERS: Final = POWERS.astype(np.uint64)


def divide(left: pa.Array, right: pa.Array) -> Made | None:
    """Of numbers that have at most 17 digits, with as many behind the point; division by zero is odd."""
    if not len(left):
        return None
    count = len(left)
    both = pa.concat_arrays([left, right])
    absent = missing_of(both)
    numbers, scales, lengths, out = parsed(both, absent)
    sizes = np.where(out, 0, np.abs(numbers))
    scale = _scales(sizes, scales, count)
    more = np.maximum(scales[:count], scales[count:]) - np.reshape(scales, (2, -1))
    long = (np.reshape(lengths, (2, -1)) + more > DIGITS_MAX).any(0)
    odd = out[:count] | out[count:] | long | (sizes[count:] == 0) | (scale > 2 * PART_DIGITS)
    scale = np.where(odd, 0, scale)
    sizes = sizes * POWERS[np.where(odd, 0, more)].reshape(-1)
    a, b = np.where(odd, 0, sizes[:count]), np.where(odd, 1, sizes[count:])
    negative = (numbers[:count] < 0) != (numbers[count:] < 0)
    wholes, fractions = _divided(a.astype(np.uint64), b.astype(np.uint64), scale)
    missing = absent[:count] | absent[count:]
    return placed(wholes.astype(np.int64), fractions, scale, negative, missing), odd & ~missing


def _scales(sizes: Numbers, scales: Numbers, count: int) -> Numbers:
    """Digits after the point of quotients: at least 16 are significant, by the first ones in base 10000."""
    counts = np.searchsorted(POWERS, sizes, "right")
    weights = np.where(counts > 0, (counts - 1 - scales) // 4, 0)
    places = scales + 4 * weights
    firsts = sizes // POWERS[np.maximum(places, 0)] * POWERS[np.maximum(-places, 0)]
    weight = weights[:count] - weights[count:] - (firsts[:count] <= firsts[count:])
    wanted = np.maximum(_SIGNIFICANT_MIN - 4 * weight, 0)
    return np.asarray(np.maximum(wanted, np.maximum(scales[:count], scales[count:])))


def _divided(a: Unsigned, b: Unsigned, scales: Numbers) -> tuple[Unsigned, tuple[Numbers, ...]]:
    """Whole parts, and fractions rounded half up to `scale` digits, as `placed` wants them."""
    group = min(19 - int(np.searchsorted(_POWERS, b.max(), "right")), PART_DIGITS)
    whole = a // b
    rest = a - whole * b
    high = low = np.zeros_like(a)
    left = scales
    while left.any():
        taken = np.minimum(left, group)
        rest = rest * _POWERS[taken]
        digits = rest // b
        high, low = _longer(high, low, taken)
        low += digits
        rest -= digits * b
        left = left - taken
    low = low + (rest + rest >= b)
    # Rounded up to as much as a whole one, or as a half of the digits.
    over = low == _POWERS[np.minimum(scales, PART_DIGITS)]
    high, low = high + over, np.where(over, 0, low)
    whole_one = over & (high == _POWERS[np.maximum(scales - PART_DIGITS, 0)])
    whole, high = whole + whole_one, np.where(whole_one, 0, high)
    behind = int(scales.max())
    zeros = behind - scales
    while zeros.any():
        taken = np.minimum(zeros, PART_DIGITS)
        high, low = _longer(high, low, taken)
        zeros = zeros - taken
    parts = (low,) if behind <= PART_DIGITS else (low, high)
    return whole, tuple(part.astype(np.int64) for part in parts)


def _longer(high: Unsigned, low: Unsigned, zeros: Numbers) -> tuple[Unsigned, Unsigned]:
    """The number with so many zeros more, at most 16."""
    cut = _POWERS[PART_DIGITS - zeros]
    carried = low // cut
    power = _POWERS[zeros]
    return high * power + carried, (low - carried * cut) * power

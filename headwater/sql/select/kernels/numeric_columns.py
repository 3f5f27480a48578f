"""Numerics by columns: numbers of at most 16 characters as integers.

    text  --parsed-->  (integer, digits after the point)  --shown-->  text

The texts' bytes are worked on as one numpy array, eight of each at once (digit_words.py).  NaN, infinities
and longer numbers are odd, and left to the functions over one row (numerics.py).

Not here: sort keys (numeric_keys.py), rounding (numeric_places.py), quotients and sums (numeric_quotients.py,
numeric_totals.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.formats.spans import (
    Bytes,
    Mask,
    Numbers,
    bytes_of,
    missing_of,
    picked,
    rows_with,
)
from headwater.sql.select.kernels.digit_words import CHARACTERS_MAX, numbers_before
from headwater.sql.select.kernels.kernel import Quick

Made = tuple[pa.Array, "Mask | None"]

DIGITS_MAX: Final = 17
PART_DIGITS: Final = 16
"""Of a fraction in several parts."""
POWERS: Final = np.array([10**n for n in range(19)], np.int64)
POINT, ZERO, _NINE, MINUS = 46, 48, 57, 45


def parsed(array: pa.Array, missing: Mask) -> tuple[Numbers, Numbers, Numbers, Mask]:
    """Numbers without their point, digits after it, characters at most, and which rows are odd.

    Of what is odd or NULL, zeros.
    """
    data, offsets = bytes_of(array)
    lengths = np.diff(offsets)
    negative = negatives(data, offsets)
    lengths -= negative
    left_out = missing | named(data, offsets) | (lengths > CHARACTERS_MAX)
    lengths[left_out] = 0
    numbers, scales = numbers_before(data, offsets[1:], lengths)
    return np.negative(numbers, out=numbers, where=negative), scales, lengths, left_out


def negatives(data: Bytes, offsets: Numbers) -> Mask:
    """Which begin with a minus."""
    marked = data == MINUS
    if np.count_nonzero(marked) * 8 < len(offsets):
        return rows_with(marked, offsets)
    return np.asarray(marked[np.minimum(offsets[:-1], len(data) - 1)])


def named(data: Bytes, offsets: Numbers) -> Mask:
    """Which are no digits but a name: NaN or Infinity, with whatever sign."""
    return rows_with(data > _NINE, offsets)


def shown(numbers: Numbers, scales: Numbers, missing: Mask) -> pa.Array:
    """Numbers of at most 18 digits with a point before their last `scale` ones, at most 17."""
    if not scales.any():
        return pa.array(numbers, mask=missing).cast(pa.string())
    sizes, divisors = np.abs(numbers), POWERS.take(scales)
    wholes = sizes // divisors
    behind = int(scales.max())
    fractions = (sizes - wholes * divisors) * POWERS[behind - scales]
    return placed(wholes, (fractions,), scales, numbers < 0, missing)


_FOUR: Final = np.array([int.from_bytes(b"%04d" % n, "little") for n in range(10_000)], "<u4")
"""The digits of numbers below 10,000."""


def put(cells: npt.NDArray[np.uint8], end: int, count: int, numbers: Numbers) -> None:
    """Puts the last digits of numbers before a column, in so many groups of four."""
    rows, width = cells.shape
    for place in range(count):
        last = place == count - 1
        rest = numbers if last else numbers // 10_000
        digits = numbers if last else numbers - rest * 10_000
        np.ndarray((rows,), "<u4", cells, end - 4 - 4 * place, (width,))[:] = _FOUR.take(digits)
        numbers = rest


def placed(
    wholes: Numbers, fractions: Sequence[Numbers], scales: Numbers, negative: Mask, missing: Mask
) -> pa.Array:
    """Numbers by what is before the point and the `scale` digits behind it; zero has no sign.

    Fractions have as many digits as the longest, 16 in each part but the last, which has the first digits.

        [  -][0012].[3456][7800]      groups of four; a row begins at its sign, wherever that is
    """
    counts = np.maximum(np.searchsorted(POWERS, wholes, "right"), 1)
    behind = int(scales.max())
    groups = -(-int(counts.max()) // 4)
    point = 4 + 4 * groups
    width = point + 1 + behind
    cells = np.empty((len(wholes), width), np.uint8)
    signed = wholes > 0
    end, left = width, behind
    for part in fractions if behind else ():
        size = left if part is fractions[-1] else PART_DIGITS
        put(cells, end, -(-size // 4), part)  # the first group may begin with zeros, which the point hides
        end, left = end - size, left - size
        signed |= part > 0
    put(cells, point, groups, wholes)
    signed &= negative
    lengths = counts + signed
    begins = point - lengths
    rows = np.flatnonzero(signed)
    cells[rows, begins[rows]] = MINUS
    if behind:
        cells[:, point] = POINT
        lengths += scales + (scales > 0)
    begins += np.arange(0, len(wholes) * width, width)
    return picked(pa.string(), cells.reshape(-1), begins, lengths, missing)


def _two(operate: Callable[[Numbers, Numbers, Numbers], tuple[Numbers, Numbers, Mask]]) -> Quick:
    """An operation on two rows of numbers, of digits behind the point, and of lengths."""

    def run(left: pa.Array, right: pa.Array) -> Made | None:
        if not len(left):
            return None
        # Both at once: what numpy does for a call is as much as what it does for a batch of rows.
        both = pa.concat_arrays([left, right])
        absent = missing_of(both)
        given = parsed(both, absent)
        (numbers, scales, lengths), out = (part.reshape(2, -1) for part in given[:3]), given[3].reshape(2, -1)
        results, places, left_out = operate(numbers, scales, lengths)
        left_out |= out[0] | out[1]
        results[left_out], places[left_out] = 0, 0
        missing = absent[: len(left)] | absent[len(left) :]
        return shown(results, places, missing), left_out & ~missing

    return run


def _aligned(
    operate: Callable[[Numbers, Numbers], tuple[Numbers, Mask | None]], whole: bool = False
) -> Callable[[Numbers, Numbers, Numbers], tuple[Numbers, Numbers, Mask]]:
    """An operation on numbers with as many digits behind the point; a `whole` result has none."""

    def run(numbers: Numbers, scales: Numbers, lengths: Numbers) -> tuple[Numbers, Numbers, Mask]:
        scale = np.maximum(*scales)
        more = scale - scales
        long = np.maximum(*(lengths + more)) > DIGITS_MAX
        if more.any():
            more[:, long] = 0
            numbers = numbers * POWERS.take(more)
        result, wrong = operate(*numbers)
        return result, np.zeros_like(scale) if whole else scale, long if wrong is None else long | wrong

    return run


def _remainder(a: Numbers, b: Numbers) -> tuple[Numbers, Mask]:
    """As C has it: with the sign of the first."""
    zero = b == 0
    return np.fmod(a, np.where(zero, 1, b)), zero


def _whole_quotient(a: Numbers, b: Numbers) -> tuple[Numbers, Mask]:
    zero = b == 0
    sizes = np.abs(a) // np.where(zero, 1, np.abs(b))
    return np.where((a < 0) != (b < 0), -sizes, sizes), zero


def _product(numbers: Numbers, scales: Numbers, lengths: Numbers) -> tuple[Numbers, Numbers, Mask]:
    long = lengths[0] + lengths[1] > DIGITS_MAX
    return np.where(long, 0, numbers[0]) * numbers[1], scales[0] + scales[1], long


add: Final = _two(_aligned(lambda a, b: (a + b, None)))
subtract: Final = _two(_aligned(lambda a, b: (a - b, None)))
multiply: Final = _two(_product)
remainder: Final = _two(_aligned(_remainder))
whole_quotient: Final = _two(_aligned(_whole_quotient, whole=True))


def negate(array: pa.Array) -> Made:
    """NaN and zero have no sign."""
    bare = pc.ascii_ltrim(array, "-")
    negative = pc.starts_with(array, "-")
    without = pc.or_(pc.equal(pc.binary_length(pc.ascii_ltrim(bare, "0.")), 0), pc.equal(array, "NaN"))
    return pc.if_else(pc.or_(negative, without), bare, pc.binary_join_element_wise("-", array, "")), None


def absolute(array: pa.Array) -> Made:
    """Infinity too."""
    return pc.ascii_ltrim(array, "-"), None


def sign(array: pa.Array) -> Made:
    """Of NaN NaN."""
    zero = pc.equal(pc.binary_length(pc.ascii_ltrim(array, "-0.")), 0)
    signed = pc.if_else(pc.starts_with(array, "-"), "-1", "1")
    return pc.if_else(zero, "0", pc.if_else(pc.equal(array, "NaN"), array, signed)), None

"""Numerics by columns: numbers of at most 17 digits as integers, and sort keys of any finite number.

    text  --parsed-->  (integer, digits after the point)  --shown-->  text

The texts' bytes are worked on as one numpy array: points are taken out and put in for all rows at once.  NaN,
infinities and longer numbers are odd, and left to the functions over one row (numerics.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.formats.spans import Bytes, Mask, Numbers, bytes_of, missing_of, rows_of, spread, text_of
from headwater.sql.select.kernels.kernel import Quick

Words: TypeAlias = "npt.NDArray[np.uint32]"
Made = tuple[pa.Array, "Mask | None"]

DIGITS_MAX: Final = 17
PART_DIGITS: Final = 16
"""Of a fraction in several parts."""
POWERS: Final = np.array([10**n for n in range(19)], np.int64)
POINT, _NINE, ZERO, MINUS = 46, 57, 48, 45


def letters(data: Bytes, offsets: Numbers) -> Mask:
    """Which rows are no plain digits."""
    odd = np.zeros(len(offsets) - 1, np.bool_)
    places = np.flatnonzero(data > _NINE)
    if len(places):
        odd[rows_of(places, offsets)] = True
    return odd


def integers(data: Bytes, offsets: Numbers, missing: Mask) -> Numbers:
    """Texts of at most 18 digits as integers, and anything where one is missing."""
    whole = text_of(pa.string(), data, offsets, missing).cast(pa.int64())
    return np.frombuffer(whole.buffers()[1], np.int64, len(missing))


def parsed(array: pa.Array, missing: Mask) -> tuple[Numbers, Numbers, Numbers, Mask]:
    """Numbers without their point, digits after it, characters at most, and which rows are odd."""
    data, offsets = bytes_of(array)
    lengths = np.diff(offsets)
    left_out = letters(data, offsets) | (lengths > DIGITS_MAX) | missing
    scales = np.zeros(len(array), np.int64)
    pointed = data == POINT
    if pointed.any():
        places = pc.find_substring(array, ".").fill_null(-1).to_numpy()
        with_point = places >= 0
        scales = np.where(with_point & ~left_out, lengths - places - 1, 0)
        data = data[~pointed]
        offsets[1:] -= np.cumsum(with_point)
    return integers(data, offsets, left_out), scales, lengths, left_out


def shown(numbers: Numbers, scales: Numbers, missing: Mask) -> pa.Array:
    """Numbers of at most 18 digits with a point before their last `scale` ones, at most 17."""
    sizes, divisors = np.abs(numbers), POWERS[scales]
    wholes = sizes // divisors
    behind = int(scales.max())
    fractions = (sizes - wholes * divisors) * POWERS[behind - scales]
    return placed(wholes, (fractions,), scales, numbers < 0, missing)


_FOUR: Final = np.array([int.from_bytes(b"%04d" % n, "little") for n in range(10_000)], "<u4")
"""The digits of numbers below 10,000."""


def _put(cells: Words, numbers: Numbers) -> None:
    """The last digits of numbers, four in a column, in so many columns as there are."""
    for place in range(cells.shape[1] - 1, -1, -1):
        rest = numbers // 10_000 if place else np.zeros_like(numbers)
        cells[:, place] = _FOUR[numbers - rest * 10_000]
        numbers = rest


def placed(
    wholes: Numbers, fractions: Sequence[Numbers], scales: Numbers, negative: Mask, missing: Mask
) -> pa.Array:
    """Numbers by what is before the point and the `scale` digits behind it; zero has no sign.

    Fractions have as many digits as the longest, 16 in each part but the last, which has the first digits.

        [   -][0012]  [0.34][5600]      four characters in a word; what is kept of a row is of two spans
    """
    counts = np.maximum(np.searchsorted(POWERS, wholes, "right"), 1)
    behind = int(scales.max())
    before = 1 - -int(counts.max()) // 4
    words = np.empty((len(wholes), before + (behind + 4) // 4 if behind else before), "<u4")
    _put(words[:, 1:before], wholes)
    signed = wholes > 0
    last = words.shape[1]
    for part in fractions if behind else ():
        first = before if part is fractions[-1] else last - PART_DIGITS // 4
        _put(words[:, first:last], part)
        last = first
        signed |= part > 0
    signed &= negative
    cells = words.view(np.uint8)
    before, width = before * 4, cells.shape[1]
    begins = before - counts - signed
    rows = np.flatnonzero(signed)
    cells[rows, begins[rows]] = MINUS
    point = width - behind - 1
    ends = np.where(scales > 0, point + 1 + scales, before)
    until = np.tri(width + 1, width, -1, np.bool_)  # in row i, the first i columns
    kept = until.take(begins, 0) ^ until.take(ends, 0)
    if behind:
        cells[:, point] = POINT
        kept[:, before:point] = False
        ends -= np.where(scales > 0, point - before, 0)
    return text_of(pa.string(), cells[kept], np.concatenate([[0], np.cumsum(ends - begins)]), missing)


def _two(operate: Callable[..., tuple[Numbers, Numbers, Mask]]) -> Quick:
    def run(left: pa.Array, right: pa.Array) -> Made | None:
        if not len(left):
            return None
        count = len(left)
        # Both at once: what numpy does for a call is as much as what it does for a batch of rows.
        both = pa.concat_arrays([left, right])
        absent = missing_of(both)
        number, scale, length, out = parsed(both, absent)
        numbers, scales, long = operate(
            *(number[:count], scale[:count], length[:count]), *(number[count:], scale[count:], length[count:])
        )
        missing = absent[:count] | absent[count:]
        left_out = out[:count] | out[count:] | long
        if left_out.any():
            numbers, scales = np.where(left_out, 0, numbers), np.where(left_out, 0, scales)
        return shown(numbers, scales, missing), left_out & ~missing

    return run


def _aligned(
    operate: Callable[[Numbers, Numbers], tuple[Numbers, Mask | None]], whole: bool = False
) -> Callable[..., tuple[Numbers, Numbers, Mask]]:
    """An operation on numbers with as many digits behind the point; a `whole` result has none."""

    def run(
        a: Numbers, a_scale: Numbers, a_length: Numbers, b: Numbers, b_scale: Numbers, b_length: Numbers
    ) -> tuple[Numbers, Numbers, Mask]:
        scale = np.maximum(a_scale, b_scale)
        a_more, b_more = scale - a_scale, scale - b_scale
        long = (a_length + a_more > DIGITS_MAX) | (b_length + b_more > DIGITS_MAX)
        if a_more.any():
            a = a * POWERS[np.where(long, 0, a_more)]
        if b_more.any():
            b = b * POWERS[np.where(long, 0, b_more)]
        result, wrong = operate(a, b)
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


def _product(
    a: Numbers, a_scale: Numbers, a_length: Numbers, b: Numbers, b_scale: Numbers, b_length: Numbers
) -> tuple[Numbers, Numbers, Mask]:
    long = a_length + b_length > DIGITS_MAX
    return np.where(long, 0, a) * b, a_scale + b_scale, long


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


def sort_key(array: pa.Array) -> Made | None:
    """Of finite numbers: a sign, the place of the first digit, the digits; zero is alone."""
    if not len(array):
        return None
    data, offsets = bytes_of(array)
    odd, missing = letters(data, offsets), missing_of(array)
    ends = offsets[1:].copy()  # of what stands before the point
    points = np.flatnonzero(data == POINT)
    ends[rows_of(points, offsets)] = points
    counted = np.flatnonzero((data > ZERO) & (data <= _NINE))
    low, high = np.searchsorted(counted, offsets[:-1]), np.searchsorted(counted, offsets[1:])
    some = (high > low) & ~odd
    if not some.any():
        return None
    last_place = len(counted) - 1
    first = np.where(some, counted[np.minimum(low, last_place)], 0)
    last = np.where(some, counted[np.maximum(high - 1, 0)], -1)
    negative = np.zeros(len(array), np.bool_)
    minus = np.flatnonzero(data == MINUS)
    if len(minus):
        negative[rows_of(minus, offsets)] = True
    negative &= some
    spans = np.where(some, last - first + 1, 0)
    digits = data[spread(first, spans)]
    inner = some & (first < ends) & (ends <= last)
    if inner.any():
        digits = digits[digits != POINT]
    counts = spans - inner
    if negative.any():
        digits = np.where(np.repeat(negative, counts), 255 - digits, digits)
    return _keys(ends - first - (first < ends), digits, counts, some, negative, missing | odd), odd & ~missing


def _keys(
    places: Numbers, digits: Bytes, counts: Numbers, some: Mask, negative: Mask, missing: Mask
) -> pa.Array:
    lengths = np.where(missing, 0, np.where(some, 5 + counts + negative, 1))
    ends = np.concatenate([[0], np.cumsum(lengths)])
    made = np.empty(ends[-1], np.uint8)
    of_digits = np.ones(ends[-1], np.bool_)
    begins = ends[:-1]
    shown_ones = ~missing
    made[begins[shown_ones]] = np.where(negative, 1, np.where(some, 3, 2))[shown_ones]
    of_digits[begins[shown_ones]] = False
    heads = begins[some]
    shifted: Any = places[some] + 2**31
    for byte in range(4):
        part = (shifted >> (24 - 8 * byte)) & 255
        made[heads + 1 + byte] = np.where(negative[some], 255 - part, part)
        of_digits[heads + 1 + byte] = False
    tails = ends[1:][negative] - 1
    made[tails] = 255
    of_digits[tails] = False
    made[of_digits] = digits
    return text_of(pa.binary(), made, ends, missing)

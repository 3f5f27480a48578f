"""Numerics by columns: numbers of at most 17 digits as integers, and sort keys of any finite number.

    text  --parsed-->  (integer, digits after the point)  --shown-->  text

The texts' bytes are worked on as one numpy array: points are taken out and put in for all rows at once.  NaN,
infinities and longer numbers are odd, and left to the functions over one row (numerics.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.sql.select.kernels.kernel import Mask, Quick

Numbers: TypeAlias = "npt.NDArray[np.int64]"
Bytes: TypeAlias = "npt.NDArray[np.uint8]"
Made = tuple[pa.Array, "Mask | None"]

_DIGITS_MAX: Final = 17
_POWERS: Final = np.array([10**n for n in range(19)], np.int64)
_POINT, _NINE, _ZERO, _MINUS = 46, 57, 48, 45


def bytes_of(array: pa.Array) -> tuple[Bytes, Numbers]:
    """The bytes of all texts, and where each begins and ends in them."""
    _, ends, data = array.buffers()
    offsets = np.frombuffer(ends, np.int32, len(array) + 1, array.offset * 4).astype(np.int64)
    if data is None:
        return np.zeros(0, np.uint8), offsets - offsets[0]
    used = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]]
    return used, offsets - offsets[0]


def missing_of(array: pa.Array) -> Mask:
    """The rows that are NULL."""
    if not array.null_count:
        return np.zeros(len(array), np.bool_)
    return array.is_null().to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def text_of(kind: pa.DataType, data: Bytes, offsets: Numbers, missing: Mask) -> pa.Array:
    """The reverse of `bytes_of`."""
    validity = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    buffers = [validity, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(kind, len(missing), buffers)


def rows_of(places: Numbers, offsets: Numbers) -> Numbers:
    """The row in whose text each place is."""
    return np.searchsorted(offsets, places, "right") - 1


def _letters(data: Bytes, offsets: Numbers) -> Mask:
    """Which rows are no plain digits."""
    odd = np.zeros(len(offsets) - 1, np.bool_)
    letters = np.flatnonzero(data > _NINE)
    if len(letters):
        odd[rows_of(letters, offsets)] = True
    return odd


def parsed(array: pa.Array) -> tuple[Numbers, Numbers, Numbers, Mask]:
    """Numbers without their point, digits after it, characters at most, and which rows are odd."""
    data, offsets = bytes_of(array)
    lengths = np.diff(offsets)
    odd = _letters(data, offsets) | (lengths > _DIGITS_MAX)
    scales = np.zeros(len(array), np.int64)
    pointed = data == _POINT
    points = np.flatnonzero(pointed)
    if len(points):
        rows = np.repeat(np.arange(len(lengths)), lengths)[points]
        scales[rows] = offsets[rows + 1] - points - 1
        data = data[~pointed]
        taken = np.zeros(len(offsets), np.int64)
        taken[rows + 1] = 1
        offsets = offsets - np.cumsum(taken)
    whole = text_of(pa.string(), data, offsets, odd | missing_of(array)).cast(pa.int64())
    numbers = whole.fill_null(0) if whole.null_count else whole
    return numbers.to_numpy(zero_copy_only=False), scales, lengths, odd


def shown(numbers: Numbers, scales: Numbers, missing: Mask) -> pa.Array:
    """Numbers of at most 18 digits with a point before their last `scale` ones, at most 17."""
    pointed = scales > 0
    small = pointed & (np.abs(numbers) < _POWERS[scales])
    if small.any():  # with a one before, which is taken away again, they have all their zeros
        ones = np.where(numbers < 0, -1, 1) * _POWERS[np.minimum(scales + 1, 18)]
        numbers = np.where(small, numbers + ones, numbers)
    data, offsets = bytes_of(pa.array(numbers).cast(pa.string()))
    lengths = np.diff(offsets) + pointed - small
    if small.any():
        kept = np.ones(len(data), np.bool_)
        kept[offsets[:-1][small] + (numbers[small] < 0)] = False
        data = data[kept]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    if pointed.any():
        made = np.full(ends[-1], _POINT, np.uint8)
        digits = np.ones(ends[-1], np.bool_)
        digits[(ends[1:] - scales - 1)[pointed]] = False
        made[digits] = data
        data = made
    return text_of(pa.string(), data, ends, missing)


def _two(operate: Callable[..., tuple[Numbers, Numbers, Mask]]) -> Quick:
    def run(left: pa.Array, right: pa.Array) -> Made | None:
        if not len(left):
            return None
        missing = missing_of(left) | missing_of(right)
        count = len(left)
        # Both at once: what numpy does for a call is as much as what it does for a batch of rows.
        number, scale, length, odd_one = parsed(pa.concat_arrays([left, right]))
        numbers, scales, long = operate(
            *(number[:count], scale[:count], length[:count]), *(number[count:], scale[count:], length[count:])
        )
        odd = odd_one[:count] | odd_one[count:] | long
        left_out = odd | missing
        if left_out.any():
            numbers, scales = np.where(left_out, 0, numbers), np.where(left_out, 0, scales)
        return shown(numbers, scales, missing), odd & ~missing

    return run


def _sum(sign: int) -> Callable[..., tuple[Numbers, Numbers, Mask]]:
    def run(
        a: Numbers, a_scale: Numbers, a_length: Numbers, b: Numbers, b_scale: Numbers, b_length: Numbers
    ) -> tuple[Numbers, Numbers, Mask]:
        if np.array_equal(a_scale, b_scale):
            return (a + b if sign > 0 else a - b), a_scale, np.zeros(len(a), np.bool_)
        scale = np.maximum(a_scale, b_scale)
        long = (a_length + scale - a_scale > _DIGITS_MAX) | (b_length + scale - b_scale > _DIGITS_MAX)
        a_more = np.where(long, 0, scale - a_scale)
        b_more = np.where(long, 0, scale - b_scale)
        return a * _POWERS[a_more] + sign * b * _POWERS[b_more], scale, long

    return run


def _product(
    a: Numbers, a_scale: Numbers, a_length: Numbers, b: Numbers, b_scale: Numbers, b_length: Numbers
) -> tuple[Numbers, Numbers, Mask]:
    long = a_length + b_length > _DIGITS_MAX
    return np.where(long, 0, a) * b, a_scale + b_scale, long


add: Final = _two(_sum(1))
subtract: Final = _two(_sum(-1))
multiply: Final = _two(_product)


def sort_key(array: pa.Array) -> Made | None:
    """Of finite numbers: a sign, the place of the first digit, the digits; zero is alone."""
    if not len(array):
        return None
    data, offsets = bytes_of(array)
    odd, missing = _letters(data, offsets), missing_of(array)
    ends = offsets[1:].copy()  # of what stands before the point
    points = np.flatnonzero(data == _POINT)
    ends[rows_of(points, offsets)] = points
    counted = np.flatnonzero((data > _ZERO) & (data <= _NINE))
    low, high = np.searchsorted(counted, offsets[:-1]), np.searchsorted(counted, offsets[1:])
    some = (high > low) & ~odd
    if not some.any():
        return None
    last_place = len(counted) - 1
    first = np.where(some, counted[np.minimum(low, last_place)], 0)
    last = np.where(some, counted[np.maximum(high - 1, 0)], -1)
    negative = np.zeros(len(array), np.bool_)
    minus = np.flatnonzero(data == _MINUS)
    if len(minus):
        negative[rows_of(minus, offsets)] = True
    negative &= some
    spans = np.where(some, last - first + 1, 0)
    digits = data[spread(first, spans)]
    inner = some & (first < ends) & (ends <= last)
    if inner.any():
        digits = digits[digits != _POINT]
    counts = spans - inner
    if negative.any():
        digits = np.where(np.repeat(negative, counts), 255 - digits, digits)
    return _keys(ends - first - (first < ends), digits, counts, some, negative, missing | odd), odd & ~missing


def spread(starts: Numbers, lengths: Numbers) -> Numbers:
    """The places of all bytes of all spans."""
    begins = np.cumsum(lengths) - lengths
    return np.asarray(np.arange(int(lengths.sum())) + np.repeat(starts - begins, lengths))


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

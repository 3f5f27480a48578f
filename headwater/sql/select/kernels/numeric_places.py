"""Numerics by columns, rounded at a place: of any length, as long as what is kept has at most 17 digits.

      1 2 . 3 4 5 6 7      round(.., 2)
      [ kept   ]^          the digit that decides

Not here: the digits that a quotient gets (numeric_quotients.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.formats.spans import Numbers, bytes_of, missing_of, spread
from headwater.sql.select.kernels.kernel import Mask, Quick
from headwater.sql.select.kernels.numeric_columns import (
    DIGITS_MAX,
    MINUS,
    POINT,
    POWERS,
    ZERO,
    Made,
    integers,
    letters,
    shown,
)

_FIVE: Final = ZERO + 5


@dataclass(frozen=True, slots=True)
class _Cut:
    """Numbers of which some places behind the point are kept."""

    sizes: Numbers
    """Without sign and point."""
    scales: Numbers
    negative: Mask
    half: Mask
    """What is left out is at least half of the last place."""
    more: Mask
    """What is left out is not zero."""
    odd: Mask


def _cut(array: pa.Array, places: Numbers, missing: Mask) -> _Cut:
    data, offsets = bytes_of(array)
    begins, ends = offsets[:-1], offsets[1:]
    found = pc.find_substring(array, ".").fill_null(-1).to_numpy()
    wholes = np.where(found < 0, ends, begins + found)  # where the whole parts end
    decisive = wholes + 1 + places
    kept = np.minimum(ends, np.where(places > 0, decisive, wholes))
    pointed = kept > wholes
    counts = kept - begins - pointed
    odd = letters(data, offsets) | (counts > DIGITS_MAX)
    left_out = odd | missing
    last = len(data) - 1
    negative = (data[np.minimum(begins, last)] == MINUS) & ~left_out
    half = (decisive < ends) & (data[np.minimum(decisive, last)] >= _FIVE)
    more = np.zeros(len(ends), np.bool_)
    if (kept < ends).any():
        some = np.concatenate([[0], np.cumsum(data > ZERO)])
        more = some[ends] > some[kept]
        data = data[spread(begins, kept - begins)]
    numbers = integers(data[data != POINT], np.concatenate([[0], np.cumsum(counts)]), left_out)
    sizes = np.where(left_out, 0, np.abs(numbers))
    return _Cut(sizes, np.where(pointed, kept - wholes - 1, 0), negative, half, more, odd)


def _signed(cut: _Cut, sizes: Numbers) -> Numbers:
    return np.where(cut.negative, -sizes, sizes)


def _at_place(up: bool, keeps_sign: bool = False) -> Quick:
    def run(array: pa.Array, places: pa.Array) -> Made | None:
        if array.null_count == len(array):
            return None
        missing = missing_of(array) | missing_of(places)
        wanted = places.fill_null(0).to_numpy().astype(np.int64)
        far = np.abs(wanted) > DIGITS_MAX
        wanted = np.where(far, 0, wanted)
        behind = np.maximum(wanted, 0)
        cut = _cut(array, behind, missing)
        sizes = cut.sizes + cut.half if up and (wanted >= 0).all() else cut.sizes
        if (wanted < 0).any():
            units = POWERS[np.maximum(-wanted, 0)]
            added = np.where(wanted < 0, units // 2, cut.half) if up else 0
            sizes = (cut.sizes + added) // units * units
        zeros = behind - cut.scales
        long = (zeros > 0) & (sizes >= POWERS[DIGITS_MAX - zeros])
        odd = cut.odd | far | long
        if keeps_sign:
            odd |= cut.negative & (sizes == 0)
        sizes = np.where(odd, 0, sizes) * POWERS[np.where(odd, 0, zeros)]
        return shown(_signed(cut, sizes), np.where(odd, 0, behind), missing), odd & ~missing

    return run


rounded: Final = _at_place(up=True)
truncated: Final = _at_place(up=False)
fitted: Final = _at_place(up=True, keeps_sign=True)


def _to_whole(added: Callable[[_Cut], Mask]) -> Callable[[pa.Array, Mask], tuple[Numbers, Mask]]:
    def run(array: pa.Array, missing: Mask) -> tuple[Numbers, Mask]:
        cut = _cut(array, np.zeros(len(array), np.int64), missing)
        return _signed(cut, cut.sizes + added(cut)), cut.odd

    return run


def _whole(added: Callable[[_Cut], Mask]) -> Quick:
    numbers = _to_whole(added)

    def run(array: pa.Array) -> Made | None:
        if array.null_count == len(array):
            return None
        missing = missing_of(array)
        values, odd = numbers(array, missing)
        texts = pa.array(np.where(odd, 0, values), mask=missing).cast(pa.string())
        return texts, odd & ~missing

    return run


ceiling: Final = _whole(lambda cut: cut.more & ~cut.negative)
floor: Final = _whole(lambda cut: cut.more & cut.negative)


def to_integer(low: int, high: int, kind: pa.DataType) -> Quick:
    """Rounded; what is beyond the type is odd."""
    numbers = _to_whole(lambda cut: cut.half)

    def run(array: pa.Array) -> Made | None:
        if array.null_count == len(array):
            return None
        missing = missing_of(array)
        values, odd = numbers(array, missing)
        odd |= (values < low) | (values > high)
        odd &= ~missing
        return pa.array(np.where(odd, 0, values), mask=missing).cast(kind), odd

    return run

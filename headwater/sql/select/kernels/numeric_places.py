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

from headwater.formats.spans import Bytes, Numbers, bytes_of, missing_of
from headwater.sql.select.kernels.digit_words import (
    CHARACTERS_MAX,
    digits_behind,
    digits_other_than_zero,
    numbers_before,
)
from headwater.sql.select.kernels.kernel import Mask, Quick
from headwater.sql.select.kernels.numeric_columns import (
    DIGITS_MAX,
    POWERS,
    ZERO,
    Made,
    named,
    negatives,
    parsed,
    shown,
)

_FIVE: Final = ZERO + 5
_LONG_SHARE: Final = 16
"""One row in so many may be too long before a slower way for all of them is quicker."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """Numbers of which some places behind the point are kept."""

    sizes: Numbers
    """Without sign and point."""
    scales: Numbers
    negative: Mask
    odd: Mask
    data: Bytes
    decisive: Numbers
    """Where the digits that are left out begin among the bytes, and where they end."""
    ends: Numbers

    def half(self) -> Mask:
        """Whether what is left out is at least half of the last place."""
        digits = self.data[np.minimum(self.decisive, len(self.data) - 1)]
        return np.asarray((self.decisive < self.ends) & (digits >= _FIVE))

    def more(self) -> Mask:
        """Whether what is left out is not zero."""
        counts = self.ends - self.decisive
        counts[self.odd] = 0
        return digits_other_than_zero(self.data, self.ends, counts)


def _cut(array: pa.Array, places: Numbers | None, missing: Mask) -> _Cut:
    """With so many digits behind the point, or none."""
    data, offsets = bytes_of(array)
    begins, ends = offsets[:-1], offsets[1:]
    wholes = ends - 1 - digits_behind(data, ends, ends - begins)  # where the whole parts end
    decisive, kept = wholes + 1, wholes
    if places is not None:
        decisive += places
        kept = np.minimum(ends, np.where(places > 0, decisive, wholes))
    negative = negatives(data, offsets)
    counts = kept - begins - negative
    odd = missing | named(data, offsets) | (counts > CHARACTERS_MAX)
    counts[odd] = 0
    sizes, scales = numbers_before(data, kept, counts)
    return _Cut(sizes, scales, negative, odd, data, decisive, ends)


def _signed(cut: _Cut, sizes: Numbers) -> Numbers:
    return np.asarray(np.negative(sizes, out=sizes, where=cut.negative))


def _at_place(up: bool, keeps_sign: bool = False) -> Quick:
    def run(array: pa.Array, places: pa.Array) -> Made | None:
        if array.null_count == len(array):
            return None
        missing = missing_of(array) | missing_of(places)
        wanted = places.fill_null(0).to_numpy().astype(np.int64)
        if (wanted == wanted[0]).all():
            wanted = wanted[:1]
        far = np.abs(wanted) > DIGITS_MAX
        wanted = np.where(far, 0, wanted)
        behind = np.maximum(wanted, 0)
        cut = _cut(array, behind, missing)
        sizes = cut.sizes + cut.half() if up and (wanted >= 0).all() else cut.sizes
        if (wanted < 0).any():
            units = POWERS[np.maximum(-wanted, 0)]
            added = np.where(wanted < 0, units // 2, cut.half()) if up else 0
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
        cut = _cut(array, None, missing)
        return _signed(cut, cut.sizes + added(cut)), cut.odd

    return run


def _whole(
    short: Callable[[Numbers, Numbers], Numbers], added: Callable[[_Cut], Mask]
) -> Callable[[pa.Array], Made | None]:
    """By a division of integers; of columns with many longer numbers by what is before their points."""
    cut = _to_whole(added)

    def run(array: pa.Array) -> Made | None:
        if array.null_count == len(array):
            return None
        missing = missing_of(array)
        numbers, scales, _, odd = parsed(array, missing)
        if np.count_nonzero(odd & ~missing) * _LONG_SHARE > len(array):
            values, odd = cut(array, missing)
            values[odd] = 0
        else:
            values = short(numbers, POWERS.take(scales))
        return shown(values, np.zeros_like(values), missing), odd & ~missing

    return run


ceiling: Final = _whole(lambda numbers, units: -(-numbers // units), lambda cut: cut.more() & ~cut.negative)
floor: Final = _whole(lambda numbers, units: numbers // units, lambda cut: cut.more() & cut.negative)


def to_integer(low: int, high: int, kind: pa.DataType) -> Quick:
    """Rounded; what is beyond the type is odd."""
    numbers = _to_whole(lambda cut: cut.half())

    def run(array: pa.Array) -> Made | None:
        if array.null_count == len(array):
            return None
        missing = missing_of(array)
        values, odd = numbers(array, missing)
        odd |= (values < low) | (values > high)
        odd &= ~missing
        return pa.array(np.where(odd, 0, values), mask=missing).cast(kind), odd

    return run

"""Sums of numerics by columns: of each list, numbers with as many digits after the point together.

    1.5  2.25  3  NaN        digits after the point    0: 3    1: 15    2: 225        one by one: NaN

Integers are added in two halves, so that no sum is too long for an integer or a float.  A sum has as many
digits after the point as the number with the most.

Not here: averages, which divide a sum (functions/aggregates.py).
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core import pace
from headwater.formats.spans import Numbers, missing_of
from headwater.sql.select.kernels.kernel import with_others
from headwater.sql.select.kernels.numeric_columns import DIGITS_MAX, POWERS, parsed, shown
from headwater.sql.select.kernels.numerics import exact_sum
from headwater.sql.select.kernels.numerics import shown as shown_one

_HALF_BITS: Final = 30
_SLICE_ROWS: Final = 1 << 14
"""Of so many, halves add up to what a float has exactly, within a few milliseconds."""


class _Sums:
    """What was added up for each list and each number of digits after the point."""

    def __init__(self, count: int) -> None:
        self.highs = np.zeros((count, 1), np.int64)
        self.lows = np.zeros((count, 1), np.int64)
        self.some = np.zeros((count, 1), np.bool_)
        self.others: dict[int, list[Decimal]] = {}

    def add(self, values: pa.Array, rows: Numbers) -> None:
        """Values, and the list of each; the lists are in order."""
        missing = missing_of(values)
        numbers, scales, _, left_out = parsed(values, missing)
        odd = left_out & ~missing
        if odd.any():
            for row, text in zip(rows[odd].tolist(), values.filter(pa.array(odd)).to_pylist(), strict=True):
                self.others.setdefault(row, []).append(Decimal(text))
        if left_out.any():
            there = ~left_out
            numbers, scales, rows = numbers[there], scales[there], rows[there]
        if not len(rows):
            return
        first, last = int(rows[0]), int(rows[-1]) + 1
        self._widen(int(scales.max()) + 1)
        width = self.some.shape[1]
        keys, size = (rows - first) * width + scales, (last - first) * width
        halves = (numbers >> _HALF_BITS, numbers & ((1 << _HALF_BITS) - 1))
        for sums, half in zip((self.highs, self.lows), halves, strict=True):
            sums[first:last] += np.bincount(keys, half, size).astype(np.int64).reshape(-1, width)
        self.some[first:last] |= np.bincount(keys, minlength=size).reshape(-1, width) > 0

    def _widen(self, width: int) -> None:
        more = ((0, 0), (0, max(width - self.some.shape[1], 0)))
        if more[1][1]:
            self.highs, self.lows = np.pad(self.highs, more), np.pad(self.lows, more)
            self.some = np.pad(self.some, more)

    def shown(self) -> pa.Array:
        """The sums as texts; none of no values."""
        empty = ~self.some.any(1)
        width = self.some.shape[1]
        scale = np.where(empty, 0, width - 1 - np.argmax(self.some[:, ::-1], 1))
        powers = POWERS[np.maximum(scale[:, None] - np.arange(width), 0)]
        rough = np.abs(self.highs * 2.0**_HALF_BITS + self.lows) * powers
        long = rough.sum(1) >= 10.0**DIGITS_MAX
        odd = long.copy()
        odd[list(self.others)] = True
        totals = ((self.highs << _HALF_BITS) + self.lows) * powers
        numbers = np.where(odd, 0, totals.sum(1))
        texts = shown(numbers, np.where(odd, 0, scale), empty & ~odd)
        others = [self._one(row) for row in np.flatnonzero(odd).tolist()]
        return with_others(texts, odd, pa.array(others, pa.string())) if others else texts

    def _one(self, row: int) -> str:
        parts = list(self.others.get(row, ()))
        for scale in np.flatnonzero(self.some[row]).tolist():
            total = (int(self.highs[row, scale]) << _HALF_BITS) + int(self.lows[row, scale])
            parts.append(Decimal(f"{total}E-{scale}"))
        return shown_one(exact_sum(parts))


def totals(lists: pa.Array) -> pa.Array:
    """Of each list the sum of what is not NULL."""
    if not len(lists):
        return pa.array([], pa.string())
    sums = _Sums(len(lists))
    values, rows = lists.flatten(), pc.list_parent_indices(lists).to_numpy()
    for at in pace.paced(range(0, len(values), _SLICE_ROWS)):
        sums.add(values.slice(at, _SLICE_ROWS), rows[at : at + _SLICE_ROWS])
    return sums.shown()

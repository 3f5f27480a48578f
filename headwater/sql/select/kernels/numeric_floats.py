"""Floats as numerics and the reverse, by columns.

A float times a power of ten is made as two floats, which together are exact:

    12.3 * 10^13  =  product + rest        the digits are those of the nearest integer

Not here: infinities, and floats that are very large or small or lie halfway (numerics.py).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.formats.spans import missing_of
from headwater.sql.select.kernels.kernel import Quick
from headwater.sql.select.kernels.numeric_columns import POWERS, Made, shown

Floats = npt.NDArray[np.float64]

_FLOAT_POWERS: Final = np.array([10.0**place for place in range(23)])
"""All that are exact."""
_SPLIT: Final = 2.0**27 + 1
_HALFWAY: Final = 1e-6
_SHOWN_MAX: Final = 17


def to_float(array: pa.Array) -> Made | None:
    """Numbers of any length."""
    try:
        values = array.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    odd = ~np.isfinite(values.fill_null(0.0).to_numpy())
    return values, odd


def from_float(digits: int) -> Quick:
    """With so many significant digits, without needless zeros."""

    def run(array: pa.Array) -> Made | None:
        if not len(array):
            return None
        missing = missing_of(array)
        values = array.fill_null(0.0).to_numpy()
        sizes = np.abs(values)
        odd = ~((sizes >= 10.0 ** (digits - _SHOWN_MAX)) & (sizes < 10.0 ** (digits - 2))) & (sizes != 0)
        sizes = np.where(odd | (sizes == 0), 1.0, sizes)
        scales = digits - 1 - np.floor(np.log10(sizes)).astype(np.int64)
        numbers, rest = _nearest(sizes, _FLOAT_POWERS[np.clip(scales, 0, 22)])
        # The logarithm is not exact next to a power of ten.
        wrong = (numbers >= POWERS[digits]) | (numbers < POWERS[digits - 1])
        odd |= wrong | (np.abs(np.abs(rest) - 0.5) < _HALFWAY)
        left_out = odd | missing | (values == 0)
        numbers = np.where(left_out, 0, np.where(values < 0, -numbers, numbers))
        texts = shown(numbers, np.where(left_out, 1, np.minimum(scales, _SHOWN_MAX)), missing)
        return pc.ascii_rtrim(pc.ascii_rtrim(texts, "0"), "."), (odd | (scales > _SHOWN_MAX)) & ~missing

    return run


def _nearest(values: Floats, powers: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
    """The integers next to the products, and what is between: exactly, as Dekker multiplied."""
    products = values * powers
    high, power_high = _high_part(values), _high_part(powers)
    low, power_low = values - high, powers - power_high
    errors = ((high * power_high - products) + high * power_low + low * power_high) + low * power_low
    whole = np.rint(products)
    rest = (products - whole) + errors
    carry = np.rint(rest)
    return (whole + carry).astype(np.int64), rest - carry


def _high_part(values: Floats) -> Floats:
    scaled = values * _SPLIT
    return scaled - (scaled - values)

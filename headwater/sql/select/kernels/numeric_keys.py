"""Sort keys of numerics by columns: bytes that order as the numbers do.

    -123.450    [01][7ffffffd][ 12345, inverted ][ff]     sign, place of the first digit, digits, end
       0.002    [03][7ffffffd][ 2 ]                       of numbers above zero nothing is inverted
           0    [02]

Most numbers are integers with a point somewhere, whose keys are made in cells of as many bytes; of columns
with many longer ones it is the bytes of the texts that are worked on.

Not here: infinities and NaN (numerics.py).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.formats.spans import WORD, Mask, Numbers, bytes_of, missing_of, picked, spread, text_of
from headwater.sql.select.kernels.digit_words import ZEROS, digits_behind
from headwater.sql.select.kernels.numeric_columns import POINT, POWERS, Made, named, negatives, parsed, put

_HEAD: Final = 5
_END: Final = 255
_LONG_SHARE: Final = 16
"""One row in so many may be too long before a slower way for all of them is quicker."""


def sort_key(array: pa.Array) -> Made | None:
    """Of finite numbers."""
    if not len(array):
        return None
    missing = missing_of(array)
    numbers, scales, _, left_out = parsed(array, missing)
    odd = left_out & ~missing
    if np.count_nonzero(odd) * _LONG_SHARE > len(array):
        return _of_any_length(array, missing)
    return _of_integers(numbers, scales, missing), odd


def _of_integers(numbers: Numbers, scales: Numbers, missing: Mask) -> pa.Array:
    sizes, negative = np.abs(numbers), numbers < 0
    counts = np.searchsorted(POWERS, sizes, "right")
    words = 1 if sizes.max() < 10**WORD else 2  # of digits; one is before them and one behind
    cells = np.empty((len(numbers), words + 2), np.uint64)
    cells[:, 0] = _heads(counts - 1 - scales, negative, counts > 0).view(np.uint64)
    letters, digits = cells.view(np.uint8), cells[:, 1:-1]
    put(letters, WORD + WORD * words, 2 * words, sizes * POWERS.take(WORD * words - counts))
    # The zeros at the end are above the others in their word: its highest bit tells how many are left.
    used = (np.frexp((digits ^ ZEROS).astype(np.float64))[1] + 7) >> 3
    kept = used[:, 0] if words == 1 else np.where(used[:, 1] > 0, used[:, 1] + WORD, used[:, 0])
    rows = np.flatnonzero(negative)
    digits[rows] = ~digits[rows]
    letters[rows, WORD + kept[rows]] = _END
    begins = np.arange(WORD - _HEAD, letters.size, letters.shape[1])
    return picked(pa.binary(), letters.reshape(-1), begins, _lengths(kept, negative), missing)


def _heads(places: Numbers, negative: Mask, some: Mask) -> Numbers:
    """The first bytes of keys, as the last of integers."""
    heads = places + ((3 << 32) + 2**31)
    heads[negative] = (5 << 32) - 1 - heads[negative]  # all but the sign inverted
    heads[~some] = 2 << 32
    return np.asarray(heads.byteswap())


def _lengths(counts: Numbers, negative: Mask) -> Numbers:
    return np.where(counts > 0, _HEAD + counts + negative, 1)


def _of_any_length(array: pa.Array, missing: Mask) -> Made:
    data, offsets = bytes_of(array)
    odd, negative = named(data, offsets) & ~missing, negatives(data, offsets)
    lengths = np.diff(offsets)
    # As many characters are before the point, and before the first digit.
    before = lengths - 1 - digits_behind(data, offsets[1:], lengths)
    data, offsets = bytes_of(pc.ascii_ltrim(array, "-0."))
    first = lengths - np.diff(offsets)
    inner = (before > first) & (before < lengths)
    if inner.any():
        data = data[data != POINT]
        offsets[1:] -= np.cumsum(inner)
    digits, offsets = bytes_of(pc.ascii_rtrim(text_of(pa.string(), data, offsets, missing), "0"))
    counts = np.diff(offsets)
    negative &= counts > 0
    if negative.any():
        places = spread(offsets[:-1][negative], counts[negative])
        digits = digits.copy()
        digits[places] = ~digits[places]
    ends = np.concatenate([[0], np.cumsum(_lengths(counts, negative))])
    begins, some = ends[:-1], counts > 0
    heads = _heads(before - first - (first < before), negative, some).view(np.uint8).reshape(-1, WORD)
    made = np.full(int(ends[-1]), _END, np.uint8)
    made[begins] = heads[:, WORD - _HEAD]
    made[begins[some, None] + np.arange(_HEAD)] = heads[some, WORD - _HEAD :]
    made[spread(begins + _HEAD, counts)] = digits
    return text_of(pa.binary(), made, ends, missing), odd

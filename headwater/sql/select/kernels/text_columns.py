"""Text functions by columns, for arguments that are constants, as in most queries.

Arrow counts code points, as Python and PostgreSQL do.  Anything else than what is said at each function is
left to the function over one row (texts.py).
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.limits import KERNEL_VALUE_BYTES_MAX
from headwater.sql.select.kernels.kernel import Mask, Quick, constant_of

Made = tuple[pa.Array, "Mask | None"]


def substring(texts: pa.Array, starts: pa.Array, counts: pa.Array) -> Made | None:
    """Not of a negative length, which is an error."""
    start, count = constant_of(starts), constant_of(counts)
    if start is None or count is None or count < 0:
        return None
    return pc.utf8_slice_codeunits(texts, max(start - 1, 0), max(start - 1 + count, 0)), None


def left(texts: pa.Array, counts: pa.Array) -> Made | None:
    """Also without so many at the end."""
    count = constant_of(counts)
    return None if count is None else (pc.utf8_slice_codeunits(texts, 0, count), None)


def right(texts: pa.Array, counts: pa.Array) -> Made | None:
    """Only so many, not without so many."""
    count = constant_of(counts)
    if count is None or count <= 0:
        return None
    return pc.utf8_slice_codeunits(texts, -count), None


def padded(at_left: bool) -> Quick:
    """With one character."""
    pad = pc.utf8_lpad if at_left else pc.utf8_rpad

    def run(texts: pa.Array, lengths: pa.Array, fills: pa.Array) -> Made | None:
        length, fill = constant_of(lengths), constant_of(fills)
        if length is None or fill is None or len(fill) != 1 or length <= 0:
            return None
        if length * len(fill.encode()) * len(texts) > KERNEL_VALUE_BYTES_MAX:
            return None
        return pc.utf8_slice_codeunits(pad(texts, length, fill), 0, length), None

    return run


def trimmed(name: str) -> Quick:
    """With any set of characters."""
    trim = {"b": pc.utf8_trim, "l": pc.utf8_ltrim, "r": pc.utf8_rtrim}[name]

    def run(texts: pa.Array, characters: pa.Array) -> Made | None:
        given = constant_of(characters)
        if given is None:
            return None
        return (trim(texts, given) if given else texts), None

    return run


def replaced(texts: pa.Array, olds: pa.Array, news: pa.Array) -> Made | None:
    """Where the result cannot be much longer."""
    old, new = constant_of(olds), constant_of(news)
    if old is None or new is None:
        return None
    if not old:
        return texts, None
    if texts.nbytes * max(len(new.encode()) // len(old.encode()), 1) > KERNEL_VALUE_BYTES_MAX:
        return None
    return pc.replace_substring(texts, old, new), None


def split_part(texts: pa.Array, separators: pa.Array, numbers: pa.Array) -> Made | None:
    """Counted from the beginning, and not far."""
    separator, number = constant_of(separators), constant_of(numbers)
    if not separator or number is None or not 0 < number <= 100:
        return None
    parts = pc.split_pattern(texts, separator, max_splits=number)
    ends = parts.offsets.to_numpy()
    places = ends[:-1] + number - 1
    found = pc.take(parts.values, pa.array(places, mask=places >= ends[1:]))
    missing = texts.is_null().to_numpy(zero_copy_only=False)
    return pc.if_else(pa.array(~missing), found.fill_null(""), pa.scalar(None, pa.string())), None


def reversed_(texts: pa.Array) -> Made:
    """Always."""
    return pc.utf8_reverse(texts), None

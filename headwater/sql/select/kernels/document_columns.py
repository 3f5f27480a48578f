"""Documents by columns: a member of each without reading it, and arrays of plain values.

Of a member, ordinary is an object without containers inside, and without a backslash: then what stands in
quotes has none, so the text `"key": ` is found nowhere but before that member's value.  The value ends at the
next quote if it begins with one, else before the next comma or brace.  Canonical texts (formats/jsonb.py)
have one space after each colon and comma.  All other documents are odd, and read one by one (documents.py).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core import pace
from headwater.core.limits import KERNEL_SLICE_ROWS_MAX
from headwater.core.types import kinds_of
from headwater.formats.jsonb import print_string
from headwater.formats.spans import bytes_of, missing_of, rows_of, spread, text_of
from headwater.sql.select.kernels.kernel import Mask, Quick, constant_of

Made = tuple[pa.Array, "Mask | None"]

_QUOTE, _COMMA, _OPEN, _CLOSE = 34, 44, 123, 125
_NEVER: Final = b"[\\"
_NULL: Final = ord("n")


def member(bare: bool) -> Quick:
    """The value of one key; `bare`: strings without their quotes, and NULL for null."""

    def run(documents: pa.Array, keys: pa.Array) -> Made | None:
        key = constant_of(keys)
        if key is None or "\\" in (name := print_string(key)):
            return None
        data, offsets = bytes_of(documents)
        if not len(data):
            return None
        missing = missing_of(documents)
        odd = np.zeros(len(documents), np.bool_)
        begins, ends = offsets[:-1], offsets[1:]
        there = ends > begins
        odd[there] = data[begins[there]] != _OPEN
        for never in _NEVER:
            odd[rows_of(np.flatnonzero(data == never), offsets)] = True
        opened = np.flatnonzero(data == _OPEN)
        if len(opened) != int(there.sum()) or not np.array_equal(opened, begins[there]):
            rows = rows_of(opened, offsets)
            odd[rows[opened != begins[rows]]] = True
        pattern = f"{name}: "
        found = pc.find_substring(documents, pattern).fill_null(-1).to_numpy(zero_copy_only=False)
        wanted = (found >= 0) & ~odd & ~missing
        starts = begins[wanted] + found[wanted] + len(pattern.encode())
        text = data[starts] == _QUOTE
        quotes = np.flatnonzero(data == _QUOTE)
        stops = np.flatnonzero((data == _COMMA) | (data == _CLOSE))
        stop = stops[np.minimum(np.searchsorted(stops, starts), len(stops) - 1)]
        closing = quotes[np.minimum(np.searchsorted(quotes, starts + 1), len(quotes) - 1)]
        stop = np.where(text, closing + (not bare), stop)
        starts = starts + (text & bare)
        gone = missing | ~wanted
        if bare:
            gone[np.flatnonzero(wanted)[~text & (data[starts] == _NULL)]] = True
        lengths = np.zeros(len(documents), np.int64)
        lengths[wanted] = stop - starts
        lengths[gone] = 0
        firsts = np.zeros(len(documents), np.int64)
        firsts[wanted] = starts
        made = data[spread(firsts, lengths)]
        return text_of(pa.string(), made, np.concatenate([[0], np.cumsum(lengths)]), gone), odd & ~missing

    return run


_KINDS: Final = ("number", "object", "array", "string", "boolean", "boolean", "null")
_KIND_OF: Final = np.zeros(256, np.int64)
_KIND_OF[list(b'{["tfn')] = range(1, len(_KINDS))
"""By the first byte; what is nothing else is a number."""


def kinds(documents: pa.Array) -> Made | None:
    """What each is, as its first byte tells."""
    data, offsets = bytes_of(documents)
    if not len(data):
        return None
    codes = _KIND_OF[data[np.minimum(offsets[:-1], len(data) - 1)]]
    return pa.array(_KINDS).take(pa.array(codes, mask=missing_of(documents))), None


_WHOLE: Final = kinds_of("signed", "unsigned")
_SPECIAL: Final = r'["\\\x00-\x1f]'


def _texts_of(values: pa.Array, kind: str) -> pa.Array:
    """Integers and texts as documents; NULL as JSON's null."""
    if kind in _WHOLE:
        return values.cast(pa.string()).fill_null("null")
    quoted = pc.binary_join_element_wise('"', values, '"', "").fill_null("null")
    special = pc.match_substring_regex(values, _SPECIAL).fill_null(False)
    if not pc.any(special).as_py():
        return quoted
    escaped = [print_string(text) for text in values.filter(special).to_pylist()]
    return pc.replace_with_mask(quoted, special, pa.array(escaped, pa.string()))


def gathered(lists: pa.Array, kind: str) -> pa.Array | None:
    """Each list as a document, of integers or texts; nothing of others."""
    if kind not in (*_WHOLE, "text", "varchar"):
        return None
    values, rows = lists.flatten(), pc.list_parent_indices(lists)
    parts = [
        _texts_of(values.slice(at, KERNEL_SLICE_ROWS_MAX), kind)
        for at in pace.paced(range(0, len(values), KERNEL_SLICE_ROWS_MAX))
    ]
    texts = pa.concat_arrays(parts) if parts else pa.array([], pa.string())
    ends = np.cumsum([0, *np.bincount(rows, minlength=len(lists))])
    joined = pc.binary_join(
        pa.ListArray.from_arrays(pa.array(ends, pa.int32()), texts, mask=lists.is_null()), ", "
    )
    return pc.binary_join_element_wise("[", joined, "]", "")

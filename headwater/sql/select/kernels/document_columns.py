"""A member of each document of a column, without reading the documents.

Ordinary is an object without containers inside, and without a backslash: then what stands in quotes has none,
so the text `"key": ` is found nowhere but before that member's value.  The value ends at the next quote if it
begins with one, else before the next comma or brace.  Canonical texts (formats/jsonb.py) have one space after
each colon and comma.  All other documents are odd, and read one by one (documents.py).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.formats.jsonb import print_string
from headwater.sql.select.kernels.kernel import Mask, Quick, constant_of
from headwater.sql.select.kernels.numeric_columns import bytes_of, missing_of, rows_of, spread, text_of

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

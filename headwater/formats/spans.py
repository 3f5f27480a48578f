"""Texts and bytes of a column as one numpy array of bytes and the offsets of its values.

    array  --bytes_of-->  (data, offsets)  --text_of-->  array

What is done to all bytes at once, or to spans of them, needs no Python for each value.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers: TypeAlias = "npt.NDArray[np.int64]"
Bytes: TypeAlias = "npt.NDArray[np.uint8]"
Mask: TypeAlias = "npt.NDArray[np.bool_]"


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


def pieces_of(data: Bytes, bounds: Numbers) -> pa.Array:
    """What is between each two bounds, as bytes; nothing is copied."""
    buffers = [None, pa.py_buffer(bounds.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(bounds) - 1, buffers)


def joined_pieces(pieces: pa.Array, firsts: Numbers, kind: pa.DataType) -> pa.Array:
    """Pieces put together, those from each number up to the next; nothing is copied."""
    _, ends, data = pieces.buffers()
    offsets = np.frombuffer(ends, np.int32, len(pieces) + 1, pieces.offset * 4)
    return pa.Array.from_buffers(kind, len(firsts) - 1, [None, pa.py_buffer(offsets[firsts]), data])


def rows_of(places: Numbers, offsets: Numbers) -> Numbers:
    """The row in whose text each place is."""
    if len(places) * 8 < len(offsets):
        return np.searchsorted(offsets, places, "right") - 1
    lengths = np.diff(offsets)
    return np.repeat(np.arange(len(lengths)), lengths)[places]


def spread(starts: Numbers, lengths: Numbers) -> Numbers:
    """The places of all bytes of all spans."""
    begins = np.cumsum(lengths) - lengths
    return np.asarray(np.arange(int(lengths.sum())) + np.repeat(starts - begins, lengths))

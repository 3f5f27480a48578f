"""Texts and bytes of a column as one numpy array of bytes and the offsets of its values.

    array  --bytes_of-->  (data, offsets)  --text_of-->  array
                          (data, spans)    --picked--->  array

What is done to all bytes at once, or to spans of them, needs no Python for each value.  Eight bytes are a
word, the first of them lowest, and what is done to words is done to eight bytes of each value.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers: TypeAlias = "npt.NDArray[np.int64]"
Bytes: TypeAlias = "npt.NDArray[np.uint8]"
Words: TypeAlias = "npt.NDArray[np.uint64]"
Mask: TypeAlias = "npt.NDArray[np.bool_]"

WORD: Final = 8
_INLINE_BYTES: Final = 12
"""A view of so few bytes holds them itself."""
_VIEWED: Final = {pa.string(): pa.string_view(), pa.binary(): pa.binary_view()}
_AT_END: Final = np.array([2**64 - 2 ** (64 - 8 * count) for count in range(WORD + 1)], np.uint64)


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
    first, skipped = divmod(array.offset, 8)
    last = skipped + len(array)
    used = np.frombuffer(array.buffers()[0], np.uint8, -(-last // 8), first)
    return np.asarray(np.unpackbits(used, bitorder="little")[skipped:last] == 0)


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


def picked(kind: pa.DataType, data: Bytes, begins: Numbers, lengths: Numbers, missing: Mask) -> pa.Array:
    """Of each row the bytes from a place on, in any order and also twice.

    [length][first 4][ 8 more     ]    a view of up to 12 bytes; it is what lies before them, and they
    [length][first 4][0][where    ]    a view of more
    """
    padded = np.zeros(len(data) + 16, np.uint8)
    padded[4:-12] = data
    windows = np.ndarray((len(data) + 1,), "V16", padded, 0, (1,))
    views = windows[begins]
    views.view(np.int32)[::4] = lengths
    np.copyto(views.view(np.int64)[1::2], (begins + 4) << 32, where=lengths > _INLINE_BYTES)
    validity = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    buffers = [validity, pa.py_buffer(views), pa.py_buffer(padded)]
    return pa.Array.from_buffers(_VIEWED[kind], len(missing), buffers).cast(kind)


def words_before(data: Bytes) -> Words:
    """Of each place, the end among them, the eight bytes before it."""
    padded = np.zeros(len(data) + WORD, np.uint8)
    padded[WORD:] = data
    return np.ndarray((len(data) + 1,), np.uint64, padded, 0, (1,))


def last_bytes(counts: Numbers) -> Words:
    """What keeps so many bytes of each word, from the end."""
    return np.asarray(_AT_END.take(counts, mode="clip"))


def rows_of(places: Numbers, offsets: Numbers) -> Numbers:
    """The row in whose text each place is."""
    if len(places) * 8 < len(offsets):
        return np.searchsorted(offsets, places, "right") - 1
    lengths = np.diff(offsets)
    return np.repeat(np.arange(len(lengths)), lengths)[places]


def rows_with(marked: Mask, offsets: Numbers) -> Mask:
    """Which rows have a byte that is marked."""
    rows = np.zeros(len(offsets) - 1, np.bool_)
    places = np.flatnonzero(marked)
    if len(places):
        rows[rows_of(places, offsets)] = True
    return rows


def spread(starts: Numbers, lengths: Numbers) -> Numbers:
    """The places of all bytes of all spans."""
    begins = np.cumsum(lengths) - lengths
    return np.asarray(np.arange(int(lengths.sum())) + np.repeat(starts - begins, lengths))

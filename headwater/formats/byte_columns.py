"""Columns of bytes, made and looked at without going through rows.

    fixed width     numpy, big-endian, with offsets 0, w, 2w, ...
    put together    `spliced`: the parts of every row joined by Arrow
    ragged          a matrix with room for the longest, and a mask of what counts

And of one piece of bytes: the values in it, each with its length before it (`split_fields`).

Not here: which type is what bytes (kinds/, binary.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Vector = npt.NDArray[Any]


def fixed(rows: Vector, validity: pa.Buffer | None = None) -> pa.Array:
    """A column of bytes out of one item per row, all of the same size."""
    count, size = len(rows), rows.dtype.itemsize
    offsets = np.arange(0, (count + 1) * size, size, dtype=np.int32)
    return assembled(offsets, pa.py_buffer(np.ascontiguousarray(rows)), validity)


def assembled(offsets: Vector, data: pa.Buffer, validity: pa.Buffer | None = None) -> pa.Array:
    """A column of bytes out of its buffers."""
    buffers = [validity, pa.py_buffer(np.ascontiguousarray(offsets, np.int32)), data]
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, buffers)


def spliced(pieces: Sequence[pa.Array | bytes], validity: pa.Buffer | None = None) -> pa.Array:
    """The pieces of each row one after the other; a NULL piece adds nothing."""
    whole = pc.binary_join_element_wise(*pieces, b"", null_handling="replace", null_replacement=b"")
    if validity is None:
        return whole
    buffers = whole.buffers()
    return pa.Array.from_buffers(pa.binary(), len(whole), [validity, buffers[1], buffers[2]])


def offsets_of(array: pa.Array) -> Vector:
    """Where each value of a column of bytes or text begins, and where the last one ends."""
    offsets = np.frombuffer(array.buffers()[1], np.int32)
    return offsets[array.offset : array.offset + len(array) + 1]


def lengths_of(array: pa.Array) -> Vector:
    """The length of each value in bytes, -1 for NULL: the prefix it has on the wire."""
    lengths = np.diff(offsets_of(array))
    if array.null_count:
        lengths[nulls_of(array)] = -1
    return lengths


def nulls_of(array: pa.Array) -> Vector:
    """True where NULL is."""
    nulls: Vector = array.is_null().to_numpy(zero_copy_only=False)
    return nulls


def validity_of(array: pa.Array) -> pa.Buffer | None:
    """The bitmap of values that are not NULL, beginning at its first bit; None without NULL."""
    if array.null_count == 0:
        return None
    valid = array.is_valid()
    if valid.offset:
        valid = pa.concat_arrays([valid, pa.array([], pa.bool_())])
    return valid.buffers()[1]


def prefixed(array: pa.Array) -> list[pa.Array]:
    """Pieces of a row: a value with its length before it."""
    return [fixed(lengths_of(array).astype(">i4")), array]


def values_of(array: pa.Array, dtype: str) -> Vector:
    """The numbers of a column as they lie in memory; anything may be where NULL is."""
    return np.frombuffer(array.buffers()[1], dtype)[array.offset : array.offset + len(array)]


def split_fields(data: bytes, at: int, count: int) -> tuple[list[bytes | None], int]:
    """Values with their lengths before them, and where they end.

    IndexError if `data` is too short, ValueError if it could never be long enough.
    """
    fields: list[bytes | None] = []
    for _ in range(count):
        length = int.from_bytes(data[at : at + 4], "big", signed=True)
        start = at + 4
        at = start + max(length, 0)
        if start <= len(data) and length < -1:
            raise ValueError("not a length")
        if at > len(data):
            raise IndexError("data is short")
        fields.append(None if length == -1 else data[start:at])
    return fields, at

"""Arrow columns from numbers, in the stored forms, without a Python object per row.

Fixed-width text and decimals are written straight into Arrow buffers; other text
is picked from a small pool that is made once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.sources.load_generator.chance import BoolArray, FloatArray, IntArray

_UINT8_DIGITS = 20
_NUMERIC_DIGITS = 38


def int8(values: IntArray) -> pa.Array:
    """int8, from itself."""
    return pa.array(values, pa.int64())


def int4(values: IntArray) -> pa.Array:
    """int4."""
    return pa.array(values.astype(np.int32))


def float8(values: FloatArray) -> pa.Array:
    """float8."""
    return pa.array(values, pa.float64())


def date(days: IntArray) -> pa.Array:
    """date, from days since the epoch."""
    return pa.array(days.astype(np.int32)).view(pa.date32())


def timestamptz(us: IntArray) -> pa.Array:
    """timestamptz, from microseconds since the epoch."""
    return pa.array(us, pa.int64()).view(pa.timestamp("us", tz="UTC"))


def uint8(values: IntArray) -> pa.Array:
    """uint8; numbers from 0 on."""
    return _decimal(values, _UINT8_DIGITS, 0)


def money(cents: IntArray) -> pa.Array:
    """numeric with scale 2."""
    return _decimal(cents, _NUMERIC_DIGITS, 2)


def _decimal(unscaled: IntArray, precision: int, scale: int) -> pa.Array:
    words = np.empty((len(unscaled), 2), "<i8")
    words[:, 0] = unscaled
    words[:, 1] = unscaled >> 63
    return pa.Array.from_buffers(pa.decimal128(precision, scale), len(unscaled), [None, pa.py_buffer(words)])


def nullable(array: pa.Array, present: BoolArray) -> pa.Array:
    """The same values where `present`, NULL elsewhere."""
    bits = np.packbits(present, bitorder="little")
    buffers = array.buffers()
    return pa.Array.from_buffers(array.type, len(array), [pa.py_buffer(bits), *buffers[1:]])


def picked(pool: pa.Array | Sequence[str], places: IntArray) -> pa.Array:
    """The pool's entry for each place."""
    entries = pool if isinstance(pool, pa.Array) else pa.array(pool, pa.string())
    return entries.take(pa.array(places))


def digits(numbers: IntArray, width: int) -> npt.NDArray[np.uint8]:
    """ASCII digits with leading zeros, one row per number."""
    out = np.empty((len(numbers), width), np.uint8)
    rest = numbers.astype(np.uint64)
    for place in range(width - 1, -1, -1):
        quotient = rest // np.uint64(10)
        out[:, place] = rest - quotient * np.uint64(10)
        rest = quotient
    out += ord("0")
    return out


def text_of_pieces(count: int, *pieces: str | npt.NDArray[np.uint8]) -> pa.Array:
    """Text of one width for all rows, put together from constants and matrices of characters."""
    matrices = [
        np.broadcast_to(np.frombuffer(piece.encode(), np.uint8), (count, len(piece.encode())))
        if isinstance(piece, str)
        else piece
        for piece in pieces
    ]
    return _fixed_width(np.concatenate(matrices, axis=1), pa.string())


def binary(rows: npt.NDArray[np.uint8]) -> pa.Array:
    """A matrix of bytes as bytea, one row each."""
    return _fixed_width(rows, pa.binary())


def _fixed_width(rows: npt.NDArray[np.uint8], type_: pa.DataType) -> pa.Array:
    count, width = rows.shape
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(width)
    data = np.ascontiguousarray(rows).reshape(-1)
    return pa.Array.from_buffers(type_, count, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def ragged_text(rows: npt.NDArray[np.uint8], lengths: IntArray) -> pa.Array:
    """Text of the first `lengths` characters of each row of a matrix."""
    kept = np.arange(rows.shape[1]) < lengths[:, None]
    offsets = np.zeros(len(rows) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.Array.from_buffers(
        pa.string(), len(rows), [None, pa.py_buffer(offsets), pa.py_buffer(rows[kept])]
    )

"""PostgreSQL's binary form of arrays: a header of dimensions, and the elements row by row.

The elements' own form is made and read by whoever calls, as with texts (text_arrays.py).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import UserError
from headwater.core.types import SqlType, format_type, oid_of
from headwater.formats.arrays import DIMENSIONS_MAX, elements_of, odd_rows, too_many_dimensions
from headwater.formats.byte_columns import (
    Vector,
    assembled,
    nulls_of,
    offsets_of,
    prefixed,
    spliced,
    split_fields,
    validity_of,
)
from headwater.formats.text_arrays import bounds_text, braces

ToBinary = Callable[[pa.Array, SqlType], pa.Array]
BinaryToText = Callable[[bytes, SqlType], str]

_ARRAY_HEADER: Final = np.dtype(
    [("dimensions", ">i4"), ("nulls", ">i4"), ("oid", ">u4"), ("length", ">i4"), ("lower", ">i4")]
)


def array_to_binary(array: pa.Array, element: SqlType, to_binary: ToBinary) -> pa.Array:
    """Arrays of one dimension that count from 1 at once; the headers of others one by one."""
    lists = elements_of(array)
    headers, bodies = _one_dimension(lists, element, 1, to_binary)
    odd = odd_rows(array)
    if odd:
        mask = np.zeros(len(array), bool)
        mask[[row for row, _, _ in odd]] = True
        nulls = _any_null(lists)
        shaped = [_shaped_header(lengths, lowers, bool(nulls[row]), element) for row, lengths, lowers in odd]
        headers = pc.replace_with_mask(headers, pa.array(mask), pa.array(shaped, pa.binary()))
    return spliced([headers, bodies], validity_of(array))


def _shaped_header(lengths: Sequence[int], lowers: Sequence[int], nulls: bool, element: SqlType) -> bytes:
    pairs = (number for pair in zip(lengths, lowers, strict=True) for number in pair)
    return struct.pack(f">iiI{2 * len(lengths)}i", len(lengths), nulls, oid_of(element), *pairs)


def vector_to_binary(array: pa.Array, element: SqlType, to_binary: ToBinary) -> pa.Array:
    """Lists as arrays that count from 0."""
    return spliced(_one_dimension(array, element, 0, to_binary), validity_of(array))


def _any_null(lists: pa.Array) -> Vector:
    """Whether there is a NULL among the elements of each list."""
    if not lists.values.null_count:
        return np.zeros(len(lists), bool)
    bounds = lists.offsets.to_numpy().astype(np.int64)
    before = np.concatenate(([0], np.cumsum(nulls_of(lists.values))))
    found: Vector = before[bounds[1:]] > before[bounds[:-1]]
    return found


def _one_dimension(
    array: pa.Array, element: SqlType, lower: int, to_binary: ToBinary
) -> tuple[pa.Array, pa.Array]:
    """Headers and elements; an array without elements has no dimension and a shorter header."""
    bounds = array.offsets.to_numpy().astype(np.int64)
    values = array.values.slice(bounds[0], bounds[-1] - bounds[0])
    header = np.zeros(len(array), _ARRAY_HEADER)
    header["nulls"] = _any_null(array)
    bounds -= bounds[0]
    lengths = np.diff(bounds)
    header["dimensions"] = lengths > 0
    header["oid"] = oid_of(element)
    header["length"] = lengths
    header["lower"] = lower
    room = header.view(np.uint8).reshape(len(array), _ARRAY_HEADER.itemsize)
    used = np.where(lengths > 0, 20, 12)
    headers = room[np.arange(20) < used[:, None]]
    header_offsets = np.concatenate(([0], np.cumsum(used)))

    stream = spliced(prefixed(to_binary(values, element)))
    bodies = assembled(offsets_of(stream)[bounds], stream.buffers()[2] or pa.py_buffer(b""))
    return assembled(header_offsets, pa.py_buffer(headers)), bodies


def array_received(data: bytes, element: SqlType, read: BinaryToText) -> str:
    """The text of an array."""
    lengths, lowers, values = elements_received(data, element, read)
    if not lengths:
        return "{}"
    return bounds_text(lengths, lowers) + braces(lengths, [quoted(value, '{}", \\') for value in values])


def elements_received(
    data: bytes, element: SqlType, read: BinaryToText
) -> tuple[Sequence[int], Sequence[int], list[str | None]]:
    """The lengths and lower bounds of an array's dimensions, and its elements row by row."""
    dimensions, _, oid = struct.unpack_from(">iiI", data)
    if dimensions > DIMENSIONS_MAX:
        raise too_many_dimensions(dimensions)
    if dimensions < 0:
        raise ValueError("less than no dimensions")
    if oid != oid_of(element):
        raise UserError(
            f"binary data has array element type {oid} instead of expected {oid_of(element)}"
            f" ({format_type(element)})",
            "42804",
        )
    bounds = struct.unpack_from(f">{2 * dimensions}i", data, 12)
    lengths, lowers = bounds[::2], bounds[1::2]
    count = math.prod(lengths) if lengths else 0
    if any(length < 0 for length in lengths) or count * 4 > len(data):
        raise ValueError("not a shape")
    fields, end = split_fields(data, 12 + 8 * dimensions, count)
    if end != len(data):
        raise ValueError("data left over")
    values = [None if field is None else read(field, element) for field in fields]
    return (lengths if count else ()), lowers, values


def quoted(value: str | None, special: str) -> str:
    """A value within braces or brackets, of which some characters are special."""
    if value is None:
        return "NULL"
    plain = value and value.upper() != "NULL" and not any(c in special or c.isspace() for c in value)
    if plain:
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

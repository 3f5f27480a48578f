"""Columns in PostgreSQL's binary forms: what each type's send function gives.

Every function takes a whole column in stored form and returns a column of bytes
of the same length, NULL where NULL was.  Rows are never looked at one by one:

    fixed width     numpy, big-endian, with offsets 0, w, 2w, ...
    put together    `spliced`: the parts of every row joined by Arrow
    ragged          a matrix with room for the longest, and a mask of what counts

Types without a binary form of their own (list, map, mz_timestamp, mz_aclitem)
have their text in both formats.

Not here: the reverse (formats/copy_binary.py), messages (encode.py).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.types import INT2, RANGES, SqlType, oid_of
from headwater.formats.arrays import elements_of, odd_rows
from headwater.formats.text import from_text, to_text
from headwater.formats.text_ranges import bounds_of
from headwater.formats.text_times import DAY_INFINITE, MOMENT_INFINITE

DAYS_1970_TO_2000: Final = 10_957
MICROSECONDS_1970_TO_2000: Final = DAYS_1970_TO_2000 * 86_400_000_000

Vector = npt.NDArray[Any]

_NUMERIC_HEADER: Final = np.dtype([("count", ">u2"), ("weight", ">i2"), ("sign", ">u2"), ("scale", ">u2")])
_ARRAY_HEADER: Final = np.dtype(
    [("dimensions", ">i4"), ("nulls", ">i4"), ("oid", ">u4"), ("length", ">i4"), ("lower", ">i4")]
)
_EMPTY_RANGE: Final = 1
_LOWER_INCLUSIVE: Final = 2
_UPPER_INCLUSIVE: Final = 4
_LOWER_INFINITE: Final = 8
_UPPER_INFINITE: Final = 16
_INTERVAL: Final = np.dtype([("microseconds", ">i8"), ("days", ">i4"), ("months", ">i4")])
_NUMERIC_DIGITS_TOGETHER: Final = 200
_SPECIAL_NUMERICS: Final = {"NaN": (0xC000, 0), "Infinity": (0xD000, 32), "-Infinity": (0xF000, 32)}
"""Sign and scale of what is no number; the scale is what PostgreSQL happens to send."""
_NIBBLES: Final = np.zeros(256, np.uint8)
for _digit, _letter in enumerate(b"0123456789abcdef"):
    _NIBBLES[_letter] = _digit
for _digit, _letter in enumerate(b"ABCDEF"):
    _NIBBLES[_letter] = 10 + _digit


def to_binary(array: pa.Array, type_: SqlType) -> pa.Array:
    """The binary form of each value; NULL stays NULL."""
    return _TO_BINARY.get(type_.kind, _as_text)(array, type_)


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


def _as_text(array: pa.Array, type_: SqlType) -> pa.Array:
    return to_text(array, type_).cast(pa.binary())


def _bytes(array: pa.Array, type_: SqlType) -> pa.Array:
    return array.cast(pa.binary())


def _jsonb(array: pa.Array, type_: SqlType) -> pa.Array:
    return spliced([b"\x01", _as_text(array, type_)], validity_of(array))


def _bool(array: pa.Array, type_: SqlType) -> pa.Array:
    return fixed(values_of(array.cast(pa.uint8()), "<u1"), validity_of(array))


def _number(stored: str, sent: str) -> Callable[[pa.Array, SqlType], pa.Array]:
    """A number that lies in memory as `stored` and is sent as `sent`."""

    def send(array: pa.Array, type_: SqlType) -> pa.Array:
        return fixed(values_of(array, stored).astype(sent), validity_of(array))

    return send


def _moment(stored: str, sent: str, shift: int, infinite: int) -> Callable[[pa.Array, SqlType], pa.Array]:
    """A day or moment, which PostgreSQL counts from 2000; infinite ones are the outermost numbers."""

    def send(array: pa.Array, type_: SqlType) -> pa.Array:
        values = values_of(array, stored)
        sent_values = (values - shift).astype(sent)
        sent_values[values == infinite] = infinite
        sent_values[values == -infinite] = -infinite - 1
        return fixed(sent_values, validity_of(array))

    return send


def _uint8(array: pa.Array, type_: SqlType) -> pa.Array:
    # A decimal128 lies in two words, the lower one first, and no uint8 needs the upper one.
    words = np.frombuffer(array.buffers()[1], "<u8").reshape(-1, 2)
    low = words[array.offset : array.offset + len(array), 0]
    return fixed(low.astype(">u8"), validity_of(array))


def _interval(array: pa.Array, type_: SqlType) -> pa.Array:
    rows = np.zeros(len(array), _INTERVAL)
    rows["microseconds"] = values_of(array.field("microseconds"), "<i8")
    rows["days"] = values_of(array.field("days"), "<i4")
    rows["months"] = values_of(array.field("months"), "<i4")
    return fixed(rows, validity_of(array))


def _uuid(array: pa.Array, type_: SqlType) -> pa.Array:
    digits = pc.replace_substring(pc.fill_null(array, "0" * 32), "-", "")
    offsets = offsets_of(digits)
    data = np.frombuffer(digits.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    nibbles = _NIBBLES[data].reshape(len(array), 16, 2)
    packed = np.ascontiguousarray(nibbles[:, :, 0] << 4 | nibbles[:, :, 1])
    return fixed(packed.view("V16").reshape(len(array)), validity_of(array))


def _numeric(array: pa.Array, type_: SqlType) -> pa.Array:
    """Digits to base 10000, without the groups of zeros at either end.

    The decimal digits of every row are laid into one matrix with the points in one
    column; then four columns are one digit of the result.  Long numbers, which would make
    it wide for all rows, have one each.
    """
    text = to_text(array, type_)
    long = pc.fill_null(pc.greater(pc.binary_length(text), _NUMERIC_DIGITS_TOGETHER), False)
    if not pc.any(long).as_py():
        return _numerics(text)
    alone = text.filter(long)
    sent = [_numerics(alone.slice(row, 1)) for row in range(len(alone))]
    others = _numerics(pc.if_else(long, pa.scalar(None, pa.string()), text))
    return pc.replace_with_mask(others, long, pa.concat_arrays(sent))


def _numerics(array: pa.Array) -> pa.Array:
    text = pc.fill_null(array, "0")
    count = len(text)
    special = pc.is_in(text, pa.array(list(_SPECIAL_NUMERICS)))
    plain = pc.if_else(special, "0", text) if pc.any(special).as_py() else text
    negative = pc.starts_with(plain, "-").to_numpy(zero_copy_only=False)
    groups, integer_groups, scale = _digit_groups(pc.utf8_ltrim(plain, "-"))

    header = np.zeros(count, _NUMERIC_HEADER)
    nonzero = groups != 0
    present = nonzero.any(axis=1)
    first = nonzero.argmax(axis=1)
    last = groups.shape[1] - 1 - nonzero[:, ::-1].argmax(axis=1)
    header["count"] = np.where(present, last - first + 1, 0)
    header["weight"] = np.where(present, integer_groups - 1 - first, 0)
    header["sign"] = np.where(negative & present, 0x4000, 0)
    header["scale"] = scale
    for name, (sign, special_scale) in _SPECIAL_NUMERICS.items():
        rows = pc.equal(text, name).to_numpy(zero_copy_only=False)
        header["sign"][rows], header["scale"][rows] = sign, special_scale

    column = np.arange(groups.shape[1])
    counted = (column >= first[:, None]) & (column <= last[:, None]) & present[:, None]
    digits = groups[counted].astype(">u2")
    offsets = np.concatenate(([0], np.cumsum(header["count"], dtype=np.int64))) * 2
    return spliced([fixed(header), assembled(offsets, pa.py_buffer(digits))], validity_of(array))


def _digit_groups(text: pa.Array) -> tuple[Vector, int, Vector]:
    """Unsigned decimals as a matrix of digits to base 10000, how many columns of it stand before
    the point, and the count of decimal digits after the point of each row."""
    offsets = offsets_of(text).astype(np.int64)
    data = np.frombuffer(text.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    offsets -= offsets[0]
    lengths = np.diff(offsets)
    points = np.flatnonzero(data == ord("."))
    point = lengths.copy()
    pointed = np.searchsorted(offsets, points, side="right") - 1
    point[pointed] = points - offsets[pointed]
    scale = np.maximum(lengths - point - 1, 0)

    integer_groups = int(-(-point.max(initial=1) // 4))
    group_count = integer_groups + int(-(-scale.max(initial=0) // 4))
    row = np.repeat(np.arange(len(lengths)), lengths)
    column = np.arange(len(data)) - offsets[row] - point[row]
    kept = column != 0  # the point itself
    column = integer_groups * 4 + column - (column > 0)
    matrix = np.zeros((len(lengths), group_count * 4), np.int16)
    matrix[row[kept], column[kept]] = data[kept] - np.uint8(ord("0"))
    groups = matrix.reshape(len(lengths), group_count, 4) @ np.array([1000, 100, 10, 1], np.int16)
    return groups, integer_groups, scale


def _array(array: pa.Array, type_: SqlType) -> pa.Array:
    """Arrays of one dimension that count from 1 at once; the headers of others one by one."""
    element = type_.element or INT2
    lists = elements_of(array)
    headers, bodies = _one_dimension(lists, element, 1)
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


def _int2vector(array: pa.Array, type_: SqlType) -> pa.Array:
    return spliced(_one_dimension(array, INT2, 0), validity_of(array))


def _any_null(lists: pa.Array) -> Vector:
    """Whether there is a NULL among the elements of each list."""
    bounds = lists.offsets.to_numpy().astype(np.int64)
    before = np.concatenate(([0], np.cumsum(nulls_of(lists.values))))
    found: Vector = before[bounds[1:]] > before[bounds[:-1]]
    return found


def _one_dimension(array: pa.Array, element: SqlType, lower: int) -> tuple[pa.Array, pa.Array]:
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


def _record(array: pa.Array, type_: SqlType) -> pa.Array:
    pieces: list[pa.Array | bytes] = [fixed(np.full(len(array), len(type_.fields), ">i4"))]
    for index, (_, field) in enumerate(type_.fields):
        pieces.append(oid_of(field).to_bytes(4, "big"))
        pieces.extend(prefixed(to_binary(array.field(index), field)))
    return spliced(pieces, validity_of(array))


def _range(array: pa.Array, type_: SqlType) -> pa.Array:
    """A byte of flags, then the bounds that there are."""
    bound = RANGES[type_.kind]
    empty, opening, low_text, high_text, closing = bounds_of(array)
    flags = np.zeros(len(array), np.uint8)
    pieces: list[pa.Array | bytes] = [b""]
    for texts, bracket, included, inclusive, infinite in (
        (low_text, opening, "[", _LOWER_INCLUSIVE, _LOWER_INFINITE),
        (high_text, closing, "]", _UPPER_INCLUSIVE, _UPPER_INFINITE),
    ):
        flags[pc.fill_null(pc.equal(bracket, included), False).to_numpy(zero_copy_only=False)] |= inclusive
        flags[nulls_of(texts)] |= infinite
        values = to_binary(from_text(texts, bound), bound)
        lengths = fixed(lengths_of(values).astype(">i4"), validity_of(values))
        pieces += (lengths, values)
    flags[pc.fill_null(empty, False).to_numpy(zero_copy_only=False)] = _EMPTY_RANGE
    pieces[0] = fixed(flags)
    return spliced(pieces, validity_of(array))


_OID: Final = _number("<i8", ">u4")
_TIMESTAMP: Final = _moment("<i8", ">i8", MICROSECONDS_1970_TO_2000, MOMENT_INFINITE)

_TO_BINARY: Final[dict[str, Callable[[pa.Array, SqlType], pa.Array]]] = {
    "bool": _bool,
    "int2": _number("<i2", ">i2"),
    "int4": _number("<i4", ">i4"),
    "int8": _number("<i8", ">i8"),
    "uint2": _number("<i4", ">u2"),
    "uint4": _number("<i8", ">u4"),
    "uint8": _uint8,
    "float4": _number("<f4", ">f4"),
    "float8": _number("<f8", ">f8"),
    "numeric": _numeric,
    "bytea": _bytes,
    "date": _moment("<i4", ">i4", DAYS_1970_TO_2000, DAY_INFINITE),
    "time": _number("<i8", ">i8"),
    "timestamp": _TIMESTAMP,
    "timestamptz": _TIMESTAMP,
    "interval": _interval,
    "uuid": _uuid,
    "jsonb": _jsonb,
    "oid": _OID,
    "regclass": _OID,
    "regtype": _OID,
    "regproc": _OID,
    "regnamespace": _OID,
    "array": _array,
    "int2vector": _int2vector,
    "record": _record,
    **dict.fromkeys(RANGES, _range),
}
"""By kind; what is missing here is sent as text."""

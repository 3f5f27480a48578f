"""Booleans and numbers; oids are numbers too, and so are the names of things in a catalog, which has them."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.types import SqlType
from headwater.formats import text_numbers
from headwater.formats.byte_columns import (
    Vector,
    assembled,
    fixed,
    offsets_of,
    spliced,
    validity_of,
    values_of,
)
from headwater.formats.kinds.kind import Convert, Kind, Receive, as_text, unmodified

_NUMERIC_HEADER: Final = np.dtype([("count", ">u2"), ("weight", ">i2"), ("sign", ">u2"), ("scale", ">u2")])
_NUMERIC_DIGITS_TOGETHER: Final = 200
_SPECIAL_NUMERICS: Final = {"NaN": (0xC000, 0), "Infinity": (0xD000, 32), "-Infinity": (0xF000, 32)}
"""Sign and scale of what is no number; the scale is what PostgreSQL happens to send."""
_NUMERIC_SCALE_MAX: Final = 16_383


# Booleans


def _bool_to_binary(array: pa.Array, type_: SqlType) -> pa.Array:
    return fixed(values_of(array.cast(pa.uint8()), "<u1"), validity_of(array))


def _bool_received(data: bytes, type_: SqlType) -> str:
    (value,) = struct.unpack("?", data)
    return "t" if value else "f"


BOOL: Final = Kind(
    unmodified(text_numbers.bool_to_text),
    unmodified(text_numbers.bool_from_text),
    _bool_to_binary,
    _bool_received,
    unescaped=True,
)


# Whole numbers


def number_to_binary(stored: str, sent: str) -> Convert:
    """A number that lies in memory as `stored` and is sent as `sent`."""

    def send(array: pa.Array, type_: SqlType) -> pa.Array:
        return fixed(values_of(array, stored).astype(sent), validity_of(array))

    return send


def _received(form: str) -> Receive:
    unpack = struct.Struct(form).unpack

    def receive(data: bytes, type_: SqlType) -> str:
        return str(unpack(data)[0])

    return receive


def _uint8_to_binary(array: pa.Array, type_: SqlType) -> pa.Array:
    # A decimal128 lies in two words, the lower one first, and no uint8 needs the upper one.
    words = np.frombuffer(array.buffers()[1], "<u8").reshape(-1, 2)
    low = words[array.offset : array.offset + len(array), 0]
    return fixed(low.astype(">u8"), validity_of(array))


def _integer(stored: str, sent: str, received: str) -> Kind:
    """As it lies in memory and is sent, for numpy; and the latter for struct."""
    return Kind(
        from_text=text_numbers.integer_from_text,
        to_binary=number_to_binary(stored, sent),
        binary_to_text=_received(received),
        unescaped=True,
    )


INT2: Final = _integer("<i2", ">i2", ">h")
INT4: Final = _integer("<i4", ">i4", ">i")
INT8: Final = _integer("<i8", ">i8", ">q")
UINT2: Final = _integer("<i4", ">u2", ">H")
UINT4: Final = _integer("<i8", ">u4", ">I")
UINT8: Final = Kind(
    unmodified(text_numbers.decimal_to_text),
    text_numbers.integer_from_text,
    _uint8_to_binary,
    _received(">Q"),
    unescaped=True,
)
OID: Final = _integer("<i8", ">u4", ">I")
REGISTERED: Final = replace(OID, unescaped=False)
MZ_TIMESTAMP: Final = Kind(from_text=text_numbers.integer_from_text)


# Floats


def _float4_received(data: bytes, type_: SqlType) -> str:
    return _float_text(struct.unpack(">f", data)[0], str(np.frombuffer(data, ">f4")[0]))


def _float8_received(data: bytes, type_: SqlType) -> str:
    (value,) = struct.unpack(">d", data)
    return _float_text(value, repr(value))


def _float_text(value: float, shortest: str) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return shortest


FLOAT4: Final = Kind(
    unmodified(text_numbers.float_to_text),
    text_numbers.float_from_text,
    number_to_binary("<f4", ">f4"),
    _float4_received,
    unescaped=True,
)
FLOAT8: Final = Kind(
    unmodified(text_numbers.float_to_text),
    text_numbers.float_from_text,
    number_to_binary("<f8", ">f8"),
    _float8_received,
    unescaped=True,
)


# Numerics


def _numeric_to_text(array: pa.Array, type_: SqlType) -> pa.Array:
    """Without a scale they are kept as text."""
    return text_numbers.decimal_to_text(array) if pa.types.is_decimal(array.type) else as_text(array, type_)


def _numeric_to_binary(array: pa.Array, type_: SqlType) -> pa.Array:
    """Digits to base 10000, without the groups of zeros at either end.

    The decimal digits of every row are laid into one matrix with the points in one
    column; then four columns are one digit of the result.  Long numbers, which would make
    it wide for all rows, have one each.
    """
    text = _numeric_to_text(array, type_)
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


def _numeric_received(data: bytes, type_: SqlType) -> str:
    count, weight, sign, scale = struct.unpack_from(">HhHH", data)
    if len(data) != 8 + 2 * count or scale > _NUMERIC_SCALE_MAX:
        raise ValueError("not a numeric")
    special = {0xC000: "NaN", 0xD000: "Infinity", 0xF000: "-Infinity"}.get(sign)
    if special is not None:
        return special
    if sign not in (0, 0x4000):
        raise ValueError("not a sign")
    digits = struct.unpack_from(f">{count}H", data, 8)
    if any(digit > 9999 for digit in digits):
        raise ValueError("not a digit")
    # Digit i stands for digit * 10000 ** (weight - i).
    before = "".join(f"{_digit(digits, i):04d}" for i in range(weight + 1)).lstrip("0") or "0"
    after = "".join(f"{_digit(digits, i):04d}" for i in range(weight + 1, weight + 1 + -(-scale // 4)))
    return f"{'-' if sign else ''}{before}{'.' + after[:scale] if scale else ''}"


def _digit(digits: tuple[int, ...], index: int) -> int:
    return digits[index] if 0 <= index < len(digits) else 0


NUMERIC: Final = Kind(
    _numeric_to_text, text_numbers.numeric_from_text, _numeric_to_binary, _numeric_received, unescaped=True
)

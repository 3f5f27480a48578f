"""Values of one Avro type as a column in stored form, for many messages at a time.

A value that has no stored form is a fault of its message; a column has something harmless in its place,
because the whole row is NULL in the end.  Not here: unions, records, arrays and maps (avro_resolve.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headwater.core.calendar import DATE_MAX, DAY_MIN, DAY_US, MOMENT_MAX, MOMENT_MIN
from headwater.core.errors import UserError
from headwater.core.types import JSONB, NUMERIC_DIGITS_MAX, UUID, SqlType
from headwater.decode.avro_bytes import Cursor, Places, binary, fixed_words, numbers, spans, whole
from headwater.decode.avro_schema import Schema
from headwater.formats.engine_types import INTERVAL_TYPE
from headwater.formats.text import from_text
from headwater.formats.text_numbers import canonical_numeric

Read = Callable[[Cursor], tuple[pa.Array, Places]]
"""A column of values, and the places behind them."""

_INT_MAX: Final = 2**31 - 1
_WHOLE: Final = {
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
}
_DTYPES: Final = {"int": np.int32, "long": np.int64, "float": np.float32, "double": np.float64}
_PROMOTED: Final = {
    "int": ("int", "long", "float", "double"),
    "long": ("long", "float", "double"),
    "float": ("float", "double"),
    "double": ("double",),
    "bytes": ("bytes", "string"),
    "string": ("bytes", "string"),
}
_MILLISECOND_US: Final = 1_000
_DASHES: Final = (8, 13, 18, 23)
_DECIMAL_BYTES: Final = 16


def value_reader(writer: Schema, reader: Schema) -> Read:
    """How to read a value that is no container; UserError if a writer's is no value of the reader's type."""
    if reader.kind not in _PROMOTED.get(writer.kind, (writer.kind,)):
        raise mismatch(writer, reader)
    match writer.kind:
        case "int" | "long":
            return _whole_reader(writer, reader)
        case "float" | "double":
            return _float_reader(writer.kind, reader.kind)
        case "boolean":
            return _booleans
        case "enum":
            return _enum_reader(writer, reader)
        case "fixed" if writer.size != reader.size:
            raise mismatch(writer, reader)
    return _bytes_reader(writer, reader)


def mismatch(writer: Schema, reader: Schema) -> UserError:
    """The complaint about types that have nothing to do with each other."""
    return UserError(f"{writer} of the writer's schema is not {reader}")


# Numbers and moments


def _whole_reader(writer: Schema, reader: Schema) -> Read:
    convert = _moments(writer, reader) if reader.logical else None
    narrow, dtype, type_ = writer.kind == "int", _DTYPES[reader.kind], _WHOLE[reader.kind]

    def read(cursor: Cursor) -> tuple[pa.Array, Places]:
        values, at = whole(cursor)
        if narrow:
            values = _bounded(cursor, values, -_INT_MAX - 1, _INT_MAX, "int")
        if convert is not None:
            return convert(cursor, values), at
        return numbers(values.astype(dtype, copy=False), type_), at

    return read


def _moments(writer: Schema, reader: Schema) -> Callable[[Cursor, NDArray[np.int64]], pa.Array]:
    logical = writer.logical or reader.logical
    kind = _kind_of_moment(reader.logical)
    if _kind_of_moment(logical) != kind:
        raise mismatch(writer, reader)
    factor = _MILLISECOND_US if logical.endswith("millis") else 1
    first, last, type_ = _MOMENTS[kind]

    def convert(cursor: Cursor, values: NDArray[np.int64]) -> pa.Array:
        values = _bounded(cursor, values, -(-first // factor), last // factor, kind)
        if kind == "date":
            return numbers(values.astype(np.int32), type_)
        return numbers(values * factor if factor > 1 else values, type_)

    return convert


def _kind_of_moment(logical: str) -> str:
    return logical.removeprefix("local-").partition("-")[0]


_MOMENTS: Final = {
    "date": (DAY_MIN, DATE_MAX, pa.date32()),
    "time": (0, DAY_US, pa.int64()),
    "timestamp": (MOMENT_MIN, MOMENT_MAX, pa.timestamp("us")),
}
"""The first and the last of each, as stored."""


def _bounded(
    cursor: Cursor, values: NDArray[np.int64], first: int, last: int, kind: str
) -> NDArray[np.int64]:
    bad = (values < first) | (values > last)
    if bad.any():
        cursor.fault(bad, f"{kind} out of range")
        return np.where(bad, 0, values)
    return values


def _float_reader(writer: str, reader: str) -> Read:
    size, dtype = (4, "<f4") if writer == "float" else (8, "<f8")

    def read(cursor: Cursor) -> tuple[pa.Array, Places]:
        values, at = fixed_words(cursor, size, dtype)
        with np.errstate(invalid="ignore"):
            return numbers(values.astype(_DTYPES[reader], copy=False), _WHOLE[reader]), at

    return read


def _booleans(cursor: Cursor) -> tuple[pa.Array, Places]:
    at = cursor.held(cursor.at + 1)
    values = cursor.page.data[cursor.at]
    bad = values > 1
    if bad.any():
        cursor.fault(bad, "a boolean is neither 0 nor 1")
    return pa.array(values != 0), at


def _enum_reader(writer: Schema, reader: Schema) -> Read:
    known = [symbol if symbol in reader.symbols else reader.default for symbol in writer.symbols]
    symbols = pa.array([symbol or "" for symbol in known], pa.string())
    unknown = np.array([symbol is None for symbol in known], np.bool_)
    count = len(known)

    def read(cursor: Cursor) -> tuple[pa.Array, Places]:
        index, at = whole(cursor)
        bad = (index < 0) | (index >= count)
        if bad.any():
            cursor.fault(bad, f"enum {writer.name} has no such symbol")
            index = np.where(bad, 0, index)
        if unknown.any() and count:
            for number in np.unique(index[unknown[index]]).tolist():
                symbol = writer.symbols[number]
                cursor.fault(index == number, f'enum {reader.name} has no symbol "{symbol}"')
        return symbols.take(pa.array(index)) if count else pa.array([""] * len(index)), at

    return read


# Bytes and texts


def _bytes_reader(writer: Schema, reader: Schema) -> Read:
    convert = _bytes_converter(writer, reader)

    def read(cursor: Cursor) -> tuple[pa.Array, Places]:
        begin, end = spans(cursor)
        return convert(cursor, begin, end), end

    def read_fixed(cursor: Cursor) -> tuple[pa.Array, Places]:
        end = cursor.held(cursor.at + writer.size)
        begin = np.where(end - cursor.at == writer.size, cursor.at, end)
        return convert(cursor, begin, end), end

    return read_fixed if writer.kind == "fixed" else read


def _bytes_converter(writer: Schema, reader: Schema) -> Callable[[Cursor, Places, Places], pa.Array]:
    if reader.logical == "decimal":
        if writer.kind == "string" or (writer.logical == "decimal" and writer.scale != reader.scale):
            raise mismatch(writer, reader)
        if reader.precision > NUMERIC_DIGITS_MAX:
            return lambda cursor, begin, end: _long_decimals(cursor, begin, end, reader.scale)
        return lambda cursor, begin, end: _decimals(cursor, begin, end, reader.scale)
    if reader.kind == "fixed" and reader.logical == "uuid":
        return _uuids
    if reader.logical == "duration":
        return _durations
    if reader.kind != "string":
        return binary
    if reader.logical in ("uuid", "json"):
        type_ = UUID if reader.logical == "uuid" else JSONB
        return lambda cursor, begin, end: _parsed(cursor, texts(cursor, begin, end), type_)
    return texts


def texts(cursor: Cursor, begin: Places, end: Places) -> pa.Array:
    """Text, which is UTF-8 without zero bytes."""
    array = binary(cursor, begin, end)
    try:
        text = array.cast(pa.string())
    except pa.ArrowInvalid:
        bad = np.fromiter((not _readable(value) for value in array.to_pylist()), np.bool_, len(array))
        cursor.fault(bad, 'invalid byte sequence for encoding "UTF8"')
        text = pc.if_else(pa.array(bad), b"", array).cast(pa.string())
    content = text.buffers()[2]
    if content is not None and not np.frombuffer(content, np.uint8).all():
        zero = pc.match_substring(text, "\x00").to_numpy(zero_copy_only=False)
        cursor.fault(zero, 'invalid byte sequence for encoding "UTF8": 0x00')
    return text


def _readable(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _parsed(cursor: Cursor, array: pa.Array, type_: SqlType) -> pa.Array:
    """Values of their texts."""
    try:
        return from_text(array, type_)
    except UserError:
        encoded = array.dictionary_encode()
        values, reasons = [], []
        for number in range(len(encoded.dictionary)):
            value, reason = _one_parsed(encoded.dictionary.slice(number, 1), type_)
            values.append(value)
            reasons.append(reason)
        index = encoded.indices.to_numpy()
        for number, reason in enumerate(reasons):
            if reason is not None:
                cursor.fault(index == number, reason)
        return pa.array(values, pa.string()).take(encoded.indices)


def _one_parsed(array: pa.Array, type_: SqlType) -> tuple[str, str | None]:
    try:
        return from_text(array, type_)[0].as_py(), None
    except UserError as error:
        return "", str(error)


# Bytes with a meaning


def _decimals(cursor: Cursor, begin: Places, end: Places, scale: int) -> pa.Array:
    """Whole numbers of bytes, the highest first, in two's complement; as low and high halves."""
    size = end - begin
    low = _half(cursor, end, size)
    high = low >> 63
    wide = np.flatnonzero(size > 8)
    if len(wide):
        high[wide] = _half(cursor, end[wide] - 8, size[wide] - 8)
        bad = _beyond(high, low.view(np.uint64)) | _lengthy(cursor, begin, end, high)
        if bad.any():
            cursor.fault(bad, "numeric field overflow")
            low, high = np.where(bad, 0, low), np.where(bad, 0, high)
    return numbers(np.stack((low, high), axis=1), pa.decimal128(NUMERIC_DIGITS_MAX, scale))


def _half(cursor: Cursor, end: Places, size: Places) -> NDArray[np.int64]:
    """The last eight bytes before each place, of so many that count; the rest is the sign."""
    unused = (8 * (8 - np.clip(size, 0, 8))).astype(np.uint64)
    words = cursor.page.words[end - 8].byteswap()
    # No bytes at all are zero; a shift by a whole word is none.
    values: NDArray[np.int64] = (words << np.minimum(unused, np.uint64(63))).view(np.int64)
    return np.where(size > 0, values >> unused.view(np.int64), 0)


_DECIMAL_END: Final = 10**NUMERIC_DIGITS_MAX - 1
"""The first number that a decimal does not have: the greatest one stands for NaN."""


def _beyond(high: NDArray[np.int64], low: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Numbers that need more digits; of halves, as comparing wholes is not possible."""
    top, bottom = _DECIMAL_END >> 64, np.uint64(_DECIMAL_END & (2**64 - 1))
    above = (high > top) | ((high == top) & (low >= bottom))
    last = -_DECIMAL_END
    low_last = np.uint64(last & (2**64 - 1))
    below = (high < last >> 64) | ((high == last >> 64) & (low <= low_last))
    return np.asarray(above | below)


def _lengthy(cursor: Cursor, begin: Places, end: Places, high: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Numbers of more bytes than a decimal has, of which the first ones are not all sign."""
    bad = np.zeros(len(begin), np.bool_)
    for number in np.flatnonzero(end - begin > _DECIMAL_BYTES).tolist():
        extra = cursor.page.data[begin[number] : end[number] - _DECIMAL_BYTES]
        bad[number] = bool((extra != (0xFF if high[number] < 0 else 0)).any())
    return bad


def _long_decimals(cursor: Cursor, begin: Places, end: Places, scale: int) -> pa.Array:
    """Numbers that may have any number of digits, as their canonical text."""
    encoded = binary(cursor, begin, end).dictionary_encode()
    found = []
    for number, value in enumerate(encoded.dictionary.to_pylist()):
        try:
            found.append(_long_decimal(value, scale))
        except UserError as error:
            cursor.fault(encoded.indices.to_numpy() == number, str(error))
            found.append("0")
    return pa.array(found, pa.string()).take(encoded.indices)


_LONG_DECIMAL_BYTES_MAX: Final = 1_000


def _long_decimal(value: bytes, scale: int) -> str:
    # Python writes numbers of some thousand digits, and no longer ones.
    if len(value) > _LONG_DECIMAL_BYTES_MAX:
        raise UserError("value overflows numeric format", "22003")
    return canonical_numeric(f"{int.from_bytes(value, 'big', signed=True)}e-{scale}")


def _matrix(cursor: Cursor, begin: Places, size: int) -> NDArray[np.uint8]:
    return np.asarray(cursor.page.data[begin[:, None] + np.arange(size)])


_HEX_DIGITS: Final = np.frombuffer(b"0123456789abcdef", np.uint8)


def _uuids(cursor: Cursor, begin: Places, end: Places) -> pa.Array:
    values = _matrix(cursor, begin, 16)
    digits = np.empty((len(values), 32), np.uint8)
    digits[:, 0::2], digits[:, 1::2] = _HEX_DIGITS[values >> 4], _HEX_DIGITS[values & 15]
    text = np.full((len(values), 36), ord("-"), np.uint8)
    text[:, [place for place in range(36) if place not in _DASHES]] = digits
    offsets = np.arange(len(values) + 1, dtype=np.int32) * 36
    return pa.Array.from_buffers(pa.string(), len(values), [None, pa.py_buffer(offsets), pa.py_buffer(text)])


def _durations(cursor: Cursor, begin: Places, end: Places) -> pa.Array:
    """Months, days and milliseconds, each a number without a sign."""
    parts: NDArray[Any] = np.ascontiguousarray(_matrix(cursor, begin, 12)).view("<u4").astype(np.int64)
    bad = (parts[:, 0] > _INT_MAX) | (parts[:, 1] > _INT_MAX)
    if bad.any():
        cursor.fault(bad, "interval out of range")
        parts[bad] = 0
    months, days, milliseconds = parts.T
    children = [
        numbers(months.astype(np.int32), pa.int32()),
        numbers(days.astype(np.int32), pa.int32()),
        numbers(milliseconds * _MILLISECOND_US, pa.int64()),
    ]
    return pa.StructArray.from_arrays(children, fields=list(INTERVAL_TYPE))

"""PostgreSQL's binary forms to text: what each type's receive function takes.

    binary_to_text   one value: an argument of Bind
    BinaryRows       COPY ... FROM with FORMAT binary

The text is one that `formats/text.from_text` reads, so whoever executes a statement
knows a single form of arguments.  Data that is no such value is an error 22P03.

Not here: the reverse, for whole columns (pgwire/binary.py).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import numpy as np
import pyarrow as pa

from headwater.core.errors import UserError
from headwater.core.relation import Column
from headwater.core.types import DATE, INT2, RANGES, TIMESTAMP, TIMESTAMPTZ, SqlType, format_type, oid_of
from headwater.formats.arrays import DIMENSIONS_MAX, too_many_dimensions
from headwater.formats.arrow import arrow_type
from headwater.formats.text import to_text
from headwater.formats.text_arrays import bounds_text, braces
from headwater.formats.text_times import MOMENT_INFINITE, infinite_text

COPY_SIGNATURE: Final = b"PGCOPY\n\xff\r\n\x00"
_COPY_HEADER: Final = struct.Struct(">11sII")
_DAYS_1970_TO_2000: Final = 10_957
_MICROSECONDS_PER_DAY: Final = 86_400_000_000
_NUMERIC_SCALE_MAX: Final = 16_383


def binary_to_text(data: bytes, type_: SqlType) -> str:
    """The text of a value; UserError 22P03 if the bytes are not one."""
    try:
        text = _RECEIVE.get(type_.kind, _text)(data, type_)
    except (struct.error, ValueError, IndexError, OverflowError) as error:
        if isinstance(error, UnicodeDecodeError):
            wrong = " ".join(f"0x{byte:02x}" for byte in data[error.start : max(error.end, error.start + 1)])
            raise UserError(f'invalid byte sequence for encoding "UTF8": {wrong}', "22021") from None
        raise UserError(f"incorrect binary data format for type {format_type(type_)}", "22P03") from None
    if "\x00" in text:
        raise UserError('invalid byte sequence for encoding "UTF8": 0x00', "22021")
    return text


def _text(data: bytes, type_: SqlType) -> str:
    return data.decode()


def _jsonb(data: bytes, type_: SqlType) -> str:
    if data[:1] != b"\x01":
        raise ValueError("not version 1")
    return data[1:].decode()


def _bool(data: bytes, type_: SqlType) -> str:
    (value,) = struct.unpack("?", data)
    return "t" if value else "f"


def _integer(form: str) -> Callable[[bytes, SqlType], str]:
    unpack = struct.Struct(form).unpack

    def receive(data: bytes, type_: SqlType) -> str:
        return str(unpack(data)[0])

    return receive


def _float4(data: bytes, type_: SqlType) -> str:
    return _float_text(struct.unpack(">f", data)[0], str(np.frombuffer(data, ">f4")[0]))


def _float8(data: bytes, type_: SqlType) -> str:
    (value,) = struct.unpack(">d", data)
    return _float_text(value, repr(value))


def _float_text(value: float, shortest: str) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return shortest


def _numeric(data: bytes, type_: SqlType) -> str:
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


def _bytea(data: bytes, type_: SqlType) -> str:
    return "\\x" + data.hex()


def _date(data: bytes, type_: SqlType) -> str:
    (days,) = struct.unpack(">i", data)
    if days in (2**31 - 1, -(2**31)):
        return infinite_text(days)
    stored = pa.array([days + _DAYS_1970_TO_2000], pa.int32()).cast(arrow_type(DATE))
    return str(to_text(stored, DATE)[0].as_py())


def _time(data: bytes, type_: SqlType) -> str:
    (microseconds,) = struct.unpack(">q", data)
    if not 0 <= microseconds <= _MICROSECONDS_PER_DAY:
        raise ValueError("not a time of day")
    return _clock_text(microseconds)


def _clock_text(microseconds: int) -> str:
    seconds, fraction = divmod(microseconds, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02d}:{minute:02d}:{second:02d}" + (f".{fraction:06d}" if fraction else "")


def _timestamp(type_: SqlType, zone: str) -> Callable[[bytes, SqlType], str]:
    def receive(data: bytes, _: SqlType) -> str:
        (microseconds,) = struct.unpack(">q", data)
        if microseconds in (2**63 - 1, -(2**63)):
            return infinite_text(microseconds)
        try:
            return f"{datetime(2000, 1, 1) + timedelta(microseconds=microseconds)}{zone}"
        except OverflowError:  # before Christ, or after the year 9999
            since_1970 = microseconds + _DAYS_1970_TO_2000 * _MICROSECONDS_PER_DAY
            if since_1970 >= MOMENT_INFINITE:
                raise UserError("timestamp out of range", "22008") from None
            return str(to_text(pa.array([since_1970], pa.int64()).cast(arrow_type(type_)), type_)[0].as_py())

    return receive


def _interval(data: bytes, type_: SqlType) -> str:
    microseconds, days, months = struct.unpack(">qii", data)
    sign = "-" if microseconds < 0 else ""
    return f"{months} mons {days} days {sign}{_clock_text(abs(microseconds))}"


def _uuid(data: bytes, type_: SqlType) -> str:
    return str(UUID(bytes=data))


def _void(data: bytes, type_: SqlType) -> str:
    return ""


def _array(data: bytes, type_: SqlType) -> str:
    if type_.element is None:
        raise ValueError("an array of nothing")
    lengths, lowers, values = _elements(data, type_.element)
    if not lengths:
        return "{}"
    return bounds_text(lengths, lowers) + braces(lengths, [_quoted(value, '{}", \\') for value in values])


def _int2vector(data: bytes, type_: SqlType) -> str:
    return " ".join(value or "0" for value in _elements(data, INT2)[2])


def _elements(data: bytes, element: SqlType) -> tuple[Sequence[int], Sequence[int], list[str | None]]:
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
    values = [None if field is None else binary_to_text(field, element) for field in fields]
    return (lengths if count else ()), lowers, values


def _quoted(value: str | None, special: str) -> str:
    if value is None:
        return "NULL"
    plain = value and value.upper() != "NULL" and not any(c in special or c.isspace() for c in value)
    if plain:
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _record(data: bytes, type_: SqlType) -> str:
    (count,) = struct.unpack_from(">i", data)
    if count != len(type_.fields):
        raise ValueError("another number of fields")
    texts: list[str] = []
    at = 4
    for _, field in type_.fields:
        (oid,) = struct.unpack_from(">I", data, at)
        if oid != oid_of(field):
            raise ValueError("another type of field")
        (value,), at = split_fields(data, at + 4, 1)
        texts.append("" if value is None else _quoted(binary_to_text(value, field), '(),"\\'))
    if at != len(data):
        raise ValueError("data left over")
    return "(" + ",".join(texts) + ")"


def _range(data: bytes, type_: SqlType) -> str:
    """A byte of flags (empty, inclusive bounds, missing bounds), then the bounds that there are."""
    flags = data[0]
    if flags & 1:
        return "empty"
    fields, at = split_fields(data, 1, (not flags & 8) + (not flags & 16))
    if at != len(data):
        raise ValueError("data left over")
    bounds = iter(fields)
    texts = []
    for missing in (flags & 8, flags & 16):
        value = None if missing else next(bounds)
        texts.append("" if value is None else f'"{binary_to_text(value, RANGES[type_.kind])}"')
    return f"{'[' if flags & 2 else '('}{texts[0]},{texts[1]}{']' if flags & 4 else ')'}"


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


_OID: Final = _integer(">I")

_RECEIVE: Final[dict[str, Callable[[bytes, SqlType], str]]] = {
    "bool": _bool,
    "int2": _integer(">h"),
    "int4": _integer(">i"),
    "int8": _integer(">q"),
    "uint2": _integer(">H"),
    "uint4": _integer(">I"),
    "uint8": _integer(">Q"),
    "float4": _float4,
    "float8": _float8,
    "numeric": _numeric,
    "bytea": _bytea,
    "date": _date,
    "time": _time,
    "timestamp": _timestamp(TIMESTAMP, ""),
    "timestamptz": _timestamp(TIMESTAMPTZ, "+00"),
    "interval": _interval,
    "uuid": _uuid,
    "jsonb": _jsonb,
    "oid": _OID,
    "regclass": _OID,
    "regtype": _OID,
    "regproc": _OID,
    "regnamespace": _OID,
    "void": _void,
    "array": _array,
    "int2vector": _int2vector,
    "record": _record,
    **dict.fromkeys(RANGES, _range),
}
"""By kind; what is missing here is text in both formats."""


class BinaryRows:
    """Rows of COPY's binary format: a header, rows of fields with lengths, a trailer.

    Where a row begins is known only when the one before has been read, so there is a
    loop here; it cuts, and each column is then converted by one function.
    """

    def __init__(self, columns: tuple[Column, ...], table: str) -> None:
        self._columns = columns
        self._table = table
        self._begun = False
        self._ended = False
        self._row_count = 0

    def take(self, data: bytes, last: bool) -> tuple[pa.RecordBatch | None, int]:
        """The complete rows of `data`, and how many bytes of it they were."""
        at = 0
        if not self._begun:
            at = self._header(data, last)
            if not at:
                return None, 0
        rows: list[list[bytes | None]] = []
        while not self._ended and at < len(data):
            following = self._row(data, at, rows)
            if following is None:
                break
            at = following
        if self._ended and at < len(data):
            raise self._wrong("received copy data after EOF marker")
        if last and at < len(data):
            raise self._wrong("unexpected EOF in COPY data")
        return self._batch(rows), at

    def _header(self, data: bytes, last: bool) -> int:
        """Where the rows begin, 0 if that is not known yet."""
        if data[: len(COPY_SIGNATURE)] != COPY_SIGNATURE[: len(data)]:
            raise self._wrong("COPY file signature not recognized")
        if len(data) >= _COPY_HEADER.size:
            _, flags, extension_bytes = _COPY_HEADER.unpack_from(data)
            if flags & 0xFFFF0000:
                raise self._wrong("unrecognized critical flags in COPY file header")
            end: int = _COPY_HEADER.size + extension_bytes
            if end <= len(data):
                self._begun = True
                return end
        if last:
            raise self._wrong(
                "COPY file signature not recognized" if not data else "invalid COPY file header"
            )
        return 0

    def _row(self, data: bytes, at: int, rows: list[list[bytes | None]]) -> int | None:
        """Append the row at this place; where the next one begins, None if it is not complete."""
        if at + 2 > len(data):
            return None
        count = int.from_bytes(data[at : at + 2], "big", signed=True)
        if count == -1:
            self._ended = True
            return at + 2
        if count != len(self._columns):
            self._row_count += len(rows)
            raise self._wrong(f"row field count is {count}, expected {len(self._columns)}")
        try:
            fields, at = split_fields(data, at + 2, count)
        except IndexError:
            return None
        except ValueError:
            raise self._wrong("field size in COPY data is less than nothing") from None
        rows.append(fields)
        return at

    def _batch(self, rows: list[list[bytes | None]]) -> pa.RecordBatch:
        arrays = []
        for index, column in enumerate(self._columns):
            values = [row[index] for row in rows]
            texts = [None if value is None else binary_to_text(value, column.type) for value in values]
            arrays.append(pa.array(texts, pa.string()))
        self._row_count += len(rows)
        return pa.RecordBatch.from_arrays(arrays, [column.name for column in self._columns])

    def _wrong(self, message: str) -> UserError:
        return UserError(message, "22P04", context=f"COPY {self._table}, line {self._row_count + 1}")

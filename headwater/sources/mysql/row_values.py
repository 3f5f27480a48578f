"""Values of a column, out of the bytes of many rows: as its type has them, or as the server prints them.

    integers, bit          numbers of their width, with or without a sign; bit: uint64
    float double decimal   float32 float64 decimal(p, s)
    date datetime time     date32, timestamp and time64 in microseconds
    year                   int16, 0 for 0000
    char to text, enum     string: labels, and letters of any charset as UTF-8
    binary to blob         binary; geometry too
    json, set              string, as the server prints them
    uuid inet4 inet6       string (of MariaDB)

A value that the Arrow type cannot have is NULL, and is told beside it as the server prints it.

Not here: where the bytes are (rows.py), what our types make of the values (values.py).
"""

from __future__ import annotations

import socket
import uuid
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.limits import BINLOG_EVENT_BYTES_MAX
from headwater.core.types import UUID
from headwater.sources.mysql import table_map as kinds
from headwater.sources.mysql import temporal
from headwater.sources.mysql.charsets import BINARY, charset_of, decoded, readable
from headwater.sources.mysql.decimals import decimals
from headwater.sources.mysql.events import Booleans, Bytes, Events, Integers
from headwater.sources.mysql.facts import ColumnFacts
from headwater.sources.mysql.json_binary import changed_text, json_text
from headwater.sources.mysql.table_map import MapColumn
from headwater.sources.mysql.tuples import TupleColumn

_ZLIB: Final = 0x80
_HEADLESS: Final = 0x08


class Values(NamedTuple):
    """A column, and by place what there is of values that it cannot have."""

    array: pa.Array
    odd: dict[int, str]


@dataclass(frozen=True, slots=True)
class _Cells:
    """The values of a column, as bytes."""

    events: Events
    column: TupleColumn
    told: MapColumn
    facts: ColumnFacts

    def raw(self) -> Bytes:
        """Those of a column whose values are all of a size, row by row; zeros where there is none."""
        size = self.told.size() or 0
        starts = np.minimum(self.column.starts, len(self.events.data))
        padded = self.events.array
        at = starts[:, None] + np.arange(size)
        found: Bytes = padded[np.minimum(at, len(padded) - 1)]
        found[self.column.missing] = 0
        return found

    def numbers(self) -> Integers:
        """Little-endian ones without a sign."""
        size = self.told.size() or 0
        numbers = self.events.numbers(np.minimum(self.column.starts, len(self.events.data)), size)
        numbers[self.column.missing] = 0
        return numbers

    def binary(self) -> pa.Array:
        """Values of any size."""
        return gathered(self.events, self.column)

    def charset(self) -> str:
        """By the table map, which is of the same moment; else by what is known of the column."""
        collation = self.told.collation
        told = None if collation is None else charset_of(collation)
        charset = told or self.facts.charset or BINARY
        if charset != BINARY and not readable(charset):
            raise ValueError(
                f"column `{self.facts.name}` has the character set {charset}, "
                "which cannot be read from the binary log"
            )
        return charset


def gathered(events: Events, column: TupleColumn) -> pa.Array:
    """Bytes of values, NULL for those that are missing."""
    starts, lengths = column.starts, column.lengths
    count = len(starts)
    order = None if np.all(starts[1:] >= starts[:-1]) else np.argsort(starts, kind="stable")
    if order is not None:
        starts, lengths = starts[order], lengths[order]
    # Each value, and what lies between it and the next, as one array over all bytes.
    edges = np.empty(2 * count + 1, np.int64)
    edges[0:-1:2], edges[1::2] = starts, starts + lengths
    edges[-1] = edges[-2] if count else 0
    edges = np.maximum.accumulate(edges)
    whole = pa.Array.from_buffers(
        pa.large_binary(), 2 * count, [None, pa.py_buffer(edges), pa.py_buffer(events.data)]
    )
    place = np.arange(count)
    if order is not None:
        place[order] = np.arange(count)
    return whole.take(pa.array(2 * place, mask=column.missing)).cast(pa.binary())


def equal_bytes(events: Events, some: TupleColumn, others: TupleColumn) -> Booleans:
    """Whether values are the same, byte by byte; NULL is like NULL."""
    same: Booleans = (some.missing == others.missing) & (some.lengths == others.lengths)
    unequal = pc.not_equal(gathered(events, some), gathered(events, others))
    same &= ~pc.fill_null(unequal, False).to_numpy(zero_copy_only=False)
    for column in (some, others):
        if column.diffs is not None:
            same &= ~column.diffs
    return same


def values_of(events: Events, column: TupleColumn, told: MapColumn, facts: ColumnFacts) -> Values:
    """The values of a column as its type has them; ValueError if they cannot be read."""
    cells = _Cells(events, column, told, facts)
    read = _BY_NAME.get(facts.data_type) or _BY_KIND.get(told.kind)
    if read is None:
        raise ValueError(
            f"column `{facts.name}` has the type {told.kind} of the binary log, which cannot be read"
        )
    return read(cells)


def texts_of(events: Events, column: TupleColumn, told: MapColumn, facts: ColumnFacts) -> Values:
    """The values of a column as the server prints them; ValueError if they cannot be read."""
    cells = _Cells(events, column, told, facts)
    if read := _TEXTS.get(told.kind):
        return Values(read(cells), {})
    array, odd = values_of(events, column, told, facts)
    return Values(array if pa.types.is_string(array.type) else array.cast(pa.string()), odd)


def _array(values: np.ndarray, type_: pa.DataType, missing: Booleans) -> pa.Array:
    valid = np.packbits(~missing, bitorder="little") if missing.any() else None
    return pa.Array.from_buffers(
        type_,
        len(values),
        [None if valid is None else pa.py_buffer(valid), pa.py_buffer(np.ascontiguousarray(values))],
    )


# Numbers


def _integer(cells: _Cells) -> Values:
    size = cells.told.size() or 0
    width = 4 if size == 3 else size
    numbers = cells.numbers()
    unsigned = cells.facts.unsigned if cells.told.unsigned is None else cells.told.unsigned
    if not unsigned and size < 8:
        free = 64 - 8 * size
        numbers = numbers << free >> free
    letter = "u" if unsigned else "i"
    type_ = pa.from_numpy_dtype(np.dtype(f"{letter}{width}"))
    return Values(_array(numbers.astype(f"<{letter}{width}"), type_, cells.column.missing), {})


def _bits(cells: _Cells) -> Values:
    raw = cells.raw()
    numbers = np.zeros(len(raw), np.uint64)
    for place in range(raw.shape[1]):
        numbers = numbers << np.uint64(8) | raw[:, place]
    return Values(_array(numbers, pa.uint64(), cells.column.missing), {})


def _float(cells: _Cells) -> Values:
    numbers = cells.numbers()
    if cells.told.kind == kinds.FLOAT:
        return Values(_array(numbers.astype("<u4"), pa.float32(), cells.column.missing), {})
    return Values(_array(numbers, pa.float64(), cells.column.missing), {})


def _decimal(cells: _Cells) -> Values:
    precision, scale = cells.told.detail >> 8, cells.told.detail & 0xFF
    return Values(decimals(cells.raw(), precision, scale, cells.column.missing), {})


def _year(cells: _Cells) -> Values:
    return Values(_array(_years(cells).astype("<i2"), pa.int16(), cells.column.missing), {})


def _years(cells: _Cells) -> Integers:
    numbers = cells.numbers()
    return np.where(numbers == 0, 0, numbers + 1900)


def _year_texts(cells: _Cells) -> pa.Array:
    texts = pa.array([f"{year:04}" if year else "0000" for year in range(1900, 2156)], pa.string())
    zero = pa.array(["0000"], pa.string())
    years = _years(cells)
    place = np.where(years == 0, 0, years - 1899)
    return pa.concat_arrays([zero, texts]).take(pa.array(place, mask=cells.column.missing))


# Dates and times


def _date(cells: _Cells) -> Values:
    moments = temporal.dates(cells.raw())
    days, real = moments.days()
    return _real(cells, days.astype("<i4"), pa.date32(), real, lambda odd: _moment_texts(cells, odd))


def _datetime(cells: _Cells) -> Values:
    micros, real = _moments(cells).microseconds()
    return _real(cells, micros, pa.timestamp("us"), real, lambda odd: _moment_texts(cells, odd))


def _time(cells: _Cells) -> Values:
    micros, _ = temporal.times(cells.raw())
    digits = cells.told.detail
    return _real(
        cells,
        micros,
        pa.time64("us"),
        temporal.within_a_day(micros),
        lambda odd: [temporal.time_text(number, digits) for number in micros[odd].tolist()],
    )


def _real(
    cells: _Cells,
    values: np.ndarray,
    type_: pa.DataType,
    real: Booleans,
    shown: Callable[[Integers], list[str]],
) -> Values:
    odd = np.flatnonzero(~real & ~cells.column.missing)
    texts = dict(zip(odd.tolist(), shown(odd), strict=True)) if len(odd) else {}
    return Values(_array(values, type_, cells.column.missing | ~real), texts)


def _moments(cells: _Cells) -> temporal.Moments:
    match cells.told.kind:
        case kinds.DATETIME:
            return temporal.datetimes(cells.raw())
        case kinds.TIMESTAMP:
            return temporal.timestamps(cells.raw())
    return temporal.dates(cells.raw())


def _moment_texts(cells: _Cells, chosen: Integers) -> list[str]:
    some = _Cells(cells.events, cells.column.taken(chosen), cells.told, cells.facts)
    return [str(text) for text in _moments_printed(some).to_pylist()]


def _moments_printed(cells: _Cells) -> pa.Array:
    dates = cells.told.kind in (kinds.DATE, kinds.NEWDATE)
    texts = _moments(cells).texts(None if dates else cells.told.detail)
    return temporal.fixed_texts(texts, cells.column.missing)


# Texts and bytes


def _text(cells: _Cells) -> Values:
    return _in_charset(cells, cells.binary())


def _in_charset(cells: _Cells, values: pa.Array) -> Values:
    charset = cells.charset()
    if charset == BINARY:
        fixed = cells.told.kind == kinds.STRING
        return Values(_padded(values, cells.told.detail) if fixed else values, {})
    return Values(*decoded(values, charset))


def _padded(values: pa.Array, size: int) -> pa.Array:
    """With the zeros at their ends, which the log leaves out."""
    return pc.binary_join_element_wise(
        values, _zeros(size, pc.binary_length(values)), pa.scalar(b"", pa.binary())
    )


def _zeros(size: int, lengths: pa.Array) -> pa.Array:
    tails = pa.array([bytes(size - length) for length in range(size + 1)], pa.binary())
    return tails.take(lengths)


def _bytes(cells: _Cells) -> Values:
    return Values(cells.binary(), {})


def _enum(cells: _Cells) -> Values:
    labels = ["", *_labels(cells)]
    numbers = cells.numbers()
    beyond = (numbers >= len(labels)) & ~cells.column.missing
    odd = {place: str(numbers[place]) for place in np.flatnonzero(beyond).tolist()}
    chosen = pa.array(np.where(beyond, 0, numbers), mask=cells.column.missing | beyond)
    return Values(pa.array(labels, pa.string()).take(chosen), odd)


def _set(cells: _Cells) -> Values:
    labels = _labels(cells)
    numbers, which = np.unique(cells.numbers(), return_inverse=True)
    texts = [
        ",".join(label for place, label in enumerate(labels) if number >> place & 1)
        for number in numbers.tolist()
    ]
    chosen = pa.array(which.reshape(-1), mask=cells.column.missing)
    return Values(pa.array(texts, pa.string()).take(chosen), {})


def _labels(cells: _Cells) -> list[str]:
    told = cells.told.labels
    if told is None:
        return list(cells.facts.labels)
    texts, odd = decoded(pa.array(told, pa.binary()), cells.charset())
    return [odd.get(place, "") if text is None else text for place, text in enumerate(texts.to_pylist())]


def _document(cells: _Cells) -> Values:
    values = cells.binary().to_pylist()
    column = cells.column
    if column.diffs is None or column.before is None or not column.diffs.any():
        texts = [None if value is None else json_text(value) for value in values]
        return Values(pa.array(texts, pa.string()), {})
    befores = gathered(cells.events, column.before).to_pylist()
    texts = [
        None if value is None else changed_text(before or b"", value) if partial else json_text(value)
        for value, before, partial in zip(values, befores, column.diffs.tolist(), strict=True)
    ]
    return Values(pa.array(texts, pa.string()), {})


# MariaDB's


def _uuid(cells: _Cells) -> Values:
    return _mapped(cells, 16, lambda value: str(uuid.UUID(bytes=value)))


def _inet4(cells: _Cells) -> Values:
    return _mapped(cells, 4, socket.inet_ntoa)


def _inet6(cells: _Cells) -> Values:
    return _mapped(cells, 16, _inet6_text)


def _inet6_text(value: bytes) -> str:
    """MariaDB leaves out a single zero as well."""
    text = socket.inet_ntop(socket.AF_INET6, value)
    if "::" in text:
        return text
    shorter = f":{text}:".replace(":0:", "::", 1)
    begin = 0 if shorter.startswith("::") else 1
    return shorter[begin:] if shorter.endswith("::") else shorter[begin:-1]


def _compressed(cells: _Cells) -> Values:
    values = [None if value is None else _inflated(value) for value in cells.binary().to_pylist()]
    return _in_charset(cells, pa.array(values, pa.binary()))


def _inflated(value: bytes) -> bytes:
    """A value of a COMPRESSED column: 0 and itself, or how it is compressed, its size, and the rest."""
    if not value or not value[0]:
        return value[1:]
    width = value[0] & 0x07
    size = int.from_bytes(value[1 : 1 + width], "big")
    if value[0] & 0xF0 != _ZLIB or size > BINLOG_EVENT_BYTES_MAX:
        raise ValueError("a compressed value in the binary log cannot be read")
    inflate = zlib.decompressobj(-zlib.MAX_WBITS if value[0] & _HEADLESS else zlib.MAX_WBITS)
    try:
        found = inflate.decompress(value[1 + width :], size + 1)
    except zlib.error as error:
        raise ValueError("a compressed value in the binary log cannot be read") from error
    if len(found) != size:
        raise ValueError("a compressed value in the binary log has another size than it claims to have")
    return found


def _mapped(cells: _Cells, size: int, shown: Callable[[bytes], str]) -> Values:
    values = _padded(cells.binary(), size).to_pylist()
    return Values(pa.array([None if value is None else shown(value) for value in values], pa.string()), {})


_Read = Callable[[_Cells], Values]
_BY_NAME: Final[dict[str, _Read]] = {UUID.kind: _uuid, "inet4": _inet4, "inet6": _inet6}
_BY_KIND: Final[dict[int, _Read]] = {
    **dict.fromkeys((kinds.TINY, kinds.SHORT, kinds.INT24, kinds.LONG, kinds.LONGLONG), _integer),
    kinds.BIT: _bits,
    **dict.fromkeys((kinds.FLOAT, kinds.DOUBLE), _float),
    kinds.DECIMAL: _decimal,
    kinds.YEAR: _year,
    **dict.fromkeys((kinds.DATE, kinds.NEWDATE), _date),
    **dict.fromkeys((kinds.DATETIME, kinds.TIMESTAMP), _datetime),
    kinds.TIME: _time,
    **dict.fromkeys((kinds.STRING, kinds.VAR_STRING, kinds.VARCHAR), _text),
    **dict.fromkeys((kinds.TINY_BLOB, kinds.BLOB, kinds.MEDIUM_BLOB, kinds.LONG_BLOB), _text),
    **dict.fromkeys((kinds.GEOMETRY, kinds.VECTOR), _bytes),
    kinds.ENUM: _enum,
    kinds.SET: _set,
    **dict.fromkeys((kinds.BLOB_COMPRESSED, kinds.VARCHAR_COMPRESSED), _compressed),
    kinds.JSON: _document,
}
_TEXTS: Final[dict[int, Callable[[_Cells], pa.Array]]] = {
    kinds.YEAR: _year_texts,
    **dict.fromkeys((kinds.DATE, kinds.NEWDATE, kinds.DATETIME, kinds.TIMESTAMP), _moments_printed),
}

"""Batches to DataRow and CopyData messages, a column at a time.

    batch ──► one column of bytes per column ──► rows, framed ──► one piece of bytes

A row of n columns is 2n pieces (a length and a value, or a value and a delimiter).
For more than a few rows Arrow joins the pieces of all rows at once, and the data
buffer of what comes out is the stream of messages as it stands: about 100 ns per
row, a tenth of what a loop needs.  For a few rows the loop is quicker, by the time
it takes to set the join up (measured: 30 us against 170 us for one row).

Not here: the forms of a value (formats/binary.py, formats/text.py), when messages are
sent (portal.py, copy.py).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.coordinator.api import CopyOut, Names
from headwater.core.limits import ENCODE_AT_ONCE_BYTES_MAX, ENCODE_BYTES_MAX, RESULT_BATCH_ROWS
from headwater.core.relation import Column
from headwater.core.types import SqlType
from headwater.formats.batches import cut
from headwater.formats.binary import to_binary
from headwater.formats.byte_columns import fixed, lengths_of, offsets_of, spliced
from headwater.formats.text import to_text, unescaped

COPY_SIGNATURE: Final = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
COPY_TRAILER: Final = b"\xff\xff"

_NO_NAMES: Final[Names] = {}
_JOINED_ROWS_MIN: Final = 100
_NULL: Final = b"\xff\xff\xff\xff"
_LENGTH: Final = struct.Struct(">i")
_DATA_ROW: Final = struct.Struct(">cih")
_DATA_ROWS: Final = np.dtype([("kind", "S1"), ("length", ">i4"), ("columns", ">i2")])
_COPY_ROWS: Final = np.dtype([("kind", "S1"), ("length", ">i4")])

# What COPY's text format writes for these; the backslash must be the first.
_TEXT_ESCAPES: Final = (
    ("\\", "\\\\"),
    ("\b", "\\b"),
    ("\f", "\\f"),
    ("\n", "\\n"),
    ("\r", "\\r"),
    ("\t", "\\t"),
    ("\v", "\\v"),
)
_ESCAPED_CHARACTERS: Final = frozenset(character for character, _ in _TEXT_ESCAPES)


def slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch in parts that are not too big to be encoded at once."""
    for start in range(0, batch.num_rows, RESULT_BATCH_ROWS):
        yield from cut(batch.slice(start, RESULT_BATCH_ROWS), ENCODE_BYTES_MAX)


def column_bytes(array: pa.Array, type_: SqlType, format_: int, names: Names) -> pa.Array:
    """A column's values as they go over the wire."""
    if format_ == 1:
        return to_binary(array, type_)
    if pa.types.is_boolean(array.type):
        return pc.if_else(array, b"t", b"f")
    return _text(array, type_, names).cast(pa.binary())


def _text(array: pa.Array, type_: SqlType, names: Names) -> pa.Array:
    if type_.kind not in names:
        return to_text(array, type_)
    met = array.dictionary_encode()
    shown = pa.array([names[type_.kind][oid] for oid in met.dictionary.to_pylist()], pa.string())
    return shown.take(met.indices)


def data_rows(
    batch: pa.RecordBatch,
    columns: Sequence[Column],
    formats: Sequence[int],
    names: Names = _NO_NAMES,
) -> bytes:
    """One DataRow for each row; `names` are what numbers of regclass columns are shown as."""
    values = [
        column_bytes(array, column.type, format_, names)
        for array, column, format_ in zip(batch.columns, columns, formats, strict=True)
    ]
    few = batch.num_rows < _JOINED_ROWS_MIN and batch.nbytes <= ENCODE_AT_ONCE_BYTES_MAX
    if few or not values:  # Python's own bytes of large values would keep everybody waiting
        return _few_data_rows(values, batch.num_rows)
    lengths = [lengths_of(value) for value in values]
    header = np.zeros(batch.num_rows, _DATA_ROWS)
    header["kind"] = b"D"
    header["columns"] = len(values)
    header["length"] = 6 + 4 * len(values) + sum(np.maximum(length, 0) for length in lengths)
    pieces = [fixed(header)]
    for value, length in zip(values, lengths, strict=True):
        pieces += (fixed(length.astype(">i4")), value)
    return _stream(pieces)


def _few_data_rows(values: Sequence[pa.Array], row_count: int) -> bytes:
    pack = _LENGTH.pack
    parts: list[bytes] = []
    rows = zip(*(value.to_pylist() for value in values), strict=True) if values else iter([()] * row_count)
    for row in rows:
        body = b"".join([_NULL if value is None else pack(len(value)) + value for value in row])
        parts.append(_DATA_ROW.pack(b"D", len(body) + 6, len(row)))
        parts.append(body)
    return b"".join(parts)


def _stream(pieces: Sequence[pa.Array | bytes]) -> bytes:
    """All rows' pieces as one piece of bytes."""
    data: bytes = spliced(pieces).buffers()[2].to_pybytes()
    return data


def copy_rows(
    copy: CopyOut, columns: Sequence[Column], names: Names = _NO_NAMES
) -> Callable[[pa.RecordBatch], bytes]:
    """The function that makes one CopyData message for each row of a batch."""
    write = {"text": _text_pieces, "csv": _csv_pieces, "binary": _binary_pieces}[copy.format]

    def encode(batch: pa.RecordBatch) -> bytes:
        if batch.num_rows == 0:
            return b""
        pieces = write(batch, columns, copy, names)
        header = np.zeros(batch.num_rows, _COPY_ROWS)
        header["kind"] = b"d"
        header["length"] = 4 + sum(
            len(piece) if isinstance(piece, bytes) else np.maximum(lengths_of(piece), 0) for piece in pieces
        )
        return _stream([fixed(header), *pieces])

    return encode


def copy_header(copy: CopyOut, columns: Sequence[Column]) -> bytes:
    """What comes before the rows of a COPY: a signature, a line of names, or nothing."""
    if copy.format == "binary":
        return COPY_SIGNATURE
    if not copy.header:
        return b""
    names = pa.RecordBatch.from_arrays(
        [pa.array([column.name]) for column in columns], [str(index) for index in range(len(columns))]
    )
    texts = tuple(Column(column.name, SqlType("text")) for column in columns)
    write = _text_pieces if copy.format == "text" else _csv_pieces
    return _stream(write(names, texts, copy, _NO_NAMES))


def _binary_pieces(
    batch: pa.RecordBatch, columns: Sequence[Column], copy: CopyOut, names: Names
) -> list[pa.Array | bytes]:
    pieces: list[pa.Array | bytes] = [len(columns).to_bytes(2, "big")]
    for array, column in zip(batch.columns, columns, strict=True):
        value = to_binary(array, column.type)
        pieces += (fixed(lengths_of(value).astype(">i4")), value)
    return pieces


def _text_pieces(
    batch: pa.RecordBatch, columns: Sequence[Column], copy: CopyOut, names: Names
) -> list[pa.Array | bytes]:
    pieces: list[pa.Array | bytes] = []
    for array, column in zip(batch.columns, columns, strict=True):
        value = _text(array, column.type, names)
        if not unescaped(column.type):
            value = escape_text(value, copy.delimiter)
        pieces += (pc.fill_null(value, copy.null).cast(pa.binary()), copy.delimiter.encode())
    return _line(pieces, batch.num_rows)


def escape_text(value: pa.Array, delimiter: str) -> pa.Array:
    """COPY's text format of texts: control characters by letter, the delimiter behind a backslash."""
    offsets, data = offsets_of(value), value.buffers()[2]
    # Of a slice only its own values: the buffer is that of all it was cut from.
    present = b"" if data is None else data[offsets[0] : offsets[-1]].to_pybytes()
    for character, written in _TEXT_ESCAPES:
        if character.encode() in present:
            value = pc.replace_substring(value, character, written)
    if delimiter.encode() in present and delimiter not in _ESCAPED_CHARACTERS:
        value = pc.replace_substring(value, delimiter, "\\" + delimiter)
    return value


def _csv_pieces(
    batch: pa.RecordBatch, columns: Sequence[Column], copy: CopyOut, names: Names
) -> list[pa.Array | bytes]:
    pieces: list[pa.Array | bytes] = []
    for array, column in zip(batch.columns, columns, strict=True):
        value = _quoted(_text(array, column.type, names), copy, alone=len(columns) == 1)
        pieces += (pc.fill_null(value, copy.null).cast(pa.binary()), copy.delimiter.encode())
    return _line(pieces, batch.num_rows)


def _quoted(value: pa.Array, copy: CopyOut, alone: bool) -> pa.Array:
    """In quotes where a reader would otherwise see something else: a delimiter, NULL, the end."""
    needed = pc.equal(value, copy.null)
    for character in (copy.delimiter, '"', "\n", "\r"):
        needed = pc.or_(needed, pc.match_substring(value, character))
    if alone:
        needed = pc.or_(needed, pc.equal(value, "\\."))
    if not pc.any(needed).as_py():
        return value
    inside = pc.replace_substring(value, '"', '""')
    return pc.if_else(needed, pc.binary_join_element_wise('"', inside, '"', ""), value)


def _line(pieces: list[pa.Array | bytes], row_count: int) -> list[pa.Array | bytes]:
    """The last delimiter is the line's end; a row without columns is an empty line."""
    if not pieces:
        return [fixed(np.full(row_count, b"\n", "S1"))]
    return [*pieces[:-1], b"\n"]

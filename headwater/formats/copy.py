"""COPY's data to columns of text: the text and csv formats as PostgreSQL reads them.

Pieces cut anywhere go in, batches of texts (NULL where the null string stood) come
out; turning texts into values is `formats/text.from_text`.  A piece is taken apart
without looking at its rows one by one:

    bytes        1 , " a , b " \\n 2 , c \\n
    separators     ^           ^    ^   ^      those not escaped or in quotes
    fields       [1]["a,b"] [2][c]             one column of bytes with all fields,
                                               every n-th of which is one column's

Only fields that hold an escape or a quote are touched again, and only those of an
unusual kind (octal escapes, quotes in the middle) by a loop.

Not here: the binary format (copy_binary.py), the protocol (pgwire/copy.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import UserError
from headwater.core.limits import COPY_PIECE_BYTES, COPY_ROW_BYTES_MAX
from headwater.core.relation import Column
from headwater.formats.copy_binary import BinaryRows

CopyFormat: TypeAlias = Literal["text", "csv", "binary"]
Vector: TypeAlias = npt.NDArray[Any]

_LINE_SHOWN_CHARACTERS_MAX: Final = 100
_ESCAPES: Final = (
    ("\\b", "\b"),
    ("\\f", "\f"),
    ("\\n", "\n"),
    ("\\r", "\r"),
    ("\\t", "\t"),
    ("\\v", "\v"),
)
_NUMBERED: Final = r"\\(?:[0-7]|x[0-9a-fA-F])"
_ESCAPE: Final = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_LETTERS: Final = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """What WITH (...) says of the data.  Delimiter, quote and escape are one byte each."""

    delimiter: str = "\t"
    null: str = "\\N"
    header: bool = False
    quote: str = '"'
    escape: str = '"'


class CopyReader:
    """Turns pieces of data into batches; `table` is for messages."""

    def __init__(
        self, format_: CopyFormat, options: CopyOptions, columns: tuple[Column, ...], table: str
    ) -> None:
        self._rows: BinaryRows | _TextRows
        if format_ == "binary":
            self._rows = BinaryRows(columns, table)
        else:
            self._rows = _TextRows(format_ == "csv", options, columns, table)
        self._held = bytearray()
        self._wanted_bytes = COPY_PIECE_BYTES

    def write(self, data: bytes) -> pa.RecordBatch | None:
        """More bytes; the rows that are complete with them, when there are enough."""
        self._held += data
        if len(self._held) < self._wanted_bytes:
            return None
        return self._take(last=False)

    def finish(self) -> pa.RecordBatch | None:
        """No more bytes: the rows that are left."""
        return self._take(last=True)

    def _take(self, last: bool) -> pa.RecordBatch | None:
        batch, used = self._rows.take(bytes(self._held), last)
        del self._held[:used]
        if len(self._held) > COPY_ROW_BYTES_MAX:
            raise UserError(f"a row of COPY data is longer than {COPY_ROW_BYTES_MAX} bytes", "54000")
        # A row that is not complete yet is looked at again only when twice as much of it is there.
        self._wanted_bytes = max(COPY_PIECE_BYTES, 2 * len(self._held))
        return batch


def text_schema(columns: tuple[Column, ...]) -> pa.Schema:
    """All columns as text."""
    return pa.schema([(column.name, pa.string()) for column in columns])


def empty_batch(columns: tuple[Column, ...]) -> pa.RecordBatch:
    """No rows."""
    schema = text_schema(columns)
    return pa.RecordBatch.from_arrays([pa.array([], pa.string()) for _ in columns], schema=schema)


class _TextRows:
    """The text and csv formats."""

    def __init__(self, csv: bool, options: CopyOptions, columns: tuple[Column, ...], table: str) -> None:
        self._csv = csv
        self._options = options
        self._columns = columns
        self._table = table
        self._line_end = b""  # known from the first line on
        self._line_count = 0
        self._header_due = options.header
        self._ended = False

    def take(self, data: bytes, last: bool) -> tuple[pa.RecordBatch | None, int]:
        """The complete rows of `data`, and how many bytes of it they were."""
        if self._ended:
            return None, len(data)
        separators, ends_line = self._separators(data, last)
        complete = len(separators) > 0 and bool(ends_line[-1]) and self._after(separators[-1]) >= len(data)
        if last and data and not complete:
            separators = np.append(separators, len(data))
            ends_line = np.append(ends_line, True)
        line_ends = np.flatnonzero(ends_line)
        if not len(line_ends):
            return None, 0
        separators = separators[: line_ends[-1] + 1]
        used = min(self._after(separators[-1]), len(data))
        starts = np.concatenate(([0], separators[:-1] + 1))
        if self._line_end == b"\r\n":
            starts[1:] += ends_line[: len(separators) - 1]
        batch = self._batch(data, _Lines(starts, separators, line_ends))
        self._line_count += data.count(self._line_end[:1], 0, used) if self._csv else len(line_ends)
        return batch, used

    def _after(self, separator: int) -> int:
        return int(separator) + max(len(self._line_end), 1)

    def _separators(self, data: bytes, last: bool) -> tuple[Vector, Vector]:
        """Positions of delimiters and line ends that are meant as such, and which are line ends."""
        array = np.frombuffer(data, np.uint8)
        delimiter = ord(self._options.delimiter)
        positions = np.flatnonzero((array == delimiter) | (array == 10) | (array == 13))
        positions = self._unquoted(data, positions, last) if self._csv else _unescaped(array, positions)
        found = array[positions]
        if not self._line_end:
            self._line_end = _line_end(data, positions, found, last)
        if not self._line_end:
            return positions, np.zeros(len(positions), np.bool_)
        if self._line_end == b"\r\n":
            return self._separators_crlf(data, positions, found, last)
        stray = 13 if self._line_end == b"\n" else 10
        if (found == stray).any():
            raise self._stray(data, int(positions[(found == stray).argmax()]), stray)
        return positions, found != delimiter

    def _separators_crlf(
        self, data: bytes, positions: Vector, found: Vector, last: bool
    ) -> tuple[Vector, Vector]:
        returns, feeds = positions[found == 13], positions[found == 10]
        if len(returns) and returns[-1] == len(data) - 1 and not last:
            returns = returns[:-1]  # its line feed is still to come
            positions, found = positions[:-1], found[:-1]
        matched = np.isin(returns + 1, feeds)
        if not matched.all():
            raise self._stray(data, int(returns[matched.argmin()]), 13)
        alone = ~np.isin(feeds - 1, returns)
        if alone.any():
            raise self._stray(data, int(feeds[alone.argmax()]), 10)
        kept = found != 10
        return positions[kept], found[kept] == 13

    def _unquoted(self, data: bytes, positions: Vector, last: bool) -> Vector:
        quote, escape = self._options.quote.encode(), self._options.escape.encode()
        if quote not in data:
            return positions
        if quote == escape:
            quotes = np.flatnonzero(np.frombuffer(data, np.uint8) == quote[0])
        else:
            quotes = _quote_edges(data, quote, escape)
        outside: Vector = positions[np.searchsorted(quotes, positions) % 2 == 0]
        if last and len(quotes) % 2:
            line = self._line_count + data.count(self._line_end[:1] or b"\n") + 1
            delimiter = ord(self._options.delimiter)
            begin = next((int(at) + 1 for at in reversed(outside) if data[at] != delimiter), 0)
            raise self._wrong("unterminated CSV quoted field", line, data[begin:])
        return outside

    def _batch(self, data: bytes, lines: _Lines) -> pa.RecordBatch:
        end = self._end_marker(data, lines)
        if end is not None:
            self._ended = True
            lines = lines.cut(0, end)
        skipped = 1 if self._header_due and lines.count else 0
        self._header_due = self._header_due and not skipped
        lines = lines.cut(skipped, lines.count)
        self._check(data, lines, skipped)
        arrays = [self._column(data, lines, index) for index in range(len(self._columns))]
        return pa.RecordBatch.from_arrays(arrays, schema=text_schema(self._columns))

    def _end_marker(self, data: bytes, lines: _Lines) -> int | None:
        """The line that is nothing but `\\.`, if there is one."""
        if b"\\." not in data:
            return None
        starts, ends = lines.bounds()
        short = np.flatnonzero(ends - starts == 2)
        return next((int(i) for i in short if data[starts[i] : starts[i] + 2] == b"\\."), None)

    def _check(self, data: bytes, lines: _Lines, skipped: int) -> None:
        """Every line has as many fields as there are columns, and is UTF-8."""
        counts = lines.field_counts()
        expected = len(self._columns)
        wrong = counts != expected
        if wrong.any():
            index = int(wrong.argmax())
            missing = counts[index] < expected
            message = (
                f'missing data for column "{self._columns[counts[index]].name}"'
                if missing
                else "extra data after last expected column"
            )
            raise self._wrong_line(message, data, lines, index, skipped, "22P04")
        if not lines.count:
            return
        try:
            str(memoryview(data)[: lines.end], "utf-8")
            offset = data.find(b"\x00", 0, lines.end)
            described = "0x00"
        except UnicodeDecodeError as error:
            offset = error.start
            described = " ".join(f"0x{byte:02x}" for byte in data[error.start : max(error.end, offset + 1)])
        if offset >= 0:
            index = int(np.searchsorted(lines.bounds()[1], offset))
            message = f'invalid byte sequence for encoding "UTF8": {described}'
            wrong_line = self._wrong_line(message, data, lines, min(index, lines.count - 1), skipped, "22021")
            wrong_line.context = (wrong_line.context or "").partition(":")[
                0
            ]  # what is no text cannot be shown
            raise wrong_line

    def _column(self, data: bytes, lines: _Lines, index: int) -> pa.Array:
        values = lines.column(data, index, len(self._columns))
        if not self._csv:
            absent = pc.equal(values, self._options.null)
            if b"\\" in data:
                values = self._unescaped_column(values, index)
        else:
            quote = self._options.quote
            absent = pc.equal(values, self._options.null)
            if quote.encode() in data:
                values = _unquote(values, quote, self._options.escape)
        return pc.if_else(absent, pa.scalar(None, pa.string()), values)

    def _unescaped_column(self, values: pa.Array, index: int) -> pa.Array:
        try:
            return _unescape(values)
        except UserError as error:
            error.context = f"COPY {self._table}, column {self._columns[index].name}"
            raise

    def _stray(self, data: bytes, position: int, character: int) -> UserError:
        what = "newline" if character == 10 else "carriage return"
        line = self._line_count + data.count(self._line_end[:1] or b"\n", 0, position) + 1
        if self._csv:
            message = f"unquoted {what} found in data"
            hint = f"Use quoted CSV field to represent {what}."
        else:
            message = f"literal {what} found in data"
            hint = f'Use "\\{"n" if character == 10 else "r"}" to represent {what}.'
        return UserError(message, "22P04", hint=hint, context=f"COPY {self._table}, line {line}")

    def _wrong_line(
        self, message: str, data: bytes, lines: _Lines, index: int, skipped: int, sqlstate: str
    ) -> UserError:
        starts, ends = lines.bounds()
        line = self._line_count + skipped + index + 1
        if self._csv:  # lines inside of quotes count, as they do in PostgreSQL
            line = self._line_count + data.count(self._line_end[:1] or b"\n", 0, int(ends[index])) + 1
        return self._wrong(message, line, data[starts[index] : ends[index]], sqlstate)

    def _wrong(self, message: str, line: int, shown: bytes, sqlstate: str = "22P04") -> UserError:
        text = shown.decode("utf-8", "replace").rstrip("\r\n")
        if len(text) > _LINE_SHOWN_CHARACTERS_MAX:
            text = text[:_LINE_SHOWN_CHARACTERS_MAX] + "..."
        return UserError(message, sqlstate, context=f'COPY {self._table}, line {line}: "{text}"')


@dataclass(frozen=True, slots=True)
class _Lines:
    """Where the fields of some data begin and end, and which of them are the last of their line."""

    starts: Vector
    ends: Vector
    line_ends: Vector  # indexes into the two others

    @property
    def count(self) -> int:
        return len(self.line_ends)

    @property
    def end(self) -> int:
        """Where the last line ends."""
        return int(self.ends[-1]) if len(self.ends) else 0

    def bounds(self) -> tuple[Vector, Vector]:
        """Where each line begins and ends."""
        firsts = np.concatenate(([0], self.line_ends[:-1] + 1)) if self.count else self.line_ends
        return self.starts[firsts], self.ends[self.line_ends]

    def field_counts(self) -> Vector:
        """How many fields each line has."""
        return np.diff(self.line_ends, prepend=-1)

    def cut(self, first: int, last: int) -> _Lines:
        """The lines in [first, last)."""
        low = int(self.line_ends[first - 1]) + 1 if first else 0
        high = int(self.line_ends[last - 1]) + 1 if last else 0
        return _Lines(self.starts[low:high], self.ends[low:high], self.line_ends[first:last] - low)

    def column(self, data: bytes, index: int, column_count: int) -> pa.Array:
        """Every n-th field, as text; the data is known to be UTF-8."""
        if not self.count:
            return pa.array([], pa.string())
        # Fields and what is between them take turns, so that the offsets have no gaps.
        offsets = np.stack([self.starts, self.ends], axis=1).astype(np.int32).ravel()
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        tokens = pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)
        return tokens.take(pa.array(np.arange(2 * index, len(offsets), 2 * column_count)))


def _line_end(data: bytes, positions: Vector, found: Vector, last: bool) -> bytes:
    """How the first line ends; empty if that cannot be said yet."""
    ends = np.flatnonzero((found == 10) | (found == 13))
    if not len(ends):
        return b""
    first = int(positions[ends[0]])
    if data[first] == 10:
        return b"\n"
    if first + 1 == len(data):
        return b"\r" if last else b""
    return b"\r\n" if data[first + 1] == 10 else b"\r"


def _unescaped(array: Vector, positions: Vector) -> Vector:
    """The positions that have an even number of backslashes before them."""
    before = array[np.maximum(positions - 1, 0)]
    suspects = (before == 92) & (positions > 0)
    if not suspects.any():
        return positions
    index = np.arange(len(array))
    plain_until = np.maximum.accumulate(np.where(array != 92, index, -1))
    run = positions - 1 - plain_until[np.maximum(positions - 1, 0)]
    meant: Vector = positions[~(suspects & (run % 2 == 1))]
    return meant


def _quote_edges(data: bytes, quote: bytes, escape: bytes) -> Vector:
    """Where quotes open and close when they are escaped by something else than themselves."""
    q, e = re.escape(quote), re.escape(escape)
    section = re.compile(
        q + b"(?:[^" + q + e + b"]|" + e + b"[" + q + e + b"]|" + e + b")*(" + q + b"|\\Z)", re.S
    )
    edges: list[int] = []
    for match in section.finditer(data):
        edges.append(match.start())
        if match.end(1) > match.start(1):
            edges.append(match.end() - 1)
    return np.array(edges, np.int64)


def _unescape(values: pa.Array) -> pa.Array:
    """The text format's escapes; a zero byte, which no text has, stands for a doubled backslash."""
    escaped = pc.match_substring(values, "\\")
    if not pc.any(escaped).as_py():
        return values
    work = pc.replace_substring(values.filter(escaped), "\\\\", "\x00")
    if pc.any(pc.match_substring(work, "\\.")).as_py():
        raise UserError("end-of-copy marker is not alone on its line", "22P04")
    numbered = pc.match_substring_regex(work, _NUMBERED)
    done = work
    for written, meant in _ESCAPES:
        done = pc.replace_substring(done, written, meant)
    done = pc.replace_substring(pc.replace_substring(done, "\\", ""), "\x00", "\\")
    if pc.any(numbered).as_py():
        slow = [_unescape_one(value) for value in values.filter(escaped).filter(numbered).to_pylist()]
        done = pc.replace_with_mask(done, numbered, pa.array(slow, pa.string()))
    return pc.replace_with_mask(values, escaped, done)


def _unescape_one(value: str) -> str:
    def meant(match: re.Match[bytes]) -> bytes:
        octal, hexadecimal, letter = match.groups()
        if octal is not None:
            return bytes([int(octal, 8) & 0xFF])
        if hexadecimal is not None:
            return bytes([int(hexadecimal, 16)])
        return _LETTERS.get(letter, letter)

    data = _ESCAPE.sub(meant, value.encode())
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        wrong = " ".join(f"0x{byte:02x}" for byte in data[error.start : max(error.end, error.start + 1)])
        raise UserError(f'invalid byte sequence for encoding "UTF8": {wrong}', "22021") from None
    if "\x00" in text:
        raise UserError('invalid byte sequence for encoding "UTF8": 0x00', "22021")
    return text


def _unquote(values: pa.Array, quote: str, escape: str) -> pa.Array:
    """csv fields without their quotes."""
    quoted = pc.match_substring(values, quote)
    if not pc.any(quoted).as_py():
        return values
    some = values.filter(quoted)
    inside = pc.utf8_slice_codeunits(some, 1, -1)
    doubled = quote + quote
    # Plain: one quote at each end and nothing but doubled ones between.
    ends = pc.and_(pc.starts_with(some, quote), pc.ends_with(some, quote))
    ends = pc.and_(ends, pc.greater_equal(pc.utf8_length(some), 2))
    if escape == quote:
        pairs = pc.multiply(pc.count_substring(inside, doubled), 2)
        plain = pc.and_(ends, pc.equal(pc.count_substring(inside, quote), pairs))
    else:
        special = pc.or_(pc.match_substring(inside, quote), pc.match_substring(inside, escape))
        plain = pc.and_(ends, pc.invert(special))
    done = pc.replace_substring(inside, doubled, quote)
    odd = pc.invert(plain)
    if pc.any(odd).as_py():
        slow = [_unquote_one(value, quote, escape) for value in some.filter(odd).to_pylist()]
        done = pc.replace_with_mask(done, odd, pa.array(slow, pa.string()))
    return pc.replace_with_mask(values, quoted, done)


def _unquote_one(value: str, quote: str, escape: str) -> str:
    """Quotes may open and close anywhere in a field."""
    out: list[str] = []
    inside = False
    at = 0
    while at < len(value):
        character = value[at]
        following = value[at + 1 : at + 2]
        if inside and character == escape and following in (quote, escape) and following:
            out.append(following)
            at += 2
            continue
        if character == quote:
            inside = not inside
        else:
            out.append(character)
        at += 1
    return "".join(out)

"""COPY's formats: bytes to columns of text as PostgreSQL reads them.

Method: rows, messages and contexts recorded from PostgreSQL 15; then random data read
in random pieces against a reader that goes character by character.
"""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import UserError
from headwater.core.relation import Column
from headwater.core.types import INT4, TEXT
from headwater.formats import copy
from headwater.formats.copy import CopyFormat, CopyOptions, CopyReader
from tests.support.copies import CSV_OPTIONS, TEXT_OPTIONS, parse_copy

COLUMNS = (Column("a", INT4), Column("b", TEXT))
Row = tuple[str | None, ...]


def rows(data: bytes, format_: CopyFormat, options: CopyOptions | None = None) -> list[Row]:
    chosen = options or (CSV_OPTIONS if format_ == "csv" else TEXT_OPTIONS)
    batch = parse_copy([data], format_, chosen, COLUMNS, "t")
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"1\tx\n2\ty\n", [("1", "x"), ("2", "y")]),
        (b"1\tx\n2\ty", [("1", "x"), ("2", "y")]),
        (b"1\t", [("1", "")]),
        (b"\\N\t\\N\n", [(None, None)]),
        (b"\t\n", [("", "")]),
        (b"1\tx\r\n2\ty\r\n", [("1", "x"), ("2", "y")]),
        (b"1\tx\r2\ty\r", [("1", "x"), ("2", "y")]),
        (b"1\tx\n\\.\n2\tgarbage", [("1", "x")]),
        (b"1\t\\x41\\101\\N\\q\\\\n\\n\n", [("1", "AANq\\n\n")]),
        (b"1\tfoo\\", [("1", "foo")]),
        (b"1\ta\\\tb\n2\tc\\\nd\n", [("1", "a\tb"), ("2", "c\nd")]),
        (b"1\ta\\\\\n2\t\\\\\\\tb\n", [("1", "a\\"), ("2", "\\\tb")]),
        (b"1\t\\xc3\\xa9\\351x".replace(b"\\351", b""), [("1", "éx")]),
        (b"1\t\\b\\f\\r\\t\\v\n", [("1", "\b\f\r\t\v")]),
        (b"1\t\\\\N\n", [("1", "\\N")]),
    ],
)
def test_text_is_read_as_postgresql_reads_it(data: bytes, expected: list[Row]) -> None:
    assert rows(data, "text") == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b'1,a"b,c"d\n2,"x""y"\n,""\n4,\n', [("1", "ab,cd"), ("2", 'x"y'), (None, ""), ("4", None)]),
        (b"\\.\n", []),
        (b"1,x\n\\.\nrest", [("1", "x")]),
        (b'1,"a\nb"\r\n'.replace(b"\r", b""), [("1", "a\nb")]),
        (b'1,"a\r\nb"\r\n2,c\r\n', [("1", "a\r\nb"), ("2", "c")]),
        (b'1," x "\n2, y \n', [("1", " x "), ("2", " y ")]),
        (b'1,""""\n2,""""""\n', [("1", '"'), ("2", '""')]),
        (b'1,"a"b"c"\n', [("1", "abc")]),
        (b"1,\\N\n", [("1", "\\N")]),
        (b'1,"\\."\n', [("1", "\\.")]),
    ],
)
def test_csv_is_read_as_postgresql_reads_it(data: bytes, expected: list[Row]) -> None:
    assert rows(data, "csv") == expected


def test_options_change_what_is_special() -> None:
    options = CopyOptions(delimiter="|", null="NIL", header=True, quote="'", escape="\\")
    data = b"a|b\n1|'x\\'y'\nNIL|'NIL'\n2|'p''q'\n3|'\\\\ \\z'\n4|\\z\n"
    expected = [("1", "x'y"), (None, "NIL"), ("2", "pq"), ("3", "\\ \\z"), ("4", "\\z")]
    assert rows(data, "csv", options) == expected
    assert rows(b"a;b\n1;-\n", "text", CopyOptions(delimiter=";", null="-", header=True)) == [("1", None)]


@pytest.mark.parametrize(
    ("format_", "data", "sqlstate", "message", "hint", "context"),
    [
        ("text", b"1\tx\n2\n", "22P04", 'missing data for column "b"', None, 'COPY t, line 2: "2"'),
        (
            "text",
            b"1\tx\n2\ty\tz\n",
            "22P04",
            "extra data after last expected column",
            None,
            'COPY t, line 2: "2\ty\tz"',
        ),
        ("csv", b"1\n" + b"x" * 200, "22P04", 'missing data for column "b"', None, 'COPY t, line 1: "1"'),
        (
            "text",
            b"1\tx\n" + b"y" * 200,
            "22P04",
            'missing data for column "b"',
            None,
            f'COPY t, line 2: "{"y" * 100}..."',
        ),
        ("csv", b'1,x\n2,"a\nb"\n2\n', "22P04", 'missing data for column "b"', None, 'COPY t, line 4: "2"'),
        (
            "text",
            b"1\tx\r\n2\ty\n",
            "22P04",
            "literal newline found in data",
            'Use "\\n" to represent newline.',
            "COPY t, line 2",
        ),
        (
            "text",
            b"1\tx\n2\ty\r\n",
            "22P04",
            "literal carriage return found in data",
            'Use "\\r" to represent carriage return.',
            "COPY t, line 2",
        ),
        (
            "csv",
            b"1,a\r\n2,b\n",
            "22P04",
            "unquoted newline found in data",
            "Use quoted CSV field to represent newline.",
            "COPY t, line 2",
        ),
        ("csv", b'1,"abc', "22P04", "unterminated CSV quoted field", None, 'COPY t, line 1: "1,"abc"'),
        (
            "text",
            b"1\t\xff\n",
            "22021",
            'invalid byte sequence for encoding "UTF8": 0xff',
            None,
            "COPY t, line 1",
        ),
        (
            "text",
            b"1\tx\n2\ta\x00b\n",
            "22021",
            'invalid byte sequence for encoding "UTF8": 0x00',
            None,
            "COPY t, line 2",
        ),
        (
            "text",
            b"1\t\\000\n",
            "22021",
            'invalid byte sequence for encoding "UTF8": 0x00',
            None,
            "COPY t, column b",
        ),
        (
            "text",
            b"1\ta\\.\n",
            "22P04",
            "end-of-copy marker is not alone on its line",
            None,
            "COPY t, column b",
        ),
    ],
)
def test_errors_say_what_is_wrong_and_where(
    format_: CopyFormat, data: bytes, sqlstate: str, message: str, hint: str | None, context: str
) -> None:
    with pytest.raises(UserError) as raised:
        rows(data, format_)
    error = raised.value
    assert (error.sqlstate, error.message, error.hint, error.context) == (sqlstate, message, hint, context)


def text_model(data: str) -> list[list[str | None]]:
    """The text format, a character at a time."""
    out: list[list[str | None]] = []
    fields: list[str | None] = []
    word = raw = ""
    at = 0
    while at < len(data):
        character = data[at]
        if character == "\\" and at + 1 < len(data):
            following = data[at + 1]
            word += {"b": "\b", "n": "\n", "t": "\t"}.get(following, following)
            raw += character + following
            at += 2
            continue
        if character in "\t\n":
            fields.append(None if raw == "\\N" else word)
            word = raw = ""
            if character == "\n":
                out.append(fields)
                fields = []
        else:
            word += character
            raw += character
        at += 1
    return out


field = st.text(alphabet="ab\\tnN é", max_size=6)


def balanced(text: str) -> str:
    """Without a backslash at the end that would escape the delimiter after it."""
    trailing = len(text) - len(text.rstrip("\\"))
    return text[:-1] if trailing % 2 else text


@given(st.lists(st.tuples(field, field), max_size=12), st.lists(st.integers(1, 30), max_size=30))
def test_pieces_may_be_cut_anywhere(data: list[tuple[str, str]], cuts: list[int]) -> None:
    text = "".join(f"{balanced(a)}\t{balanced(b)}\n" for a, b in data)
    whole = text.encode()
    reader = CopyReader("text", TEXT_OPTIONS, COLUMNS, "t")
    reader._wanted_bytes = 1
    batches = []
    for cut in cuts:
        piece, whole = whole[:cut], whole[cut:]
        batches.append(reader.write(piece))
        reader._wanted_bytes = 1
    batches += [reader.write(whole), reader.finish()]
    got = [
        list(row)
        for batch in batches
        if batch is not None
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    ]
    assert got == text_model(text)


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
def test_quotes_and_line_ends_may_be_cut_anywhere_too(size: int, line_end: bytes) -> None:
    data = b'1,"a,b"\n2,"c""d"\n3,"x\ny"\n,\n'.replace(b"\n", line_end)
    reader = CopyReader("csv", CSV_OPTIONS, COLUMNS, "t")
    got: list[Row] = []
    for start in range(0, len(data) + size, size):
        reader._wanted_bytes = 1
        batch = reader.write(data[start : start + size]) if start < len(data) else reader.finish()
        if batch is not None:
            got += zip(*(column.to_pylist() for column in batch.columns), strict=True)
    inner = line_end.decode()
    assert got == [("1", "a,b"), ("2", 'c"d'), ("3", f"x{inner}y"), (None, None)]


def test_line_numbers_go_on_over_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copy, "COPY_PIECE_BYTES", 8)
    reader = CopyReader("csv", CopyOptions(",", "", header=True), COLUMNS, "t")
    reader.write(b"a,b\n1,x\n")
    reader.write(b'2,"y\nz"\n3,z\n')
    with pytest.raises(UserError) as raised:
        reader.write(b"4,w\n5\n6,more data to come\n")
    assert raised.value.context == 'COPY t, line 7: "5"'


def test_a_row_cannot_be_longer_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copy, "COPY_ROW_BYTES_MAX", 1000)
    monkeypatch.setattr(copy, "COPY_PIECE_BYTES", 100)
    reader = CopyReader("csv", CSV_OPTIONS, COLUMNS, "t")
    reader.write(b'"' + b"x" * 900)
    with pytest.raises(UserError) as raised:
        reader.write(b"x" * 1000)
    assert raised.value.sqlstate == "54000"


SIGNATURE = b"PGCOPY\n\xff\r\n\x00"
HEADER = SIGNATURE + bytes(8)


def binary_row(*fields: bytes | None) -> bytes:
    packed = b"".join(
        b"\xff\xff\xff\xff" if value is None else struct.pack(">i", len(value)) + value for value in fields
    )
    return struct.pack(">h", len(fields)) + packed


def test_binary_rows_are_read_whatever_the_pieces() -> None:
    data = HEADER + binary_row(b"\x00\x00\x00\x07", b"x") + binary_row(None, None) + b"\xff\xff"
    for size in (1, 3, 1000):
        reader = CopyReader("binary", TEXT_OPTIONS, COLUMNS, "t")
        got: list[Row] = []
        for start in range(0, len(data), size):
            reader._wanted_bytes = 1
            batch = reader.write(data[start : start + size])
            if batch is not None:
                got += zip(*(column.to_pylist() for column in batch.columns), strict=True)
        last = reader.finish()
        assert last is not None
        assert last.num_rows == 0
        assert got == [("7", "x"), (None, None)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"1\tx\n", "COPY file signature not recognized"),
        (b"", "COPY file signature not recognized"),
        (SIGNATURE, "invalid COPY file header"),
        (SIGNATURE + b"\x00\x01\x00\x00" + bytes(4), "unrecognized critical flags in COPY file header"),
        (HEADER + binary_row(b"x"), "row field count is 1, expected 2"),
        (HEADER + binary_row(b"\x00\x00\x00\x07", b"x")[:-1], "unexpected EOF in COPY data"),
        (HEADER + b"\xff\xff\x00", "received copy data after EOF marker"),
        (HEADER + b"\x00\x02\xff\xff\xff\xfe", "field size in COPY data is less than nothing"),
    ],
)
def test_binary_data_that_is_none_is_an_error(data: bytes, message: str) -> None:
    with pytest.raises(UserError) as raised:
        rows(data, "binary")
    assert (raised.value.sqlstate, raised.value.message) == ("22P04", message)


@given(st.binary(max_size=200), st.sampled_from(["text", "csv", "binary"]))
def test_whatever_comes_there_are_rows_or_a_user_error(data: bytes, format_: CopyFormat) -> None:
    sqlstate = None
    try:
        rows(data if format_ != "binary" else HEADER + data, format_)
    except UserError as error:
        sqlstate = error.sqlstate
    assert sqlstate in (None, "22P04", "22021", "22P03")


@given(
    st.text(alphabet='a,"\n\r\\.é', max_size=60),
    st.sampled_from([CSV_OPTIONS, CopyOptions(",", "", escape="\\")]),
)
def test_csv_of_any_shape_gives_rows_or_a_user_error(data: str, options: CopyOptions) -> None:
    sqlstate = None
    try:
        rows(data.encode(), "csv", options)
    except UserError as error:
        sqlstate = error.sqlstate
    assert sqlstate in (None, "22P04")

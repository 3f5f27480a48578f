"""Batches to messages: the quick way and the plain way say the same, COPY is PostgreSQL's.

Method: DataRows of random batches are compared with rows made one value at a time;
COPY's bytes are those recorded from PostgreSQL 15.
"""

from __future__ import annotations

import tracemalloc

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.coordinator.api import CopyOut
from headwater.core.limits import ENCODE_BYTES_MAX, RESULT_BATCH_ROWS
from headwater.core.relation import Column
from headwater.core.types import BOOL, BYTEA, FLOAT8, INT4, TEXT, SqlType
from headwater.formats.arrow import arrow_type
from headwater.pgwire.encode import copy_header, copy_rows, data_rows, slices
from tests.support.copies import CSV_OPTIONS, TEXT_OPTIONS, parse_copy
from tests.support.wire.driver import unpack, values

COLUMNS = (Column("a", INT4), Column("b", TEXT), Column("c", BOOL))
rows = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(-(2**31), 2**31 - 1)),
        st.one_of(st.none(), st.text(st.characters(codec="utf-8", exclude_characters="\x00"))),
        st.one_of(st.none(), st.booleans()),
    ),
    max_size=20,
)
Rows = list[tuple[int | None, str | None, bool | None]]


def batch(data: Rows) -> pa.RecordBatch:
    types = (pa.int32(), pa.string(), pa.bool_())
    arrays = [pa.array([row[i] for row in data], type_) for i, type_ in enumerate(types)]
    return pa.RecordBatch.from_arrays(arrays, ["a", "b", "c"])


def plain(data: Rows, binary: bool) -> list[tuple[bytes | None, ...]]:
    def integer(value: int | None) -> bytes | None:
        if value is None:
            return None
        return value.to_bytes(4, "big", signed=True) if binary else str(value).encode()

    def boolean(value: bool | None) -> bytes | None:
        if value is None:
            return None
        return bytes([value]) if binary else b"ft"[value : value + 1]

    return [(integer(a), None if b is None else b.encode(), boolean(c)) for a, b, c in data]


@given(rows, st.booleans(), st.sampled_from([1, 40]))
def test_data_rows_hold_what_the_batch_holds(data: Rows, binary: bool, times: int) -> None:
    messages = unpack(data_rows(batch(data * times), COLUMNS, [int(binary)] * 3))
    assert all(kind == "D" for kind, _ in messages)
    assert [values(body) for _, body in messages] == plain(data * times, binary)


def test_a_slice_of_a_batch_is_encoded_alone() -> None:
    data: Rows = [(i, str(i), None) for i in range(500)]
    messages = unpack(data_rows(batch(data).slice(7, 300), COLUMNS, [0, 0, 0]))
    assert [values(body)[0] for _, body in messages] == [str(i).encode() for i in range(7, 307)]


@pytest.mark.parametrize("type_", [TEXT, BYTEA])
@pytest.mark.parametrize("copy", [CopyOut("text"), CopyOut("csv"), CopyOut("binary")])
def test_a_slice_takes_the_memory_of_its_own_rows(type_: SqlType, copy: CopyOut) -> None:
    values = [bytes([97 + n % 26]) * 400_000 for n in range(100)]
    whole = pa.RecordBatch.from_arrays([pa.array(values).cast(arrow_type(type_))], ["v"])
    (part,) = slices(whole.slice(7, 1))
    encode = copy_rows(copy, (Column("v", type_),))
    encode(part)
    tracemalloc.start()
    try:
        encode(part)
        data_rows(part, (Column("v", type_),), (0,))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < whole.nbytes / 4


def test_rows_without_columns_are_rows() -> None:
    empty = pa.RecordBatch.from_struct_array(pa.array([{}] * 200, pa.struct([])))
    assert unpack(data_rows(empty, (), ())) == [("D", b"\x00\x00")] * 200


def test_a_batch_is_cut_by_rows_and_by_bytes() -> None:
    narrow = pa.RecordBatch.from_arrays([pa.array(range(3 * RESULT_BATCH_ROWS + 1))], ["a"])
    assert [part.num_rows for part in slices(narrow)] == [RESULT_BATCH_ROWS] * 3 + [1]
    wide = pa.RecordBatch.from_arrays([pa.array(["x" * (ENCODE_BYTES_MAX // 4)] * 9)], ["a"])
    assert max(part.num_rows for part in slices(wide)) <= 4
    assert sum(part.num_rows for part in slices(wide)) == 9


def copied(copy: CopyOut, columns: tuple[Column, ...], arrays: list[pa.Array]) -> list[bytes]:
    made = pa.RecordBatch.from_arrays(arrays, [column.name for column in columns])
    return [body for _, body in unpack(copy_rows(copy, columns)(made))]


@pytest.mark.parametrize(
    ("copy", "expected"),
    [
        (CopyOut("text"), [b"a\\tb\t1\n", b"\\N\t2\n"]),
        (CopyOut("csv", ",", ""), [b"a\tb,1\n", b",2\n"]),
    ],
)
def test_numbers_of_relations_are_copied_as_their_names(copy: CopyOut, expected: list[bytes]) -> None:
    columns = (Column("a", SqlType("regclass")), Column("b", INT4))
    made = pa.record_batch({"a": pa.array([7, None], pa.uint32()), "b": pa.array([1, 2], pa.int32())})
    rows = copy_rows(copy, columns, {"regclass": {7: "a\tb"}})(made)
    assert [body for _, body in unpack(rows)] == expected


def texts(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, TEXT) for name in names)


@pytest.mark.parametrize(
    ("copy", "row", "expected"),
    [
        (CopyOut("text"), ["1", "a\tb\\c\nd\b", None], b"1\ta\\tb\\\\c\\nd\\b\t\\N\n"),
        (CopyOut("text", "|", "x"), ["a|b\\c", "x"], b"a\\|b\\\\c|x\n"),
        (CopyOut("text"), ["\v\f\r", ""], b"\\v\\f\\r\t\n"),
        (CopyOut("csv", ",", ""), ["1", 'a,b"c', None, "", "l\nm"], b'1,"a,b""c",,"","l\nm"\n'),
        (CopyOut("csv", ",", ""), ["\\."], b'"\\."\n'),
        (CopyOut("csv", ",", "NULL"), ["NULL", None, ""], b'"NULL",NULL,\n'),
        (CopyOut("csv", ";", ""), ["a,b", "c;d", "e\rf"], b'a,b;"c;d";"e\rf"\n'),
    ],
)
def test_copy_escapes_as_postgresql_does(copy: CopyOut, row: list[str | None], expected: bytes) -> None:
    columns = texts(*(str(i) for i in range(len(row))))
    assert copied(copy, columns, [pa.array([value], pa.string()) for value in row]) == [expected]


def test_copy_escapes_the_backslash_of_bytes_but_no_numbers() -> None:
    columns = (Column("a", BYTEA), Column("b", FLOAT8))
    arrays = [pa.array([b"\x00\x01"]), pa.array([-1.5])]
    assert copied(CopyOut("text"), columns, arrays) == [b"\\\\x0001\t-1.5\n"]


def test_binary_rows_are_counted_and_prefixed() -> None:
    arrays = [pa.array([1], pa.int32()), pa.array([None], pa.string())]
    expected = b"\x00\x02\x00\x00\x00\x04\x00\x00\x00\x01\xff\xff\xff\xff"
    assert copied(CopyOut("binary"), (Column("a", INT4), Column("b", TEXT)), arrays) == [expected]


def test_headers_are_escaped_like_rows() -> None:
    columns = (Column("a,b", INT4), Column("c", TEXT))
    assert copy_header(CopyOut("csv", ",", "", True), columns) == b'"a,b",c\n'
    assert copy_header(CopyOut("text", ",", "\\N", True), columns) == b"a\\,b,c\n"
    assert copy_header(CopyOut("csv", ",", "", False), columns) == b""


some_text = st.one_of(st.none(), st.text(alphabet='a\\N."\n\r\t,é\b|'))


@given(st.lists(st.tuples(some_text, some_text), min_size=1, max_size=8), st.sampled_from(["text", "csv"]))
def test_what_copy_writes_copy_reads(data: list[tuple[str | None, str | None]], format_: str) -> None:
    options = TEXT_OPTIONS if format_ == "text" else CSV_OPTIONS
    copy = CopyOut("text") if format_ == "text" else CopyOut("csv", ",", "")
    columns = texts("a", "b")
    arrays = [pa.array([row[i] for row in data], pa.string()) for i in range(2)]
    written = copied(copy, columns, arrays)
    back = parse_copy(written, "text" if format_ == "text" else "csv", options, columns, "t")
    assert list(zip(*(column.to_pylist() for column in back.columns), strict=True)) == data

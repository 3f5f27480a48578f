"""Binary forms: what we send is what PostgreSQL sends, and what it sends we understand.

Method: values recorded from PostgreSQL 15 in both formats, in both directions; then
properties over whole columns with NULL and slices, against Python's own arithmetic.
"""

from __future__ import annotations

import struct
import uuid
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import UserError
from headwater.core.types import (
    BOOL,
    INT4,
    INT8,
    INTERVAL,
    JSONB,
    MZ_TIMESTAMP,
    NUMERIC,
    TEXT,
    UINT2,
    UINT4,
    UINT8,
    UUID,
    SqlType,
    array_of,
    list_of,
    map_of,
    numeric,
)
from headwater.formats.binary import binary_to_text, to_binary
from headwater.formats.text import from_text, to_text
from tests.support.stored import stored_column
from tests.unit.pgwire.recorded import RECORD, RECORDED

ROW = SqlType("record", fields=(("f1", INT4), ("f2", TEXT), ("f3", INT8)))


def type_of(name: str) -> SqlType:
    return array_of(type_of(name[:-2])) if name.endswith("[]") else SqlType(name)


def column(values: list[object], type_: SqlType) -> pa.Array:
    return stored_column(values, type_)


@pytest.mark.parametrize(("name", "text", "binary"), RECORDED)
def test_values_are_sent_as_postgresql_sends_them(name: str, text: str, binary: str) -> None:
    one = from_text(pa.array([text]), type_of(name))
    stored = pa.concat_arrays([one, pa.nulls(1, one.type), one])
    sent = to_binary(stored, type_of(name)).to_pylist()
    assert sent == [bytes.fromhex(binary), None, bytes.fromhex(binary)]
    assert to_text(stored, type_of(name)).to_pylist() == [text, None, text]


@pytest.mark.parametrize(("name", "text", "binary"), RECORDED)
def test_values_are_understood_as_postgresql_sends_them(name: str, text: str, binary: str) -> None:
    type_ = type_of(name)
    understood = binary_to_text(bytes.fromhex(binary), type_)
    assert to_text(from_text(pa.array([understood]), type_), type_).to_pylist() == [text]


def test_every_recorded_value_of_a_type_can_be_in_one_column() -> None:
    for name in {name for name, _, _ in RECORDED}:
        mine = [(text, bytes.fromhex(binary)) for kind, text, binary in RECORDED if kind == name]
        stored = from_text(pa.array(["", *(text for text, _ in mine)][1:]), type_of(name))
        assert to_binary(stored, type_of(name)).to_pylist() == [binary for _, binary in mine]
        assert to_binary(stored.slice(1), type_of(name)).to_pylist() == [binary for _, binary in mine[1:]]
        assert to_binary(stored.slice(0, 0), type_of(name)).to_pylist() == []


def test_a_record_is_sent_and_understood() -> None:
    stored = column([{"f1": 1, "f2": "a,b", "f3": None}, None], ROW)
    assert to_binary(stored, ROW).to_pylist() == [bytes.fromhex(RECORD), None]
    assert to_binary(stored.slice(1), ROW).to_pylist() == [None]
    assert binary_to_text(bytes.fromhex(RECORD), ROW) == '(1,"a,b",)'


@pytest.mark.parametrize(
    ("type_", "stored", "binary"),
    [
        (UINT2, 65535, "ffff"),
        (UINT4, 4294967295, "ffffffff"),
        (UINT8, Decimal(18446744073709551615), "ffffffffffffffff"),
    ],
)
def test_unsigned_integers_have_as_many_bytes_as_their_name_says(
    type_: SqlType, stored: object, binary: str
) -> None:
    sent = to_binary(column([stored, None], type_), type_).to_pylist()
    assert sent == [bytes.fromhex(binary), None]
    assert binary_to_text(bytes.fromhex(binary), type_) == str(stored)


@pytest.mark.parametrize(
    ("type_", "stored", "text"),
    [
        (MZ_TIMESTAMP, 1700000000000, b"1700000000000"),
        (list_of(INT4), [1, None], b"{1,NULL}"),
        (map_of(TEXT), [("a", "x")], b"{a=>x}"),
    ],
)
def test_types_of_our_own_have_their_text_in_both_formats(
    type_: SqlType, stored: object, text: bytes
) -> None:
    assert to_binary(column([stored], type_), type_).to_pylist() == [text]
    assert binary_to_text(text, type_) == text.decode()


@pytest.mark.parametrize(
    ("type_", "data"),
    [
        (INT4, b"\x00\x00\x01"),
        (INT4, b""),
        (BOOL, b"\x00\x00"),
        (NUMERIC, b"\x00\x01\x00\x00\x00\x00\x00\x00"),
        (NUMERIC, b"\x00\x01\x00\x00\x00\x00\x00\x00\x27\x10"),
        (NUMERIC, b"\x00\x00\x00\x00\x11\x11\x00\x00"),
        (NUMERIC, b"\xff\xff\x00\x00\x00\x00\x00\x00"),
        (UUID, b"\x00" * 15),
        (INTERVAL, b"\x00" * 12),
        (JSONB, b"{}"),
        (JSONB, b""),
        (SqlType("time"), struct.pack(">q", -1)),
        (array_of(INT4), b"\x00\x00\x00\x01"),
        (array_of(INT4), struct.pack(">iiIii", 1, 0, 23, 2_000_000_000, 1)),
        (array_of(INT4), struct.pack(">iiIii", 1, 0, 23, -1, 1)),
        (array_of(INT4), struct.pack(">iiIiii", 1, 0, 23, 1, 1, -2)),
        (array_of(INT4), struct.pack(">iiI", -1, 0, 23)),
        (ROW, b"\x00\x00\x00\x02"),
    ],
)
def test_bytes_that_are_no_value_are_an_error(type_: SqlType, data: bytes) -> None:
    with pytest.raises(UserError) as raised:
        binary_to_text(data, type_)
    assert raised.value.sqlstate == "22P03"


def test_an_array_of_another_type_is_an_error() -> None:
    with pytest.raises(UserError) as raised:
        binary_to_text(struct.pack(">iiI", 0, 0, 25), array_of(INT4))
    assert raised.value.sqlstate == "42804"


def test_an_array_of_seven_dimensions_is_one_too_many() -> None:
    with pytest.raises(UserError, match="number of array dimensions \\(7\\) exceeds") as raised:
        binary_to_text(struct.pack(">iiI", 7, 0, 23), array_of(INT4))
    assert raised.value.sqlstate == "54000"


def test_arrays_of_several_dimensions_are_understood() -> None:
    elements = b"".join(struct.pack(">ii", 4, value) for value in range(4))
    data = struct.pack(">iiIiiii", 2, 0, 23, 2, 1, 2, 1) + elements
    assert binary_to_text(data, array_of(INT4)) == "{{0,1},{2,3}}"


decimals = st.one_of(
    st.none(),
    st.decimals(allow_nan=False, allow_infinity=False, places=5, min_value=-(10**30), max_value=10**30),
)


@given(st.lists(decimals, max_size=20))
def test_a_numeric_column_survives_the_way_there_and_back(values: list[Decimal | None]) -> None:
    stored = column(list(values), numeric(5))
    sent = to_binary(stored, numeric(5)).to_pylist()
    back = [None if data is None else Decimal(binary_to_text(data, NUMERIC)) for data in sent]
    assert back == values


@given(st.lists(st.one_of(st.none(), st.integers(-(10**60), 10**60)), max_size=20), st.integers(0, 20))
def test_numerics_without_a_scale_survive_too(values: list[int | None], shift: int) -> None:
    texts = [None if value is None else format(Decimal(value).scaleb(-shift), "f") for value in values]
    stored = pa.array(texts, pa.string())
    sent = to_binary(stored, NUMERIC).to_pylist()
    assert [None if data is None else binary_to_text(data, NUMERIC) for data in sent] == texts


@given(
    st.lists(
        st.one_of(st.none(), st.lists(st.one_of(st.none(), st.text(alphabet='a"\\{}, N\u00e9')))), max_size=9
    )
)
def test_arrays_of_text_survive_whatever_is_in_them(values: list[list[str | None] | None]) -> None:
    type_ = array_of(TEXT)
    sent = to_binary(column(list(values), type_), type_).to_pylist()
    texts = [None if data is None else binary_to_text(data, type_) for data in sent]
    assert from_text(pa.array(texts, pa.string()), type_).equals(column(list(values), type_))


@given(st.lists(st.one_of(st.none(), st.uuids())))
def test_uuids_survive(values: list[uuid.UUID | None]) -> None:
    stored = pa.array([None if value is None else str(value) for value in values], pa.string())
    assert to_binary(stored, UUID).to_pylist() == [None if value is None else value.bytes for value in values]


@given(st.binary(max_size=60), st.sampled_from([type_of(name) for name, _, _ in RECORDED] + [ROW]))
def test_whatever_bytes_come_there_is_text_or_a_user_error(data: bytes, type_: SqlType) -> None:
    try:
        outcome = binary_to_text(data, type_)
    except UserError as error:
        outcome = error.sqlstate
    assert "\x00" not in outcome


def test_a_long_number_among_short_ones_is_sent_as_if_it_were_alone() -> None:
    texts = ["1", "9" * 131_072 + "." + "1" * 16_383, None, "-0.5", "-1" + "0" * 400, "NaN"]
    sent = to_binary(pa.array(texts * 20), type_of("numeric"))
    alone = [
        None if text is None else to_binary(pa.array([text]), type_of("numeric"))[0].as_py() for text in texts
    ]
    assert sent.to_pylist() == alone * 20
    assert [value and binary_to_text(value, type_of("numeric")) for value in alone] == texts

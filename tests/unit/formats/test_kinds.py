"""Kinds: a scalar type is its facts and one record of functions, and needs nothing else.

Method: the tables are held against each other, then a type that nobody has heard of is added to them, for
the time of a test, and taken through every form in which its values leave and enter.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from headwater.core.errors import UserError
from headwater.core.relation import Column
from headwater.core.types import FACTS, SqlType, TypeFacts, array_of, format_type, list_of, oid_of
from headwater.formats.arrow import arrow_type
from headwater.formats.binary import binary_to_text, to_binary
from headwater.formats.byte_columns import fixed, validity_of
from headwater.formats.columns import map_distinct
from headwater.formats.copy_binary import BinaryRows
from headwater.formats.engine_types import duckdb_stored, duckdb_working, spark_type
from headwater.formats.kinds import KINDS, Kind
from headwater.formats.text import from_text, to_text
from headwater.formats.text_numbers import bad_syntax
from headwater.pgwire.encode import data_rows

CONTAINERS = {"array", "list", "map", "record"}
COLOURS = ("red", "green", "blue")
COLOUR = SqlType("colour")
FACTS_OF_COLOUR = TypeFacts("colour", "colour", 99_001, 99_002, 1, "U", "int16", duckdb="UTINYINT")


def _to_text(array: pa.Array, type_: SqlType) -> pa.Array:
    return pa.array(COLOURS).take(array)


def _from_text(array: pa.Array, type_: SqlType) -> pa.Array:
    def number(text: str) -> int:
        if text not in COLOURS:
            raise bad_syntax(type_, text)
        return COLOURS.index(text)

    return map_distinct(array, number, pa.int16())


def _to_binary(array: pa.Array, type_: SqlType) -> pa.Array:
    return fixed(array.fill_null(0).to_numpy().astype(np.uint8), validity_of(array))


def _binary_to_text(data: bytes, type_: SqlType) -> str:
    (number,) = data
    return COLOURS[number]


@pytest.fixture
def colour(monkeypatch: pytest.MonkeyPatch) -> SqlType:
    monkeypatch.setitem(FACTS, COLOUR.kind, FACTS_OF_COLOUR)
    monkeypatch.setitem(KINDS, COLOUR.kind, Kind(_to_text, _from_text, _to_binary, _binary_to_text))
    return COLOUR


def test_every_scalar_with_facts_has_a_record_and_no_other() -> None:
    assert set(KINDS) == set(FACTS) - CONTAINERS


def test_a_kind_of_which_nothing_is_said_is_like_text() -> None:
    values = pa.array(["x", None])
    plain = Kind()
    assert plain.to_text(values, COLOUR) == plain.from_text(values, COLOUR) == values
    assert plain.send(values, COLOUR).to_pylist() == [b"x", None]
    assert plain.binary_to_text(b"x", COLOUR) == "x"


def test_a_new_type_has_a_name_and_oids(colour: SqlType) -> None:
    assert format_type(array_of(colour)) == "colour[]"
    assert (oid_of(colour), oid_of(array_of(colour))) == (99_001, 99_002)


def test_a_new_type_has_a_name_in_every_engine(colour: SqlType) -> None:
    assert arrow_type(colour) == pa.int16()
    assert arrow_type(list_of(colour)) == pa.list_(pa.int16())
    assert (duckdb_stored(colour), duckdb_working(colour), spark_type(colour)) == (
        "SMALLINT",
        "UTINYINT",
        "SMALLINT",
    )
    assert duckdb_working(list_of(colour)) == "UTINYINT[]"
    assert spark_type(list_of(colour)) == "ARRAY<SMALLINT>"


def test_a_new_type_is_read_and_shown_as_text(colour: SqlType) -> None:
    texts = ["blue", None, "red"]
    stored = from_text(pa.array(texts), colour)
    assert (stored.type, stored.to_pylist()) == (pa.int16(), [2, None, 0])
    assert to_text(stored, colour).to_pylist() == texts
    with pytest.raises(UserError, match='invalid input syntax for type colour: "beige"'):
        from_text(pa.array(["beige"]), colour)


def test_a_new_type_is_sent_and_received_in_binary(colour: SqlType) -> None:
    sent = to_binary(pa.array([2, None, 0], pa.int16()), colour).to_pylist()
    assert sent == [b"\2", None, b"\0"]
    assert binary_to_text(b"\2", colour) == "blue"
    for wrong in (b"", b"\0\0", b"\7"):
        with pytest.raises(UserError, match="incorrect binary data format for type colour"):
            binary_to_text(wrong, colour)


def test_a_new_type_is_in_arrays_and_lists_what_it_is_alone(colour: SqlType) -> None:
    for type_ in (array_of(colour), list_of(colour)):
        stored = from_text(pa.array(["{red,NULL,blue}", None]), type_)
        assert to_text(stored, type_).to_pylist() == ["{red,NULL,blue}", None]
        sent = to_binary(stored, type_)
        assert binary_to_text(sent[0].as_py(), type_) == "{red,NULL,blue}"


def test_a_new_type_goes_over_the_wire_and_comes_by_copy(colour: SqlType) -> None:
    column = Column("c", colour)
    batch = pa.RecordBatch.from_arrays([pa.array([1], pa.int16())], ["c"])
    assert data_rows(batch, [column], [0]).endswith(b"\0\0\0\5green")
    assert data_rows(batch, [column], [1]).endswith(b"\0\0\0\1\1")
    header = b"PGCOPY\n\xff\r\n\0" + bytes(8)
    rows, _ = BinaryRows((column,), "t").take(header + b"\0\1\0\0\0\1\1" + b"\xff\xff", last=True)
    assert rows is not None
    assert rows.to_pydict() == {"c": ["green"]}

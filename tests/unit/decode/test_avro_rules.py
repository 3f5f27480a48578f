"""Avro's schema resolution, rule by rule: what a writer's message is to a reader."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater.decode.avro import AVRO
from tests.unit.decode.avro_oracle import decode, expected, framed, rows, written


def record(*fields: dict[str, Any], name: str = "r", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(type_: Any, name: str = "f", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, **more}


def read(writer: Any, reader: Any, value: Any) -> Any:
    message = written(writer, value)
    found = rows(decode([framed(message)], reader, {1: writer}))[0]
    many = rows(decode([framed(message)] * 60, reader, {1: writer}))
    assert many == [found] * 60
    return found


def read_one(writer: Any, reader: Any, value: Any) -> Any:
    found = read(record(field(writer)), record(field(reader)), {"f": value})
    return found if isinstance(found, str) else found[0]


def enum(*symbols: str, **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": "e", "symbols": list(symbols), **more}


@pytest.mark.parametrize(
    ("writer", "reader", "value"),
    [
        ("int", "long", -7),
        ("int", "float", 3),
        ("int", "double", 2**31 - 1),
        ("long", "float", 2**24),
        ("long", "double", -(2**53)),
        ("float", "double", 0.5),
        ("string", "bytes", "ä"),
        ("bytes", "string", "ä".encode()),
        (enum("A", "B"), enum("B", "A"), "B"),
        (enum("A", "B"), enum("A", default="A"), "B"),
        ("int", ["null", "int"], 5),
        (["null", "int"], ["int", "null"], None),
        (["null", "int"], "long", 5),
        (["int", "string"], ["null", "int", "string"], "x"),
        ({"type": "array", "items": "int"}, {"type": "array", "items": ["null", "double"]}, [1, 2]),
        ({"type": "map", "values": "int"}, {"type": "map", "values": "long"}, {"a": 1}),
    ],
)
def test_values_are_promoted_as_by_fastavro(writer: Any, reader: Any, value: Any) -> None:
    one, other = record(field(writer)), record(field(reader))
    assert read(one, other, {"f": value}) == expected(written(one, {"f": value}), one, other)


def test_fields_are_found_by_name_and_alias_in_any_order_and_others_are_passed_over() -> None:
    deep = record(field({"type": "array", "items": ["null", "string"]}, "x"), name="deep")
    writer = record(
        field("int", "a"),
        field(deep, "gone"),
        field({"type": "map", "values": "long"}, "too"),
        field("string", "old"),
        field("double", "c"),
    )
    reader = record(field("double", "c"), field("string", "new", aliases=["old"]), field("long", "a"))
    value = {"a": 1, "gone": {"x": [None, "y"]}, "too": {"k": 2}, "old": "s", "c": 0.5}
    assert read(writer, reader, value) == (0.5, "s", 1)


def test_a_name_goes_before_an_alias() -> None:
    writer = record(field("int", "old"), field("int", "new"))
    assert read(writer, record(field("int", "new", aliases=["old"])), {"old": 1, "new": 2}) == (2,)


@pytest.mark.parametrize(
    ("type_", "default", "stored"),
    [
        ("int", 7, 7),
        ("double", 1, 1.0),
        ("boolean", True, True),
        ("string", "ä", "ä"),
        ("bytes", "\u00ff", b"\xff"),
        (["null", "int"], None, None),
        (["int", "null"], 3, 3),
        (["null", "string"], "x", "x"),
        (enum("A", "B"), "B", "B"),
        ({"type": "fixed", "name": "x", "size": 2}, "ab", b"ab"),
        ({"type": "array", "items": "int"}, [1, -2], (1, -2)),
        ({"type": "map", "values": "int"}, {"b": 1, "a": 2}, (("a", 2), ("b", 1))),
        (record(field("int", "a"), field("string", "b", default="z"), name="i"), {"a": 1}, (1, "z")),
        ({"type": "long", "logicalType": "timestamp-millis"}, 5, 5000),
    ],
)
def test_a_field_that_the_writer_does_not_have_is_its_default(type_: Any, default: Any, stored: Any) -> None:
    reader = record(field("int"), field(type_, "d", default=default))
    assert read(record(field("int")), reader, {"f": 1}) == (1, stored)


def test_of_several_branches_the_very_same_type_is_taken_and_then_the_first() -> None:
    reader = record(field(["double", "long", "string", "bytes"]))
    for type_, value, column in (("long", 1, 1), ("int", 1, 0), ("bytes", b"x", 3), ("string", "x", 2)):
        found = read(record(field(type_)), reader, {"f": value})
        assert [number for number, one in enumerate(found) if one is not None] == [column]


def test_records_in_a_union_are_told_apart_by_their_names() -> None:
    first, second = record(field("int", "a"), name="n.first"), record(field("int", "a"), name="n.second")
    reader = record(field(["null", second, {**first, "name": "m.renamed", "aliases": ["n.first"]}]))
    writer = record(field([first, second]))
    messages = [framed(b"\x00\x02"), framed(b"\x02\x04")]
    assert rows(decode(messages, reader, {1: writer})) == [(None, (1,)), ((2,), None)]


def test_a_branch_or_symbol_that_the_reader_does_not_have_is_bad_only_where_it_occurs() -> None:
    assert read_one(["null", "int"], "int", 1) == 1
    assert (
        read_one(["null", "int"], "int", None) == 'Avro: field "f": null where the reader\'s schema has none'
    )
    assert read_one(["int", "boolean"], ["null", "int"], True) == (
        'Avro: field "f": boolean of the writer\'s schema is not int'
    )
    assert read_one(enum("A", "B"), enum("A"), "A") == "A"
    assert read_one(enum("A", "B"), enum("A"), "B") == 'Avro: field "f": enum e has no symbol "B"'


@pytest.mark.parametrize(
    ("writer", "reader", "why"),
    [
        (record(), record(field("int")), 'field "f" is missing, and has no default'),
        (
            record(field("string")),
            record(field("int")),
            'field "f": string of the writer\'s schema is not int',
        ),
        (record(field("long")), record(field("int")), 'field "f": long of the writer\'s schema is not int'),
        (record(name="x"), record(), "record x of the writer's schema is not record r"),
        ("int", record(), "int of the writer's schema is not record r"),
        (
            record(field({"type": "int", "logicalType": "date"})),
            record(field({"type": "int", "logicalType": "time-millis"})),
            'field "f": date of the writer\'s schema is not time-millis',
        ),
        (
            record(field({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2})),
            record(field({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3})),
            'field "f": decimal of the writer\'s schema is not decimal',
        ),
        (
            record(field({"type": "fixed", "name": "x", "size": 1})),
            record(field({"type": "fixed", "name": "x", "size": 2})),
            'field "f": fixed x of the writer\'s schema is not fixed x',
        ),
        (record(), record(field("int", default="x")), "a default is no value of int"),
    ],
)
def test_schemas_that_do_not_go_together_are_an_error_of_all_their_messages(
    writer: Any, reader: Any, why: str
) -> None:
    (found,) = rows(decode([framed(b"\0")], reader, {1: writer}))
    assert found == f"Avro: messages of the schema with id 1 cannot be read: {why}"


def test_moments_keep_their_meaning_when_their_unit_changes() -> None:
    millis = {"type": "long", "logicalType": "timestamp-millis"}
    micros = {"type": "long", "logicalType": "timestamp-micros"}
    assert read_one("long", micros, 5) == 5
    assert read_one("long", millis, 5) == 5000
    assert read_one(millis, "long", 5) == 5
    writer, reader = record(field(millis)), record(field(micros))
    assert rows(decode([framed(b"\x0a")], reader, {1: writer})) == [(5000,)]


def test_a_writers_type_that_contains_itself_is_passed_over_or_read_as_far_as_the_reader_goes() -> None:
    node = record(field("int", "v"), field(["null", "node"], "next"), name="node")
    writer = record(field(node, "list"), field("int"))
    value: dict[str, Any] = {"v": 3, "next": None}
    for number in range(30):
        value = {"v": number, "next": value}
    assert read(writer, record(field("int")), {"list": value, "f": 9}) == (9,)
    leaf = record(field("int", "v"), name="node")
    reader = record(
        field(record(field("int", "v"), field(["null", leaf], "next"), name="node"), "list"), field("int")
    )
    reader["fields"][0]["type"]["fields"][1]["type"][1] = {**leaf, "name": "deeper.node"}
    assert read(writer, reader, {"list": value, "f": 9}) == ((29, (28,)), 9)


def test_values_nested_without_end_are_an_error_and_no_crash() -> None:
    node = record(field(["null", "node"], "next"), name="node")
    writer = record(field(node, "list"), field("int"))
    deep = b"\x02" * 50_000 + b"\0" + b"\2"
    found = rows(decode([framed(deep), framed(b"\0\2")], record(field("int")), {1: writer}))
    assert found == ['Avro: field "list": values are nested too deeply', (1,)]


def test_columns_are_those_of_the_reader_where_the_top_is_a_union_or_no_record() -> None:
    assert read("int", "long", 5) == (5,)
    assert read(["null", "int"], ["null", "long"], None) == (None,)
    assert read(["null", record(field("int"))], record(field("long")), {"f": 5}) == (5,)
    pinned = {"schema": json.dumps(record()), "wire": "none"}
    assert AVRO.columns(pinned) == ()

"""Which columns a schema makes, type by type, and what is said of a schema that makes none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater.core.errors import UserError
from headwater.core.types import format_type
from headwater.decode.avro import AVRO


def columns(schema: Any) -> list[tuple[str, str, bool]]:
    found = AVRO.columns(
        {"schema": schema if isinstance(schema, str) else json.dumps(schema), "wire": "none"}
    )
    return [(column.name, format_type(column.type), column.nullable) for column in found]


def record(*types: Any) -> dict[str, Any]:
    fields = [{"name": f"f{number}", "type": type_} for number, type_ in enumerate(types)]
    return {"type": "record", "name": "r", "fields": fields}


def refused(schema: Any) -> str:
    with pytest.raises(UserError) as caught:
        columns(schema)
    return str(caught.value)


JSON = {"type": "string", "connect.name": "io.debezium.data.Json"}


@pytest.mark.parametrize(
    ("avro", "sql"),
    [
        ("boolean", "boolean"),
        ("int", "integer"),
        ("long", "bigint"),
        ("float", "real"),
        ("double", "double precision"),
        ("bytes", "bytea"),
        ("string", "text"),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, "text"),
        ({"type": "fixed", "name": "f", "size": 3}, "bytea"),
        ({"type": "int", "logicalType": "date"}, "date"),
        ({"type": "int", "logicalType": "time-millis"}, "time without time zone"),
        ({"type": "long", "logicalType": "time-micros"}, "time without time zone"),
        ({"type": "long", "logicalType": "timestamp-millis"}, "timestamp(3) without time zone"),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, "timestamp(6) without time zone"),
        ({"type": "long", "logicalType": "timestamp-nanos"}, "bigint"),
        ({"type": "string", "logicalType": "timestamp-micros"}, "text"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, "numeric(39,2)"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 39, "scale": 2}, "numeric"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3}, "bytea"),
        ({"type": "string", "logicalType": "uuid"}, "uuid"),
        ({"type": "fixed", "name": "u", "size": 16, "logicalType": "uuid"}, "uuid"),
        ({"type": "fixed", "name": "u", "size": 12, "logicalType": "duration"}, "interval"),
        (JSON, "jsonb"),
        ({"type": "array", "items": ["null", "int"]}, "integer list"),
        ({"type": "map", "values": {"type": "array", "items": "int"}}, "map[text=>integer list]"),
        ({"type": {"type": "string"}}, "text"),
    ],
)
def test_a_type_is_a_column(avro: Any, sql: str) -> None:
    assert columns(record(avro)) == [("f0", sql, False)]


def test_a_nested_record_is_a_record_and_its_unions_are_fields() -> None:
    inner = {"type": "record", "name": "i", "fields": [{"name": "u", "type": ["int", "null", "string"]}]}
    assert columns(record(["null", inner])) == [("f0", "record(u1: integer,u2: text)", True)]


def test_a_union_of_null_and_a_type_is_nullable_and_one_of_several_is_several() -> None:
    assert columns(record(["string", "null"])) == [("f0", "text", True)]
    assert columns(record(["string"])) == [("f0", "text", False)]
    assert columns(record(["int", "null", "string"])) == [("f01", "integer", True), ("f02", "text", True)]


def test_what_is_no_record_is_one_column() -> None:
    assert columns('"long"') == [("column1", "bigint", False)]
    assert columns(["null", {"type": "record", "name": "r", "fields": []}]) == [("column1", "record", True)]


def test_names_are_looked_up_in_their_namespace() -> None:
    schema = {
        "type": "record",
        "name": "a.b.r",
        "fields": [
            {"name": "x", "type": {"type": "enum", "name": "e", "symbols": ["A"]}},
            {"name": "y", "type": "e"},
            {"name": "z", "type": ["null", "a.b.e"]},
        ],
    }
    assert [name for name, _, _ in columns(schema)] == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (
            record({"type": "array", "items": ["int", "string"]}),
            '"f0[]" is a union of several types, and not',
        ),
        (record("null"), '"f0" has no type but null'),
        (record([]), '"f0" has no type but null'),
        (["int", "string"], '"column1" is a union of several types'),
        (
            {"type": "record", "name": "r", "fields": [{"name": "next", "type": ["null", "r"]}]},
            '"next" contains itself, as r',
        ),
    ],
)
def test_a_schema_that_has_no_columns_is_not_supported(schema: Any, why: str) -> None:
    assert refused(schema).startswith(f"Avro schema is not supported: {why}")


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ("{", "it is not JSON"),
        ("[" * 100_000, "it is nested too deeply"),
        ("7", '"7" is not a type'),
        (record("other"), 'type "other" does not exist'),
        (record({"type": "array"}), 'array has no "items"'),
        (record({"type": "fixed", "name": "f", "size": -1}), 'fixed "f" has no size'),
        (record({"type": "enum", "name": "e"}), '"symbols" is not a list'),
        (record(["null", ["int"]]), "a union is directly in a union"),
        ({"type": "record", "name": "r"}, 'record "r" has no fields'),
        ({"type": "record", "fields": []}, "record has no name"),
        (record(record()), 'type "r" is defined twice'),
        (record({"type": "enum", "name": "e", "symbols": ["A"], "default": "B"}), 'the default of enum "e"'),
    ],
)
def test_a_text_that_is_no_schema_is_refused(schema: Any, why: str) -> None:
    assert refused(schema).startswith(f"Avro schema is not valid: {why}")

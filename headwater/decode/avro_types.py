"""Which columns a reader's Avro schema makes (the dialect's rules), and why another one makes none.

    boolean bool        date int4 days  date                    record   record, its fields by the same rules
    int     int4        timestamp-*     timestamp(3) or (6)     array    list
    long    int8        time-*          time                    map      map
    float   float4      decimal         numeric(scale), and beyond 38 digits numeric
    double  float8      uuid            uuid                    enum, string   text
    duration interval   json            jsonb                   bytes, fixed   bytea

A union of null and a type is the type, nullable.  One of several types is several columns where it is a
field, of which at most one is not NULL; elsewhere it is refused.
"""

from __future__ import annotations

from typing import Final

from headwater.core.errors import UserError
from headwater.core.relation import Column
from headwater.core.types import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT4,
    INT8,
    INTERVAL,
    JSONB,
    NUMERIC,
    NUMERIC_DIGITS_MAX,
    TEXT,
    TIME,
    UUID,
    SqlType,
    list_of,
    map_of,
    numeric,
)
from headwater.decode.avro_schema import Document, Field, Schema

COLUMN_OF_NO_RECORD: Final = "column1"

_BY_LOGICAL: Final = {
    "date": DATE,
    "time-millis": TIME,
    "time-micros": TIME,
    "timestamp-millis": SqlType("timestamp", scale=3),
    "timestamp-micros": SqlType("timestamp", scale=6),
    "local-timestamp-millis": SqlType("timestamp", scale=3),
    "local-timestamp-micros": SqlType("timestamp", scale=6),
    "uuid": UUID,
    "duration": INTERVAL,
    "json": JSONB,
}
_BY_KIND: Final = {
    "boolean": BOOL,
    "int": INT4,
    "long": INT8,
    "float": FLOAT4,
    "double": FLOAT8,
    "bytes": BYTEA,
    "fixed": BYTEA,
    "string": TEXT,
    "enum": TEXT,
}


def columns_of(document: Document) -> tuple[Column, ...]:
    """The columns of messages."""
    top = document.top
    if top.kind != "record":
        return (Column(COLUMN_OF_NO_RECORD, type_of(top, COLUMN_OF_NO_RECORD), nullable(top)),)
    return tuple(column for field in top.fields for column in field_columns(field, ""))


def columns_within(document: Document, name: str) -> tuple[Column, ...]:
    """The columns that the record under a field would make by itself; its type does not tell of NULLs."""
    for field in document.top.fields:
        if field.name == name:
            (record,) = branches(field.schema)
            return tuple(column for inner in record.fields for column in field_columns(inner, f"{name}."))
    return ()


def field_columns(field: Field, place: str) -> tuple[Column, ...]:
    """The columns, or fields of a nested record, that a field makes."""
    place = f"{place}{field.name}"
    found = branches(field.schema)
    if len(found) == 1:
        return (Column(field.name, type_of(found[0], place), nullable(field.schema)),)
    if not found:
        raise _refused(place, "has no type but null")
    numbered = enumerate(found, 1)
    return tuple(Column(f"{field.name}{number}", type_of(branch, place)) for number, branch in numbered)


def branches(schema: Schema) -> tuple[Schema, ...]:
    """The types that a value may have, without null."""
    parts = schema.parts if schema.kind == "union" else (schema,)
    return tuple(part for part in parts if part.kind != "null")


def nullable(schema: Schema) -> bool:
    """Whether null is a value."""
    return schema.kind == "union" and any(part.kind == "null" for part in schema.parts)


def type_of(schema: Schema, place: str) -> SqlType:
    """The type of a value; UserError where it has none."""
    found = branches(schema)
    if len(found) != 1:
        why = "is a union of several types, and not a field" if found else "has no type but null"
        raise _refused(place, why)
    (schema,) = found
    match schema.kind:
        case "recursive":
            raise _refused(place, f"contains itself, as {schema.name}")
        case "array":
            return list_of(type_of(schema.parts[0], f"{place}[]"))
        case "map":
            return map_of(type_of(schema.parts[0], f"{place}{{}}"))
        case "record":
            columns = [column for field in schema.fields for column in field_columns(field, f"{place}.")]
            return SqlType("record", fields=tuple((column.name, column.type) for column in columns))
    if schema.logical == "decimal":
        return numeric(schema.scale) if schema.precision <= NUMERIC_DIGITS_MAX else NUMERIC
    return _BY_LOGICAL.get(schema.logical) or _BY_KIND[schema.kind]


def _refused(place: str, why: str) -> UserError:
    return UserError(f'Avro schema is not supported: "{place}" {why}', "0A000")

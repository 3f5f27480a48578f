"""What fastavro says of a message, in stored form; and random schemas, values and evolutions to ask it about.

fastavro is asked without logical types: what these make of a number is computed here again, because
fastavro has no dates beyond Python's.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from decimal import Decimal
from itertools import count, pairwise
from typing import Any
from uuid import UUID

import fastavro
import pyarrow as pa

from headwater.decode.avro import AVRO
from headwater.decode.contract import Decoded

Json = Any


class Impossible(Exception):
    """A value without a stored form."""


def decode(messages: list[bytes], reader: Json, writers: dict[int, Json] | None = None) -> Decoded:
    """Messages by our decoder: framed if there are writers' schemas."""
    pinned = {"schema": json.dumps(reader), "wire": "none" if writers is None else "confluent"}
    decoder = AVRO.decoder(pinned, lambda number: json.dumps((writers or {})[number]))
    return decoder(pa.array(messages, pa.binary()))


def framed(message: bytes, number: int = 1) -> bytes:
    """With Confluent's header."""
    return b"\0" + number.to_bytes(4, "big") + message


def written(schema: Json, value: Any) -> bytes:
    """A message by fastavro."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(schema))), value)
    return out.getvalue()


def rows(decoded: Decoded) -> list[tuple[Any, ...] | str]:
    """By message its values, or the error."""
    columns = [stored_values(column) for column in decoded.columns]
    errors = [None] * len(columns[0]) if decoded.errors is None else decoded.errors.to_pylist()
    made = list(zip(*columns, strict=True)) if columns else [()] * len(errors)
    for row, error in zip(made, errors, strict=True):
        assert error is None or all(value is None for value in row), "a bad message is NULL throughout"
    return [row if error is None else error for row, error in zip(made, errors, strict=True)]


def stored_values(array: pa.Array) -> list[Any]:
    """Python's values; days and moments as numbers, because Python does not have all of them."""
    array.validate(full=True)
    kind = array.type
    if pa.types.is_timestamp(kind):
        return list(array.cast(pa.int64()).to_pylist())
    if pa.types.is_date32(kind):
        return list(array.cast(pa.int32()).to_pylist())
    if pa.types.is_struct(kind):
        fields = [stored_values(child) for child in array.flatten()]
        values = [tuple(row) for row in zip(*fields, strict=True)] if fields else [()] * len(array)
    elif pa.types.is_map(kind):
        keys, items = stored_values(array.keys), stored_values(array.items)
        spans = _spans(array)
        values = [tuple(zip(keys[a:b], items[a:b], strict=True)) for a, b in spans]
    elif pa.types.is_list(kind):
        items = stored_values(array.values)
        values = [tuple(items[a:b]) for a, b in _spans(array)]
    else:
        return list(array.to_pylist())
    return [
        value if valid else None for value, valid in zip(values, array.is_valid().to_pylist(), strict=True)
    ]


def _spans(array: pa.Array) -> list[tuple[int, int]]:
    offsets = array.offsets.to_pylist()
    return list(pairwise(offsets))


# The oracle


def expected(message: bytes, writer: Json, reader: Json) -> tuple[Any, ...]:
    """A message's row by fastavro; an exception of any kind where there is none."""
    # fastavro passes over floats without seeing the end: over a whole array of them for years.
    fastavro.schemaless_reader(io.BytesIO(message), _lengths(plain(writer)), None)
    stream = io.BytesIO(message)
    value: Any = fastavro.schemaless_reader(stream, plain(writer), plain(reader))
    if stream.read(1):
        raise Impossible("bytes are left")
    return _fields(reader, value)


def plain(schema: Json) -> Json:
    """A schema without its logical types."""
    if isinstance(schema, list):
        return [plain(part) for part in schema]
    if isinstance(schema, dict):
        return {
            key: plain(part)
            for key, part in schema.items()
            if key not in ("logicalType", "precision", "scale")
        }
    return schema


_NUMBERS = count()


def _lengths(schema: Json) -> Json:
    """Another schema of the same bytes, by which all are read that have the right lengths."""
    if isinstance(schema, list):
        return [_lengths(part) for part in schema]
    if not isinstance(schema, dict):
        return "bytes" if schema == "string" else schema
    if schema["type"] == "enum":
        return {"type": "record", "name": schema["name"], "fields": [{"name": "v", "type": "long"}]}
    if schema["type"] == "map":
        entry = [{"name": "key", "type": "bytes"}, {"name": "value", "type": _lengths(schema["values"])}]
        return {"type": "array", "items": {"type": "record", "name": f"M{next(_NUMBERS)}", "fields": entry}}
    fields = [{"name": one["name"], "type": _lengths(one["type"])} for one in schema.get("fields", ())]
    made = {key: _lengths(part) for key, part in schema.items() if key in ("type", "items")}
    return {**schema, **made, "fields": fields}


def _fields(schema: Json, record: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(
        made for field in schema["fields"] for made in _columns(field["type"], record[field["name"]])
    )


def _columns(schema: Json, value: Any) -> list[Any]:
    parts = [part for part in schema if part != "null"] if isinstance(schema, list) else [schema]
    if len(parts) == 1:
        return [None if value is None and isinstance(schema, list) else _stored(parts[0], value)]
    chosen = [part for part in parts if value is not None and _fits(part, value)]
    assert len(chosen) == (value is not None)
    return [_stored(part, value) if part in chosen else None for part in parts]


_FAMILIES: dict[str, type | tuple[type, ...]] = {
    "boolean": bool,
    "int": int,
    "long": int,
    "float": float,
    "double": float,
    "string": str,
    "enum": str,
    "bytes": bytes,
    "fixed": bytes,
    "array": list,
    "map": dict,
    "record": dict,
}


def _kind(schema: Json) -> str:
    return str(schema["type"] if isinstance(schema, dict) else schema)


def _fits(schema: Json, value: Any) -> bool:
    if isinstance(value, bool):
        return _kind(schema) == "boolean"
    return isinstance(value, _FAMILIES[_kind(schema)])


_SCALES = {"timestamp-millis": 1000, "time-millis": 1000}
_BOUNDS = {
    "date": (-2_440_588, 2_145_042_905),
    "time-millis": (0, 86_400_000),
    "time-micros": (0, 86_400_000_000),
    "timestamp-millis": (-210_866_803_200_000, 9_223_372_036_854_775),
    "timestamp-micros": (-210_866_803_200_000_000, 2**63 - 2),
}


def _stored(schema: Json, value: Any) -> Any:
    if isinstance(schema, list):
        (made,) = _columns(schema, value)
        return made
    kind, logical = _kind(schema), schema.get("logicalType", "") if isinstance(schema, dict) else ""
    if kind in ("bytes", "fixed") and isinstance(value, str):
        value = value.encode("latin-1")  # a default
    if logical in _BOUNDS:
        first, last = _BOUNDS[logical]
        if not first <= value <= last:
            raise Impossible(logical)
        return value * _SCALES.get(logical, 1)
    match logical or kind:
        case "decimal":
            number = int.from_bytes(value, "big", signed=True)
            if abs(number) >= 10**38 - 1:
                raise Impossible("decimal")
            return Decimal(f"{number}e-{schema['scale']}")
        case "uuid":
            return str(UUID(bytes=value) if kind == "fixed" else UUID(value))
        case "record":
            return _fields(schema, value)
        case "array":
            return tuple(_stored(schema["items"], one) for one in value)
        case "map":
            entries = sorted(value.items(), key=lambda entry: entry[0].encode())
            if any("\0" in key for key, _ in entries):
                raise Impossible("zero byte")
            return tuple((key, _stored(schema["values"], one)) for key, one in entries)
        case "string" if "\0" in value:
            raise Impossible("zero byte")
        case "int" if not -(2**31) <= value < 2**31:
            raise Impossible("int")
        case "float" | "double":
            # NaN is not equal to itself.
            return pa.scalar(float(value), pa.float32() if kind == "float" else pa.float64()).as_py()
    return value


# Random schemas


class Chance:
    """Schemas, values and evolutions that come from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0

    def record(self, depth: int = 2) -> Json:
        """A record of some fields."""
        fields = [self.field(depth) for _ in range(self.random.randint(1, 5))]
        return {"type": "record", "name": self.name("R"), "fields": fields}

    def name(self, first: str) -> str:
        self.names += 1
        return f"{first}{self.names}"

    def field(self, depth: int) -> Json:
        return {
            "name": self.name("f"),
            "type": self.union(depth) if self.random.random() < 0.4 else self.type(depth),
        }

    def union(self, depth: int) -> Json:
        kind = self.random.choice(("nullable", "nullable", "several"))
        if kind == "nullable":
            parts = ["null", self.type(depth)]
            self.random.shuffle(parts)
            return parts
        # No type that another one promotes to: fastavro takes the first that fits, and not the very same.
        families: list[Json] = [
            self.random.choice(("int", "long", "float", "double")),
            *self.random.choice((("string", self.fixed()), (self.enum(), self.fixed()), ("bytes",))),
            "boolean",
            self.random.choice((self.record(0), {"type": "map", "values": "long"})),
        ]
        parts = self.random.sample(families, self.random.randint(2, 4))
        return parts if self.random.random() < 0.5 else ["null", *parts]

    def enum(self) -> Json:
        return {"type": "enum", "name": self.name("E"), "symbols": ["A", "B", "C", "D"]}

    def fixed(self) -> Json:
        return {"type": "fixed", "name": self.name("F"), "size": self.random.choice((1, 3, 12, 20))}

    def type(self, depth: int) -> Json:
        simple: list[Callable[[], Json]] = [
            lambda: self.random.choice(("boolean", "int", "long", "float", "double", "string", "bytes")),
            lambda: self.random.choice(("int", "long", "string")),
            self.enum,
            self.fixed,
            lambda: {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 4},
            lambda: {
                "type": "fixed",
                "name": self.name("F"),
                "size": 16,
                "logicalType": "decimal",
                "precision": 38,
                "scale": 0,
            },
            lambda: {"type": "int", "logicalType": self.random.choice(("date", "time-millis"))},
            lambda: {"type": "long", "logicalType": "timestamp-" + self.random.choice(("millis", "micros"))},
            lambda: {"type": "fixed", "name": self.name("F"), "size": 16, "logicalType": "uuid"},
        ]
        deep: list[Callable[[], Json]] = [
            lambda: self.record(depth - 1),
            lambda: {"type": "array", "items": self.item(depth - 1)},
            lambda: {"type": "map", "values": self.item(depth - 1)},
        ]
        return self.random.choice([*simple, *deep] if depth > 0 else simple)()

    def item(self, depth: int) -> Json:
        return ["null", self.type(depth)] if self.random.random() < 0.3 else self.type(depth)

    # Values

    def value(self, schema: Json) -> Any:
        """A value of a schema without its logical types."""
        if isinstance(schema, list):
            return self.value(self.random.choice(schema))
        logical = schema.get("logicalType", "") if isinstance(schema, dict) else ""
        chance = self.random
        if logical in _BOUNDS:
            return chance.randint(*_BOUNDS[logical]) if chance.random() < 0.3 else chance.randint(0, 10**6)
        match _kind(schema):
            case "null":
                return None
            case "boolean":
                return chance.random() < 0.5
            case "int":
                return chance.choice((chance.randint(-70, 70), chance.randint(-(2**31), 2**31 - 1)))
            case "long":
                return chance.choice((chance.randint(-70, 70), chance.randint(-(2**63), 2**63 - 1), -(2**63)))
            case "float" | "double":
                return chance.choice((0.0, -0.5, 2.0 ** chance.randint(-20, 100)))
            case "string":
                return "".join(chance.choice("abcäß漢😀 ") for _ in range(chance.choice((0, 3, 20, 80))))
            case "bytes" if logical:
                return chance.randint(-(10**30), 10**30).to_bytes(
                    chance.choice((13, 14, 17)), "big", signed=True
                )
            case "bytes":
                return chance.randbytes(chance.choice((0, 1, 9, 70)))
            case "fixed" if logical == "decimal":
                return chance.randint(-(10**38) + 2, 10**38 - 2).to_bytes(16, "big", signed=True)
            case "fixed":
                return chance.randbytes(schema["size"])
            case "enum":
                return chance.choice(schema["symbols"])
            case "array":
                return [self.value(schema["items"]) for _ in range(self.length())]
            case "map":
                return {self.value("string"): self.value(schema["values"]) for _ in range(self.length())}
        return {field["name"]: self.value(field["type"]) for field in schema["fields"]}

    def length(self) -> int:
        return self.random.choice((0, 0, 1, 2, 3, 9))

    # Evolutions

    def evolved(self, schema: Json) -> Json:
        """A schema that reads what this one has written, or most of it."""
        chance = self.random
        if isinstance(schema, list):
            return [self.evolved(part) for part in schema] if chance.random() < 0.8 else schema
        kind = _kind(schema)
        if kind == "record":
            return self.evolved_record(schema)
        if kind in ("array", "map"):
            key = "items" if kind == "array" else "values"
            return {**schema, key: self.evolved(schema[key])}
        if kind == "enum" and chance.random() < 0.5:
            return {**schema, "symbols": chance.choice((["D", "B", "A"], ["X", "A"])), "default": "A"}
        if isinstance(schema, str) and chance.random() < 0.3:
            wider = {"int": ("long", "float", "double"), "long": ("double",), "float": ("double",)}
            return chance.choice(wider.get(schema, (schema,)))
        return schema

    def evolved_record(self, schema: Json) -> Json:
        chance = self.random
        fields = []
        for field in schema["fields"]:
            roll = chance.random()
            if roll < 0.15:
                continue
            made = {**field, "type": self.evolved_field(field["type"])}
            if roll < 0.3:
                made = {**made, "name": self.name("n"), "aliases": [field["name"]]}
            fields.append(made)
        for default, type_ in (
            (7, "long"),
            ("x", "string"),
            (None, ["null", "int"]),
            ("ÿ", "bytes"),
            ([1, 2], {"type": "array", "items": "int"}),
        ):
            if chance.random() < 0.15 or not fields:
                fields.append({"name": self.name("d"), "type": type_, "default": default})
        chance.shuffle(fields)
        return {**schema, "fields": fields}

    def evolved_field(self, schema: Json) -> Json:
        """Unions keep families of types apart, or the oracle's values would not say which branch they are."""
        if isinstance(schema, list):
            several = len([part for part in schema if part != "null"]) > 1
            if several:
                return (
                    schema
                    if self.random.random() < 0.7
                    else [*schema[:-1], "null"]
                    if "null" not in schema
                    else schema
                )
            return [part if part == "null" else self.evolved(part) for part in schema]
        made = self.evolved(schema)
        return ["null", made] if self.random.random() < 0.2 else made

    def spoiled(self, message: bytes) -> bytes:
        """A message with something wrong, probably."""
        chance = self.random
        match chance.randint(0, 5):
            case 0:
                return message[: chance.randint(0, len(message))]
            case 1:
                return message + chance.randbytes(chance.randint(1, 4))
            case 2:
                return chance.randbytes(chance.randint(0, 30))
            case 3:
                at = chance.randint(0, len(message))
                return message[:at] + chance.randbytes(1) + message[at:]
            case _ if message:
                at = chance.randrange(len(message))
                return message[:at] + bytes([message[at] ^ 1 << chance.randint(0, 7)]) + message[at + 1 :]
        return message

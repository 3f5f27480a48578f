"""Defaults of fields, which are JSON, in Avro's bytes; so that they are read as all other values are."""

from __future__ import annotations

import struct
from typing import Any

from headwater.core.errors import UserError
from headwater.decode.avro_schema import Schema


def encoded(schema: Schema, value: Any) -> bytes:
    """A value of JSON in Avro's bytes; UserError where it is none of the type."""
    try:
        return _encoded(schema, value)
    except (TypeError, ValueError, OverflowError, KeyError, AttributeError, struct.error):
        raise UserError(f"a default is no value of {schema}") from None


def _encoded(schema: Schema, value: Any) -> bytes:
    match schema.kind, value:
        case "null", None:
            return b""
        case "boolean", bool():
            return bytes([value])
        case (("int" | "long"), int()) if not isinstance(value, bool):
            return _number(value)
        case (("float" | "double"), int() | float()) if not isinstance(value, bool):
            return struct.pack("<f" if schema.kind == "float" else "<d", value)
        case (("bytes" | "fixed"), str()):
            content = value.encode("latin-1")
            return content if schema.kind == "fixed" else _number(len(content)) + content
        case "string", str():
            return _text(value)
        case "enum", str():
            return _number(schema.symbols.index(value))
        case "array", list():
            return _block([_encoded(schema.parts[0], one) for one in value])
        case "map", dict():
            return _block([_text(key) + _encoded(schema.parts[0], one) for key, one in value.items()])
        case "record", dict():
            return b"".join(
                _encoded(field.schema, value.get(field.name, field.default)) for field in schema.fields
            )
        case "union", _:
            return _of_union(schema, value)
    raise TypeError


def _of_union(schema: Schema, value: Any) -> bytes:
    """Of the first branch that takes it."""
    for number, part in enumerate(schema.parts):
        try:
            return _number(number) + _encoded(part, value)
        except (TypeError, ValueError, OverflowError, KeyError, AttributeError, struct.error):
            continue
    raise TypeError


def _block(values: list[bytes]) -> bytes:
    return (_number(len(values)) + b"".join(values) if values else b"") + b"\x00"


def _text(value: str) -> bytes:
    content = value.encode()
    return _number(len(content)) + content


def _number(value: int) -> bytes:
    left = (value << 1) ^ (value >> 63)
    if not 0 <= left < 1 << 64:
        raise OverflowError
    found = bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])

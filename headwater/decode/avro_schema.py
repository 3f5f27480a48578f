"""Avro schemas: their JSON text as a value, with names in full and every reference replaced by what it means.

A type that contains itself cannot be replaced in itself: there a `recursive` schema stands, and
`Document.types` has what it means.  Logical types that do not fit what they stand on are left out, as the
specification demands.  Not here: which SQL types these are (avro_types.py), how a reader's and a
writer's are put together (avro_resolve.py).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from headwater.core.errors import UserError

PRIMITIVE: Final = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))
NAMED: Final = frozenset(("record", "enum", "fixed"))
_SIZE_MAX: Final = 2**31 - 1

_LOGICAL: Final[dict[str, tuple[str, ...]]] = {
    "date": ("int",),
    "time-millis": ("int",),
    "time-micros": ("long",),
    "timestamp-millis": ("long",),
    "timestamp-micros": ("long",),
    "local-timestamp-millis": ("long",),
    "local-timestamp-micros": ("long",),
    "decimal": ("bytes", "fixed"),
    "uuid": ("string", "fixed"),
    "duration": ("fixed",),
}
"""The logical types that mean something here, and what each may stand on."""
_SIZES: Final = {"uuid": 16, "duration": 12}
_JSON_NAMES: Final = frozenset(("io.debezium.data.Json",))


@dataclass(frozen=True, slots=True)
class Schema:
    """A type.  `parts` are the branches of a union, and what an array or a map is of."""

    kind: str  # as in Avro, and `union`, `recursive`
    name: str = ""  # in full
    aliases: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()
    symbols: tuple[str, ...] = ()
    default: str | None = None  # an enum's
    parts: tuple[Schema, ...] = ()
    size: int = 0  # a fixed's
    logical: str = ""  # or `json`
    precision: int = 0
    scale: int = 0

    def short_name(self) -> str:
        return self.name.rpartition(".")[2]

    def __str__(self) -> str:
        if self.kind in NAMED:
            return f"{self.kind} {self.name}"
        return self.logical or self.kind


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record; `default` is JSON, and means something where there is one."""

    name: str
    schema: Schema
    aliases: tuple[str, ...] = ()
    defaulted: bool = False
    default: object = None


@dataclass(frozen=True, slots=True)
class Document:
    """A schema, and by name the types that contain themselves."""

    top: Schema
    types: Mapping[str, Schema] = field(default_factory=dict)

    def meant(self, schema: Schema) -> Schema:
        """What stands for a reference from a type's inside to itself."""
        return self.types[schema.name] if schema.kind == "recursive" else schema


def parse_schema(text: str) -> Document:
    """A schema of its text."""
    try:
        reading = _Reading()
        return Document(reading.schema(json.loads(text), ""), reading.done)
    except RecursionError:
        raise _bad("it is nested too deeply") from None
    except ValueError as error:
        raise _bad(f"it is not JSON: {error}") from None


def _bad(why: str) -> UserError:
    return UserError(f"Avro schema is not valid: {why}", "22023")


class _Reading:
    """Names are known from the place on where they are defined, in the order of the text."""

    __slots__ = ("done", "open")

    def __init__(self) -> None:
        self.done: dict[str, Schema] = {}
        self.open: set[str] = set()

    def schema(self, value: Any, namespace: str) -> Schema:
        """A type, as it may stand anywhere."""
        match value:
            case str():
                return self._named(value, namespace)
            case list():
                return self._union(value, namespace)
            case {"type": str() as kind}:
                return self._complex(kind, value, namespace)
            case {"type": dict() | list() as inner}:
                return self.schema(inner, namespace)
        raise _bad(f"{_shown(value)} is not a type")

    def _named(self, name: str, namespace: str) -> Schema:
        if name in PRIMITIVE:
            return Schema(name)
        full = _full_name(name, namespace)
        if full in self.open:
            return Schema("recursive", full)
        if full not in self.done:
            raise _bad(f"type {_shown(name)} does not exist")
        return self.done[full]

    def _union(self, values: list[Any], namespace: str) -> Schema:
        parts = tuple(self.schema(value, namespace) for value in values)
        if any(part.kind == "union" for part in parts):
            raise _bad("a union is directly in a union")
        return Schema("union", parts=parts)

    def _complex(self, kind: str, value: dict[str, Any], namespace: str) -> Schema:
        match kind:
            case "array" | "map":
                key = "items" if kind == "array" else "values"
                if key not in value:
                    raise _bad(f'{kind} has no "{key}"')
                return Schema(kind, parts=(self.schema(value[key], namespace),))
            case "record" | "error" | "enum" | "fixed":
                return self._definition(kind, value, namespace)
        schema = self._named(kind, namespace)
        if schema.kind not in PRIMITIVE:
            return schema
        if schema.kind == "string" and value.get("connect.name") in _JSON_NAMES:
            return replace(schema, logical="json")
        return _with_logical(schema, value)

    def _definition(self, kind: str, value: dict[str, Any], namespace: str) -> Schema:
        name, said = value.get("name"), value.get("namespace")
        if not isinstance(name, str) or not name:
            raise _bad(f"{kind} has no name")
        if kind == "error":
            kind = "record"
        full = _full_name(name, said if isinstance(said, str) else namespace)
        if full in self.done or full in self.open:
            raise _bad(f"type {_shown(full)} is defined twice")
        inner = full.rpartition(".")[0]
        self.open.add(full)
        aliases = tuple(_full_name(alias, inner) for alias in _texts(value.get("aliases", []), "aliases"))
        schema = Schema(kind, full, aliases)
        match kind:
            case "record":
                schema = replace(schema, fields=self._fields(value, full, inner))
            case "enum":
                symbols = _texts(value.get("symbols"), "symbols")
                default = value.get("default")
                if default is not None and default not in symbols:
                    raise _bad(f"the default of enum {_shown(full)} is not one of its symbols")
                schema = replace(schema, symbols=symbols, default=default)
            case "fixed":
                size = value.get("size")
                if not isinstance(size, int) or not 0 <= size <= _SIZE_MAX:
                    raise _bad(f"fixed {_shown(full)} has no size")
                schema = _with_logical(replace(schema, size=size), value)
        self.open.remove(full)
        self.done[full] = schema
        return schema

    def _fields(self, value: dict[str, Any], full: str, namespace: str) -> tuple[Field, ...]:
        listed = value.get("fields")
        if not isinstance(listed, list):
            raise _bad(f"record {_shown(full)} has no fields")
        fields = []
        for one in listed:
            match one:
                case {"name": str() as name, "type": type_}:
                    aliases = _texts(one.get("aliases", []), "aliases")
                    schema = self.schema(type_, namespace)
                    fields.append(Field(name, schema, aliases, "default" in one, one.get("default")))
                case _:
                    raise _bad(f"a field of record {_shown(full)} has no name or no type")
        if len({one.name for one in fields}) < len(fields):
            raise _bad(f"record {_shown(full)} has two fields of one name")
        return tuple(fields)


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _texts(value: Any, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise _bad(f'"{what}" is not a list of names')
    return tuple(value)


def _with_logical(schema: Schema, value: dict[str, Any]) -> Schema:
    logical = value.get("logicalType")
    if not isinstance(logical, str) or schema.kind not in _LOGICAL.get(logical, ()):
        return schema
    if schema.kind == "fixed" and schema.size != _SIZES.get(logical, schema.size):
        return schema
    if logical != "decimal":
        return replace(schema, logical=logical)
    precision, scale = value.get("precision"), value.get("scale", 0)
    # bool is an int in Python, and no number in JSON.
    if type(precision) is not int or type(scale) is not int or not 0 <= scale <= precision:
        return schema
    return replace(schema, logical=logical, precision=precision, scale=scale)


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f'"{text if len(text) <= 80 else text[:77] + "..."}"'

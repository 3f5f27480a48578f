"""Formats: what the bytes of a message's key or value are.

    AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION c [(option, ...)]
        [SEED [KEY SCHEMA 's'] VALUE SCHEMA 's'] [KEY STRATEGY strategy] [VALUE STRATEGY strategy]
    AVRO USING AWS GLUE SCHEMA REGISTRY CONNECTION c (SCHEMA NAME [=] 'n')
    AVRO USING SCHEMA 's' [(CONFLUENT WIRE FORMAT [=] bool)]
    PROTOBUF USING CONFLUENT SCHEMA REGISTRY CONNECTION c [(option, ...)]
        [SEED [KEY SCHEMA 's' MESSAGE 'm'] VALUE SCHEMA 's' MESSAGE 'm']
    PROTOBUF MESSAGE 'm' USING SCHEMA 's'
    CSV WITH {HEADER [(a, b)] | HEADERS (a, b) | n COLUMNS} [DELIMITED BY 'c']
    REGEX 'r'  |  JSON [ARRAY]  |  TEXT  |  BYTES

    strategy    INLINE 's'  |  ID n  |  LATEST

SEED keeps the schemas that a registry had when an object was created, so that the object
stays what it was when the registry gets newer ones.

Not here: the clauses that formats stand in (encoding.py), the decoding itself (formats/).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from headwater.sql.cursor import Cursor, Name, quote_string
from headwater.sql.options import OptionReader, boolean, option_of, parse_options, render_options, string
from headwater.sql.parts import render_column_list
from headwater.sql.words import Branch, tree

# What a format needs to know of schemas


@dataclass(frozen=True, slots=True)
class Registry:
    """A schema registry behind a connection, with its options by name, as written."""

    connection: Name
    options: tuple[tuple[str, str | bool], ...] = ()

    def __str__(self) -> str:
        options = ", ".join(
            f"{name} = {quote_string(value) if isinstance(value, str) else str(value).upper()}"
            for name, value in self.options
        )
        return f"CONFLUENT SCHEMA REGISTRY CONNECTION {self.connection}" + (
            f" ({options})" if options else ""
        )


@dataclass(frozen=True, slots=True)
class AvroSeed:
    """The schemas that a registry had, as JSON."""

    value_schema: str
    key_schema: str | None = None

    def __str__(self) -> str:
        key = "" if self.key_schema is None else f" KEY SCHEMA {quote_string(self.key_schema)}"
        return f"SEED{key} VALUE SCHEMA {quote_string(self.value_schema)}"


@dataclass(frozen=True, slots=True)
class ProtobufMessage:
    """A message by its name, in the schema that describes it."""

    message: str
    schema: str


@dataclass(frozen=True, slots=True)
class ProtobufSeed:
    """The schemas that a registry had, with the message of each."""

    value: ProtobufMessage
    key: ProtobufMessage | None = None

    def __str__(self) -> str:
        return "SEED" + "".join(
            f" {what} SCHEMA {quote_string(message.schema)} MESSAGE {quote_string(message.message)}"
            for what, message in (("KEY", self.key), ("VALUE", self.value))
            if message is not None
        )


@dataclass(frozen=True, slots=True)
class Strategy:
    """How a reader's schema is chosen: written out, by its number, or the latest when it is neither."""

    schema: str | None = None
    id: int | None = None

    def __str__(self) -> str:
        if self.schema is not None:
            return f"INLINE {quote_string(self.schema)}"
        return "LATEST" if self.id is None else f"ID {self.id}"


# Formats: each has a `name` and `render()`


@dataclass(frozen=True, slots=True)
class AvroRegistry:
    """Avro, by the schemas of a registry."""

    name: ClassVar[str] = "avro"

    registry: Registry
    seed: AvroSeed | None = None
    key_strategy: Strategy | None = None
    value_strategy: Strategy | None = None

    def render(self) -> str:
        seed = "" if self.seed is None else f" {self.seed}"
        key = "" if self.key_strategy is None else f" KEY STRATEGY {self.key_strategy}"
        value = "" if self.value_strategy is None else f" VALUE STRATEGY {self.value_strategy}"
        return f"AVRO USING {self.registry}{seed}{key}{value}"


@dataclass(frozen=True, slots=True)
class AvroGlue:
    """Avro, by a schema that AWS Glue has."""

    name: ClassVar[str] = "avro"

    connection: Name
    schema_name: str

    def render(self) -> str:
        options = render_options(self, _GLUE_OPTIONS)
        return f"AVRO USING AWS GLUE SCHEMA REGISTRY CONNECTION {self.connection} ({options})"


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """Avro, by a schema that is written out."""

    name: ClassVar[str] = "avro"

    schema: str
    confluent_wire_format: bool | None = None

    def render(self) -> str:
        options = render_options(self, _AVRO_SCHEMA_OPTIONS)
        return f"AVRO USING SCHEMA {quote_string(self.schema)}" + (f" ({options})" if options else "")


@dataclass(frozen=True, slots=True)
class ProtobufRegistry:
    """Protobuf, by the schemas of a registry."""

    name: ClassVar[str] = "protobuf"

    registry: Registry
    seed: ProtobufSeed | None = None

    def render(self) -> str:
        return f"PROTOBUF USING {self.registry}" + ("" if self.seed is None else f" {self.seed}")


@dataclass(frozen=True, slots=True)
class ProtobufSchema:
    """Protobuf, by a schema that is written out."""

    name: ClassVar[str] = "protobuf"

    message: ProtobufMessage

    def render(self) -> str:
        message, schema = quote_string(self.message.message), quote_string(self.message.schema)
        return f"PROTOBUF MESSAGE {message} USING SCHEMA {schema}"


@dataclass(frozen=True, slots=True)
class Csv:
    """Comma-separated values: so many columns, or a header with these (`()` with any) names."""

    name: ClassVar[str] = "csv"

    columns: int | tuple[str, ...] = ()
    delimiter: str = ","

    def render(self) -> str:
        columns = self.columns
        shape = f"{columns} COLUMNS" if isinstance(columns, int) else f"HEADER{render_column_list(columns)}"
        delimiter = "" if self.delimiter == "," else f" DELIMITED BY {quote_string(self.delimiter)}"
        return f"CSV WITH {shape}{delimiter}"


@dataclass(frozen=True, slots=True)
class Regex:
    """Text whose parts a regular expression finds."""

    name: ClassVar[str] = "regex"

    pattern: str

    def render(self) -> str:
        return f"REGEX {quote_string(self.pattern)}"


@dataclass(frozen=True, slots=True)
class Json:
    """JSON; with `array` a row is an element, not a whole text."""

    name: ClassVar[str] = "json"

    array: bool = False

    def render(self) -> str:
        return "JSON ARRAY" if self.array else "JSON"


@dataclass(frozen=True, slots=True)
class Text:
    """Text in UTF-8."""

    name: ClassVar[str] = "text"

    def render(self) -> str:
        return "TEXT"


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes as they are."""

    name: ClassVar[str] = "bytes"

    def render(self) -> str:
        return "BYTES"


Format = (
    AvroRegistry
    | AvroGlue
    | AvroSchema
    | ProtobufRegistry
    | ProtobufSchema
    | Csv
    | Regex
    | Json
    | Text
    | Bytes
)
"""What is written after FORMAT; each has a `name` and `render()`."""


def connection_of(format_: Format | None) -> Name | None:
    """The connection that a format names, if it names one."""
    match format_:
        case AvroRegistry() | ProtobufRegistry():
            return format_.registry.connection
        case AvroGlue():
            return format_.connection
        case _:
            return None


def renamed(format_: Format | None, mapping: Callable[[Name], Name]) -> Format | None:
    """The same with another name for the connection."""
    match format_:
        case AvroRegistry(registry=registry) | ProtobufRegistry(registry=registry):
            return replace(format_, registry=replace(registry, connection=mapping(registry.connection)))
        case AvroGlue():
            return replace(format_, connection=mapping(format_.connection))
        case _:
            return format_


# Reading


def parse_format(cursor: Cursor) -> Format:
    """What comes after FORMAT."""
    reader = cursor.choose(_FORMATS)
    return reader(cursor)


def _avro_registry(cursor: Cursor) -> AvroRegistry:
    registry = _registry(cursor)
    seed = None
    if cursor.accept("SEED"):
        key_schema = _seeded_schema(cursor) if cursor.accept("KEY") else None
        cursor.expect("VALUE")
        seed = AvroSeed(_seeded_schema(cursor), key_schema)
    key_strategy = _strategy(cursor) if cursor.accept("KEY", "STRATEGY") else None
    value_strategy = _strategy(cursor) if cursor.accept("VALUE", "STRATEGY") else None
    return AvroRegistry(registry, seed, key_strategy, value_strategy)


def _avro_glue(cursor: Cursor) -> AvroGlue:
    return AvroGlue(cursor.name(), **parse_options(cursor, _GLUE_OPTIONS))


def _avro_schema(cursor: Cursor) -> AvroSchema:
    schema = cursor.string()
    options = parse_options(cursor, _AVRO_SCHEMA_OPTIONS) if cursor.at_symbol("(") else {}
    return AvroSchema(schema, **options)


def _protobuf_registry(cursor: Cursor) -> ProtobufRegistry:
    registry = _registry(cursor)
    seed = None
    if cursor.accept("SEED"):
        key = _seeded_message(cursor) if cursor.accept("KEY") else None
        cursor.expect("VALUE")
        seed = ProtobufSeed(_seeded_message(cursor), key)
    return ProtobufRegistry(registry, seed)


def _seeded_schema(cursor: Cursor) -> str:
    cursor.expect("SCHEMA")
    return cursor.string()


def _seeded_message(cursor: Cursor) -> ProtobufMessage:
    schema = _seeded_schema(cursor)
    cursor.expect("MESSAGE")
    return ProtobufMessage(cursor.string(), schema)


def _protobuf_schema(cursor: Cursor) -> ProtobufSchema:
    message = cursor.string()
    cursor.expect("USING", "SCHEMA")
    return ProtobufSchema(ProtobufMessage(message, cursor.string()))


def _registry(cursor: Cursor) -> Registry:
    connection = cursor.name()
    options = parse_options(cursor, _REGISTRY_OPTIONS) if cursor.at_symbol("(") else {}
    return Registry(connection, tuple((option_of(field), value) for field, value in options.items()))


def _strategy(cursor: Cursor) -> Strategy:
    match cursor.expect_any("INLINE", "ID", "LATEST"):
        case "INLINE":
            return Strategy(schema=cursor.string())
        case "ID":
            return Strategy(id=cursor.integer())
        case _:
            return Strategy()


def _csv(cursor: Cursor) -> Csv:
    columns: int | tuple[str, ...] = ()
    header = cursor.accept_any("HEADER", "HEADERS")
    if header is None:
        if cursor.peek().kind != "number":
            raise cursor.error("HEADER", "HEADERS", "literal integer")
        columns = cursor.integer()
        cursor.expect("COLUMNS")
    elif header == "HEADERS" or cursor.at_symbol("("):
        columns = cursor.parenthesized(cursor.identifier)
    delimiter = _one_character(cursor) if cursor.accept("DELIMITED", "BY") else ","
    return Csv(columns, delimiter)


def _one_character(cursor: Cursor) -> str:
    token = cursor.peek()
    if token.kind != "string" or len(token.value) != 1 or not token.value.isascii():
        raise cursor.error("one-character string")
    return cursor.take().value


_REGISTRY_OPTIONS: Final[dict[str, OptionReader]] = {
    "AVRO KEY FULLNAME": string,
    "AVRO VALUE FULLNAME": string,
    "NULL DEFAULTS": boolean,
    "KEY COMPATIBILITY LEVEL": string,
    "VALUE COMPATIBILITY LEVEL": string,
}
_GLUE_OPTIONS: Final[dict[str, OptionReader]] = {"SCHEMA NAME": string}
_AVRO_SCHEMA_OPTIONS: Final[dict[str, OptionReader]] = {"CONFLUENT WIRE FORMAT": boolean}

_FORMATS: Final[Branch[Callable[[Cursor], Format]]] = tree(
    [
        ("AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION", _avro_registry),
        ("AVRO USING AWS GLUE SCHEMA REGISTRY CONNECTION", _avro_glue),
        ("AVRO USING SCHEMA", _avro_schema),
        ("PROTOBUF USING CONFLUENT SCHEMA REGISTRY CONNECTION", _protobuf_registry),
        ("PROTOBUF MESSAGE", _protobuf_schema),
        ("CSV WITH", _csv),
        ("REGEX", lambda cursor: Regex(cursor.string())),
        ("JSON", lambda _: Json()),
        ("JSON ARRAY", lambda _: Json(array=True)),
        ("TEXT", lambda _: Text()),
        ("BYTES", lambda _: Bytes()),
    ]
)

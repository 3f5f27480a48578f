"""Formats as a table keeps them: with the schemas that a registry has at this moment.

AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION c    subject <topic>-value or <topic>-key, newest schema
PROTOBUF USING ..                                    the same, as a compiled description
all others                                           what was written is all there is
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headwater.core.errors import UserError, not_supported
from headwater.core.relation import Column
from headwater.decode.formats import FORMATS
from headwater.decode.protobuf_source import descriptor_of, first_message
from headwater.sources.kafka.registry import Registry, Schema
from headwater.sql import formats as written


@dataclass(frozen=True, slots=True)
class PinnedFormat:
    """A format with all that is needed to decode; `registry` is the id of a connection.

    `schema_id` is the registry's number of the schema in `details`: for messages with it nobody is asked.
    """

    format: str
    details: Mapping[str, Any] = field(default_factory=dict)
    registry: str | None = None
    schema_id: int | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        return FORMATS[self.format].columns(self.details)

    def to_json(self) -> dict[str, Any]:
        return {
            "format": self.format,
            "details": dict(self.details),
            "registry": self.registry,
            "schema_id": self.schema_id,
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> PinnedFormat:
        return PinnedFormat(value["format"], value["details"], value["registry"], value.get("schema_id"))


Known = Mapping[str, tuple[str, Registry]]
"""Registries by the names of their connections."""


def registered_key(format_: written.Format | None, topic: str, known: Known) -> PinnedFormat | None:
    """The format of keys where one format was written, for both parts; None if the registry knows of none."""
    if not isinstance(format_, written.AvroRegistry):
        return None
    return _avro(format_, topic, "key", known)


def pin_format(format_: written.Format | None, topic: str, part: str, known: Known) -> PinnedFormat | None:
    """A format of a part of a topic's messages; None if there is none."""
    match format_:
        case None:
            return None
        case written.AvroRegistry():
            found = _avro(format_, topic, part, known)
            if found is None:
                raise _no_schema(known[str(format_.registry.connection)][1], topic, part)
            return found
        case written.AvroSchema(schema, wire):
            return PinnedFormat(
                "avro", {"schema": _json(schema), "wire": "none" if wire is False else "confluent"}
            )
        case written.ProtobufRegistry():
            return _protobuf(format_, topic, part, known)
        case written.ProtobufSchema(message):
            return _of_message(message, "none")
        case written.Csv(columns, delimiter):
            if columns == ():
                raise not_supported(
                    "CSV WITH HEADER without names for messages", "Write HEADERS (a, b, ..) or n COLUMNS."
                )
            header = list(columns) if isinstance(columns, tuple) else None
            count = len(columns) if isinstance(columns, tuple) else columns
            return PinnedFormat("csv", {"header": header, "columns": count, "delimiter": delimiter})
        case written.Regex(pattern):
            return PinnedFormat("regex", {"pattern": pattern})
        case written.AvroGlue():
            raise not_supported("AWS GLUE SCHEMA REGISTRY")
        case _:
            return PinnedFormat(format_.name)


def _avro(format_: written.AvroRegistry, topic: str, part: str, known: Known) -> PinnedFormat | None:
    """None if the registry has no schema for this part."""
    id_, registry = known[str(format_.registry.connection)]
    strategy = format_.key_strategy if part == "key" else format_.value_strategy
    seed = None
    if format_.seed is not None:
        seed = format_.seed.key_schema if part == "key" else format_.seed.value_schema
    if seed is None and strategy is not None:
        seed = strategy.schema
    if seed is not None:
        return PinnedFormat("avro", {"schema": _json(seed), "wire": "confluent"}, id_)
    if strategy is not None and strategy.id is not None:
        found: Schema | None = registry.by_id(strategy.id)
    else:
        found = registry.latest(f"{topic}-{part}")
    if found is None:
        return None
    _check_type(found, "AVRO", topic, part)
    details = {"schema": avro_text(registry, found), "wire": "confluent"}
    return PinnedFormat("avro", details, id_, found.id)


def _protobuf(format_: written.ProtobufRegistry, topic: str, part: str, known: Known) -> PinnedFormat:
    """The first message of the newest schema, unless the statement has another."""
    id_, registry = known[str(format_.registry.connection)]
    seed = None
    if format_.seed is not None:
        seed = format_.seed.key if part == "key" else format_.seed.value
    if seed is not None:
        return _of_message(seed, "confluent", id_)
    found = registry.latest(f"{topic}-{part}")
    if found is None:
        raise _no_schema(registry, topic, part)
    _check_type(found, "PROTOBUF", topic, part)
    used = {name: schema.text for name, schema in registry.referred(found).items()}
    descriptor = descriptor_of(found.text, used)
    details = {"descriptor": base64.b64encode(descriptor).decode(), "message": first_message(descriptor)}
    return PinnedFormat("protobuf", {**details, "wire": "confluent"}, id_)


def _of_message(message: written.ProtobufMessage, wire: str, registry: str | None = None) -> PinnedFormat:
    """A message of a schema that is written as a compiled description, in the digits of bytea."""
    try:
        descriptor = bytes.fromhex(message.schema.removeprefix("\\x"))
    except ValueError:
        raise UserError(
            "a schema of Protobuf must be a FileDescriptorSet in hexadecimal digits",
            "22023",
            hint="protoc --include_imports --descriptor_set_out=FILE writes one; put \\x before its digits.",
        ) from None
    details = {"descriptor": base64.b64encode(descriptor).decode(), "message": message.message.lstrip(".")}
    return PinnedFormat("protobuf", {**details, "wire": wire}, registry)


def avro_text(registry: Registry, schema: Schema) -> str:
    """A schema with those that it refers to in it."""
    if not schema.references:
        return schema.text
    defined: dict[str, Any] = {}
    for used in registry.referred(schema).values():
        _note_names(json.loads(used.text), "", defined)
    return json.dumps(_filled_in(json.loads(schema.text), "", defined, set()))


def _note_names(schema: Any, namespace: str, defined: dict[str, Any]) -> None:
    """What a schema defines, by full name."""
    if isinstance(schema, list):
        for branch in schema:
            _note_names(branch, namespace, defined)
    if isinstance(schema, dict) and schema.get("type") in ("record", "enum", "fixed", "error"):
        defined.setdefault(_full_name(schema, namespace), {"namespace": namespace, **schema})


def _filled_in(schema: Any, namespace: str, defined: Mapping[str, Any], said: set[str]) -> Any:
    """With the definition in the place where a name is used first."""
    match schema:
        case str():
            name = next(
                (n for n in (f"{namespace}.{schema}", schema) if n in defined and n not in said), None
            )
            return schema if name is None else _filled_in(defined[name], "", defined, said)
        case list():
            return [_filled_in(branch, namespace, defined, said) for branch in schema]
        case dict():
            if "name" in schema:
                name = _full_name(schema, namespace)
                said.add(name)
                namespace = name.rpartition(".")[0]
            within = {
                part: _filled_in(schema[part], namespace, defined, said)
                for part in ("type", "items", "values")
                if part in schema
            }
            fields = [
                {**field, "type": _filled_in(field["type"], namespace, defined, said)}
                for field in schema.get("fields", ())
            ]
            return {**schema, **within, **({"fields": fields} if "fields" in schema else {})}
        case _:
            return schema


def _full_name(schema: Mapping[str, Any], namespace: str) -> str:
    name = str(schema["name"])
    within = schema.get("namespace", namespace)
    return name if "." in name or not within else f"{within}.{name}"


def _check_type(schema: Schema, wanted: str, topic: str, part: str) -> None:
    if schema.type != wanted:
        raise UserError(
            f'subject "{topic}-{part}" has a schema of the type {schema.type}, not {wanted}',
            "22023",
            hint=f"Write FORMAT {schema.type} USING CONFLUENT SCHEMA REGISTRY CONNECTION ..",
        )


def _no_schema(registry: Registry, topic: str, part: str) -> UserError:
    return UserError(
        "No value schema found" if part == "value" else "No key schema found",
        "22023",
        detail=f'failed to fetch schema subject "{topic}-{part}" from schema registry "{registry.url}"',
        hint="Register it there, or write the schema into the statement: AVRO USING SCHEMA '..'.",
    )


def _json(text: str) -> str:
    try:
        json.loads(text)
    except ValueError as error:
        raise UserError(f"a schema of Avro is not JSON: {error}", "22023") from None
    return text

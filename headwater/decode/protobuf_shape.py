"""What a Protobuf message looks like: its fields as columns, and the schema that its bytes are read by.

    scalars                     as PostgreSQL has them; uint32 uint4, uint64 uint8, enums their names (text)
    messages, repeated, maps    record, list, map from text (in the order of the keys; the last of equal ones)
    google.protobuf.Timestamp   timestamptz: a moment, cut off to microseconds
    google.protobuf.Duration    interval, in microseconds alone
    wrappers                    the nullable scalar
    Struct, Value, ListValue    jsonb, as are messages without fields: {}

NULL is what a message lacks and could have told: fields of messages, of oneofs, with `optional`, of
proto2.  Others have their default.  Inside a record any field may be NULL.  A number that an open enum
does not name is its own name.

Bytes are read by another schema than the user's (`reader_of`), which has nothing but what decides how
fields look on the wire: so no reader needs to know of well-known types, maps, enums, editions or imports.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message import DecodeError

from headwater.core.errors import UserError, not_supported
from headwater.core.relation import Column
from headwater.core.types import (
    BOOL,
    BYTEA,
    FLOAT4,
    FLOAT8,
    INT4,
    INT8,
    INTERVAL,
    JSONB,
    TEXT,
    TIMESTAMPTZ,
    UINT4,
    UINT8,
    SqlType,
    list_of,
    map_of,
)

_Proto: Final = descriptor_pb2.FieldDescriptorProto
_SCALARS: Final[dict[int, SqlType]] = {
    _Proto.TYPE_BOOL: BOOL,
    _Proto.TYPE_INT32: INT4,
    _Proto.TYPE_SINT32: INT4,
    _Proto.TYPE_SFIXED32: INT4,
    _Proto.TYPE_INT64: INT8,
    _Proto.TYPE_SINT64: INT8,
    _Proto.TYPE_SFIXED64: INT8,
    _Proto.TYPE_UINT32: UINT4,
    _Proto.TYPE_FIXED32: UINT4,
    _Proto.TYPE_UINT64: UINT8,
    _Proto.TYPE_FIXED64: UINT8,
    _Proto.TYPE_FLOAT: FLOAT4,
    _Proto.TYPE_DOUBLE: FLOAT8,
    _Proto.TYPE_STRING: TEXT,
    _Proto.TYPE_BYTES: BYTEA,
    _Proto.TYPE_ENUM: TEXT,
}
_ON_THE_WIRE: Final = {_Proto.TYPE_ENUM: _Proto.TYPE_INT32}
_WRAPPERS: Final = frozenset(
    f"google.protobuf.{kind}Value"
    for kind in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
_DOCUMENTS: Final = frozenset(f"google.protobuf.{kind}" for kind in ("Struct", "Value", "ListValue"))
_KNOWN: Final = {
    "google.protobuf.Timestamp": ("timestamp", TIMESTAMPTZ),
    "google.protobuf.Duration": ("duration", INTERVAL),
}


@dataclass(frozen=True, slots=True)
class Field:
    """A field: how it is read, and what becomes of it.

    `kind` is scalar, enum, record, wrapper, timestamp, duration, document or empty; `shape` says the fields
    of what is a message on the wire, an entry of a map included; `type` is that of one element.
    """

    name: str
    number: int
    kind: str
    type: SqlType
    wire: int  # a type of FieldDescriptorProto
    shape: Shape | None = None
    repeated: bool = False
    map: bool = False
    nullable: bool = True
    required: bool = False
    default: Any = None
    names: tuple[tuple[int, str], ...] = ()  # of an enum
    closed: bool = False
    oneof: str | None = None
    message: Any = None  # the descriptor of a document

    def whole_type(self) -> SqlType:
        """The type of the column or the record's field."""
        if self.map and self.shape is not None:
            return map_of(self.shape.fields[1].whole_type())
        return list_of(self.type) if self.repeated else self.type


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of a message."""

    fields: tuple[Field, ...]


def message_of(pinned: Mapping[str, Any]) -> Any:
    """The descriptor of the pinned message."""
    name = pinned["message"].lstrip(".")
    try:
        described = descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(pinned["descriptor"]))
        pool = descriptor_pool.DescriptorPool()
        for file in described.file:
            pool.Add(file)
    except (DecodeError, TypeError, binascii.Error) as error:
        raise UserError("invalid Protobuf descriptor", "22023", detail=f"{error}.") from error
    try:
        return pool.FindMessageTypeByName(name)
    except KeyError:
        known = [
            f"{file.package}.{one.name}".lstrip(".") for file in described.file for one in file.message_type
        ]
        raise UserError(
            f'Protobuf message "{name}" does not exist in the schema',
            "42704",
            hint=f"The schema has {', '.join(known)}." if known else None,
        ) from None


def shape_of(message: Any, inside: tuple[str, ...] = ()) -> Shape:
    """The fields of a message by its descriptor; what has no columns is refused."""
    if message.full_name in inside:
        raise not_supported(f'recursive Protobuf message "{message.full_name}"')
    return Shape(tuple(_field(field, (*inside, message.full_name)) for field in message.fields))


def columns_of(shape: Shape) -> tuple[Column, ...]:
    """The columns of a message."""
    return tuple(Column(field.name, field.whole_type(), nullable=field.nullable) for field in shape.fields)


def _field(field: Any, inside: tuple[str, ...]) -> Field:
    if field.type == _Proto.TYPE_GROUP:
        raise not_supported(f'the group "{field.full_name}" of Protobuf')
    present: dict[str, Any] = {
        "name": field.name,
        "number": field.number,
        "repeated": field.is_repeated,
        "nullable": field.has_presence and not field.is_required,
        "required": field.is_required,
        "oneof": field.containing_oneof.name if field.containing_oneof is not None else None,
    }
    message = field.message_type
    if message is None:
        if not field.has_presence and not field.is_repeated:
            present["default"] = field.default_value
        return _scalar(field, present)
    if message.GetOptions().map_entry:
        key, value = shape_of(message, inside).fields
        entry = Shape((key, value))
        return Field(**present, kind="record", type=TEXT, wire=_Proto.TYPE_MESSAGE, shape=entry, map=True)
    return _message(message, present, inside)


def _scalar(field: Any, present: dict[str, Any]) -> Field:
    if field.enum_type is None:
        return Field(**present, kind="scalar", type=_SCALARS[field.type], wire=field.type)
    names = {value.number: value.name for value in reversed(field.enum_type.values)}
    return Field(
        **present,
        kind="enum",
        type=TEXT,
        wire=_ON_THE_WIRE[field.type],
        names=tuple(sorted(names.items())),
        closed=field.enum_type.is_closed,
    )


def _message(message: Any, present: dict[str, Any], inside: tuple[str, ...]) -> Field:
    name = message.full_name
    if name in _DOCUMENTS:
        return Field(**present, kind="document", type=JSONB, wire=_Proto.TYPE_BYTES, message=message)
    shape = shape_of(message, inside)
    if name in _KNOWN:
        kind, type_ = _KNOWN[name]
    elif name in _WRAPPERS:
        kind, type_ = "wrapper", shape.fields[0].type
    elif not shape.fields:
        kind, type_ = "empty", JSONB
    else:
        kind = "record"
        type_ = SqlType("record", fields=tuple((field.name, field.whole_type()) for field in shape.fields))
    return Field(**present, kind=kind, type=type_, wire=_Proto.TYPE_MESSAGE, shape=shape)


def reader_of(shape: Shape) -> Any:
    """The descriptor of a message with these fields and no names: all are optional, and enums are numbers."""
    file = descriptor_pb2.FileDescriptorProto(name="headwater.proto", package="headwater", syntax="proto2")
    top = _add(file, shape)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool.FindMessageTypeByName(f"headwater.{top}")


def _add(file: Any, shape: Shape) -> str:
    place = len(file.message_type)
    name = f"M{place}"
    file.message_type.append(descriptor_pb2.DescriptorProto(name=name))
    for field in shape.fields:
        # A document that comes in several parts has to be seen.
        several = field.repeated or field.kind == "document"
        label = _Proto.LABEL_REPEATED if several else _Proto.LABEL_OPTIONAL
        added = _Proto(name=f"f{field.number}", number=field.number, type=field.wire, label=label)
        if field.shape is not None:
            added.type_name = f".headwater.{_add(file, field.shape)}"
        file.message_type[place].field.append(added)
    return name

"""What was read of Protobuf messages, as columns in stored form.

ptars gives each field as it is on the wire, by the schema of `reader_of`: NULL where it was not there,
enums as numbers, maps as lists of entries.  Here each becomes what its `Field` says, all values of a
field at once.

What has no stored form is a flaw of its message.  A message is odd if only one who reads its fields one
after the other knows what it says: two members of a oneof, numbers that a closed enum does not have,
entries without a value, documents in several parts.

Not here: reading odd messages (protobuf.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf import json_format, message_factory
from google.protobuf.message import DecodeError

from headwater.core.errors import InvariantViolation, UserError
from headwater.decode.protobuf_shape import Field, Shape
from headwater.formats.arrow import arrow_type
from headwater.formats.engine_types import INTERVAL_TYPE
from headwater.formats.jsonb import canonical_jsonb
from headwater.formats.spans import Numbers, bytes_of, rows_of

_SECONDS_MIN, _SECONDS_MAX = -62_135_596_800, 253_402_300_799
_DURATION_S_MAX: Final = 315_576_000_000
_NANOS_MAX: Final = 999_999_999

Owners = Callable[[Numbers], Numbers]
"""The messages that elements are of."""


class Findings:
    """What is found while columns are made: flaws, the first of each message, and odd messages."""

    __slots__ = ("flaws", "odd")

    def __init__(self, count: int) -> None:
        self.flaws: dict[int, str] = {}
        self.odd = np.zeros(count, np.bool_)

    def flawed(self, rows: Numbers, reason: str) -> None:
        for row in np.unique(rows).tolist():
            self.flaws.setdefault(row, f"Protobuf: {reason}")


def columns_from(read: pa.StructArray, shape: Shape, findings: Findings) -> list[pa.Array]:
    """The columns of the messages' fields."""
    return _fields(read, shape, findings, lambda places: places)


def _fields(read: pa.StructArray, shape: Shape, findings: Findings, owners: Owners) -> list[pa.Array]:
    children = _children(read, shape, findings, owners)
    _look_at_oneofs(children, shape, findings, owners)
    made = []
    for field, child in zip(shape.fields, children, strict=True):
        if field.required:
            missing = pc.and_(child.is_null(), read.is_valid())
            if missing.true_count:
                findings.flawed(owners(_places(missing)), f'required field "{field.name}" is missing')
        made.append(_whole(child, field, findings, owners))
    return made


def _children(read: pa.StructArray, shape: Shape, findings: Findings, owners: Owners) -> list[pa.Array]:
    """What was read of each field; ptars has them in the order of their numbers, not of the schema."""
    flat = read.flatten()
    children = []
    for field in shape.fields:
        child = flat[read.type.get_field_index(f"f{field.number}")]
        if field.kind == "document" and not field.repeated:
            offsets = child.offsets.to_numpy()
            count = np.diff(offsets)
            findings.odd[owners(np.flatnonzero(count > 1))] = True
            child = child.values.take(pa.array(offsets[:-1], mask=count == 0))
        children.append(child)
    return children


def _look_at_oneofs(children: list[pa.Array], shape: Shape, findings: Findings, owners: Owners) -> None:
    for oneof in {field.oneof for field in shape.fields if field.oneof is not None}:
        members = [child for field, child in zip(shape.fields, children, strict=True) if field.oneof == oneof]
        if len(members) > 1 and sum(len(member) - member.null_count for member in members) > 0:
            count = sum(
                member.is_valid().to_numpy(zero_copy_only=False).astype(np.int32) for member in members
            )
            findings.odd[owners(np.flatnonzero(np.asarray(count) > 1))] = True


def _places(mask: pa.Array) -> Numbers:
    return np.flatnonzero(mask.to_numpy(zero_copy_only=False))


def _whole(read: pa.Array, field: Field, findings: Findings, owners: Owners) -> pa.Array:
    if field.map:
        return _map(read, field, findings, owners)
    if not field.repeated:
        return _one(read, field, findings, owners)
    offsets = read.offsets.to_numpy()
    values = _one(read.values, field, findings, lambda places: owners(rows_of(places, offsets)))
    mask = read.is_null() if read.null_count else None
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), values, type=arrow_type(field.whole_type()), mask=mask
    )


def _map(read: pa.Array, field: Field, findings: Findings, owners: Owners) -> pa.Array:
    """Entries in the order of their keys; the last one of equal keys counts."""
    key, value = _shape(field).fields
    offsets = read.offsets.to_numpy().astype(np.int64)
    rows = np.repeat(np.arange(len(read)), np.diff(offsets))
    keys, values = _children(read.values, _shape(field), findings, lambda places: owners(rows[places]))
    if pa.types.is_boolean(keys.type):
        keys = pc.if_else(keys, "true", "false")
    keys = pc.fill_null(keys.cast(pa.string()), str(key.default).lower())
    keys = _text(keys, findings, lambda places: owners(rows[places]))
    order = _order(keys, rows)
    if order is not None:
        keys, values, rows = keys.take(pa.array(order)), values.take(pa.array(order)), rows[order]
        offsets = np.searchsorted(rows, np.arange(len(read) + 1))
    if value.shape is not None or value.kind == "document":
        findings.odd[owners(rows[_places(values.is_null())])] = True
    made = _one(values, value, findings, lambda places: owners(rows[places]))
    mask = read.is_null() if read.null_count else None
    return pa.MapArray.from_arrays(
        pa.array(offsets, pa.int32()), keys, made, type=arrow_type(field.whole_type()), mask=mask
    )


def _order(keys: pa.Array, rows: Numbers) -> Numbers | None:
    """The entries that count, in order; None if that is how they are."""
    encoded = keys.dictionary_encode()
    ranks = np.empty(len(encoded.dictionary), np.int64)
    ranks[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(ranks))
    places = rows * len(ranks) + ranks[encoded.indices.to_numpy()]
    if (np.diff(places) > 0).all():
        return None
    order = np.argsort(places, kind="stable")
    last = np.append(np.diff(places[order]) > 0, True)
    return np.asarray(order[last])


def _one(read: pa.Array, field: Field, findings: Findings, owners: Owners) -> pa.Array:
    match field.kind:
        case "scalar":
            return _scalar(read, field, findings, owners)
        case "enum":
            return _enum(read, field, findings, owners)
        case "timestamp":
            return _timestamp(read, findings, owners)
        case "duration":
            return _duration(read, findings, owners)
        case "document":
            return _document(read, field, findings, owners)
        case "empty":
            return pc.if_else(read.is_valid(), "{}", pa.scalar(None, pa.string()))
    made = _fields(read, _shape(field), findings, owners)
    if field.kind == "wrapper":
        return pc.if_else(read.is_valid(), made[0], pa.scalar(None, made[0].type))
    mask = read.is_null() if read.null_count else None
    return pa.StructArray.from_arrays(made, fields=list(arrow_type(field.type)), mask=mask)


def _shape(field: Field) -> Shape:
    if field.shape is None:
        raise InvariantViolation(f'the field "{field.name}" has no shape')
    return field.shape


def _scalar(read: pa.Array, field: Field, findings: Findings, owners: Owners) -> pa.Array:
    if field.default is not None and read.null_count:
        read = pc.fill_null(read, pa.scalar(field.default, read.type))
    if pa.types.is_string(read.type):
        return _text(read, findings, owners)
    return read.cast(arrow_type(field.type))


def _text(read: pa.Array, findings: Findings, owners: Owners) -> pa.Array:
    data, offsets = bytes_of(read)
    zeros = np.flatnonzero(data == 0)
    if len(zeros):
        findings.flawed(owners(rows_of(zeros, offsets)), 'invalid byte sequence for encoding "UTF8": 0x00')
    return read


def _enum(read: pa.Array, field: Field, findings: Findings, owners: Owners) -> pa.Array:
    if field.default is not None and read.null_count:
        read = pc.fill_null(read, pa.scalar(field.default, read.type))
    numbers = pa.array([number for number, _ in field.names], read.type)
    found = pc.index_in(read, numbers)
    names = pa.array([name for _, name in field.names], pa.string()).take(found)
    unknown = pc.and_(found.is_null(), read.is_valid())
    if not unknown.true_count:
        return names
    if field.closed:
        findings.odd[owners(_places(unknown))] = True
        return names
    return pc.coalesce(names, read.cast(pa.string()))


def _seconds_and_nanos(read: pa.Array) -> tuple[Numbers, Numbers]:
    seconds, nanos = (pc.fill_null(child, 0) for child in read.flatten())
    return seconds.to_numpy(zero_copy_only=False), nanos.to_numpy(zero_copy_only=False).astype(np.int64)


def _timestamp(read: pa.Array, findings: Findings, owners: Owners) -> pa.Array:
    seconds, nanos = _seconds_and_nanos(read)
    wrong = (seconds < _SECONDS_MIN) | (seconds > _SECONDS_MAX) | (nanos < 0) | (nanos > _NANOS_MAX)
    if wrong.any():
        findings.flawed(owners(np.flatnonzero(wrong)), "timestamp out of range")
    microseconds = np.where(wrong, 0, seconds) * 1_000_000 + nanos // 1_000
    made = pa.array(microseconds, mask=read.is_null().to_numpy(zero_copy_only=False))
    return made.cast(pa.timestamp("us", tz="UTC"))


def _duration(read: pa.Array, findings: Findings, owners: Owners) -> pa.Array:
    seconds, nanos = _seconds_and_nanos(read)
    wrong = (seconds < -_DURATION_S_MAX) | (seconds > _DURATION_S_MAX)
    wrong |= (nanos < -_NANOS_MAX) | (nanos > _NANOS_MAX) | (np.sign(seconds) * np.sign(nanos) < 0)
    if wrong.any():
        findings.flawed(owners(np.flatnonzero(wrong)), "duration out of range")
    cut = np.sign(nanos) * (np.abs(nanos) // 1_000)
    microseconds = pa.array(np.where(wrong, 0, seconds) * 1_000_000 + cut)
    none = pa.array(np.zeros(len(read), np.int32))
    mask = read.is_null() if read.null_count else None
    return pa.StructArray.from_arrays([none, none, microseconds], fields=list(INTERVAL_TYPE), mask=mask)


def _document(read: pa.Array, field: Field, findings: Findings, owners: Owners) -> pa.Array:
    encoded = read.dictionary_encode()
    message_class = message_factory.GetMessageClass(field.message)
    texts = [_document_text(message_class, one) for one in encoded.dictionary.to_pylist()]
    made = pa.array(texts, pa.string()).take(encoded.indices)
    wrong = pc.and_(made.is_null(), read.is_valid())
    if wrong.true_count:
        findings.flawed(owners(_places(wrong)), f'"{field.name}" is no JSON document')
    return made


def _document_text(message_class: Any, content: bytes) -> str | None:
    """The canonical text of a Struct, Value or ListValue; None for none."""
    try:
        value = json_format.MessageToDict(message_class.FromString(content))
        return canonical_jsonb(json.dumps(value, allow_nan=False))
    except (DecodeError, json_format.Error, UserError, ValueError, RecursionError):
        return None

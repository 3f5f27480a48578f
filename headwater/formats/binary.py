"""Between stored forms and PostgreSQL's binary forms.

    to_binary        what each type's send function gives, of a column: bytes of the same length,
                     NULL where NULL was; rows are never looked at one by one
    binary_to_text   what each type's receive function takes, of one value: an argument of Bind, a
                     field of COPY; as a text that `from_text` reads, whatever the type

Types without a binary form of their own (list, map, mz_timestamp, mz_aclitem) have their text in both
formats.  Data that is no such value is an error 22P03.

Not here: what each kind's form is (kinds/), rows of COPY (copy_binary.py), messages (pgwire).
"""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa

from headwater.core.types import SqlType, oid_of
from headwater.formats.binary_arrays import array_received, array_to_binary, quoted
from headwater.formats.byte_columns import fixed, prefixed, spliced, split_fields, validity_of
from headwater.formats.kinds import KINDS
from headwater.formats.kinds.kind import Receive, decoded, received
from headwater.formats.sliced import by_slices
from headwater.formats.text import to_text


def to_binary(array: pa.Array, type_: SqlType) -> pa.Array:
    """The binary form of each value; NULL stays NULL."""
    return by_slices(lambda values: _sent(values, type_), array)


def _sent(array: pa.Array, type_: SqlType) -> pa.Array:
    if type_.kind == "record":
        return _record_to_binary(array, type_)
    if type_.element is None:
        send = KINDS[type_.kind].to_binary
        if send is not None:
            return send(array, type_)
    elif type_.kind == "array":
        return array_to_binary(array, type_.element, to_binary)
    return to_text(array, type_).cast(pa.binary())


def _record_to_binary(array: pa.Array, type_: SqlType) -> pa.Array:
    pieces: list[pa.Array | bytes] = [fixed(np.full(len(array), len(type_.fields), ">i4"))]
    for index, (_, field) in enumerate(type_.fields):
        pieces.append(oid_of(field).to_bytes(4, "big"))
        pieces.extend(prefixed(to_binary(array.field(index), field)))
    return spliced(pieces, validity_of(array))


def binary_to_text(data: bytes, type_: SqlType) -> str:
    """The text of a value; UserError 22P03 if the bytes are not one."""
    return received(_receive(type_), data, type_)


def _receive(type_: SqlType) -> Receive:
    if type_.kind == "record":
        return _record_received
    if type_.element is None:
        return KINDS[type_.kind].binary_to_text
    return _array_received if type_.kind == "array" else decoded


def _array_received(data: bytes, type_: SqlType) -> str:
    if type_.element is None:
        raise ValueError("an array of nothing")
    return array_received(data, type_.element, binary_to_text)


def _record_received(data: bytes, type_: SqlType) -> str:
    (count,) = struct.unpack_from(">i", data)
    if count != len(type_.fields):
        raise ValueError("another number of fields")
    texts: list[str] = []
    at = 4
    for _, field in type_.fields:
        (oid,) = struct.unpack_from(">I", data, at)
        if oid != oid_of(field):
            raise ValueError("another type of field")
        (value,), at = split_fields(data, at + 4, 1)
        texts.append("" if value is None else quoted(binary_to_text(value, field), '(),"\\'))
    if at != len(data):
        raise ValueError("data left over")
    return "(" + ",".join(texts) + ")"

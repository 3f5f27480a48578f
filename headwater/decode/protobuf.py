"""PROTOBUF: a message's fields are the columns.

    bytes  --frame-->  payload  --ptars-->  fields  --protobuf_columns-->  columns

Messages of later schemas are read by the pinned one: fields are found by number, and unknown ones passed
over. Batches that ptars refuses are halved until the bad messages are alone.  Odd messages are read by
Google's runtime, which writes them again so that they are not, and then like all others.

Pinned: `descriptor` (a FileDescriptorSet, base64), `message` (its full name), and `wire`: "confluent" for
a zero, the number of a schema (4 bytes) and the indexes that lead to the message in it, "none" for the
message alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf import message_factory
from google.protobuf.message import DecodeError
from ptars import HandlerPool

from headwater.core.errors import UserError
from headwater.core.relation import Column
from headwater.decode.contract import Decoded, Decoder, Format, SchemaOf
from headwater.decode.protobuf_columns import Findings, columns_from
from headwater.decode.protobuf_shape import Shape, columns_of, message_of, reader_of, shape_of
from headwater.decode.slices import sliced
from headwater.formats.spans import Mask, bytes_of, pieces_of

_FRAME_BYTES: Final = 5
_PANIC: Final = "PanicException"
_REFUSED: Final = "failed to decode Protobuf message: "


def _columns(pinned: Mapping[str, Any]) -> tuple[Column, ...]:
    message = message_of(pinned)
    if not message.fields:
        raise UserError(f'Protobuf message "{message.full_name}" has no fields', "22023")
    return columns_of(shape_of(message))


def _decoder(pinned: Mapping[str, Any], _schema_of: SchemaOf) -> Decoder:
    message = message_of(pinned)
    reader = _Reader(message)
    if pinned["wire"] == "none":
        return sliced(lambda messages: reader.decode(messages, {}))
    frames = _frames(message)
    return sliced(lambda messages: reader.decode(*_unframed(messages, message.full_name, frames)))


def _frames(message: Any) -> tuple[bytes, ...]:
    """What may follow the schema's number: the indexes that lead to the message, and a short form of [0].

    Some count the entries of maps among the messages inside a message, as descriptors do, and some do not.
    """
    frames = []
    for entries in (False, True):
        indexes: list[int] = []
        inner = message
        while inner is not None:
            outer = inner.containing_type
            around = inner.file.message_types_by_name.values() if outer is None else outer.nested_types
            names = [one.full_name for one in around if entries or not one.GetOptions().map_entry]
            indexes.insert(0, names.index(inner.full_name))
            inner = outer
        frames.append(b"".join(_zigzag(number) for number in (len(indexes), *indexes)))
        if indexes == [0]:
            frames.append(b"\0")
    return tuple(dict.fromkeys(frames))


def _zigzag(number: int) -> bytes:
    number *= 2
    rest = bytearray()
    while number > 127:
        rest.append(number & 127 | 128)
        number >>= 7
    return bytes([*rest, number])


def _unframed(messages: pa.Array, name: str, frames: tuple[bytes, ...]) -> tuple[pa.Array, dict[int, str]]:
    """Payloads, and what is wrong with the messages that are not framed like this one's."""
    data, offsets = bytes_of(messages)
    starts, ends = offsets[:-1], offsets[1:]
    data = np.append(data, np.zeros(_FRAME_BYTES + max(map(len, frames)), np.uint8))
    lengths = np.zeros(len(messages), np.int64)
    long = ends - starts > _FRAME_BYTES
    magic = long & (data[starts] == 0)
    for frame in frames:
        length = _FRAME_BYTES + len(frame)
        found = magic & (lengths == 0) & (ends - starts >= length)
        for place, byte in enumerate(frame):
            found &= data[starts + _FRAME_BYTES + place] == byte
        lengths[found] = length
    errors = {}
    for row in np.flatnonzero(lengths == 0).tolist():
        if not magic[row]:
            errors[row] = "Protobuf: the message does not begin with the number of a schema"
        else:
            errors[row] = f'Protobuf: the message is not a "{name}" by its indexes'
    bodies = np.stack([np.where(lengths == 0, ends, starts + lengths), ends], axis=-1)
    pieces = pieces_of(data, np.append(0, bodies))
    return pieces.take(pa.array(np.arange(1, len(pieces), 2))), errors


class _Reader:
    """Reads payloads by a message's descriptor."""

    def __init__(self, message: Any) -> None:
        self._class = message_factory.GetMessageClass(message)
        self._shape: Shape = shape_of(message)
        reader = reader_of(self._shape)
        self._fields = HandlerPool([reader.file]).get_for_message(reader)

    def decode(self, messages: pa.Array, errors: dict[int, str]) -> Decoded:
        columns, found, odd = self._read(messages)
        errors = {**found, **errors}
        places = np.flatnonzero(odd)
        if len(places):
            written, unread = self._written_again(messages.take(pa.array(places)))
            again, flaws, still = self._read(written)
            undecided = dict.fromkeys(np.flatnonzero(still).tolist(), "Protobuf: contradicts itself")
            numbers = np.arange(len(messages))
            numbers[places] = len(messages) + np.arange(len(places))
            columns = [
                pa.concat_arrays([column, more]).take(pa.array(numbers))
                for column, more in zip(columns, again, strict=True)
            ]
            for row in places.tolist():
                errors.pop(row, None)
            errors |= {int(places[row]): reason for row, reason in (undecided | flaws | unread).items()}
        return _with_errors(columns, errors, len(messages))

    def _read(self, messages: pa.Array) -> tuple[list[pa.Array], dict[int, str], Mask]:
        read, refused = self._parsed(messages, 0)
        findings = Findings(len(messages))
        columns = columns_from(read, self._shape, findings)
        return columns, findings.flaws | refused, findings.odd

    def _parsed(self, messages: pa.Array, first: int) -> tuple[pa.StructArray, dict[int, str]]:
        """Fields as they are on the wire, and why some messages have none."""
        try:
            with _panics_are_errors():
                return self._fields.array_to_record_batch(messages).to_struct_array(), {}
        except ValueError as error:
            if len(messages) == 1:
                reason = f"Protobuf: {str(error).removeprefix(_REFUSED)}"
                return self._parsed(pa.array([b""], pa.binary()), first)[0], {first: reason}
        half = len(messages) // 2
        left, of_left = self._parsed(pa.concat_arrays([messages[:half]]), first)
        right, of_right = self._parsed(pa.concat_arrays([messages[half:]]), first + half)
        return pa.concat_arrays([left, right]), of_left | of_right

    def _written_again(self, messages: pa.Array) -> tuple[pa.Array, dict[int, str]]:
        written: list[bytes] = []
        errors = {}
        for row, content in enumerate(messages.to_pylist()):
            try:
                message = self._class.FromString(content)
            except DecodeError as error:
                message = self._class()
                errors[row] = f"Protobuf: {error}"
            message.DiscardUnknownFields()
            written.append(message.SerializePartialToString(deterministic=True))
        return pa.array(written, pa.binary()), errors


@contextmanager
def _panics_are_errors() -> Iterator[None]:
    """The reader ends in a panic where a message says of a length that it is nearly 2^64."""
    try:
        yield
    except BaseException as error:  # a panic is no Exception, and its class has no place to import it from
        if type(error).__name__ == _PANIC:
            raise ValueError("a length is beyond the message's end") from None
        raise


def _with_errors(columns: list[pa.Array], errors: dict[int, str], count: int) -> Decoded:
    if not errors:
        return Decoded(tuple(columns))
    rows = np.fromiter(errors, np.int64)
    bad = np.zeros(count, np.bool_)
    bad[rows] = True
    kept = pa.array(np.arange(count), mask=bad)
    reasons = pa.array(list(errors.values()), pa.string())
    numbers = np.zeros(count, np.int64)
    numbers[rows] = np.arange(len(rows))
    return Decoded(
        tuple(column.take(kept) for column in columns), pc.take(reasons, pa.array(numbers, mask=~bad))
    )


PROTOBUF: Final = Format("protobuf", _columns, _decoder)

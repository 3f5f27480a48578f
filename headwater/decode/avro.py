"""Avro: messages of any writer's schema as columns of the one that a table was made with.

    messages -> pages -> by writer's schema -> columns of all messages of it -> one column of all

    "schema"   the reader's schema, as JSON text without references to others
    "wire"     `confluent`: before each message a zero byte, and four of the writer's schema id
               `none`: nothing, and all messages are of the reader's schema

No row is ever made of another message's bytes: each is read within its own bounds (avro_bytes.py), and
must end where its values do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headwater.core import limits
from headwater.core.errors import UserError
from headwater.core.relation import Column
from headwater.decode.avro_bytes import Cursor, Mask, Page
from headwater.decode.avro_resolve import Reads, message_reader, spread
from headwater.decode.avro_schema import Document, parse_schema
from headwater.decode.avro_types import columns_of
from headwater.decode.contract import Decoded, Decoder, Format, SchemaOf
from headwater.formats.arrow import arrow_type

_HEADER_BYTES: Final = 5
_TOO_LONG: Final = "Avro: message is too long"

Found = Reads | str
"""How messages of a writer's schema are read, or why they cannot be."""


def _columns(pinned: Mapping[str, Any]) -> tuple[Column, ...]:
    return columns_of(parse_schema(pinned["schema"]))


def _decoder(pinned: Mapping[str, Any], schema_of: SchemaOf) -> Decoder:
    document = parse_schema(pinned["schema"])
    types = [arrow_type(column.type) for column in columns_of(document)]
    if pinned["wire"] == "confluent":
        find = _remembered(document, schema_of)

        def parts(cursor: Cursor) -> Iterator[tuple[Cursor, Found]]:
            return _by_writer(cursor, find)

    else:
        reads = message_reader(document, document.top)

        def parts(cursor: Cursor) -> Iterator[tuple[Cursor, Found]]:
            yield cursor, reads

    def decode(messages: pa.Array) -> Decoded:
        done = [_page(piece, types, parts) for piece in _pieces(messages)]
        if len(done) == 1:
            return done[0][0]
        columns = [pa.concat_arrays([one.columns[i] for one, _ in done]) for i in range(len(types))]
        if all(one.errors is None for one, _ in done):
            return Decoded(tuple(columns))
        errors = [pa.nulls(count, pa.string()) if one.errors is None else one.errors for one, count in done]
        return Decoded(tuple(columns), pa.concat_arrays(errors))

    return decode


AVRO: Final = Format("avro", _columns, _decoder)


def _pieces(messages: pa.Array) -> Iterator[pa.Array]:
    """Messages in pages; one, if there are none."""
    count = len(messages)
    offsets = np.frombuffer(messages.buffers()[1], np.int32, count + 1, messages.offset * 4)
    begin = 0
    while begin < count or begin == 0:
        enough = int(np.searchsorted(offsets, int(offsets[begin]) + limits.DECODE_PAGE_BYTES, "right")) - 1
        end = min(count, max(enough, begin + 1), begin + limits.DECODE_PAGE_ROWS)
        yield messages.slice(begin, end - begin)
        begin = max(end, 1)


def _page(
    messages: pa.Array, types: list[pa.DataType], parts: Callable[[Cursor], Iterator[tuple[Cursor, Found]]]
) -> tuple[Decoded, int]:
    """A page's columns, and how many messages it had."""
    count = len(messages)
    if count == 1 and messages.nbytes > limits.MESSAGE_BYTES_MAX:
        return Decoded(tuple(pa.nulls(1, type_) for type_ in types), pa.array([_TOO_LONG])), 1
    page, cursor = Page.of(messages)
    found: list[list[tuple[NDArray[np.int64], pa.Array]]] = [[] for _ in types]
    for some, reads in parts(cursor):
        if isinstance(reads, str):
            some.fault(np.ones(len(some.at), np.bool_), reads)
            continue
        arrays, at = reads(some)
        _check_ends(some, at)
        for part, array in zip(found, arrays, strict=True):
            part.append((some.rows, array))
    columns = tuple(spread(count, part, type_) for part, type_ in zip(found, types, strict=True))
    if not page.faults:
        return Decoded(columns), count
    rows = np.fromiter(page.faults, np.int64, len(page.faults))
    bad = np.zeros(count, np.bool_)
    bad[rows] = True
    errors = spread(count, [(rows, pa.array(page.faults.values(), pa.string()))], pa.string())
    index = pa.array(np.arange(count), mask=bad)
    return Decoded(tuple(column.take(index) for column in columns), errors), count


def _check_ends(cursor: Cursor, at: NDArray[np.int64]) -> None:
    """What is left of a message was written by another schema than the one it was read with."""
    left = cursor.end - at
    if left.any():
        for size in np.unique(left[left != 0]).tolist():
            cursor.fault(left == size, f"message goes on for {size} bytes after its last value")


# Confluent's framing


def _by_writer(cursor: Cursor, find: Callable[[int], Found]) -> Iterator[tuple[Cursor, Found]]:
    """The messages of each writer's schema, without their headers."""
    data, at = cursor.page.data, cursor.at
    short = cursor.end - at < _HEADER_BYTES
    bad: Mask = short | (data[at] != 0)
    cursor.fault(short, "message is too short to have a schema id")
    cursor.fault(bad, "message does not begin with a zero byte and a schema id")
    ids = cursor.page.words[at + 1].astype(np.uint32).byteswap()
    inside = cursor.moved(at + _HEADER_BYTES)
    if not bad.any() and len(ids) and (ids == ids[0]).all():
        yield inside, find(int(ids[0]))
        return
    for number in np.unique(ids[~bad]).tolist():
        yield inside.some(np.flatnonzero(~bad & (ids == number))), find(number)


def _remembered(document: Document, schema_of: SchemaOf) -> Callable[[int], Found]:
    """How messages of a writer's schema are read, by its id; found out once."""
    known: dict[int, Found] = {}

    def find(number: int) -> Found:
        if number in known:
            return known[number]
        try:
            text = schema_of(number)
        except UserError as error:
            # It may be there tomorrow: this is not remembered.
            return f"schema with id {number} cannot be had: {error}"
        try:
            found: Found = message_reader(parse_schema(text), document.top)
        except UserError as error:
            found = f"messages of the schema with id {number} cannot be read: {error}"
        if len(known) >= limits.AVRO_SCHEMAS_MAX:
            del known[next(iter(known))]
        known[number] = found
        return found

    return find

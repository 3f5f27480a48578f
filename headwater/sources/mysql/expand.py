"""Events that are compressed, as those that were compressed.

    transaction payload    (field:1 size:packed value)* end:1, then events in zstd: a transaction's
    MariaDB's              what comes first is as ever; then header:1 size:1-4, and the rest in zlib

A payload may be as large as a transaction; so it is read in pieces, and what comes of one is a run of whole
events.  A payload that claims to be larger than any transaction of a server is refused.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from headwater.core.limits import BINLOG_EVENT_BYTES_MAX, BINLOG_PIECE_BYTES
from headwater.sources.mysql.events import (
    DELETE_ROWS,
    DELETE_ROWS_V1,
    HEADER,
    QUERY,
    TRANSACTION_PAYLOAD,
    UPDATE_ROWS,
    UPDATE_ROWS_V1,
    WRITE_ROWS,
    WRITE_ROWS_V1,
    Events,
    headed,
    packed,
)

_QUERY_COMPRESSED: Final = 165
_ROWS_COMPRESSED: Final = {
    166: WRITE_ROWS_V1, 167: UPDATE_ROWS_V1, 168: DELETE_ROWS_V1,
    169: WRITE_ROWS, 170: UPDATE_ROWS, 171: DELETE_ROWS,
}  # fmt: skip
_COMPRESSED: Final = (TRANSACTION_PAYLOAD, _QUERY_COMPRESSED, *_ROWS_COMPRESSED)
_ZSTD, _NONE = 0, 255
_END, _PAYLOAD_SIZE, _METHOD = 0, 1, 2


def expanded(events: Events) -> Iterator[Events]:
    """The same, nothing of it compressed; ValueError if it cannot be read."""
    numbers = np.flatnonzero(np.isin(events.kinds, _COMPRESSED)).tolist()
    if not numbers:
        yield events
        return
    done = 0
    singles: list[bytes | memoryview] = []
    for number in numbers:
        singles += _each(events.slice(done, number))
        event, done = events.event(number), number + 1
        if event[4] == TRANSACTION_PAYLOAD:
            for piece in _payload(event):
                yield Events.of([*singles, *piece])
                singles = []
        else:
            singles.append(_mariadb(event))
    singles += _each(events.slice(done, len(events)))
    yield Events.of(singles)


def _each(events: Events) -> list[memoryview]:
    view = memoryview(events.data)
    return [view[a:b] for a, b in zip(events.starts.tolist(), events.ends.tolist(), strict=True)]


def _payload(event: bytes) -> Iterator[list[memoryview]]:
    """The events of a transaction, some at a time."""
    at, method, size = HEADER, _ZSTD, None
    while True:
        field, at = packed(event, at)
        if field == _END:
            break
        length, at = packed(event, at)
        value, _ = packed(event, at)
        at += length
        if field == _METHOD:
            method = value
        elif field == _PAYLOAD_SIZE:
            size = value
    payload = event[at:]
    if size is not None and size != len(payload):
        raise ValueError(f"a compressed transaction has {len(payload)} bytes, and {size} were announced")
    if method == _NONE:
        yield _split(payload)[0]
    elif method == _ZSTD:
        yield from _inflated(payload)
    else:
        raise ValueError(f"a transaction is compressed by method {method}, which is not known")


def _inflated(payload: bytes) -> Iterator[list[memoryview]]:
    rest = b""
    try:
        with pa.CompressedInputStream(pa.BufferReader(payload), "zstd") as stream:
            while piece := stream.read(BINLOG_PIECE_BYTES):
                whole, rest = _split(rest + piece, partial=True)
                if len(rest) > BINLOG_EVENT_BYTES_MAX:
                    raise ValueError("an event in a compressed transaction is too large")
                if whole:
                    yield whole
    except OSError as error:
        raise ValueError(f"a compressed transaction cannot be read: {error}") from error
    if rest:
        raise ValueError("a compressed transaction is cut off")


def _split(data: bytes, partial: bool = False) -> tuple[list[memoryview], bytes]:
    """The whole events that data begins with, and what is left."""
    view, events, at = memoryview(data), [], 0
    while at + HEADER <= len(data):
        size = int.from_bytes(data[at + 9 : at + 13], "little")
        if not HEADER <= size <= BINLOG_EVENT_BYTES_MAX:
            raise ValueError(f"an event in a compressed transaction claims to have {size} bytes")
        if at + size > len(data):
            break
        events.append(view[at : at + size])
        at += size
    if at < len(data) and not partial:
        raise ValueError("a compressed transaction is cut off")
    return events, data[at:]


def _mariadb(event: bytes) -> bytes:
    kind = event[4]
    if kind == _QUERY_COMPRESSED:
        at = HEADER + 13
        if len(event) < at:
            raise ValueError("a compressed statement is cut off")
        variables = int.from_bytes(event[at - 2 : at], "little")
        at += variables + event[HEADER + 8] + 1
        return headed(QUERY, event[HEADER:at] + _unzipped(event, at), event)
    at = HEADER + 8
    plain = _ROWS_COMPRESSED[kind]
    if plain in (WRITE_ROWS, UPDATE_ROWS, DELETE_ROWS):
        at += int.from_bytes(event[at : at + 2], "little")
    columns, at = packed(event, at)
    at += (columns + 7) // 8 * (2 if plain in (UPDATE_ROWS_V1, UPDATE_ROWS) else 1)
    return headed(plain, event[HEADER:at] + _unzipped(event, at), event)


def _unzipped(event: bytes, at: int) -> bytes:
    """What MariaDB compressed: 1 and its method, how many bytes say how large it is, these, zlib."""
    if at >= len(event) or event[at] & 0x80 == 0:
        raise ValueError("a compressed event does not say how large it is")
    if event[at] & 0x70:
        raise ValueError("an event is compressed by a method that is not known")
    width = event[at] & 0x07
    size = int.from_bytes(event[at + 1 : at + 1 + width], "big")
    if size > BINLOG_EVENT_BYTES_MAX:
        raise ValueError(f"a compressed event claims to have {size} bytes")
    try:
        inflate = zlib.decompressobj()
        found = inflate.decompress(event[at + 1 + width :], size + 1)
    except zlib.error as error:
        raise ValueError(f"a compressed event cannot be read: {error}") from error
    if len(found) != size or not inflate.eof:
        raise ValueError("a compressed event has another size than it claims to have")
    return found

"""Events of a binary log, many at once: one buffer, and the lengths of the events in it.

Nothing walks them one by one: kinds and places of all events are arrays, and what reads events takes
what it wants from all of them at once.

    event    header 19: seconds:4 kind:1 server:4 size:4 position:4 flags:2      then its body

All numbers are little-endian.  Checksums are verified where events arrive (stream.py) and are not here, nor
is anything compressed (expand.py), so the size in a header may be another one than the event has.

Not here: transactions (transactions.py), tables (table_map.py), rows (rows.py).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

QUERY, ROTATE, INTVAR, RAND, USER_VAR, FORMAT_DESCRIPTION, XID = 2, 4, 5, 13, 14, 15, 16
EXECUTE_LOAD = 18
TABLE_MAP, INCIDENT, HEARTBEAT, ROWS_QUERY = 19, 26, 27, 29
WRITE_ROWS_V1, UPDATE_ROWS_V1, DELETE_ROWS_V1 = 23, 24, 25
WRITE_ROWS, UPDATE_ROWS, DELETE_ROWS = 30, 31, 32
GTID, ANONYMOUS_GTID, XA_PREPARE, PARTIAL_UPDATE_ROWS, TRANSACTION_PAYLOAD = 33, 34, 38, 39, 40
HEARTBEAT_V2, GTID_TAGGED = 41, 42
ANNOTATE_ROWS, MARIADB_GTID, MARIADB_GTID_LIST = 160, 162, 163

WRITES: Final = (WRITE_ROWS_V1, WRITE_ROWS)
UPDATES: Final = (UPDATE_ROWS_V1, UPDATE_ROWS, PARTIAL_UPDATE_ROWS)
DELETES: Final = (DELETE_ROWS_V1, DELETE_ROWS)
GTIDS: Final = (GTID, GTID_TAGGED, ANONYMOUS_GTID, MARIADB_GTID)

HEADER: Final = 19
ARTIFICIAL: Final = 0x20
"""The flag of events that are in no log: the server made them for whoever reads along."""
PADDING: Final = bytes(8)
"""Lets a word be read, and thrown away, where a buffer ends."""
_HEAD: Final = struct.Struct("<IBIIIH")


@dataclass(frozen=True)
class Events:
    """Consecutive events of a log."""

    data: bytes
    lengths: Integers

    @staticmethod
    def of(events: Sequence[bytes | memoryview]) -> Events:
        """Of single events."""
        return Events(b"".join(events), np.fromiter(map(len, events), np.int64, len(events)))

    @staticmethod
    def concat(pieces: Iterable[Events]) -> Events:
        """One after the other."""
        pieces = list(pieces)
        if len(pieces) == 1:
            return pieces[0]
        lengths = [np.empty(0, np.int64), *(piece.lengths for piece in pieces)]
        return Events(b"".join(piece.data for piece in pieces), np.concatenate(lengths))

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def array(self) -> Bytes:
        """The data, and some more behind it."""
        return np.frombuffer(self.data + PADDING, np.uint8)

    @cached_property
    def ends(self) -> Integers:
        return np.cumsum(self.lengths, dtype=np.int64)

    @cached_property
    def starts(self) -> Integers:
        return self.ends - self.lengths

    @cached_property
    def kinds(self) -> Bytes:
        return self.array[self.starts + 4]

    @cached_property
    def times(self) -> Integers:
        """In seconds since 1970."""
        return self.numbers(self.starts, 4)

    @cached_property
    def _words(self) -> npt.NDArray[np.uint64]:
        """A word from each byte on."""
        data = self.array
        return np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))

    def numbers(self, at: Integers, size: int) -> Integers:
        """Numbers without a sign, of up to eight bytes; IndexError beyond the end."""
        words = self._words[at]
        if size < 8:
            words &= np.uint64((1 << 8 * size) - 1)
        return words.view(np.int64)

    def of_kind(self, *kinds: int) -> Integers:
        """The numbers of the events of these kinds."""
        return np.flatnonzero(np.isin(self.kinds, kinds))

    def event(self, number: int) -> bytes:
        return self.data[self.starts[number] : self.ends[number]]

    def slice(self, start: int, end: int) -> Events:
        """The events from one number to before another."""
        if start >= end:
            return Events(b"", np.empty(0, np.int64))
        return Events(self.data[self.starts[start] : self.ends[end - 1]], self.lengths[start:end])

    def kept(self, mask: Booleans) -> Events:
        """Some of them."""
        if mask.all():
            return self
        # Runs of events that stay are copied as one.
        edges = np.flatnonzero(np.diff(mask, prepend=False, append=False))
        ends = np.append(self.ends, self.ends[-1:])
        starts = np.append(self.starts, self.ends[-1:])
        view = memoryview(self.data)
        pieces = [
            view[starts[first] : ends[last - 1]]
            for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
        ]
        return Events(b"".join(pieces), self.lengths[mask])


def is_rows(kinds: Bytes) -> Booleans:
    """Whether events are changes of rows."""
    return np.isin(kinds, (*WRITES, *UPDATES, *DELETES))


def headed(kind: int, body: bytes, like: bytes) -> bytes:
    """An event of another kind with the header of one that is there."""
    seconds, _, server, _, position, flags = _HEAD.unpack_from(like)
    return _HEAD.pack(seconds, kind, server, HEADER + len(body), position, flags) + body


def walked(data: bytes, at: int = 0) -> list[memoryview]:
    """The events that lie one after the other, by the sizes in their headers; ValueError if they do not."""
    view, events = memoryview(data), []
    while at < len(data):
        if at + HEADER > len(data):
            raise ValueError("an event ends within its header")
        (size,) = struct.unpack_from("<I", data, at + 9)
        if size < HEADER or at + size > len(data):
            raise ValueError(f"an event has {size} bytes by its header and is not of that size")
        events.append(view[at : at + size])
        at += size
    return events


def packed(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends; ValueError if it does not."""
    if at >= len(data):
        raise ValueError("a number is cut off")
    first = data[at]
    if first < 251:
        return first, at + 1
    size = {252: 2, 253: 3, 254: 8}.get(first)
    if size is None or at + 1 + size > len(data):
        raise ValueError("a number is cut off, or is none")
    return int.from_bytes(data[at + 1 : at + 1 + size], "little"), at + 1 + size

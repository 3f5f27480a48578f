"""The pgoutput protocol: messages of a replication stream, read column-wise.

A stretch of the stream is one buffer and the lengths of the messages in it.  Nothing
walks it message by message: kinds, transactions and tuples are read from all messages
at once, with one step of numpy for each column.

    B begin     final_lsn:8 commit_time:8 xid:4
    C commit    flags:1 commit_lsn:8 end_lsn:8 commit_time:8
    R relation  oid:4 namespace\\0 name\\0 identity:1 columns:2 (flags:1 name\\0 type:4 typmod:4)*
    I insert    oid:4 N tuple
    U update    oid:4 [K tuple | O tuple] N tuple
    D delete    oid:4 K tuple | O tuple
    T truncate  count:4 options:1 oid:4*
    tuple       columns:2 (n | u | t length:4 text)*

Not here: what becomes of the tuples (decode.py), where the bytes come from (reader.py).
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

BEGIN, COMMIT, RELATION, INSERT, UPDATE, DELETE, TRUNCATE = (ord(kind) for kind in "BCRIUDT")
OLD_KEY, OLD_ROW, NEW = (ord(kind) for kind in "KON")
NULL, UNCHANGED, TEXT = (ord(kind) for kind in "nut")

_IN_IDENTITY: Final = 1
_PADDING: Final = bytes(8)
"""Lets a length be read, and thrown away, where a buffer ends with a NULL."""


@dataclass(frozen=True, slots=True)
class RelationColumn:
    """A column as a Relation message describes it; `identity`: old keys and old rows have it."""

    name: str
    type_oid: int
    typmod: int
    identity: bool = True


@dataclass(frozen=True, slots=True)
class RelationMessage:
    """The shape of a table from this place of the stream on."""

    oid: int
    namespace: str
    name: str
    identity: str
    columns: tuple[RelationColumn, ...]


def parse_relation(message: bytes) -> RelationMessage:
    """A Relation message."""
    (oid,) = struct.unpack_from(">I", message, 1)
    namespace, at = _string(message, 5)
    name, at = _string(message, at)
    identity = chr(message[at])
    (count,) = struct.unpack_from(">H", message, at + 1)
    at += 3
    columns = []
    for _ in range(count):
        flags = message[at]
        column, at = _string(message, at + 1)
        type_oid, typmod = struct.unpack_from(">Ii", message, at)
        columns.append(RelationColumn(column, type_oid, typmod, bool(flags & _IN_IDENTITY)))
        at += 8
    return RelationMessage(oid, namespace, name, identity, tuple(columns))


def parse_truncate(message: bytes) -> tuple[int, ...]:
    """The tables that a Truncate message empties."""
    (count,) = struct.unpack_from(">I", message, 1)
    return struct.unpack_from(f">{count}I", message, 6)


def _string(message: bytes, at: int) -> tuple[str, int]:
    end = message.index(b"\0", at)
    # Names that are not UTF-8 are nobody's here, but tables of them may be in the stream.
    return message[at:end].decode(errors="replace"), end + 1


class Stretch:
    """Consecutive messages of a stream."""

    def __init__(self, data: bytes, lengths: npt.NDArray[np.uint32]) -> None:
        self.data = np.frombuffer(data + _PADDING, np.uint8)
        ends = np.cumsum(lengths, dtype=np.int64)
        self.starts: Integers = ends - lengths
        self.ends: Integers = ends
        self.kinds: Bytes = self.data[self.starts] if len(lengths) else np.empty(0, np.uint8)

    def u16(self, at: Integers) -> Integers:
        return (self.data[at].astype(np.int64) << 8) | self.data[at + 1]

    def u32(self, at: Integers) -> Integers:
        return (self.u16(at) << 16) | self.u16(at + 2)

    def u64(self, at: Integers) -> Integers:
        return (self.u32(at) << 32) | self.u32(at + 4)

    def of_kind(self, *kinds: int) -> Integers:
        """The numbers of the messages of these kinds."""
        return np.flatnonzero(np.isin(self.kinds, kinds))

    def message(self, number: int) -> bytes:
        return self.data[self.starts[number] : self.ends[number]].tobytes()

    def transactions(self, first: tuple[int, int]) -> tuple[Integers, Integers]:
        """Of every message: the end of its transaction's commit, and the transaction's number.

        `first` is that of the messages before the first Begin.
        """
        begins = self.of_kind(BEGIN)
        lsns = np.concatenate(([first[0]], self.u64(self.starts[begins] + 1)))
        xids = np.concatenate(([first[1]], self.u32(self.starts[begins] + 17)))
        which = np.searchsorted(begins, np.arange(len(self.kinds)), side="right")
        return lsns[which], xids[which]

    def truncated(self) -> dict[int, int]:
        """By table: the number of the last message that truncates it."""
        last: dict[int, int] = {}
        for number in self.of_kind(TRUNCATE).tolist():
            last.update(dict.fromkeys(parse_truncate(self.message(number)), number))
        return last

    def tuples(self, at: Integers, count: int, kept: Collection[int]) -> tuple[Tuples, Integers]:
        """Read tuples of `count` columns; those columns that are kept, and where the tuples end.

        ValueError if one of them has another number of columns.
        """
        if np.any(self.u16(at) != count):
            raise ValueError(f"a tuple has not {count} columns")
        at = at + 2
        columns: dict[int, TupleColumn] = {}
        for number in range(count):
            kinds = self.data[at]
            lengths = np.where(kinds == TEXT, self.u32(at + 1), 0)
            if number in kept:
                columns[number] = TupleColumn(kinds, at + 5, lengths)
            at = at + np.where(kinds == TEXT, lengths + 5, 1)
        return Tuples(columns), at

    def texts(self, column: TupleColumn) -> pa.Array:
        """The values of a column as text; NULL where it says nothing."""
        lengths = column.lengths
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        from_data = np.repeat(column.starts - offsets[:-1], lengths)
        from_data += np.arange(offsets[-1])
        valid = np.packbits(column.kinds == TEXT, bitorder="little")
        return pa.StringArray.from_buffers(
            len(lengths),
            pa.py_buffer(offsets.astype(np.int32)),
            pa.py_buffer(np.take(self.data, from_data)),
            pa.py_buffer(valid),
        )


@dataclass(frozen=True, slots=True)
class TupleColumn:
    """One column of many tuples: where each value lies."""

    kinds: Bytes
    starts: Integers
    lengths: Integers

    def where_unchanged(self, other: TupleColumn, known: Booleans) -> TupleColumn:
        """The same, with the other's value where that is known and this one says that it is unchanged."""
        unchanged = (self.kinds == UNCHANGED) & known
        if not unchanged.any():
            return self
        return TupleColumn(
            np.where(unchanged, other.kinds, self.kinds),
            np.where(unchanged, other.starts, self.starts),
            np.where(unchanged, other.lengths, self.lengths),
        )

    def taken(self, chosen: Booleans) -> TupleColumn:
        return TupleColumn(self.kinds[chosen], self.starts[chosen], self.lengths[chosen])

    def followed_by(self, other: TupleColumn) -> TupleColumn:
        return TupleColumn(
            np.concatenate((self.kinds, other.kinds)),
            np.concatenate((self.starts, other.starts)),
            np.concatenate((self.lengths, other.lengths)),
        )


@dataclass(frozen=True, slots=True)
class Tuples:
    """Many tuples, column by column, by the column's place in the tuple."""

    columns: dict[int, TupleColumn]

    def taken(self, chosen: Booleans) -> Tuples:
        return Tuples({number: column.taken(chosen) for number, column in self.columns.items()})

    def followed_by(self, other: Tuples) -> Tuples:
        return Tuples(
            {number: column.followed_by(other.columns[number]) for number, column in self.columns.items()}
        )

"""What a stream says beside changes: shapes of tables, truncations, and what was written after one.

With publish_via_partition_root a partition's changes come under the name of the root.  The shape of the
partition is still sent, right after that of the root, before its first change: so the stream tells
which tables were partitions when something was written to them.

Not here: what follows from it (watch.py).
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from headwater.sources.postgres.frontier import Transaction

_RELATION, _TRUNCATE, _COMMIT = b"RTC"
_CHANGES: Final = frozenset(b"IUD")
_ROWS: Final = {ord("I"): 1, ord("U"): 0, ord("D"): -1}
_TYPE: Final = ord("Y")


class Remark(NamedTuple):
    """One message; or, without a message, that somebody wrote to a table that was truncated before."""

    transaction: Transaction
    oid: int
    message: bytes = b""
    root: int = 0  # whose partition the table is, by its shape's place in the stream
    rows: int = 0  # without a message: how many rows more the table has by that


class Remarks:
    """In the order of the stream; the caller sees to it that one thread at a time is in here."""

    def __init__(self) -> None:
        self._remarks: deque[Remark] = deque()
        self._truncated: dict[int, Transaction] = {}  # by whom last, of what was not forgotten yet
        self._written: dict[int, int] = {}  # rows that the transaction under way has brought to these
        self._shape = 0  # the table whose shape came last, if nothing has come since

    def begin(self) -> None:
        """A transaction begins."""
        self._shape = 0

    def hear(self, kind: int, message: bytes, transaction: Transaction) -> None:
        """A message other than Begin."""
        if kind in _CHANGES:
            self._shape = 0
            if self._truncated:
                oid = int.from_bytes(message[1:5], "big")
                if oid in self._truncated:
                    self._written[oid] = self._written.get(oid, 0) + _ROWS[kind]
        elif kind == _RELATION:
            oid = int.from_bytes(message[1:5], "big")
            self._remarks.append(Remark(transaction, oid, message, self._shape))
            self._shape = oid
        elif kind == _TRUNCATE:
            self._shape = 0
            named = truncated(message)
            for oid in named:
                self._truncated[oid] = transaction
                self._written.pop(oid, None)
            self._remarks += [Remark(transaction, oid, message) for oid in named]
        elif kind == _COMMIT:
            self._shape = 0
            if self._written:
                self._remarks += [Remark(transaction, oid, rows=rows) for oid, rows in self._written.items()]
                self._written.clear()
        elif kind != _TYPE:
            self._shape = 0

    def __iter__(self) -> Iterator[Remark]:
        return iter(self._remarks)

    def forget(self, until: int) -> None:
        """Of transactions that end at or before."""
        while self._remarks and self._remarks[0].transaction.lsn < until:
            self._remarks.popleft()
        self._truncated = {oid: by for oid, by in self._truncated.items() if by.lsn >= until}


def truncated(message: bytes) -> tuple[int, ...]:
    """The tables of a Truncate message."""
    (count,) = struct.unpack_from(">I", message, 1)
    return struct.unpack_from(f">{count}I", message, 6)

"""What has arrived of a replication stream and has not been read yet, within bounded memory.

Messages are appended one by one by the thread that receives them, and taken by ticks up
to the end of a transaction.  They lie in segments; a segment that has become long goes to
a file, so that the largest transaction costs disk and not memory.

    add ──► [ file ][ file ][ memory ]  ──take(up to a commit)──► Segments for Spark tasks
                               ▲ commits are marked

Each segment knows what a reader of it must know of the stream before it: the newest
Relation message of each table, and the transaction that is under way.

A stream that begins anew may bring transactions again that were read before; these are left
out, and the last of them must be the one that it was (`Overlap`).

Not here: the connection (reader.py), what messages say (pgoutput.py).
"""

from __future__ import annotations

import struct
import threading
from array import array
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from headwater.core.errors import DefiniteError
from headwater.core.limits import REPLICATION_SEGMENT_BYTES, REPLICATION_TICK_BYTES_MAX
from headwater.sources.postgres.decode import Segment
from headwater.sources.postgres.facts import RESYNC, went_back
from headwater.sources.postgres.frontier import Transaction, lsn_text
from headwater.sources.postgres.remarks import Remark, Remarks, truncated
from headwater.sources.spooled import Files, Held, unlink
from headwater.sources.stretches import Shown

_BEGIN, _COMMIT, _RELATION, _TRUNCATE = b"BCRT"
_CHANGES: Final = frozenset(b"IUD")
_BEGIN_FIELDS: Final = struct.Struct(">QQI")


@dataclass(frozen=True, slots=True)
class Mark:
    """The end of a transaction: after so many messages and bytes of a segment the stream stands at `lsn`."""

    messages: int
    bytes: int
    lsn: int
    transaction: Transaction


@dataclass(frozen=True, slots=True)
class Taken:
    """What a tick has of the stream."""

    segments: list[tuple[Segment, set[int]]]  # with the tables they are about
    transactions: list[Transaction]
    reached: int | None  # where it stands if more of what was asked for is waiting


@dataclass(slots=True)
class Overlap:
    """Where a stream begins anew, before the end of what was read: it must bring the same again."""

    begin: int  # transactions whose commit begins here or later are sent
    last: Transaction | None  # the newest that was read
    met: bool = False

    def brings_again(self, transaction: Transaction) -> bool:
        """Whether a transaction of the stream was read before."""
        if self.last is None or transaction.lsn > self.last.lsn:
            self.check(transaction.lsn)
            return False
        if transaction.lsn == self.last.lsn:
            if transaction != self.last:
                self._refuse()
            self.met = True
        return True

    def check(self, lsn: int) -> None:
        """The stream has come as far as this; what was read must have been in it, if it was to come again."""
        if self.last is not None and not self.met and self.begin <= self.last.lsn < lsn:
            self._refuse()

    def _refuse(self) -> None:
        if self.last is not None:
            at = lsn_text(self.last.lsn)
            message = went_back(f"transaction {self.last.xid} is not at {at} any more")
            raise DefiniteError("", at, message, RESYNC)


@dataclass(slots=True)
class _Part:
    """A stretch of messages; `relations` and `transaction` are of the stream before it."""

    relations: dict[int, bytes]
    transaction: Transaction
    held: Held = field(default_factory=Held)
    lengths: array[int] = field(default_factory=lambda: array("I"))
    tables: set[int] = field(default_factory=set)
    marks: deque[Mark] = field(default_factory=deque)


class Spool:
    """Filled by one thread, emptied by another."""

    def __init__(self, folder: Path, overlap: Overlap) -> None:
        self._files = Files(folder, "stream")
        self._overlap = overlap
        self._again = False  # the transaction under way was read before
        self._lock = threading.Lock()
        self._relations: dict[int, bytes] = {}
        self._transaction = Transaction(0, 0, 0)
        self._parts: deque[_Part] = deque()
        self._remarks = Remarks()
        self.inside = False  # a transaction has begun and not ended
        self.waiting_bytes = 0

    def add(self, message: bytes) -> int | None:
        """One message of the stream; the position at which it ends, if it is a Commit."""
        kind = message[0]
        if kind == _BEGIN:
            lsn, time, xid = _BEGIN_FIELDS.unpack_from(message, 1)
            begun = Transaction(lsn, xid, time)
            self._again = self._overlap.brings_again(begun)
        if self._again:
            self._pass(message)
            return None
        with self._lock:
            if not self._parts or self._parts[-1].held.path is not None:
                self._parts.append(_Part(dict(self._relations), self._transaction))
            part = self._parts[-1]
            part.held.add(message)
            part.lengths.append(len(message))
            self.waiting_bytes += len(message)
            if kind == _BEGIN:
                self._transaction, self.inside = begun, True
                self._remarks.begin()
            else:
                self._remarks.hear(kind, message, self._transaction)
            if kind in _CHANGES:
                part.tables.add(int.from_bytes(message[1:5], "big"))
            elif kind == _RELATION:
                self._relations[int.from_bytes(message[1:5], "big")] = message
            elif kind == _TRUNCATE:
                part.tables.update(truncated(message))
            elif kind == _COMMIT:
                self.inside = False
                end = int.from_bytes(message[10:18], "big")
                part.marks.append(Mark(len(part.lengths), part.held.size, end, self._transaction))
                return end
            if part.held.size >= REPLICATION_SEGMENT_BYTES:
                self._files.spill(part.held)
        return None

    def reached(self, lsn: int) -> None:
        """The server says that it has sent everything before this."""
        self._overlap.check(lsn)

    def _pass(self, message: bytes) -> None:
        """Of what was read before only the shapes of tables matter: they are said once."""
        kind = message[0]
        self.inside = kind != _COMMIT
        if kind == _RELATION:
            self._relations[int.from_bytes(message[1:5], "big")] = message

    def take(self, until: int, points: Mapping[str, Shown]) -> Taken:
        """Whole transactions that end at or before `until`, about as much as a tick may have."""
        taken: list[tuple[Segment, set[int]]] = []
        transactions: list[Transaction] = []
        with self._lock:
            count, cut, reached = self._cut(until)
            first = 0
            for index in range(count):
                part = self._parts.popleft()
                if index == count - 1 and cut is not None and cut.messages < len(part.lengths):
                    part, rest = self._split(part, cut)
                    self._parts.appendleft(rest)
                self._files.hand(part.held)
                taken.append((_segment(part, first, points), part.tables))
                transactions += [mark.transaction for mark in part.marks]
                first += len(part.lengths)
                self.waiting_bytes -= part.held.size
            self._remarks.forget(until if reached is None else reached)
        return Taken(taken, transactions, reached)

    def ahead(self, until: int) -> tuple[list[Transaction], int | None]:
        """The transactions that `take` would take, and where it would stand if more is waiting."""
        found: list[Transaction] = []
        with self._lock:
            count, cut, reached = self._cut(until)
            for index in range(count):
                last = index == count - 1
                found += [
                    mark.transaction
                    for mark in self._parts[index].marks
                    if not last or cut is None or mark.messages <= cut.messages
                ]
        return found, reached

    def remarks(self) -> list[Remark]:
        """What has been said beside changes, of all that was not taken yet."""
        with self._lock:
            return list(self._remarks)

    def _cut(self, until: int) -> tuple[int, Mark | None, int | None]:
        """How many segments, up to which mark of the last of them; where it stands if there is more."""
        best: tuple[int, Mark] | None = None
        size = 0
        for index, part in enumerate(self._parts):
            for mark in part.marks:
                if mark.lsn > until:
                    return (best[0], best[1], None) if best else (0, None, None)
                if best is not None and size + mark.bytes > REPLICATION_TICK_BYTES_MAX:
                    return best[0], best[1], best[1].lsn
                best = index + 1, mark
            size += part.held.size
        return (best[0], best[1], None) if best else (0, None, None)

    def _split(self, part: _Part, cut: Mark) -> tuple[_Part, _Part]:
        """The messages up to a mark, and the rest with what must be known before it."""
        before, after = part.held.cut(cut.bytes)
        head = replace(
            part,
            held=before,
            lengths=part.lengths[: cut.messages],
            marks=deque(mark for mark in part.marks if mark.messages <= cut.messages),
        )
        found = _relations_in(before.stored().load(), np.array(head.lengths, np.int64))
        rest = _Part(
            part.relations | found,
            Transaction(0, 0, 0),  # a mark is the end of a transaction: the next message is a Begin
            after,
            part.lengths[cut.messages :],
            part.tables,
            deque(
                Mark(mark.messages - cut.messages, mark.bytes - cut.bytes, mark.lsn, mark.transaction)
                for mark in part.marks
                if mark.messages > cut.messages
            ),
        )
        return head, rest

    def done(self) -> None:
        """What was taken has become durable: its files may go."""
        with self._lock:
            gone = self._files.done(part.held for part in self._parts)
        unlink(gone)

    def close(self) -> None:
        """Nothing of it is needed any more."""
        with self._lock:
            gone = self._files.all(part.held for part in self._parts)
            self._parts.clear()
        unlink(gone)


def _relations_in(data: bytes, lengths: npt.NDArray[np.int64]) -> dict[int, bytes]:
    """The newest Relation message of each table among these messages."""
    ends = np.cumsum(lengths)
    starts = ends - lengths
    kinds = np.frombuffer(data, np.uint8)[starts]
    found = np.flatnonzero(kinds == _RELATION).tolist()
    messages = [data[starts[number] : ends[number]] for number in found]
    return {int.from_bytes(message[1:5], "big"): message for message in messages}


def _segment(part: _Part, first: int, points: Mapping[str, Shown]) -> Segment:
    return Segment(
        part.held.stored(),
        np.array(part.lengths, np.uint32),
        tuple(part.relations.values()),
        part.transaction[:2],
        first,
        dict(points),
    )

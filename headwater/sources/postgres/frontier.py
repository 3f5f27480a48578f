"""Where a PostgreSQL source stands: a position in the log of one history.

Positions are comparable only within one history, which is a server (its system
identifier) and a timeline of it; a restore or a promoted standby begins another.
Both are kept with every position, so that a source never goes on in a history that
is not the one it has read.  A server that was put back to an earlier day of its own is the
same in both; so the last transaction that was read is kept as well, and must be there again.

A transaction is in the log, and may have been read, before it shows upstream: one whose commit
waits for a synchronous standby does not show for as long as that takes.  Those are kept too,
because a snapshot that is taken meanwhile does not have them (docs/decisions).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from headwater.core.frontier import Frontier

PAGE_BYTES = 8192
_PAGE_HEADERS_BYTES = (24, 40)


class Transaction(NamedTuple):
    """One that has committed, as the stream tells of it."""

    lsn: int  # where its commit begins in the log
    xid: int  # the lower 32 bits of its number
    time: int  # of its commit, as the server counts


@dataclass(frozen=True, slots=True)
class LsnFrontier:
    """Every transaction whose commit ends at or before `lsn` has been read."""

    lsn: int
    system_id: str
    timeline: int
    last: Transaction | None = None  # the newest that was read
    unshown: tuple[int, ...] = ()  # the numbers of those that were read before they showed upstream
    looked: int | None = None  # transactions before this one were over when all was well (publication.py)
    recent: tuple[tuple[int, int], ...] = ()  # files of tables that were good and came later than that

    def __le__(self, other: LsnFrontier) -> bool:
        return self.lsn <= other.lsn

    def covers(self, position: int) -> bool:
        return position < self.lsn

    def to_json(self) -> object:
        last = None if self.last is None else list(self.last)
        return [self.lsn, self.system_id, self.timeline, last, list(self.unshown), self.looked, self.recent]

    @staticmethod
    def from_json(value: Any) -> LsnFrontier:
        lsn, system_id, timeline, last, unshown, looked, files = value
        read = None if last is None else Transaction(*last)
        recent = tuple((int(oid), int(file)) for oid, file in files)
        return LsnFrontier(int(lsn), str(system_id), int(timeline), read, tuple(unshown), looked, recent)

    def at(
        self,
        lsn: int,
        last: Transaction | None = None,
        unshown: tuple[int, ...] = (),
        looked: int | None = None,
        recent: tuple[tuple[int, int], ...] = (),
    ) -> LsnFrontier:
        """Another position of the same history."""
        return LsnFrontier(lsn, self.system_id, self.timeline, last, unshown, looked, recent)

    def __str__(self) -> str:
        return lsn_text(self.lsn)


def position(frontier: Frontier) -> int:
    """The place in the log of a frontier that must be of this kind."""
    if not isinstance(frontier, LsnFrontier):
        raise TypeError(f"a PostgreSQL source was given the frontier {frontier}")
    return frontier.lsn


def lsn_text(lsn: int) -> str:
    """As PostgreSQL prints it: `16/B374D848`."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def lsn_of(text: str) -> int:
    """What PostgreSQL has printed."""
    high, low = text.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def last_end(lsn: int) -> int:
    """The end of the last record before a place where the next one will be written.

    At the start of a page that place is behind the page's header, and no record ends there:
    waiting for it would be waiting for the next record.
    """
    offset = lsn % PAGE_BYTES
    return lsn - offset if offset in _PAGE_HEADERS_BYTES else lsn

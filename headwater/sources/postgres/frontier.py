"""Where a PostgreSQL source stands: a position in the log of one history.

Positions are comparable only within one history, which is a server (its system
identifier) and a timeline of it; a restore or a promoted standby begins another.
Both are kept with every position, so that a source never goes on in a history that
is not the one it has read.  A server that was put back to an earlier day of its own is the
same in both; so the last transaction that was read is kept as well, and must be there again.

A source that begins anew, because what it had read cannot be continued, does so as another
generation of itself.
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
    generation: int = 0  # how often the source has begun anew

    def __le__(self, other: LsnFrontier) -> bool:
        return self.lsn <= other.lsn

    def to_json(self) -> object:
        last = None if self.last is None else list(self.last)
        return [self.lsn, self.system_id, self.timeline, last, self.generation]

    @staticmethod
    def from_json(value: Any) -> LsnFrontier:
        lsn, system_id, timeline, last, generation = value
        read = None if last is None else Transaction(*last)
        return LsnFrontier(int(lsn), str(system_id), int(timeline), read, int(generation))

    def at(self, lsn: int, last: Transaction | None = None) -> LsnFrontier:
        """Another position of the same history."""
        return LsnFrontier(lsn, self.system_id, self.timeline, last, self.generation)

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

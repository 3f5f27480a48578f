"""Where a PostgreSQL source stands: a position in the log of one history.

Positions are comparable only within one history, which is a server (its system
identifier) and a timeline of it; a restore or a promoted standby begins another.
Both are kept with every position, so that a source never goes on in a history that
is not the one it has read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

PAGE_BYTES = 8192
_PAGE_HEADERS_BYTES = (24, 40)


@dataclass(frozen=True, slots=True)
class LsnFrontier:
    """Every transaction whose commit ends at or before `lsn` has been read."""

    lsn: int
    system_id: str
    timeline: int

    def __le__(self, other: LsnFrontier) -> bool:
        return self.lsn <= other.lsn

    def covers(self, position: int) -> bool:
        return position < self.lsn

    def to_json(self) -> object:
        return [self.lsn, self.system_id, self.timeline]

    @staticmethod
    def from_json(value: Any) -> LsnFrontier:
        lsn, system_id, timeline = value
        return LsnFrontier(int(lsn), str(system_id), int(timeline))

    def at(self, lsn: int) -> LsnFrontier:
        """Another position of the same history."""
        return LsnFrontier(lsn, self.system_id, self.timeline)

    def __str__(self) -> str:
        return lsn_text(self.lsn)


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

"""Timestamps: milliseconds since the epoch, the time of every collection.

A timestamp orders changes across all collections of the server.  It is minted
from the wall clock but never goes back: see `coordinator/timestamps.py` for the
oracle and `cluster/ingestion.py` for the ticks of a source.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NewType

Timestamp = NewType("Timestamp", int)

TIMESTAMP_MIN = Timestamp(0)

# A collection that will never change again (a finished generator) has this upper: every
# timestamp is before it, so it can be read at any of them.
TIMESTAMP_END = Timestamp(2**63 - 1)


def interval_start(now_ms: int, interval_ms: int) -> int:
    """When the interval began that is under way; the same for everybody with the same clock."""
    return now_ms - now_ms % interval_ms


def interval_left(began_ms: int, interval_ms: int, now_ms: int) -> int:
    """How long until the interval that began then is over; at most its length, whatever the clock did."""
    return min(began_ms + interval_ms - now_ms, interval_ms)


def to_text(ts: int) -> str:
    """`2026-11-15 08:00:12.345 UTC`, for messages and EXPLAIN TIMESTAMP."""
    moment = datetime.fromtimestamp(ts / 1000, tz=UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{ts % 1000:03d} UTC"

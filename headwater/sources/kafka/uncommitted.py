"""Transactions upstream that nobody ends: what comes after them cannot be read.

A partition is read up to its last stable offset, behind which a transaction is open.  If that offset stands
still for long although there are messages behind it, whoever looks at the source is told.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.limits import KAFKA_UNCOMMITTED_LOOK_S, KAFKA_UNCOMMITTED_S
from headwater.sources.kafka.connection import NAMESPACE, Admin
from headwater.sources.kafka.frontier import Places
from headwater.sources.kafka.topic import Ends, Topic, high_watermarks

_HINT = (
    "It was begun and neither committed nor aborted. kafka-transactions.sh describes the transactions of a"
    " partition (describe-producers) and ends one whose producer has gone (abort)."
)


class Uncommitted:
    """Partitions that an open transaction holds back, and since when."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, int], tuple[int, float]] = {}  # where each stands, since when
        self._looked_s = float("-inf")
        self._told: tuple[str, str] | None = None

    def look(self, admin: Admin, topics: Sequence[Topic], places: Places) -> tuple[str, str] | None:
        """What waits for a transaction, and what to do; brokers are asked now and then."""
        now_s = SYSTEM_CLOCK.monotonic_s()
        if now_s < self._looked_s + KAFKA_UNCOMMITTED_LOOK_S:
            return self._told
        self._looked_s = now_s
        held: dict[tuple[str, int], tuple[int, float]] = {}
        self._told = None
        for name, found in high_watermarks(admin, topics).items():
            place = places.topics.get(name)
            if place is None or not isinstance(found, Ends):
                continue
            for number, high in enumerate(found.offsets):
                end = place.of(number)
                if end >= high:
                    continue
                since = self._held.get((name, number), (end, now_s))
                held[name, number] = since if since[0] == end else (end, now_s)
                if self._told is None and now_s > held[name, number][1] + KAFKA_UNCOMMITTED_S:
                    text = (
                        f'{NAMESPACE}: a transaction holds back partition {number} of topic "{name}" at'
                        f" offset {end}: {high - end} offsets wait for its end"
                    )
                    self._told = text, _HINT
        self._held = held
        return self._told

"""Statuses and statistics of sources and tables, as reported by clusters.

    paused --> starting --> running <--> stalled          dropped, from anywhere
                   ^           |
                   +-----------+  the cluster is another process now

`created` is no event: it is what is shown of an object that nobody has reported on.

Counters go on over restarts of a cluster: what the process before had counted is
kept and the new one's counts are added to it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final

from headwater.core.limits import STATUS_HISTORY_DROPPED_MAX, STATUS_HISTORY_ENTRIES_MAX
from headwater.core.protocol import Statistics, Status

COUNTERS: Final = ("messages_received", "bytes_received", "updates_staged", "updates_committed", "ticks")
GAUGES: Final = (
    "snapshot_records_known",
    "snapshot_records_staged",
    "snapshot_committed",
    "offset_known",
    "offset_committed",
    "tick_seconds",
)
_AFTER_STARTING: Final = frozenset({"running", "stalled", "failed"})


@dataclass(slots=True)
class Numbers:
    """Statistics of one source or table."""

    settled: dict[str, int] = field(default_factory=dict)  # of cluster processes that have gone
    current: dict[str, Any] = field(default_factory=dict)

    def counter(self, name: str) -> int:
        return int(self.settled.get(name, 0)) + int(self.current.get(name, 0))


class Health:
    """What is known of every source and table by id."""

    def __init__(self) -> None:
        self.statuses: dict[str, Status] = {}
        self.history: dict[str, deque[Status]] = {}
        self.recorded = 0  # how many entries history has ever got
        self.numbers: dict[str, Numbers] = {}
        self._dropped: deque[str] = deque()  # the oldest first; their histories are kept for a while

    def hear_status(self, status: Status) -> bool:
        """Record a status; False when it was known, whenever it was said again."""
        known = self.statuses.get(status.id)
        if known is not None and _same(known, status):
            return False
        if known is not None and known.status == "paused" and status.status in _AFTER_STARTING:
            # A short pause may end before anybody could be told that it ends.
            self._record(Status(status.id, "starting", None, None, status.at_ms))
        self.statuses[status.id] = status
        self._record(status)
        return True

    def _record(self, status: Status) -> None:
        entries = self.history.setdefault(status.id, deque(maxlen=STATUS_HISTORY_ENTRIES_MAX))
        if not entries or entries[-1] != status:  # a cluster says again what the environment before has heard
            entries.append(status)
            self.recorded += 1

    def hear_statistics(self, message: Statistics) -> None:
        self.numbers.setdefault(message.id, Numbers()).current = message.values

    def settle(self) -> None:
        """The cluster process is another one now: it counts from zero."""
        for numbers in self.numbers.values():
            for name in COUNTERS:
                if name in numbers.current:
                    numbers.settled[name] = numbers.counter(name)
            numbers.current = {
                name: value for name, value in numbers.current.items() if name == "snapshot_committed"
            }

    def forget(self, id_: str, at_ms: int) -> None:
        """A dropped object has no statistics; its history says so and stays, until many more were dropped."""
        self.numbers.pop(id_, None)
        if self.statuses.pop(id_, None) is None:
            return
        self._record(Status(id_, "dropped", None, None, at_ms))
        self._dropped.append(id_)
        if len(self._dropped) > STATUS_HISTORY_DROPPED_MAX:
            self.history.pop(self._dropped.popleft(), None)

    # To be kept over restarts of the environment

    def numbers_to_json(self) -> dict[str, Any]:
        return {id_: [numbers.settled, numbers.current] for id_, numbers in self.numbers.items()}

    def restore_numbers(self, value: dict[str, Any]) -> None:
        """Those of an earlier life; the cluster of then may still run."""
        for id_, (settled, current) in value.items():
            self.numbers[id_] = Numbers(dict(settled), dict(current))

    def history_to_json(self) -> list[Any]:
        entries = [[s.id, s.status, s.error, s.hint, s.at_ms] for all_ in self.history.values() for s in all_]
        return [entries, list(self._dropped)]

    def restore_history(self, value: list[Any]) -> None:
        """That of an earlier life; how things are now, nobody has said yet."""
        entries, dropped = value
        for entry in entries:
            self._record(Status(*entry))
        self._dropped.extend(dropped)


def _same(one: Status, other: Status) -> bool:
    return (one.status, one.error) == (other.status, other.error)

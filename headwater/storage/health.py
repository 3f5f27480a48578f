"""Statuses and statistics of sources and tables, as reported by clusters.

Counters go on over restarts of a cluster: what the process before had counted is
kept and the new one's counts are added to it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final

from headwater.core.limits import STATUS_HISTORY_ENTRIES_MAX
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
        self.numbers: dict[str, Numbers] = {}

    def hear_status(self, status: Status) -> bool:
        """Record a status; False when it was known."""
        if self.statuses.get(status.id) == status:
            return False
        self.statuses[status.id] = status
        entries = self.history.setdefault(status.id, deque(maxlen=STATUS_HISTORY_ENTRIES_MAX))
        entries.append(status)
        return True

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

    def forget(self, id_: str) -> None:
        """A dropped object has no statistics; its history stays."""
        self.numbers.pop(id_, None)
        self.statuses.pop(id_, None)

    def to_json(self) -> dict[str, Any]:
        """To be kept over restarts of the environment."""
        return {id_: [numbers.settled, numbers.current] for id_, numbers in self.numbers.items()}

    def restore(self, value: dict[str, Any]) -> None:
        """What `to_json` returned in an earlier life; the cluster of then may still run."""
        for id_, (settled, current) in value.items():
            self.numbers[id_] = Numbers(dict(settled), dict(current))

"""Statuses and statistics of sources and tables, as reported by clusters.

    paused --> starting --> running <--> stalled          failed, dropped: from anywhere
                   ^           |
                   +-----------+  the cluster is another process now

`created` is no event: it is what is shown of an object that nobody has reported on.
What a table is depends on its source, too (`shown`); that is decided here and nowhere else,
so that relations, histories, metrics and the log say the same.

A history tells of what is gone, too: each event keeps which replica ran the object then, because later
nobody knows any more.

Counters go on over restarts of a cluster: what the process before had counted is
kept and the new one's counts are added to it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from headwater.core.limits import STATUS_HISTORY_DROPPED_MAX, STATUS_HISTORY_ENTRIES_MAX
from headwater.core.protocol import Statistics, Status

COUNTERS: Final = ("messages_received", "bytes_received", "updates_staged", "updates_committed", "ticks")
_AFTER_STARTING: Final = frozenset({"running", "stalled", "failed"})
_FINAL: Final = frozenset({"failed", "dropped"})


@dataclass(slots=True)
class Numbers:
    """Statistics of one source or table."""

    settled: dict[str, int] = field(default_factory=dict)  # of cluster processes that have gone
    current: dict[str, Any] = field(default_factory=dict)
    last: dict[str, Any] = field(default_factory=dict)  # gauges of processes that have gone

    def gauge(self, name: str, also_gone: bool = False) -> Any:
        """What the process that runs has said; or else, if that counts, what one before it said last."""
        return self.current.get(name, self.last.get(name) if also_gone else None)

    def counter(self, name: str) -> int:
        return int(self.settled.get(name, 0)) + int(self.current.get(name, 0))


@dataclass(frozen=True, slots=True)
class Event:
    """A status that was shown, and the replica that ran the object then; None: none did, or nobody knows."""

    shown: Status
    replica_id: str | None


class Health:
    """What is known of every source and table by id."""

    def __init__(self) -> None:
        self.statuses: dict[str, Status] = {}  # as they are shown
        self._heard: dict[str, Status] = {}  # as they were reported
        self._source_of: dict[str, str] = {}
        self._flaws: dict[str, tuple[str, str | None]] = {}  # by table: why it cannot be read, and what to do
        self._replica_of: dict[str, str | None] = {}  # by source
        self.history: dict[str, deque[Event]] = {}
        self.recorded = 0  # how many entries history has ever got
        self.numbers: dict[str, Numbers] = {}
        self._dropped: deque[str] = deque()  # the oldest first; their histories are kept for a while

    def feeds(self, source_id: str, table_ids: Iterable[str], replica_id: str | None = None) -> list[Status]:
        """These tables are fed by a source, which this replica runs; what is shown anew of them."""
        self._replica_of[source_id] = replica_id
        new = [id_ for id_ in table_ids if self._source_of.get(id_) != source_id]
        self._source_of.update(dict.fromkeys(new, source_id))
        return [status for id_ in new if (status := self._show(id_)) is not None]

    def hear_status(self, status: Status) -> list[Status]:
        """Record a status; what is shown anew because of it: nothing when it was known already."""
        self._heard[status.id] = status
        fed = [id_ for id_, source_id in self._source_of.items() if source_id == status.id]
        return [changed for id_ in (status.id, *fed) if (changed := self._show(id_)) is not None]

    def hear_flaws(self, id_: str, flaws: tuple[str, str | None] | None, at_ms: int) -> None:
        """A table has rows that cannot be read: (why, what to do); None: it has none any more."""
        if flaws == self._flaws.get(id_):
            return
        if flaws is None:
            del self._flaws[id_]
        else:
            self._flaws[id_] = flaws
        if id_ in self._heard:
            self._heard[id_] = replace(self._heard[id_], at_ms=max(at_ms, self._heard[id_].at_ms))
        self._show(id_)

    def _show(self, id_: str) -> Status | None:
        """Show what follows from what was heard, if it is anything new."""
        status = shown(id_, self._heard.get(id_), self._heard.get(self._source_of.get(id_, "")))
        if status is not None and status.status == "running" and id_ in self._flaws:
            status = replace(status, status="stalled", error=self._flaws[id_][0], hint=self._flaws[id_][1])
        known = self.statuses.get(id_)
        if status is None or (known is not None and _same(known, status)):
            return None
        if known is not None:
            status = replace(status, at_ms=max(status.at_ms, known.at_ms))
        if known is not None and known.status == "paused" and status.status in _AFTER_STARTING:
            # A short pause may end before anybody could be told that it ends.
            self._record(Status(id_, "starting", None, None, status.at_ms))
        self.statuses[id_] = status
        self._record(status)
        return status

    def _record(self, status: Status) -> None:
        entries = self.history.setdefault(status.id, deque(maxlen=STATUS_HISTORY_ENTRIES_MAX))
        # A cluster says again what the environment before has heard.
        if not entries or not _same(entries[-1].shown, status):
            before = entries[-1].replica_id if entries else None
            entries.append(Event(status, before if status.status == "dropped" else self._replica(status)))
            self.recorded += 1

    def _replica(self, status: Status) -> str | None:
        """Nobody runs what is paused."""
        source_id = self._source_of.get(status.id, status.id)
        return None if status.status == "paused" else self._replica_of.get(source_id)

    def hear_statistics(self, message: Statistics) -> None:
        self.numbers.setdefault(message.id, Numbers()).current = message.values

    def settle(self) -> None:
        """The cluster process is another one now: it counts from zero."""
        for numbers in self.numbers.values():
            for name in COUNTERS:
                if name in numbers.current:
                    numbers.settled[name] = numbers.counter(name)
            gauges = {name: value for name, value in numbers.current.items() if name not in COUNTERS}
            numbers.last |= gauges
            numbers.current = {}

    def forget(self, id_: str, at_ms: int) -> None:
        """A dropped object has no statistics; its history says so and stays, until many more were dropped."""
        self.numbers.pop(id_, None)
        self._heard.pop(id_, None)
        self._flaws.pop(id_, None)
        self._source_of.pop(id_, None)
        self._replica_of.pop(id_, None)
        if self.statuses.pop(id_, None) is None:
            return
        self._record(Status(id_, "dropped", None, None, at_ms))
        self._dropped.append(id_)
        if len(self._dropped) > STATUS_HISTORY_DROPPED_MAX:
            self.history.pop(self._dropped.popleft(), None)

    # To be kept over restarts of the environment

    def numbers_to_json(self) -> dict[str, Any]:
        return {id_: [n.settled, n.current, n.last] for id_, n in self.numbers.items()}

    def restore_numbers(self, value: dict[str, Any]) -> None:
        """Those of an earlier life; the cluster of then may still run."""
        for id_, (settled, current, *last) in value.items():
            self.numbers[id_] = Numbers(dict(settled), dict(current), dict(*last))

    def history_to_json(self) -> list[Any]:
        events = [event for entries in self.history.values() for event in entries]
        told = [(event.shown, event.replica_id) for event in events]
        return [[[s.id, s.status, s.error, s.hint, s.at_ms, by] for s, by in told], list(self._dropped)]

    def restore_history(self, value: list[Any]) -> None:
        """That of an earlier life.  How things are now is yet to be said, but what failed did so for good."""
        entries, dropped = value
        for id_, word, error, hint, at_ms, *replica_id in entries:
            known = self.history.setdefault(id_, deque(maxlen=STATUS_HISTORY_ENTRIES_MAX))
            # An earlier release has not kept who it was.
            known.append(Event(Status(id_, word, error, hint, at_ms), *(replica_id or [None])))
        self._dropped.extend(dropped)
        for id_, known in self.history.items():
            if known[-1].shown.status == "failed":
                self._heard[id_] = self.statuses[id_] = known[-1].shown


def shown(id_: str, own: Status | None, source: Status | None) -> Status | None:
    """What is shown of a table that says `own` of itself, or of a source, for which `source` is None.

    A table that has ended shows that whatever happens.  Otherwise it runs no better than its source: one
    that is paused, starting, or cannot go on keeps its tables from going on.  What stalls a table alone says
    more than what stalls them all.
    """
    if source is None or (own is not None and own.status in _FINAL):
        return own
    if source.status == "running":
        return None if own is None else replace(own, at_ms=max(own.at_ms, source.at_ms))
    if own is not None and own.status == "stalled" and source.status != "paused":
        return own
    return replace(source, id=id_)


def _same(one: Status, other: Status) -> bool:
    return (one.status, one.error) == (other.status, other.error)

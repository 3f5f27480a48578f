"""Whether the replicas of clusters are there, now and over time.

All clusters are pools of one process, so whatever happens to it happens to all of their replicas.  A replica
comes with its cluster, or with a replication factor of 1, and is from then on what the process is.  It goes
with them, too, and is offline from then on; its history stays, until there are many entries of others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from headwater.core.limits import REPLICA_HISTORY_ENTRIES_MAX

DROPPED: Final = "the replica was dropped"


@dataclass(frozen=True, slots=True)
class ReplicaEvent:
    """A replica came online, or went offline."""

    replica_id: str
    status: str  # online or offline
    reason: str | None
    at_ms: int


class Replicas:
    """What the process was seen to be, for each replica that there is."""

    def __init__(self) -> None:
        self.history: deque[ReplicaEvent] = deque(maxlen=REPLICA_HISTORY_ENTRIES_MAX)
        self.recorded = 0  # how many entries history has ever got
        self._current: dict[str, ReplicaEvent] = {}
        self._ids: tuple[str, ...] = ()
        self._online: bool | None = None  # nobody has looked yet
        self._reason: str | None = None

    def state(self, replica_ids: Iterable[str], now_ms: int) -> None:
        """These are the replicas that there are."""
        self._ids = tuple(replica_ids)
        for gone in sorted(self._current.keys() - set(self._ids)):
            if self._current.pop(gone).status == "online":
                self._keep(ReplicaEvent(gone, "offline", DROPPED, now_ms))
        self._record(now_ms)

    def hear(self, online: bool, reason: str | None, now_ms: int) -> None:
        """The process answers, or does not."""
        self._online, self._reason = online, reason
        self._record(now_ms)

    def learn(self, reason: str) -> None:
        """Why the process is offline; a connection may be gone before it is known that a process is."""
        for id_, event in self._current.items():
            if event.status == "offline" and event.reason != reason:
                known = replace(event, reason=reason)
                self._current[id_] = known
                places = [place for place, one in enumerate(self.history) if one is event]
                for place in places:
                    self.history[place] = known
                self.recorded += len(places)

    def current(self) -> list[ReplicaEvent]:
        """The newest event of each replica."""
        return [self._current[id_] for id_ in self._ids if id_ in self._current]

    def _record(self, now_ms: int) -> None:
        status = "online" if self._online else "offline"
        for id_ in self._ids if self._online is not None else ():
            last = self._current.get(id_)
            if last is None or last.status != status:
                event = ReplicaEvent(id_, status, self._reason, now_ms)
                self._current[id_] = event
                self._keep(event)

    def _keep(self, event: ReplicaEvent) -> None:
        self.history.append(event)
        self.recorded += 1

    # To be kept over restarts of the environment

    def to_json(self) -> list[Any]:
        return [asdict(event) for event in self.history]

    def restore(self, value: list[Any]) -> None:
        """The history of an earlier life, before anything is stated; what it said last may still be so."""
        for entry in value:
            event = ReplicaEvent(**entry)
            self.history.append(event)
            self._current[event.replica_id] = event

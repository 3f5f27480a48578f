"""What reads wait for, so that a client can be told while it waits.

A read waits until its sources have come far enough, and a source that is stalled or paused may not come
there for hours.  Whoever waits says so here; the session looks after a second, and every second until there
is something to tell.

Not here: the wait itself (read.py), sending the notice (pgwire).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from headwater.catalog.state import Item
from headwater.coordinator.api import Notice

if TYPE_CHECKING:
    from headwater.coordinator.coordinator import Coordinator

_TOLD: Final = frozenset({"stalled", "paused", "failed"})
"""Statuses that no wait ends; the others go on by themselves."""


class Waits:
    """Who waits for what now, by task."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._items: dict[asyncio.Task[Any] | None, Sequence[Item]] = {}

    @contextmanager
    def waiting(self, items: Sequence[Item]) -> Iterator[None]:
        """Around a wait for these."""
        task = asyncio.current_task()
        self._items[task] = items
        try:
            yield
        finally:
            self._items.pop(task, None)

    def reasons(self, task: asyncio.Task[Any]) -> list[Notice]:
        """What keeps this task waiting, if that will not pass by itself."""
        found: dict[str, Notice] = {}
        for item in self._items.get(task, ()):
            source_id = item.source_id or item.id
            for id_ in (source_id, item.collection_id):
                status = self._coordinator.controller.health.statuses.get(id_)
                if status is None or status.status not in _TOLD:
                    continue
                named = self._coordinator.catalog.state.items.get(
                    source_id if id_ == source_id else item.id, item
                )
                name = self._coordinator.full_name(named)
                found[name] = Notice(
                    "NOTICE",
                    f'waiting for {named.kind} "{name}", which is {status.status}',
                    "00000",
                    detail=status.error,
                    hint=self._coordinator.retained_logs.hint(source_id)
                    or status.hint
                    or _HINTS.get(status.status),
                )
                break
        return list(found.values())


_HINTS: Final = {"paused": "Give its cluster a replica: ALTER CLUSTER ... SET (REPLICATION FACTOR 1)."}

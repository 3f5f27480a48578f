"""Histories that are samples: how far objects were behind the clock, how much their files took.

    every minute    a lag of each source and each table from one
    every hour      the bytes of each table's files

They are kept in the catalog's database, over restarts, for a month and up to so many rows of each kind.  A
sample that cannot be written is not there: nothing depends on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from headwater.catalog.builtin import facts as f
from headwater.catalog.store import Sample
from headwater.coordinator import system
from headwater.coordinator.patience import patiently
from headwater.core.limits import (
    LAG_SAMPLE_S,
    SAMPLES_MAX,
    SAMPLES_S_MAX,
    STORAGE_USAGE_SAMPLE_S,
)

if TYPE_CHECKING:
    from headwater.coordinator.coordinator import Coordinator

Kind = Literal["lag", "storage"]
_EVERY_MS: dict[Kind, int] = {"lag": int(LAG_SAMPLE_S * 1000), "storage": int(STORAGE_USAGE_SAMPLE_S * 1000)}


class Sampling:
    """Takes samples when they are due; belongs to the event loop."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._taken_ms: dict[Kind, int] = {}

    async def take(self) -> None:
        """Take what is due: the first at once, then at the beginning of every interval of the clock."""
        now_ms = self._coordinator.clock.now_ms()
        for kind, every_ms in _EVERY_MS.items():
            if now_ms // every_ms > self._taken_ms.get(kind, 0) // every_ms:
                self._taken_ms[kind] = now_ms
                samples = self._lags() if kind == "lag" else self._usages()
                since_ms = now_ms - int(SAMPLES_S_MAX * 1000)
                kept = partial(
                    self._coordinator.catalog.add_samples, kind, now_ms, samples, since_ms, SAMPLES_MAX
                )
                await patiently(partial(asyncio.to_thread, kept))

    def _lags(self) -> list[Sample]:
        return [
            (lag.id, lag.replica_id, lag.lag_ms)
            for lag in system.lags(self._coordinator)
            if self._coordinator.catalog.state.items[lag.id].kind == "source"
            or self._coordinator.catalog.state.items[lag.id].source_id is not None
        ]

    def _usages(self) -> list[Sample]:
        return [(usage.id, None, usage.size_bytes) for usage in system.storage_usage(self._coordinator)]

    def lag_history(self) -> Sequence[f.LagEvent]:
        """The oldest first."""
        return [
            f.LagEvent(id_, value, at_ms, replica_id)
            for at_ms, id_, replica_id, value in self._coordinator.catalog.samples("lag")
        ]

    def usage_history(self) -> Sequence[f.StorageUsage]:
        """The oldest first."""
        return [
            f.StorageUsage(id_, value or 0, at_ms)
            for at_ms, id_, _, value in self._coordinator.catalog.samples("storage")
        ]

"""What upstreams keep for sources: measured now and then, shown, and warned of before it is too much.

It grows while a source stands still, whoever made it stand: so the environment asks, and not the source's
reader.  It asks about a source that has been read for the first time within a second, and from then on
every UPSTREAM_LOG_CHECK_S.

    fine --> low       a quarter of what the upstream keeps at most is left, or less
    any  --> lost      what the source needs is gone

Every change of that is a line of the log, and a hint beside the source's status while it is not fine.

Of a source that stands still it is asked as often, and as soon as it stands, how far the upstream is: a
reader that does not run would go on saying what it knew at last.

Not here: asking (sources/), the relations (catalog/builtin/mz_internal/mz_source_upstream_logs.py,
mz_source_statistics.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import structlog

from headwater.catalog.state import Item
from headwater.coordinator.source_details import full_options
from headwater.core.errors import TransientError, UserError
from headwater.core.limits import (
    UPSTREAM_LOG_CHECK_S,
    UPSTREAM_LOG_LOOK_S,
    UPSTREAM_LOG_LOW_SHARE,
    UPSTREAM_LOG_QUESTIONS_CONCURRENT_MAX,
)
from headwater.observe import metrics
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Retained

if TYPE_CHECKING:
    from headwater.coordinator.coordinator import Coordinator

log = structlog.get_logger("upstream")

T = TypeVar("T")

_STANDING: Final = frozenset({"paused", "stalled", "failed"})

Level = Literal["fine", "low", "lost"]


def level(retained: Retained) -> Level:
    """How much there is to worry about."""
    if retained.lost:
        return "lost"
    left, limit = retained.left_bytes, retained.limit_bytes
    low = left is not None and limit is not None and left <= limit * UPSTREAM_LOG_LOW_SHARE
    return "low" if low else "fine"


@dataclass(frozen=True, slots=True)
class Measured:
    """What an upstream said last, and when."""

    retained: Retained
    at_ms: int


class RetainedLogs:
    """By source: what its upstream keeps.  Belongs to one event loop."""

    def __init__(self, coordinator: Coordinator) -> None:
        self.measured: dict[str, Measured] = {}
        self._ends: dict[str, int | None] = {}  # where the upstreams of those are that stand still
        self._standing: set[str] = set()  # those of them that have been asked about since they do
        self._coordinator = coordinator
        self._threads = ThreadPoolExecutor(
            UPSTREAM_LOG_QUESTIONS_CONCURRENT_MAX, thread_name_prefix="retained-log"
        )
        self._asked_s: dict[str, float] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._levels: dict[str, Level] = {}

    def close(self) -> None:
        for task in self._asking.values():
            task.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def run(self) -> None:
        """For ever."""
        while True:
            await asyncio.sleep(UPSTREAM_LOG_LOOK_S)
            self.look()

    def look(self) -> None:
        """Ask those whose turn it is; one that does not answer keeps nobody else from being asked."""
        coordinator, now_s = self._coordinator, self._coordinator.clock.monotonic_s()
        sources = {item.id: item for item in coordinator.catalog.state.items.values() if item.ingests}
        for id_ in [id_ for id_, task in self._asking.items() if task.done()]:
            self._asking.pop(id_).result()
        for id_ in [id_ for id_ in self._asked_s if id_ not in sources]:
            self._forget(id_)
        standing = {id_ for id_ in sources if self._stands(id_)}
        for id_, source in sources.items():
            due = now_s - self._asked_s.get(id_, -UPSTREAM_LOG_CHECK_S) >= UPSTREAM_LOG_CHECK_S
            keeps = SOURCE_TYPES[source.ingestion.source_type].retained is not None
            asks = id_ in standing - self._standing or (
                due and (keeps or id_ in standing | self._ends.keys())
            )
            if asks and coordinator.controller.uppers.get(id_) and id_ not in self._asking:
                self._asked_s[id_] = now_s
                self._asking[id_] = asyncio.create_task(self._ask(source, id_ in standing))
                self._standing.add(id_)
        self._standing &= standing

    def _stands(self, id_: str) -> bool:
        status = self._coordinator.controller.health.statuses.get(id_)
        return status is not None and status.status in _STANDING

    def _forget(self, id_: str) -> None:
        del self._asked_s[id_]
        self.measured.pop(id_, None)
        self._levels.pop(id_, None)
        self._ends.pop(id_, None)
        self._standing.discard(id_)
        metrics.retained_log_unknown(id_)

    async def _ask(self, source: Item, standing: bool) -> None:
        coordinator = self._coordinator
        type_, secrets = SOURCE_TYPES[source.ingestion.source_type], coordinator.secrets.get
        end: int | None = None
        try:
            options = full_options(coordinator.catalog.state, source.ingestion.options)
            if type_.retained is not None:
                found = await self._answer(type_.retained, options, secrets)
                if source.id in coordinator.catalog.state.items:
                    self.hear(source, found)
            if standing:
                now_ms = coordinator.clock.now_ms()
                end = type_.offset(await self._answer(type_.position, options, secrets, now_ms))
        except (TransientError, UserError, KeyError) as error:
            # Of an upstream that cannot be reached nothing is known; the source itself is stalled then.
            log.debug("upstream does not say what it keeps", source=source.id, error=str(error))
            metrics.retained_log_unknown(source.id)
        if source.id not in coordinator.catalog.state.items or not standing:
            self._ends.pop(source.id, None)
        else:
            self._ends[source.id] = end

    async def _answer(self, question: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, question, *arguments)

    def offset_known(self, source_id: str, said: int | None) -> int | None:
        """How far an upstream is, of which the source's reader has said this; None: nobody knows now."""
        if source_id not in self._ends:
            return said
        end = self._ends[source_id]
        if self._stands(source_id):
            return end
        return max((known for known in (said, end) if known is not None), default=None)

    def hear(self, source: Item, found: Retained) -> None:
        """What an upstream has said."""
        coordinator = self._coordinator
        self.measured[source.id] = Measured(found, coordinator.clock.now_ms())
        if found.held_bytes is None:  # 0 would look like the best of all
            metrics.retained_log_unknown(source.id)
        else:
            metrics.retained_log_measured(source.id, found.held_bytes, found.left_bytes)
        before, now = self._levels.get(source.id, "fine"), level(found)
        self._levels[source.id] = now
        if now == before:
            return
        facts = {
            "source": coordinator.full_name(coordinator.catalog.state.named_source(source.id)),
            "state": found.state,
            "held_bytes": found.held_bytes,
            "left_bytes": found.left_bytes,
            "limit_bytes": found.limit_bytes,
        }
        if now == "fine":
            log.info("upstream has room for its log again", **facts)
        elif now == "low":
            log.warning("upstream will soon let go of log that the source needs", **facts)
        else:
            log.error("upstream has let go of log that the source needs", **facts)

    def failure(self, id_: str) -> tuple[str, str] | None:
        """Why a source cannot go on, whether it runs or not, and what to do; None if it can, as far as known.

        Where the upstream keeps nothing under the source's name there may be nothing yet: it was asked to
        begin anew, and has not run since.
        """
        measured = self.measured.get(id_)
        if measured is None or level(measured.retained) != "lost" or measured.retained.missing:
            return None
        source = self._coordinator.catalog.state.items.get(id_)
        if source is None:
            return None
        name = self._coordinator.full_name(self._coordinator.catalog.state.named_source(id_))
        return (
            "the upstream has let go of log that it needs",
            f"What was lost can no longer be read. ALTER SOURCE {name} RESYNC brings every table up to date.",
        )

    def hint(self, id_: str) -> str | None:
        """What is to be said of a source beside its status."""
        lost = self.failure(id_)
        if lost is not None:
            return lost[1]
        measured = self.measured.get(id_)
        if measured is None or level(measured.retained) != "low":
            return None
        found = measured.retained
        return (
            f"The upstream keeps {found.held_bytes} bytes of its log for this source, and lets go of it after"
            f" {found.left_bytes} more: let the source catch up, or raise max_slot_wal_keep_size there."
        )

"""Reads that wait until their sources have come as far as somebody wants.

    real_time_recency       as far as each upstream was when the read began: the upstream is asked
    AS OF AT LEAST POSITION as far as the client says: it has written something upstream, and knows where

A source has come to a position when a binding has.  So the answer is a timestamp: a read at it, or later,
shows all that lies before the positions.

An upstream is asked in a thread, one question at a time, however many reads want to know: those that come
while a question is under way share the next one, because its answer may be from before they began.
An upstream that cannot be asked is asked again until the read's time is over.

Not here: what a position is (sources/), the choice of the timestamp (timestamps.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headwater.catalog.snapshot import SessionNames, split_name
from headwater.catalog.state import Item
from headwater.coordinator.read import Inputs, RelationDropped
from headwater.coordinator.source_details import full_options
from headwater.core.errors import TransientError, UserError
from headwater.core.frontier import Frontier
from headwater.core.limits import RECENCY_QUESTIONS_CONCURRENT_MAX, RECENCY_RETRY_S
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import SourceType

if TYPE_CHECKING:
    from headwater.coordinator.coordinator import Coordinator

Ask = Callable[[str], Awaitable[Frontier]]


class SharedQuestions:
    """Asks by id, one question at a time for each; belongs to one event loop."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._running: dict[str, asyncio.Task[Frontier]] = {}
        self._next: dict[str, asyncio.Task[Frontier]] = {}

    async def answer(self, id_: str) -> Frontier:
        """The answer to a question that is not asked before this is called."""
        question = self._next.get(id_)
        if question is None:
            question = self._next[id_] = asyncio.create_task(self._turn(id_, self._running.get(id_)))
            question.add_done_callback(_seen)
        return await asyncio.shield(question)  # whoever gives up does not give up for the others

    async def _turn(self, id_: str, before: asyncio.Task[Frontier] | None) -> Frontier:
        if before is not None:
            await asyncio.wait([before])
        question = self._running[id_] = self._next.pop(id_)  # who comes now shares another one
        try:
            return await self._ask(id_)
        finally:
            if self._running.get(id_) is question:
                del self._running[id_]

    def close(self) -> None:
        for question in (*self._running.values(), *self._next.values()):
            question.cancel()


def _seen(asked: asyncio.Task[Frontier]) -> None:
    """An answer that nobody waits for any more is not worth a line in the log."""
    if not asked.cancelled():
        asked.exception()


@dataclass(slots=True)
class _Wait:
    """What one read waits for, by source."""

    wanted: dict[str, list[Frontier]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    asking: set[str] = field(default_factory=set)  # upstreams that have not answered yet
    trouble: dict[str, TransientError | UserError] = field(default_factory=dict)  # why not
    looked: dict[str, int] = field(default_factory=dict)  # at which upper where it stands was looked at
    reached: dict[str, int] = field(default_factory=dict)  # the timestamp from which on it has all of it

    def pending(self) -> list[str]:
        return [id_ for id_ in sorted(self.wanted) if id_ not in self.reached]


class Recency:
    """Waits for positions."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._threads = ThreadPoolExecutor(RECENCY_QUESTIONS_CONCURRENT_MAX, thread_name_prefix="recency")
        self._questions = SharedQuestions(self._position)

    def close(self) -> None:
        self._questions.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _position(self, source_id: str) -> Frontier:
        state, now_ms = self._coordinator.catalog.state, self._coordinator.clock.now_ms()
        source = state.items.get(source_id)
        if source is None:
            raise TransientError("the source has been dropped")
        type_, options = _type(source), full_options(state, source.ingestion.options)
        loop, secrets = asyncio.get_running_loop(), self._coordinator.secrets.get
        return await loop.run_in_executor(self._threads, type_.position, options, secrets, now_ms)

    async def wait(
        self, inputs: Inputs, recent: bool, positions: Mapping[str, Frontier], timeout_s: float
    ) -> int:
        """The timestamp from which on the sources of these inputs have what their upstreams have now, if it
        is to be `recent`, and all sources have what lies before these positions."""
        wait = _Wait({id_: [position] for id_, position in positions.items()})
        wait.asking = {item.source_id or item.id for item in inputs.moving()} if recent else set()
        for id_ in wait.asking:
            wait.wanted.setdefault(id_, [])
        if not wait.wanted:
            return 0
        self._check_errors(inputs)
        state = self._coordinator.catalog.state
        for id_ in wait.wanted:
            wait.names[id_] = (
                self._coordinator.full_name(state.named_source(id_)) if id_ in state.items else id_
            )
        try:
            async with asyncio.timeout(timeout_s or None):
                await asyncio.gather(*(self._ask(wait, id_) for id_ in wait.asking))
                await self._coordinator.controller.wait_for(lambda: self._arrived(wait, inputs))
        except TimeoutError:
            raise self._late(wait, recent) from None
        self._check_errors(inputs)
        for id_ in wait.pending():  # and yet there is nothing left to wait for
            raise RelationDropped(
                f'"{wait.names[id_]}" dropped before ingesting data to the real-time recency point', "42704"
            )
        return max(wait.reached.values())

    async def _ask(self, wait: _Wait, id_: str) -> None:
        while id_ in self._coordinator.catalog.state.items:
            try:
                wait.wanted[id_].append(await self._questions.answer(id_))
                break
            except (TransientError, UserError) as error:
                wait.trouble[id_] = error
            await asyncio.sleep(RECENCY_RETRY_S)
        wait.asking.discard(id_)

    def _arrived(self, wait: _Wait, inputs: Inputs) -> bool:
        """Whether there is nothing left to wait for; looks only at sources that have moved."""
        coordinator, moved = self._coordinator, False
        for id_ in wait.pending():
            source, upper = (
                coordinator.catalog.state.items.get(id_),
                coordinator.controller.uppers.get(id_, 0),
            )
            if source is None:
                return True
            if wait.looked.get(id_) == upper:
                continue
            wait.looked[id_], moved = upper, True
            writer, type_ = coordinator.ledger.writer(id_), _type(source)
            if writer is None or not writer.ts:
                continue
            frontier = type_.frontier_from_json(writer.frontier)
            if all(type_.reached(frontier, position) for position in wait.wanted[id_]):
                wait.reached[id_] = self._first(source, wait.wanted[id_], writer.ts)
        failed = moved and coordinator.reads.stopped(inputs) is not None
        return failed or not wait.pending()

    def _check_errors(self, inputs: Inputs) -> None:
        """A table that has ended will not come any further."""
        error = self._coordinator.reads.stopped(inputs)
        if error is not None:
            raise error

    def _late(self, wait: _Wait, recent: bool) -> UserError:
        """What the wait was for, and why that has not come."""
        what = (
            "timed out before ingesting the source's visible frontier when real-time-recency query issued"
            if recent
            else "timed out before ingesting the source up to the position of AS OF AT LEAST"
        )
        details, hints = [], []
        for id_ in wait.pending():
            detail, hint = self._why(wait, id_)
            details.append(detail)
            hints += [hint] if hint is not None else []
        way_out = "SET real_time_recency_timeout to wait longer" + (
            ", or real_time_recency = off to read what is here." if recent else "."
        )
        return UserError(what, "57014", detail=" ".join(details), hint=" ".join([*hints[:1], way_out]))

    def _why(self, wait: _Wait, id_: str) -> tuple[str, str | None]:
        coordinator = self._coordinator
        state = coordinator.catalog.state
        name = wait.names[id_]
        if id_ not in state.items:
            return f'Source "{name}" has been dropped.', None
        type_ = _type(state.items[id_])
        trouble = wait.trouble.get(id_)
        if id_ in wait.asking:
            reason = "it has not answered" if trouble is None else str(trouble)
            hint = None if trouble is None else trouble.hint
            return f'The upstream of source "{name}" could not be asked how far it is: {reason}.', hint
        writer = coordinator.ledger.writer(id_)
        here = "not been read yet"
        if writer is not None and writer.ts:
            here = f"been read to {type_.frontier_from_json(writer.frontier)}"
        there = " and ".join(str(position) for position in wait.wanted[id_])
        detail, hint = f'Source "{name}" has {here}, and the query waits for {there}.', None
        status = coordinator.controller.health.statuses.get(id_)
        cluster = state.clusters.get(state.items[id_].cluster_id or "")
        if cluster is not None and cluster.replication_factor == 0:
            detail += f' It is paused: cluster "{cluster.name}" has no replicas.'
            hint = f"ALTER CLUSTER {cluster.name} SET (REPLICATION FACTOR 1) lets it go on."
        elif status is not None and status.status != "running":
            detail += f" It is {status.status}" + (f": {status.error}." if status.error else ".")
            hint = status.hint
        return detail, hint

    def _first(self, source: Item, positions: list[Frontier], newest: int) -> int:
        """The first binding that has reached these, as the newest one has.

        Not the newest: inputs of other sources would have to come to that, although nobody asks for it.
        """
        low, high = self._coordinator.ledger.first_binding_ts(source.id), newest
        while low < high:
            middle = (low + high) // 2
            if all(self.shown_at(source, position, middle) for position in positions):
                high = middle
            else:
                low = middle + 1
        return high

    def position_at(self, names: SessionNames, source_name: str, ts: int) -> str | None:
        """How far a source had been read at a timestamp; None where that is not known any more, or yet."""
        parts = split_name(source_name) or (source_name,)
        source = names.state.ingestion_of(names.resolve_item(parts, "source"))
        binding = self._coordinator.ledger.binding_at(source.id, ts)
        if binding is None or self._coordinator.controller.uppers.get(source.id, 0) <= ts:
            return None
        return str(_type(source).frontier_from_json(binding[1]))

    def shown_at(self, source: Item, position: Frontier, ts: int) -> bool:
        """Whether a read at `ts` shows all of a source that lies before a position."""
        binding, type_ = self._coordinator.ledger.binding_at(source.id, ts), _type(source)
        return binding is not None and type_.reached(type_.frontier_from_json(binding[1]), position)


def _type(source: Item) -> SourceType:
    return SOURCE_TYPES[source.ingestion.source_type]

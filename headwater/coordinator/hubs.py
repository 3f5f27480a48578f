"""Hubs: each change of what is subscribed to is computed once and shared among its subscribers.

A hub belongs to one relation (a table, or the text of a query) and goes from
timestamp to timestamp as the inputs progress.  For each it computes the rows that
came and went, once, and puts them into every subscriber's queue.

    table     or some of its columns: from the change files of that timestamp; a keyed table's
              old rows are looked up in the table as of the timestamp before
    query     the result at this timestamp against the result at the one before

A hub begins at the present.  A subscriber first gets the rows as of its own timestamp,
then what has changed until it joined the hub, computed for this subscriber alone, then
the hub's changes.  What waits for it in between is bounded.

Where an input has a definite error nothing is complete any more: a hub goes as far as the
timestamp before it, says so, and ends with the error that a read is given from there on.

Plain tables tick like sources while somebody follows them, with nothing to say: whoever
waits for progress, or for UP TO, need not wait for the next write.

A hub holds its inputs at the timestamp it has reached, so no fold, sweep or drop can
take away what it still has to read.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import structlog

from headwater.coordinator import memory
from headwater.coordinator.memory import Account
from headwater.coordinator.read import Inputs, PreparedRead
from headwater.coordinator.value_errors import BadRow
from headwater.core.change import FileEntry
from headwater.core.errors import TransientError, UserError
from headwater.core.limits import (
    SUBSCRIBE_QUEUE_BATCHES_MAX,
    SUBSCRIBE_QUEUE_BYTES_MAX,
    SUBSCRIBE_RESULT_BYTES_MAX,
    TICK_INTERVAL_MS_DEFAULT,
)
from headwater.core.quoting import quoted
from headwater.core.relation import Column, Relation
from headwater.core.time import TIMESTAMP_END, interval_left, interval_start
from headwater.core.types import FLOATS
from headwater.formats.arrow import state_schema
from headwater.persist.signed import DIFF, signed_sql
from headwater.sql.select import ambiguous, picked_columns
from headwater.sql.select.plan.nodes import Query

if TYPE_CHECKING:
    from headwater.coordinator.coordinator import Coordinator

log = structlog.get_logger("subscribe")


@dataclass(frozen=True, slots=True)
class Changes:
    """Rows that came (+n) and went (-n) at `ts`; the last column is the count."""

    ts: int
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Progress:
    """Everything below `upper` has been said."""

    upper: int


@dataclass(frozen=True, slots=True)
class Switched:
    """The hub says no more to this one, which is to follow something else; it has said all up to `told`."""

    told: int


Event = Changes | Progress | Switched | UserError


@dataclass(eq=False, slots=True)
class Subscriber:
    """One client's place at a hub."""

    relation: str  # what it follows, for errors
    after: int
    joined_at: int  # what the hub had reached by then
    behind: bool = False  # more has waited for it than may; all of that is gone
    _events: deque[Event] = field(default_factory=deque)
    _account: Account | None = field(default_factory=memory.limited)  # whose memory they take
    _bytes: int = 0  # of changes among them
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def begin_with(self, event: Event) -> None:
        """Say this before anything the hub has said since."""
        self._events.appendleft(event)
        self._arrived.set()

    async def next(self) -> Event:
        """The next event; whoever is cancelled meanwhile has taken none."""
        while not self._events:
            self._arrived.clear()
            await self._arrived.wait()
        event = self._events.popleft()
        self._count(-_size(event))
        return event

    def _count(self, size: int) -> None:
        """So many bytes more, or fewer, wait."""
        if self._account is not None:
            self._account.keep(self, self._bytes + size)
        self._bytes += size

    def drop(self) -> None:
        """Nobody takes what waits."""
        self._events.clear()
        self._count(-self._bytes)

    def offer(self, event: Event) -> None:
        """Take an event unless it is before this subscriber's time; never waits."""
        if self.behind or (isinstance(event, Changes) and event.ts <= self.after):
            return
        waiting, size = self._events, _size(event)
        if isinstance(event, UserError | Switched):
            waiting.append(event)  # the last word, however much waits before it
        elif isinstance(event, Progress) and waiting and isinstance(waiting[-1], Progress):
            waiting[-1] = event  # says all that the former says: nobody falls behind where nothing changes
        elif len(waiting) >= SUBSCRIBE_QUEUE_BATCHES_MAX or (
            size and self._bytes and self._bytes + size > SUBSCRIBE_QUEUE_BYTES_MAX
        ):
            self._fall_behind(fell_behind(self.relation))
        else:
            try:
                self._count(size)
                waiting.append(event)
            except UserError as error:
                self._fall_behind(error)
        self._arrived.set()

    def _fall_behind(self, error: UserError) -> None:
        self.behind = True
        self.drop()
        self._events.append(error)


def _size(event: Event) -> int:
    return event.rows.nbytes if isinstance(event, Changes) else 0


def fell_behind(relation: str) -> UserError:
    """For a client that is slower than what it follows."""
    return UserError(
        "subscribe fell behind its input",
        "53200",
        detail=f"Changes of {relation} in more than {SUBSCRIBE_QUEUE_BATCHES_MAX} ticks, or of more than"
        f" {SUBSCRIBE_QUEUE_BYTES_MAX >> 20} MiB, were waiting for the client.",
        hint="Read faster, or subscribe to less. With t the last progress that came after the first rows,"
        " WITH (PROGRESS, SNAPSHOT = false) AS OF t - 1 goes on from there, as far as RETAIN HISTORY"
        " reaches.",
    )


def netted(signed: str, names: list[str], columns: tuple[Column, ...]) -> str:
    """The net of signed rows, of those that are the same: 0 and -0 are equal, and two values."""
    listed, diff = ", ".join(names), f"sum({DIFF})::BIGINT"
    keys = [listed] if listed else []
    for name, column in zip(names, columns, strict=True):
        if column.type.kind in FLOATS:
            keys.append(f"({name} = 0 AND signbit({name}))")
        elif ambiguous(column.type) and (column.type.element is not None or column.type.fields):
            keys.append(f"CAST({name} AS VARCHAR)")
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {', '.join((*names, diff))} AS {DIFF} FROM ({signed}){by} HAVING {diff} <> 0"


def diff_schema(query: Query) -> pa.Schema:
    """The query's columns and the count."""
    return state_schema(Relation(query.columns())).append(pa.field(DIFF, pa.int64()))


class Hub:
    """Changes of one relation, computed once."""

    def __init__(self, coordinator: Coordinator, query: Query, inputs: Inputs, after: int) -> None:
        self._coordinator = coordinator
        self.query = query
        self._inputs = inputs
        self._plain = any(table.source_id is None for table in inputs.tables)
        self.reached = max(after, self._present())
        self._hold = coordinator.holds.acquire(inputs.ids(), self.reached)
        self._last: pa.Table | None = None  # a query's result at `reached`
        self._account = memory.limited()  # whose memory results take
        self._single = self._single_table()
        self.ended = False  # nothing more will be said; who comes now needs another hub
        self.subscribers: set[Subscriber] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="subscribe-hub")

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._hold.release()
        if self._account is not None:
            self._account.keep(self, 0)

    def _upper(self) -> int:
        reads = self._coordinator.reads
        moving = [reads.upper(item) for item in (*self._inputs.tables, *self._inputs.sources)]
        bounded = [upper for upper in moving if upper != TIMESTAMP_END]
        if bounded:
            return min(bounded)
        return self._coordinator.oracle.closed + 1 if self._plain else TIMESTAMP_END

    def name(self) -> str:
        """The relations under it, as a user writes them."""
        items = (*self._inputs.tables, *self._inputs.sources)
        return ", ".join(f'"{self._coordinator.full_name(item)}"' for item in items)

    def _present(self) -> int:
        """The newest timestamp at which something can be read."""
        reads, upper = self._coordinator.reads, self._upper()
        newest = upper - 1
        if upper == TIMESTAMP_END:
            ends = (reads.end(item) for item in (*self._inputs.tables, *self._inputs.sources))
            newest = max(ends, default=0)
        return reads.last_readable(self._inputs, newest)

    def _gone(self) -> str | None:
        for item in (*self._inputs.tables, *self._inputs.sources):
            if item.id not in self._coordinator.catalog.state.items:
                return self._coordinator.full_name(item)
        return None

    async def _news(self) -> None:
        """Until the inputs have progressed, or one of them has gone."""
        clock, interval_ms = self._coordinator.clock, TICK_INTERVAL_MS_DEFAULT

        def there() -> bool:
            return self._upper() > self.reached + 1 or self._gone() is not None

        while not there():
            now_ms = clock.now_ms()
            left_s = interval_left(interval_start(now_ms, interval_ms), interval_ms, now_ms) / 1000
            try:
                async with asyncio.timeout(left_s if self._plain else None):
                    await self._coordinator.controller.wait_for(there)
            except TimeoutError:
                # The interval's beginning, which is the same for all hubs and the time of the sources' ticks.
                self._coordinator.oracle.close(interval_start(clock.now_ms(), interval_ms))

    async def _run(self) -> None:
        try:
            while True:
                await self._news()
                gone = self._gone()
                if gone is not None:
                    raise UserError(
                        f'query could not complete because relation "{gone}" was dropped', "42704"
                    )
                upper = self._upper()
                failure = self._coordinator.reads.failure(self._inputs, self.reached, upper - 1)
                if failure is not None:
                    upper = failure.ts
                until = upper - 1
                async for changes in self.between(self.reached, until, own=True):
                    self.reached = changes.ts  # who joins now has missed this one
                    self._publish(changes)
                if until >= self.reached:  # not so where an error comes before a timestamp of the future
                    self.reached = min(until, TIMESTAMP_END - 1)
                    self._hold.downgrade(self.reached)
                    self._publish(Progress(upper))
                if failure is not None:
                    raise failure.error
                if upper == TIMESTAMP_END:
                    return
        except UserError as error:
            if isinstance(error, BadRow):
                self._publish(Progress(error.ts))
            self._publish(error)
        except TransientError as error:
            self._publish(UserError(str(error), "58030", hint=error.hint))
        except Exception as error:
            # Whatever it is, those who wait are told.
            log.exception("subscription failed", relation=sorted(self._inputs.ids()))
            self._publish(UserError(f"internal: {error!r}", "XX000", hint="The server's log says more."))
        finally:
            self.ended = True

    def _publish(self, event: Event) -> None:
        for subscriber in self.subscribers:
            subscriber.offer(event)

    async def between(self, after: int, until: int, own: bool = False) -> AsyncIterator[Changes]:
        """The changes of every timestamp in (after, until], oldest first, consolidated.

        `own`: for the hub itself, which remembers a query's last result; who catches up has
        another last result.
        """
        if self._plain and until < TIMESTAMP_END - 1:
            self._coordinator.oracle.close(until)
            await self._coordinator.tables.settled(until)
        last = self._last if own else None
        stamps = self._stamps(after, until)
        previous = after
        for ts in sorted(stamps):
            if any(file.flawed for file in stamps[ts]):
                await self._check_values(ts)
            if self._single is not None:
                rows = await self._table_changes(*self._single, stamps[ts], previous)
            else:
                rows, last = await self._query_changes(previous, ts, last)
                if own:
                    self._last = last
                    if self._account is not None:
                        self._account.keep(self, last.nbytes)
            previous = ts
            if rows.num_rows:
                yield Changes(ts, rows)

    async def _check_values(self, ts: int) -> None:
        """BadRow, with the timestamp, if a table has values that could not be stored."""
        hold = self._coordinator.holds.acquire(self._inputs.ids(), ts)
        try:
            await self._coordinator.value_errors.check_at(self._inputs.tables, ts)
        except BadRow as error:
            error.ts = ts
            raise
        finally:
            hold.release()

    def _single_table(self) -> tuple[str, tuple[str, ...]] | None:
        """The collection and its columns when the relation is a table and nothing else."""
        picked = picked_columns(self.query)
        if picked is None or len(self._inputs.tables) != 1 or self._inputs.sources or self._inputs.system:
            return None
        table = self._inputs.tables[0]
        return (table.collection_id, picked[1]) if table.id == picked[0] else None

    def _stamps(self, after: int, until: int) -> dict[int, list[FileEntry]]:
        """Timestamps at which any input changed; with the files of tables."""
        stamps: dict[int, list[FileEntry]] = {}
        ledger = self._coordinator.ledger
        for table in self._inputs.tables:
            for file in ledger.change_files(table.collection_id, after, until):
                stamps.setdefault(file.ts, []).append(file)
        for source in self._inputs.sources:
            for ts, _ in ledger.bindings(source.id, after, until):
                stamps.setdefault(ts, [])
        return stamps

    async def _table_changes(
        self, table_id: str, picked: tuple[str, ...], files: list[FileEntry], before: int
    ) -> pa.Table:
        ledger, store = self._coordinator.ledger, self._coordinator.store
        hold = self._coordinator.holds.acquire([table_id], before)
        try:
            then = ledger.read_plan(table_id, before)
            hold.uses(table_id, then.state_as_of)
            now = ledger.read_plan(table_id, max(file.ts for file in files))
            hold.uses(table_id, now.state_as_of)
            signed = signed_sql(then, now, files, store)
            return await self._consolidated(signed, picked, [*files, *then.state, *then.tail])
        finally:
            hold.release()

    async def _consolidated(self, signed: str, picked: tuple[str, ...], files: list[FileEntry]) -> pa.Table:
        """The net of these columns of signed rows that were read from these files."""
        names = [f"c{i}" for i in range(len(picked))]
        listed = [f"{quoted(column)} AS {name}" for column, name in zip(picked, names, strict=True)]
        signed = f"SELECT {', '.join((*listed, DIFF))} FROM ({signed})"
        sql = netted(signed, names, self.query.columns())
        try:
            return await self._coordinator.engine.table(sql, diff_schema(self.query), {})
        except UserError as error:
            self._coordinator.reads.check_damage(files, error)
            raise

    async def _query_changes(self, before: int, ts: int, last: pa.Table | None) -> tuple[pa.Table, pa.Table]:
        """What changed from one timestamp to the next, and the result at the next."""
        if last is None:
            last = await self.result_at(before)
        current = await self.result_at(ts)
        schema = diff_schema(self.query)
        names = [f"c{i}" for i in range(len(schema) - 1)]
        signed = " UNION ALL ".join(
            f"SELECT {', '.join((*names, sign))} AS {DIFF} FROM {table}"
            for sign, table in (("1", "hw_now"), ("-1", "hw_before"))
        )
        sql = netted(signed, names, self.query.columns())
        tables = {"hw_now": current.rename_columns(names), "hw_before": last.rename_columns(names)}
        return await self._coordinator.engine.table(sql, schema, tables), current

    async def result_at(self, ts: int) -> pa.Table:
        """The query's rows at a timestamp that the hub holds."""
        hold = self._coordinator.holds.acquire(self._inputs.ids(), ts)
        try:
            plans = {
                table.id: self._coordinator.ledger.read_plan(table.collection_id, ts)
                for table in self._inputs.tables
            }
            for plan in plans.values():
                hold.uses(plan.collection_id, plan.state_as_of)
            read = PreparedRead(self.query, self._inputs, ts, hold, self._coordinator.system_facts, plans)
            batches, size = [], 0
            async for batch in self._coordinator.reads.run(read, "auto"):
                batches.append(batch)
                size += batch.nbytes
                if self._account is not None and size > self._account.left_bytes:
                    raise self._account.exceeded()
                if size > SUBSCRIBE_RESULT_BYTES_MAX:
                    raise UserError(
                        f"the result of the query over {self.name()} is too large to be followed",
                        "53200",
                        detail="Its changes are found by comparing results, which have more than"
                        f" {SUBSCRIBE_RESULT_BYTES_MAX >> 20} MiB.",
                        hint="SUBSCRIBE to a whole table, which has no such limit, or to fewer rows.",
                    )
        finally:
            hold.release()
        return pa.Table.from_batches(batches, state_schema(Relation(self.query.columns())))


class Hubs:
    """Finds or makes the hub of a relation; a hub lives while it has subscribers."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._hubs: dict[tuple[object, ...], Hub] = {}

    def join(self, query: Query, inputs: Inputs, after: int) -> tuple[Hub, Subscriber]:
        """A subscriber for changes after `after`, at a hub that may already be beyond it.

        Roles whose memory is limited have hubs of their own, which take theirs.
        """
        key = (query.root, tuple(sorted(inputs.ids())), memory.limited())
        hub = self._hubs.get(key)
        if hub is None or hub.ended:
            hub = Hub(self._coordinator, query, inputs, after)
            self._hubs[key] = hub
            outside = memory.current.set(memory.limited())  # what may be several roles' is nobody's
            hub.start()
            memory.current.reset(outside)
        subscriber = Subscriber(hub.name(), after, hub.reached)
        hub.subscribers.add(subscriber)
        return hub, subscriber

    def leave(self, hub: Hub, subscriber: Subscriber) -> None:
        """The last one out ends the hub; what waits for the subscriber may still be taken."""
        hub.subscribers.discard(subscriber)
        if not hub.subscribers:
            hub.stop()
            self._hubs = {key: kept for key, kept in self._hubs.items() if kept is not hub}

"""One subscription's way from the hub to the client.

    the rows at its timestamp
    what has changed until it joined the hub, which it finds for itself
    what the hub says
    ... until what it reads by name is something else (`switching.py`): then the rest of what it followed,
    the difference at one timestamp, and so on with another hub

Columns of the result:

    mz_timestamp | [mz_progressed] | mz_diff | columns
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from headwater.catalog.builtin.facts import SubscriptionRow
from headwater.coordinator.hubs import Changes, Hub, Progress, Subscriber, Switched, fell_behind
from headwater.coordinator.read import Inputs
from headwater.coordinator.switching import Followed, Switch, Turn, beginning, difference
from headwater.coordinator.timestamps import Hold
from headwater.core.errors import UserError
from headwater.core.relation import Column, Relation
from headwater.core.time import TIMESTAMP_END
from headwater.core.types import BOOL, INT8, numeric
from headwater.formats.arrow import state_schema
from headwater.observe import metrics
from headwater.sql.select.plan.nodes import Query
from headwater.sql.statements.subscribe import Subscribe

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession

_TIMESTAMP = numeric(0)


def columns_of(query: Query, progress: bool) -> tuple[Column, ...]:
    """What a client gets of a subscribed query."""
    progressed = (Column("mz_progressed", BOOL),) if progress else ()
    return (Column("mz_timestamp", _TIMESTAMP), *progressed, Column("mz_diff", INT8), *query.columns())


@dataclass(eq=False)
class Feed:
    """Belongs to the coordinator's event loop; told of every change of the catalog while it is open."""

    session: SqlSession
    statement: Subscribe
    follows: Followed
    as_of: int
    up_to: int | None
    kept: Hold  # of what it follows, until the hub has it
    place: tuple[Hub, Subscriber] | None = None
    open: bool = True
    reached: int = field(init=False)  # all up to here has been given to the client
    said: int = field(init=False)  # the last progress
    number: int = field(init=False)
    began_ms: int = field(init=False)
    latest: Followed = field(init=False)  # what it will follow when it has come to the end of `_switches`
    _denied: UserError | None = None  # it may not read this any more
    _over: bool = False  # UP TO was reached, or there is nothing more
    _left: Hub | None = None  # of which it still needs the rest
    _switches: deque[Switch] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.reached = self.said = self.as_of
        self.latest = self.follows
        coordinator = self.session.coordinator
        self.number, self.began_ms = next(coordinator.subscription_numbers), coordinator.clock.now_ms()

    @property
    def inputs(self) -> Inputs:
        return self.follows.inputs

    def shown(self) -> SubscriptionRow:
        """What mz_subscriptions has of it."""
        cluster = self.session.coordinator.catalog.state.cluster_named(self.session.settings.get("cluster"))
        inputs = self.inputs
        ids = [*(item.id for item in (*inputs.tables, *inputs.sources)), *inputs.system]
        return SubscriptionRow(
            f"{self.session.session_id}-{self.number}",
            self.session.session_id,
            "" if cluster is None else cluster.id,
            self.began_ms,
            tuple(sorted(ids)),
        )

    def close(self) -> None:
        if self.open:
            self.open = False
            self.kept.release()
            for switch in self._switches:
                switch.release()
            coordinator = self.session.coordinator
            if self.place is not None:
                coordinator.hubs.leave(*self.place)
                self.place[1].drop()
            coordinator.subscriptions.pop(id(self), None)
            metrics.subscription_closed()

    # Following

    async def batches(self, snapshot: AsyncIterator[pa.RecordBatch] | None) -> AsyncIterator[pa.RecordBatch]:
        async for batch in self._batches(snapshot):
            if self._denied is not None:
                raise self._denied
            yield batch

    async def _batches(self, snapshot: AsyncIterator[pa.RecordBatch] | None) -> AsyncIterator[pa.RecordBatch]:
        try:
            if self.up_to is not None and self.as_of >= self.up_to:
                return
            if self.statement.progress:
                yield self._progress(self.as_of)
            if snapshot is not None:
                async for batch in snapshot:
                    if batch.num_rows:
                        yield self._rows(self.as_of, pa.Table.from_batches([batch]))
            while not self._over:
                async for batch in self._one():
                    yield batch
                if not self._over:
                    async for batch in self._cross():
                        yield batch
        finally:
            self.close()

    async def _one(self) -> AsyncIterator[pa.RecordBatch]:
        """What it follows, until that is over or a switch is to come."""
        distance: int = TIMESTAMP_END
        while not self._switches:
            hub, subscriber = self._join()
            before, distance = distance, subscriber.joined_at - self.reached
            async for batch in self._rest(hub, subscriber.joined_at):
                yield batch
            if self._over or (subscriber.behind and self._switches):
                return
            if not subscriber.behind:
                if not self._switches:
                    self.kept.release()
                try:
                    async for batch in self._follow(subscriber, max(self.as_of, subscriber.joined_at + 1)):
                        yield batch
                finally:
                    subscriber.drop()
                return
            # More has come meanwhile than may wait.  That is well as long as the client comes nearer.
            if distance >= before:
                raise fell_behind(hub.name())
            self.kept.downgrade(self.reached)

    def _join(self) -> tuple[Hub, Subscriber]:
        """Join the hub where it is now; changes before that are ours to find."""
        hubs, before = self.session.coordinator.hubs, self.place
        self.place = hubs.join(self.follows.query, self.inputs, self.reached)
        if before is not None:
            hubs.leave(*before)
            before[1].drop()
        return self.place

    async def _rest(self, hub: Hub, until: int) -> AsyncIterator[pa.RecordBatch]:
        """The changes up to `until`, found by this subscription alone; what is beyond UP TO is not read."""
        last = until if self.up_to is None else min(until, self.up_to - 1)
        async for changes in hub.between(self.reached, last):
            yield self._rows(changes.ts, changes.rows)
        self.reached = max(self.reached, last)
        if last < until:
            for batch in self._last_progress():
                yield batch

    async def _follow(self, subscriber: Subscriber, caught_up: int) -> AsyncIterator[pa.RecordBatch]:
        """What the hub says from now on; below `caught_up` everything has been said."""
        # An input that rests says nothing for a long time, so this is not left to the hub's next word.
        subscriber.begin_with(Progress(caught_up))
        while True:
            match await subscriber.next():
                case UserError() as error:
                    raise error
                case Switched(told):
                    self.reached = told
                    return
                case Changes(ts, rows):
                    if self._beyond(ts):
                        for batch in self._last_progress():
                            yield batch
                        return
                    yield self._rows(ts, rows)
                case Progress(upper):
                    for batch in self._progressed(upper):
                        yield batch
                    if upper == TIMESTAMP_END or self._beyond(upper):
                        self._over = True
                        return

    def _beyond(self, ts: int) -> bool:
        return self.up_to is not None and ts >= self.up_to

    def _progressed(self, upper: int) -> Iterator[pa.RecordBatch]:
        """All below this has been said."""
        if self.statement.progress and self.said < upper < TIMESTAMP_END:
            self.said = upper if self.up_to is None else min(upper, self.up_to)
            yield self._progress(self.said)

    def _last_progress(self) -> Iterator[pa.RecordBatch]:
        """All before UP TO has been said, and nothing else is wanted."""
        self._over = True
        if self.statement.progress and self.up_to is not None:
            yield self._progress(self.up_to)

    # Something else to follow

    def changed(self, turn: Turn) -> None:
        """The catalog has changed: what is read by name may be something else from a timestamp on."""
        if not turn.concerns(self.latest):
            return
        self.latest, switch = turn.next(self.latest)
        if switch is None:
            return
        self._switches.append(switch)
        if self.place is not None:
            # The hub goes on for others, or ends; the rest up to the switch is ours to find.
            hub, subscriber = self.place
            if self.kept.released:
                self.kept = self.session.coordinator.holds.acquire(self.inputs.ids(), hub.reached)
            subscriber.offer(Switched(hub.reached))
            self.session.coordinator.hubs.leave(hub, subscriber)
            self.place, self._left = None, hub

    def check_rights(self) -> None:
        """Who may not read any more what is followed gets nothing more of it."""
        if self._denied is not None:
            return
        try:
            self.session.allow(self.latest.query)
        except UserError as error:
            hint = "The subscription has ended, because the right to read was taken away."
            self._denied = UserError(error.message, error.sqlstate, detail=error.detail, hint=hint)
            if self.place is not None:
                self.place[1].offer(self._denied)

    async def _cross(self) -> AsyncIterator[pa.RecordBatch]:
        """The rest of what it has followed, and the difference to the next."""
        async for batch in self._ending():
            yield batch
        if self._over:
            return
        switch, at = await self._arrival()
        try:
            if self._beyond(at):
                for batch in self._last_progress():
                    yield batch
                return
            to = await self._readable(switch, at)
            old, new = (self.follows, self.reached), (to, at)
            rows = await difference(
                self.session.coordinator, *((one.query, one.inputs, ts) for one, ts in (old, new))
            )
            self.kept.release()
            self.kept, switch.hold = switch.hold or self.kept, None
            self.follows, self.reached = to, at
        finally:
            switch.release()
        if rows.num_rows:
            yield self._rows(at, rows)

    async def _ending(self) -> AsyncIterator[pa.RecordBatch]:
        """What is still to be told of what it has followed, as far as that goes."""
        switch, coordinator, hub = self._switches[0], self.session.coordinator, self._left
        own = None if hub is not None else Hub(coordinator, self.follows.query, self.inputs, self.reached)
        try:
            async for batch in self._rest(hub or own, switch.ended):  # type: ignore[arg-type]
                yield batch
        finally:
            self._left = None
            if own is not None:
                own.stop()
        if self._over:
            return
        for batch in self._last_progress() if self._beyond(switch.at) else self._progressed(switch.at):
            yield batch

    async def _arrival(self) -> tuple[Switch, int]:
        """The next that it can follow, and the timestamp from which on it does."""
        while True:
            switch = self._switches[0]
            await self.session.coordinator.controller.wait_for(
                lambda: self._denied is not None or self._overtaken() or self._ready()
            )
            if self._denied is not None:
                raise self._denied
            if self._overtaken():
                self._switches.popleft().release()
                continue
            self._switches.popleft()
            return switch, self._beginning(switch) or switch.at

    def _beginning(self, switch: Switch) -> int | None:
        if isinstance(switch.to, UserError):
            return switch.at
        return beginning(self.session.coordinator, switch.to.inputs, switch.at)

    def _ready(self) -> bool:
        return self._beginning(self._switches[0]) is not None

    def _overtaken(self) -> bool:
        """Whether the next one was over before it could be read."""
        if len(self._switches) < 2:
            return False
        switch = self._switches[0]
        return self._switches[1].ended < (self._beginning(switch) or switch.at)

    async def _readable(self, switch: Switch, at: int) -> Followed:
        if isinstance(switch.to, UserError):
            raise switch.to
        coordinator, inputs = self.session.coordinator, switch.to.inputs
        await coordinator.reads.wait_readable(inputs)
        await coordinator.reads.wait_passed(inputs, at)
        if inputs.plain():
            coordinator.oracle.close(at)
            await coordinator.tables.settled(at)
        failure = coordinator.reads.failure(inputs, at - 1, at)
        if failure is not None:
            raise failure.error
        await coordinator.value_errors.check_at(inputs.tables, at)
        return switch.to

    # What the client is given

    def _rows(self, ts: int, rows: pa.Table) -> pa.RecordBatch:
        count = rows.num_rows
        if len(pc.unique(rows.column("_diff"))) > 1:  # sorting copies the rows, which may be wide
            rows = rows.take(pc.sort_indices(rows, [("_diff", "ascending")]))
        columns = [pa.repeat(pa.scalar(Decimal(ts), pa.decimal128(38, 0)), count)]
        if self.statement.progress:
            columns.append(pa.repeat(pa.scalar(False), count))
        columns += [rows.column("_diff"), *rows.columns[:-1]]
        return self._batch(columns)

    def _progress(self, ts: int) -> pa.RecordBatch:
        schema = state_schema(Relation(columns_of(self.follows.query, True)))
        columns = [pa.array([Decimal(ts)], pa.decimal128(38, 0)), pa.array([True])]
        columns += [pa.nulls(1, field.type) for field in list(schema)[2:]]
        return self._batch(columns)

    def _batch(self, columns: list[pa.Array]) -> pa.RecordBatch:
        schema = state_schema(Relation(columns_of(self.follows.query, self.statement.progress)))
        arrays = [_whole(column).cast(field.type) for column, field in zip(columns, schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One array; what is in one piece is not copied."""
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()

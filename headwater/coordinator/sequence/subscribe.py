"""SUBSCRIBE: a relation's changes, as they happen.

mz_timestamp | [mz_progressed] | mz_diff | columns          plain
mz_timestamp | [mz_progressed] | mz_state | key | values    ENVELOPE UPSERT
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from headwater.coordinator import queries
from headwater.coordinator.api import ParsedStatement, Prepared, Result
from headwater.coordinator.read import Inputs
from headwater.coordinator.subscribe import DIFF, Changes, Hub, Progress, Subscriber, fell_behind
from headwater.coordinator.timestamps import Hold
from headwater.core.errors import UserError, not_supported
from headwater.core.relation import Column, Relation
from headwater.core.time import TIMESTAMP_END
from headwater.core.types import BOOL, INT8, SqlType, numeric
from headwater.formats.arrow import state_schema
from headwater.observe import metrics
from headwater.sql.cursor import Name
from headwater.sql.select import bind_parameters, count_rows, plan_query, total_order
from headwater.sql.select.plan import Query
from headwater.sql.statements.subscribe import Subscribe

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession

_TIMESTAMP = numeric(0)


def _plan(session: SqlSession, statement: Subscribe, parameter_types: tuple[SqlType | None, ...]) -> Query:
    names = session.names()
    if isinstance(statement.target, Name):
        item = names.find_item(statement.target.parts)
        if item is not None and item.kind in ("secret", "connection"):
            full = names.full_name(item)
            raise UserError(f"'{full}' cannot be subscribed to because it is a {item.kind}")
        try:
            query = plan_query(f"SELECT * FROM {statement.target}", names, session.facts())
        except UserError as error:
            error.position = statement.target.position
            raise
    else:
        text, offset = statement.target.text, statement.target.offset
        query = plan_query(text, names, session.facts(), parameter_types, offset)
    if query.uses_mz_now:
        raise not_supported("SUBSCRIBE to a query with mz_now()")
    if statement.output is not None:
        raise not_supported("ENVELOPE and WITHIN TIMESTAMP in SUBSCRIBE")
    return query


def describe(
    session: SqlSession, parsed: ParsedStatement, parameter_types: tuple[SqlType | None, ...]
) -> Prepared:
    """Parameters and columns."""
    statement = parsed.statement
    if not isinstance(statement, Subscribe):
        raise UserError("SUBSCRIBE needs a relation", "42601")
    query = _plan(session, statement, parameter_types)
    return Prepared(parsed, query.parameters, _columns(query, statement.progress), query)


def _columns(query: Query, progress: bool) -> tuple[Column, ...]:
    progressed = (Column("mz_progressed", BOOL),) if progress else ()
    return (Column("mz_timestamp", _TIMESTAMP), *progressed, Column("mz_diff", INT8), *query.columns())


async def run(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Rows as of a timestamp, then the changes after it."""
    statement = prepared.parsed.statement
    if not isinstance(statement, Subscribe):
        raise UserError("SUBSCRIBE needs a relation", "42601")
    # What is compared with itself at another time, from other files, must leave nothing to chance.
    query = total_order(bind_parameters(_plan(session, statement, prepared.parameters), arguments))
    session.enter("subscribe")
    up_to = None
    if statement.up_to is not None:
        up_to = queries.timestamp(session, statement.up_to.text, statement.up_to.offset)
    as_of = statement.as_of
    moment = None
    if as_of is not None:
        moment = queries.timestamp(session, as_of.expression.text, as_of.expression.offset)
        if up_to is not None and moment > up_to and not as_of.at_least:
            raise UserError(
                "subscription lower bound (`AS OF`) is greater than its upper bound (`UP TO`):"
                f" {moment} > {up_to}",
                "22000",
            )
    world = session.world
    read = await world.reads.prepare(
        query,
        session.state,
        session.isolation,
        moment,
        as_of.at_least if as_of is not None else False,
        facts=session.system_facts,
    )
    if session.transaction is not None:
        session.transaction.saw(read.seen())
    # The read lets go of its files at its end; what comes between it and the hub is needed longer.
    kept = world.holds.acquire(read.inputs.ids(), read.ts)
    feed = _Feed(session, statement, query, read.inputs, read.ts, up_to, kept)
    read.query = count_rows(query, DIFF)
    snapshot = queries.run_read(session, read) if statement.snapshot else None
    result = Result(lambda rows: f"SUBSCRIBE {rows}", prepared.columns, feed.batches(snapshot))

    def closed() -> None:
        read.close()
        feed.close()

    result.closed = closed
    world.subscriptions[id(feed)] = (session, frozenset(read.inputs.ids()))
    metrics.subscription_opened()
    return result


@dataclass(eq=False)
class _Feed:
    """One subscription's way from the hub to the client."""

    session: SqlSession
    statement: Subscribe
    query: Query
    inputs: Inputs
    as_of: int
    up_to: int | None
    kept: Hold  # until it follows the hub
    place: tuple[Hub, Subscriber] | None = None
    open: bool = True

    def close(self) -> None:
        if self.open:
            self.open = False
            self.kept.release()
            world = self.session.world
            if self.place is not None:
                world.hubs.leave(*self.place)
            world.subscriptions.pop(id(self), None)
            metrics.subscription_closed()

    def _join(self, after: int) -> tuple[Hub, Subscriber]:
        """Join the hub where it is now; changes after `after` and before that are ours to find."""
        hubs, before = self.session.world.hubs, self.place
        self.place = hubs.join(self.query, self.inputs, after)
        if before is not None:
            hubs.leave(*before)
        return self.place

    async def batches(self, snapshot: AsyncIterator[pa.RecordBatch] | None) -> AsyncIterator[pa.RecordBatch]:
        try:
            if self.up_to is not None and self.as_of >= self.up_to:
                return
            if self.statement.progress:
                yield self._progress(self.as_of)
            if snapshot is not None:
                async for batch in snapshot:
                    if batch.num_rows:
                        yield self._rows(self.as_of, pa.Table.from_batches([batch]))
            reached = self.as_of
            distance: int = TIMESTAMP_END
            while True:
                hub, subscriber = self._join(reached)
                before, distance = distance, subscriber.joined_at - reached
                async for changes in hub.between(reached, subscriber.joined_at):
                    if self._beyond(changes.ts):
                        for batch in self._last_progress():
                            yield batch
                        return
                    yield self._rows(changes.ts, changes.rows)
                reached = max(reached, subscriber.joined_at)
                if not subscriber.behind:
                    break
                # More has come meanwhile than may wait.  That is well as long as the client comes nearer.
                if distance >= before:
                    raise fell_behind(hub.name())
                self.kept.downgrade(reached)
            self.kept.release()
            async for batch in self._follow(subscriber, max(self.as_of, subscriber.joined_at + 1)):
                yield batch
        finally:
            self.close()

    def _beyond(self, ts: int) -> bool:
        return self.up_to is not None and ts >= self.up_to

    async def _follow(self, subscriber: Subscriber, caught_up: int) -> AsyncIterator[pa.RecordBatch]:
        """What the hub says from now on; below `caught_up` everything has been said."""
        said = self.as_of
        # An input that rests says nothing for a long time, so this is not left to the hub's next word.
        subscriber.begin_with(Progress(caught_up))
        while True:
            match await subscriber.next():
                case UserError() as error:
                    raise error
                case Changes(ts, rows):
                    if self._beyond(ts):
                        for batch in self._last_progress():
                            yield batch
                        return
                    yield self._rows(ts, rows)
                case Progress(upper):
                    if self.statement.progress and said < upper < TIMESTAMP_END:
                        said = upper if self.up_to is None else min(upper, self.up_to)
                        yield self._progress(said)
                    if upper == TIMESTAMP_END or self._beyond(upper):
                        return

    def _last_progress(self) -> Iterator[pa.RecordBatch]:
        """At the first change that is not wanted: all before UP TO has been said."""
        if self.statement.progress and self.up_to is not None:
            yield self._progress(self.up_to)

    def _rows(self, ts: int, rows: pa.Table) -> pa.RecordBatch:
        count = rows.num_rows
        order = pc.sort_indices(rows, [("_diff", "ascending")])
        rows = rows.take(order)
        columns = [pa.repeat(pa.scalar(Decimal(ts), pa.decimal128(38, 0)), count)]
        if self.statement.progress:
            columns.append(pa.repeat(pa.scalar(False), count))
        columns += [rows.column("_diff"), *rows.columns[:-1]]
        return self._batch(columns)

    def _progress(self, ts: int) -> pa.RecordBatch:
        schema = state_schema(Relation(_columns(self.query, True)))
        columns = [pa.array([Decimal(ts)], pa.decimal128(38, 0)), pa.array([True])]
        columns += [pa.nulls(1, field.type) for field in list(schema)[2:]]
        return self._batch(columns)

    def _batch(self, columns: list[pa.Array]) -> pa.RecordBatch:
        schema = state_schema(Relation(_columns(self.query, self.statement.progress)))
        arrays = [c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in columns]
        return pa.RecordBatch.from_arrays(
            [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)], schema=schema
        )

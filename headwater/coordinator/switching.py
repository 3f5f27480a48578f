"""Subscriptions go along when what they read by name is swapped or replaced.

    told         what it followed, up to the last timestamp at which anybody can have read that
    `at`         the difference between that and what has the names now, at one timestamp
    from then    what has the names now

A subscription keeps its columns, as a view does (`carrying.py`).  Where it cannot, it ends with an error
at that timestamp; a swap is not refused because somebody follows.

Nothing of the old is needed after the last timestamp that is told of it, so it may be dropped at once: what
was followed is held until the difference is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from headwater.catalog.snapshot import SessionNames
from headwater.catalog.state import CatalogState
from headwater.catalog.updates import Redefine, Update
from headwater.coordinator.carrying import Change, Reader, Target, carried, switches
from headwater.coordinator.hubs import Hub, diff_schema, netted
from headwater.coordinator.read import Inputs, PreparedRead
from headwater.coordinator.timestamps import Hold
from headwater.core.errors import UserError
from headwater.core.time import TIMESTAMP_END
from headwater.persist.signed import DIFF
from headwater.sql.select import bind_parameters, plan_query, same_meaning, total_order
from headwater.sql.select.plan.nodes import Query

if TYPE_CHECKING:
    from headwater.coordinator.coordinator import Coordinator

AGAIN = "SUBSCRIBE again, to what is there now."


@dataclass(frozen=True, slots=True)
class Followed:
    """What a subscription follows: a query, what it reads, and how it is planned."""

    reader: Reader
    arguments: tuple[str | None, ...]
    query: Query
    inputs: Inputs

    def ids(self) -> frozenset[str]:
        """Of all relations that it goes by."""
        return self.query.relation_ids | self.query.view_ids


def followed(
    coordinator: Coordinator, state: CatalogState, reader: Reader, arguments: tuple[str | None, ...]
) -> Followed:
    """Planned for being compared with itself at another time, which leaves nothing to chance."""
    names = SessionNames(state, backend_pid=reader.backend_pid)
    query = plan_query(reader.definition, names, reader.facts, reader.parameter_types)
    query = total_order(bind_parameters(query, arguments))
    return Followed(reader, arguments, query, coordinator.reads.inputs_of(state, query))


@dataclass(eq=False, slots=True)
class Switch:
    """From one thing that is followed to the next."""

    ended: int  # the last timestamp at which the former is told
    at: int  # no timestamp before this has anything of the next
    to: Followed | UserError
    hold: Hold | None = None  # of the next

    def release(self) -> None:
        if self.hold is not None:
            self.hold.release()


@dataclass(frozen=True, slots=True)
class Turn:
    """A change of the catalog, to those who follow."""

    coordinator: Coordinator
    change: Change
    touched: frozenset[str]  # items that are not as they were
    target: Target
    at: int  # 0: nothing has another meaning

    def concerns(self, follows: Followed) -> bool:
        return not self.touched.isdisjoint(follows.ids())

    def next(self, follows: Followed) -> tuple[Followed, Switch | None]:
        """What is followed from now on, and the way there if it is more than other names."""
        try:
            reader = carried(self.change, follows.reader, self.target)
            if not self.at:
                return replace(follows, reader=reader), None
            new = followed(self.coordinator, self.change.after, reader, follows.arguments)
        except UserError as error:
            if not self.at:
                return follows, None  # a drop, which its hub tells
            told = UserError(error.message, error.sqlstate, detail=error.detail, hint=AGAIN)
            return follows, Switch(self._told(follows.inputs), self.at, told)
        if same_meaning(follows.query, new.query, {}):
            return replace(follows, reader=reader), None
        ids, holds = new.inputs.ids(), self.coordinator.holds
        hold = holds.acquire(ids, max([self.at, *map(holds.since, ids)]))
        return new, Switch(self._told(follows.inputs), self.at, new, hold)

    def _told(self, inputs: Inputs) -> int:
        """The last timestamp at which these can have been read."""
        reads = self.coordinator.reads
        uppers = [reads.upper(item) for item in inputs.moving()]
        bounded = [upper for upper in uppers if upper != TIMESTAMP_END]
        if bounded:
            newest = min(bounded) - 1
        else:
            newest = max([reads.end(item) for item in inputs.moving()], default=0)
            newest = max(newest, self.at - 1 if inputs.plain() else 0)
        newest = min(newest, self.at - 1)
        return reads.last_readable(inputs, newest)


def turn(
    coordinator: Coordinator, before: CatalogState, after: CatalogState, changes: Iterable[Update]
) -> Turn:
    """What followers are to make of a change that has been committed."""
    changes = list(changes)
    at = max((update.at for update in changes if isinstance(update, Redefine)), default=0)
    switch = switches(before, changes) if at else {}
    touched = frozenset(id_ for id_, item in before.items.items() if after.items.get(id_) is not item)
    change = Change(before, after, "the subscription cannot go on")
    return Turn(coordinator, change, touched, lambda id_: switch.get(id_, id_), at)


def beginning(coordinator: Coordinator, inputs: Inputs, at: int) -> int | None:
    """The first timestamp from `at` on at which these can be read; None as long as that is not known, or
    they are not there yet."""
    reads, there = coordinator.reads, coordinator.catalog.state.collections()
    moving = inputs.moving()
    if any(item.collection_id not in there for item in moving):
        return at  # whoever reads it is told that it was dropped
    if any(reads.upper(item) == 0 for item in moving):
        return None
    for item in moving:
        reads.start_since(item)
    first = max([at, *(coordinator.holds.since(id_) for id_ in inputs.ids())])
    return first if all(reads.upper(item) > first for item in moving) else None


async def difference(
    coordinator: Coordinator, old: tuple[Query, Inputs, int], new: tuple[Query, Inputs, int]
) -> pa.Table:
    """Rows that came and went between two queries with the same columns, each at its timestamp."""
    query = new[0]
    names = [f"c{i}" for i in range(len(query.output))]
    listed = ", ".join(names) or "1"
    alias = f"t ({', '.join(names)})" if names else "t"
    schema, columns = diff_schema(query), query.columns()
    tables: dict[str, pa.Table] = {}
    reads: list[PreparedRead] = []
    try:
        if any(inputs.sources or inputs.system for _, inputs, _ in (old, new)):
            for name, one in (("hw_now", new), ("hw_before", old)):
                tables[name] = (await _result(coordinator, *one)).rename_columns(names)
            texts = [f"SELECT {listed} FROM hw_now", f"SELECT {listed} FROM hw_before"]
        else:
            # By the engine alone: of large tables that are the same nothing need be kept here.
            reads += (_opened(coordinator, *one) for one in (new, old))
            texts = []
            for read in reads:
                text, tables = await coordinator.reads.duckdb_text(read, tables)
                texts.append(text)
        signed = " UNION ALL ".join(
            f"SELECT {', '.join((*names, str(sign)))} AS {DIFF} FROM ({text}) AS {alias}"
            for text, sign in zip(texts, (1, -1), strict=True)
        )
        return await coordinator.engine.table(netted(signed, names, columns), schema, tables)
    finally:
        for read in reads:
            read.close()


async def _result(coordinator: Coordinator, query: Query, inputs: Inputs, ts: int) -> pa.Table:
    hub = Hub(coordinator, query, inputs, ts)
    try:
        return await hub.result_at(ts)
    finally:
        hub.stop()


def _opened(coordinator: Coordinator, query: Query, inputs: Inputs, ts: int) -> PreparedRead:
    """A read of tables that somebody holds at this timestamp."""
    plans = {table.id: coordinator.ledger.read_plan(table.collection_id, ts) for table in inputs.tables}
    hold = coordinator.holds.acquire(inputs.ids(), ts)
    for plan in plans.values():
        hold.uses(plan.collection_id, plan.state_as_of)
    return PreparedRead(query, inputs, ts, hold, coordinator.system_facts, plans)

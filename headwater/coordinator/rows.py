"""Rows for plain tables: which tables and columns take them, what completes them, when they are written.

Rows that were computed from tables are written only if the plain ones among these are still what they were
(`tables.py`).  A block hears 40001 at its COMMIT.  A statement that is alone is computed again:

    1st time   whoever else writes; or straight on to the 2nd, if somebody keeps one of the tables
    2nd time   the sources are waited for first, then nobody else may write the tables until it is done

so it is never late twice, unless reading takes longer than others can be made to wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from headwater.catalog.details import WebhookTable
from headwater.catalog.state import Item
from headwater.coordinator.api import Result
from headwater.coordinator.queries import collect, drain, earliest
from headwater.coordinator.read import Inputs, PreparedRead, RelationRedefined
from headwater.coordinator.tables import WriteConflict, check_not_null, written
from headwater.core.errors import InvariantViolation, UserError
from headwater.core.limits import WRITE_ATTEMPTS_MAX, WRITE_KEEP_S_MAX, WRITE_WAIT_S_MAX
from headwater.core.relation import Column
from headwater.formats.arrow import state_schema
from headwater.sql.cursor import Name
from headwater.sql.select import plan_query
from headwater.sql.select.plan.nodes import Query

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession


def writable(session: SqlSession, name: Name, verb: str = "insert into") -> Item:
    """A plain table; everything else is refused by its kind."""
    names = session.names()
    found = names.find_relation(name.parts)
    if found.kind.startswith("system"):
        raise UserError(f"cannot {verb} system table '{found.schema}.{found.name}'", "42809")
    item = names.resolve_item(name.parts)
    full = names.full_name(item)
    if item.kind != "table":
        raise UserError(f"cannot {verb} {item.kind} '{full}'", "42809")
    webhook = isinstance(item.details, WebhookTable)
    if item.source_id is not None or webhook:
        raise UserError(
            f"cannot {verb} non-writeable table '{full}'",
            "42809",
            detail=f"Its rows come from its {'webhook' if webhook else 'source'} alone.",
        )
    return item


def target_columns(item: Item, columns: tuple[str, ...]) -> tuple[Column, ...]:
    """The columns a list names, all without one."""
    by_name = {column.name: column for column in item.relation.columns}
    for name in columns:
        if name not in by_name:
            raise UserError(
                f'column "{name}" of relation "{item.name}" does not exist',
                "42703",
                hint=f"It has {', '.join(by_name)}.",
            )
        if columns.count(name) > 1:
            raise UserError(f'column "{name}" specified more than once', "42701")
    return tuple(by_name[name] for name in columns) if columns else item.relation.columns


async def complete_rows(
    session: SqlSession, item: Item, targets: tuple[Column, ...], given: pa.Table
) -> pa.Table:
    """Rows with every column of the table: given values, defaults, NULLs; NOT NULL is checked."""
    schema = state_schema(item.relation)
    place = {column.name: i for i, column in enumerate(targets)}
    columns = []
    for column, field in zip(item.relation.columns, schema, strict=True):
        if column.name in place:
            columns.append(given.column(place[column.name]))
        elif column.default is None:
            columns.append(pa.nulls(given.num_rows, field.type))
        else:
            columns.append(await _defaults(session, item, column, given.num_rows))
    rows = pa.table(columns, schema=schema)
    check_not_null(item.relation, rows, item.name)
    return rows


async def _defaults(session: SqlSession, item: Item, column: Column, count: int) -> pa.ChunkedArray:
    text = f"SELECT {column.default} FROM generate_series(1, {count})"
    names, facts = session.names(), session.facts()
    query = await session.coordinator.beside.run(lambda: plan_query(text, names, facts, targets=(column,)))
    return (await collect(session, query, into=item)).column(0)


async def write_rows(session: SqlSession, item: Item, changes: pa.Table) -> None:
    """Rows that nothing was read for: now, or at the COMMIT of the block."""
    if not changes.num_rows:
        return
    if session.transaction is not None:
        session.transaction.add_write(item, session.coordinator.full_name(item), changes)
    else:
        await session.coordinator.commit_writes({item.id: (item.relation, [changes])})


# Rows that were computed


@dataclass(frozen=True, slots=True)
class Computed:
    """Rows that come and go, and what the client is told of them."""

    changes: pa.Table
    result: Result


Plan = Callable[[], Awaitable[tuple[Item, Query]]]
Compute = Callable[[Item, pa.Table], Awaitable[Computed]]


async def write_computed(session: SqlSession, plan: Plan, compute: Compute) -> Result:
    """Write to a table what `compute` makes of the rows that a query finds."""
    if session.transaction is not None:
        return await _in_block(session, plan, compute)
    coordinator, conflict = session.coordinator, None
    for attempt in range(WRITE_ATTEMPTS_MAX):
        item, query = await plan()
        inputs = coordinator.reads.inputs_of(session.state, query)
        ids = frozenset(table.collection_id for table in inputs.tables if written(table))
        try:
            if not attempt and not coordinator.tables.kept(ids):
                read = await _open(session, query, inputs, await earliest(session, inputs))
                return await _commit(session, item, read, compute)
            # A source may stall for ever: that is waited for while nobody waits for us.
            not_before = await earliest(session, inputs)
            await coordinator.reads.wait_readable(inputs)
            await coordinator.reads.wait_passed(inputs, max(coordinator.oracle.floor, not_before))
            # What is written too: two that keep what the other writes would wait for each other for ever.
            kept = ids | {item.id}
            async with coordinator.tables.keep(kept):
                async with asyncio.timeout(WRITE_WAIT_S_MAX):
                    read = await _open(session, query, inputs, not_before)
                return await _commit(session, item, read, compute, kept)
        except WriteConflict as error:
            conflict = error
        except RelationRedefined:
            conflict = WriteConflict(item.name)
        except TimeoutError:
            conflict = WriteConflict(item.name)
    raise conflict or WriteConflict(item.name)


async def _open(session: SqlSession, query: Query, inputs: Inputs, not_before: int) -> PreparedRead:
    """Plain tables are read as of their last write, whatever isolation other reads have."""
    transaction = session.transaction
    isolation = "strict serializable" if inputs.plain() else session.isolation
    pinned = None if transaction is None else transaction.hold
    return await session.coordinator.reads.prepare(
        query,
        session.state,
        isolation,
        session.allow,
        pinned=pinned,
        facts=session.system_facts,
        not_before=not_before,
    )


async def _commit(
    session: SqlSession,
    item: Item,
    read: PreparedRead,
    compute: Compute,
    kept: frozenset[str] = frozenset(),
) -> Result:
    """Compute, for so long as others can be made to wait; then append, if nothing has changed."""
    async with asyncio.timeout(WRITE_KEEP_S_MAX if kept else None):
        computed = await compute(item, await drain(session, read, item))
    if computed.changes.num_rows:
        writes = {item.id: (item.relation, [computed.changes])}
        await session.coordinator.commit_writes(writes, read.seen(), kept)
    return computed.result


async def _in_block(session: SqlSession, plan: Plan, compute: Compute) -> Result:
    """What it reads is held and remembered until COMMIT."""
    item, query = await plan()
    inputs = session.coordinator.reads.inputs_of(session.state, query)
    read = await _open(session, query, inputs, await earliest(session, inputs))
    transaction = session.transaction
    if transaction is None:
        raise InvariantViolation("a block ended while a statement ran in it")
    transaction.saw(read.seen())
    if transaction.hold is None:
        transaction.hold = session.coordinator.holds.acquire((), read.ts)
        transaction.catalog = session.state
    transaction.hold.add(read.inputs.ids())
    computed = await compute(item, await drain(session, read, item))
    if computed.changes.num_rows:
        transaction.add_write(item, session.coordinator.full_name(item), computed.changes)
    return computed.result

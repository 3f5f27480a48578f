"""Queries as statements need them: planned, given a timestamp, run.

Shared by SELECT, SHOW, EXPLAIN, SUBSCRIBE, COPY and the statements that write what a query finds.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headwater.catalog.state import Item
from headwater.coordinator import showing
from headwater.coordinator.api import Names, Notice, Prepared, Result, other_columns
from headwater.coordinator.read import PreparedRead
from headwater.coordinator.tables import check_written_size, written_size
from headwater.core.errors import UserError
from headwater.core.relation import Relation
from headwater.core.time import to_text
from headwater.core.types import REGISTERED, SqlType
from headwater.formats.arrow import state_schema
from headwater.sql.parts import AsOf
from headwater.sql.select import plan_query
from headwater.sql.select.plan import Query
from headwater.sql.statements.select import Select

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession

_PLAN_AGE_MS_MAX = 20
"""A plan contains the moment it was made at (now()), so an older one is made again."""


@dataclass(frozen=True, slots=True)
class SelectPlan:
    """A planned query and what it was planned against."""

    query: Query
    catalog_version: int
    made_at_ms: int
    parameter_types: tuple[SqlType | None, ...]


def plan(session: SqlSession, statement: Any, parameter_types: tuple[SqlType | None, ...]) -> SelectPlan:
    """Plan a query against the catalog of this moment."""
    names = session.names()
    if isinstance(statement, Select):
        text, offset = statement.query.text, statement.query.offset
    else:
        text, offset = showing.query_text(names, statement), 0
    query = plan_query(text, names, session.facts(), parameter_types, offset)
    return SelectPlan(query, session.state.version, session.world.clock.now_ms(), parameter_types)


def current(session: SqlSession, prepared: Prepared) -> SelectPlan:
    """The plan, made again if the catalog or the time has moved on.

    What a client relies on must stay true; the session has looked, but may have waited since.
    """
    made: SelectPlan = prepared.plan  # type: ignore[assignment]
    if is_current(session, made.catalog_version, made.made_at_ms):
        return made
    again = plan(session, prepared.parsed.statement, prepared.parameters)
    if prepared.told and again.query.columns() != prepared.columns:
        raise other_columns()
    return again


def is_current(session: SqlSession, catalog_version: int, made_at_ms: int) -> bool:
    """Whether a plan that was made against this catalog at this time may still be used."""
    fresh = session.world.clock.now_ms() - made_at_ms <= _PLAN_AGE_MS_MAX
    return fresh and catalog_version == session.state.version


def run_read(session: SqlSession, read: PreparedRead) -> AsyncIterator[pa.RecordBatch]:
    """The read's batches, on the engine the session wants."""
    return session.world.reads.run(read, session.settings.get("read_engine"))  # type: ignore[arg-type]


async def open_read(session: SqlSession, query: Query, as_of: AsOf | None) -> PreparedRead:
    """Fix the timestamp within the rules of the session's transaction."""
    session.enter("read")
    world, transaction, state = session.world, session.transaction, session.state
    moment = None if as_of is None else timestamp(session, as_of.expression.text, as_of.expression.offset)
    pinned = transaction.hold if transaction is not None else None
    if pinned is not None and moment is not None and moment != pinned.ts:
        raise UserError("AS OF in a transaction must be the timestamp of its first read", "25000")
    stored = any(id_ in state.items for id_ in query.relation_ids)
    at_least = stored and as_of is not None and as_of.at_least
    read = await world.reads.prepare(
        query, state, session.isolation, moment, at_least, pinned, session.system_facts
    )
    if stored and transaction is not None:
        transaction.saw(read.seen())
        if transaction.hold is None:
            transaction.hold = world.hold_domain(state, read, session.backend_pid)
            transaction.catalog = state
        transaction.hold.add(read.inputs.ids())
    if session.settings.get("emit_timestamp_notice") == "on":
        session.notify(Notice("NOTICE", f"query timestamp: {read.ts} ({to_text(read.ts)})", "MZ001"))
    return read


def show_names(session: SqlSession, result: Result) -> None:
    """Have the numbers of regclass columns and their kin shown as the names they stand for."""
    kinds = {
        position: column.type.kind
        for position, column in enumerate(result.columns or ())
        if column.type.kind in REGISTERED
    }
    if kinds and result.batches is not None:
        result.batches = _with_names(session, kinds, result.batches, result.names)


async def _with_names(
    session: SqlSession, kinds: dict[int, str], batches: AsyncIterator[pa.RecordBatch], names: Names
) -> AsyncIterator[pa.RecordBatch]:
    async for batch in batches:
        for position, kind in kinds.items():
            known = names.setdefault(kind, {})
            met = {oid for oid in batch.column(position).unique().to_pylist() if oid is not None}
            known |= await _names_of(session, kind, met - known.keys())
        yield batch


async def _names_of(session: SqlSession, kind: str, oids: set[int]) -> dict[int, str]:
    names = session.names()
    if kind == "regclass" or not oids:
        return {oid: names.regclass_text(oid) for oid in oids}
    listed = ", ".join(f"({oid}::int8)" for oid in sorted(oids))
    text = f"SELECT x, x::oid::{kind}::text FROM (VALUES {listed}) AS v (x)"
    found = await collect(session, plan_query(text, names, session.facts()))
    return dict(zip(*(column.to_pylist() for column in found.columns), strict=True))


def timestamp(session: SqlSession, text: str, offset: int) -> int:
    """The value of AS OF or UP TO: mz_timestamp, timestamp, or the text of either."""
    for target in ("mz_timestamp", "timestamptz"):
        try:
            query = plan_query(f"SELECT ({text})::{target}", session.names(), session.facts(), (), offset - 8)
            value = session.world.constant(query)
        except UserError:
            continue
        if value is None:
            break
        return int(value) if target == "mz_timestamp" else int(value.timestamp() * 1000)
    raise UserError(
        "AS OF or UP TO should be castable to a (non-null) mz_timestamp value", "22023", position=offset + 1
    )


async def collect(session: SqlSession, query: Query, into: Item | None = None) -> pa.Table:
    """The whole result of a query that reads no tables; `into` is the table that it is written to."""
    read = await session.world.reads.prepare(
        query, session.state, session.isolation, facts=session.system_facts
    )
    return await drain(session, read, into)


async def drain(session: SqlSession, read: PreparedRead, into: Item | None) -> pa.Table:
    """All rows of a read in memory; `into` is the table that they are written to."""
    batches, size = [], 0
    async for batch in run_read(session, read):
        batches.append(batch)
        size += written_size(batch)
        if into is not None:
            check_written_size(size, into.name)
    return pa.Table.from_batches(batches, state_schema(Relation(read.query.columns())))


async def batches_of(rows: pa.RecordBatch | pa.Table) -> AsyncIterator[pa.RecordBatch]:
    """Rows that are there already, as a result wants them."""
    for batch in rows.to_batches() if isinstance(rows, pa.Table) else (rows,):
        yield batch

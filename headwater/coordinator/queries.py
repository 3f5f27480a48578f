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
from headwater.coordinator.read import Inputs, PreparedRead
from headwater.coordinator.tables import check_written_size, written_size
from headwater.coordinator.variables import duration_s
from headwater.core.errors import UserError
from headwater.core.frontier import Frontier
from headwater.core.relation import Relation
from headwater.core.time import to_text
from headwater.core.types import REGISTERED, SqlType
from headwater.formats.arrow import state_schema
from headwater.sources import SOURCE_TYPES
from headwater.sql.parts import AsOf, UpstreamPosition
from headwater.sql.select import bind_parameters, plan_query
from headwater.sql.select.plan.nodes import Query
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
    took_ms: int


def plan(session: SqlSession, statement: Any, parameter_types: tuple[SqlType | None, ...]) -> SelectPlan:
    """Plan a query against the catalog of this moment."""
    version, begun_ms = session.state.version, session.coordinator.clock.now_ms()
    names = session.names()
    if isinstance(statement, Select):
        text, offset = statement.query.text, statement.query.offset
    else:
        text, offset = showing.query_text(names, statement), 0
    query = plan_query(text, names, session.facts(), parameter_types, offset)
    now_ms = session.coordinator.clock.now_ms()
    return SelectPlan(query, version, now_ms, now_ms - begun_ms)


async def current(session: SqlSession, prepared: Prepared) -> SelectPlan:
    """The plan, made again if the catalog or the time has moved on.

    What a client relies on must stay true; the session has looked, but may have waited since.
    """
    made: SelectPlan = prepared.plan  # type: ignore[assignment]
    if is_current(session, made.catalog_version, made.made_at_ms, made.took_ms):
        return made
    again = await session.planned(lambda: plan(session, prepared.parsed.statement, prepared.parameters))
    if prepared.told and again.query.columns() != prepared.columns:
        raise other_columns()
    return again


async def with_arguments(session: SqlSession, query: Query, arguments: tuple[str | None, ...]) -> Query:
    """The query with constants for its parameters."""
    if not query.parameters and not arguments:
        return query
    return await session.coordinator.beside.run(lambda: bind_parameters(query, arguments))


def is_current(session: SqlSession, catalog_version: int, made_at_ms: int, took_ms: int) -> bool:
    """Whether a plan that was made against this catalog at this time may still be used.

    One that took long to make may be as old as that again, or it would always be made twice.
    """
    fresh = session.coordinator.clock.now_ms() - made_at_ms <= max(_PLAN_AGE_MS_MAX, took_ms)
    return fresh and catalog_version == session.state.version


def run_read(session: SqlSession, read: PreparedRead) -> AsyncIterator[pa.RecordBatch]:
    """The read's batches, on the engine the session wants."""
    return session.coordinator.reads.run(read, session.settings.get("read_engine"))  # type: ignore[arg-type]


async def open_read(session: SqlSession, query: Query, as_of: AsOf | None) -> PreparedRead:
    """Fix the timestamp within the rules of the session's transaction."""
    session.enter("read")
    coordinator, transaction, state = session.coordinator, session.transaction, session.state
    moment = await as_of_timestamp(session, as_of)
    pinned = transaction.hold if transaction is not None else None
    not_before = await earliest(session, coordinator.reads.inputs_of(state, query), as_of)
    if pinned is not None and moment is not None and moment != pinned.ts:
        raise UserError("AS OF in a transaction must be the timestamp of its first read", "25000")
    stored = any(id_ in state.items for id_ in query.relation_ids)
    at_least = stored and as_of is not None and as_of.at_least
    first = stored and transaction is not None and pinned is None
    read = await coordinator.reads.prepare(
        *(query, state, session.isolation, session.allow, moment, at_least),
        *(pinned, session.system_facts, not_before, first),
    )
    if stored and transaction is not None:
        transaction.saw(read.seen())
        if transaction.hold is None:
            transaction.hold = coordinator.hold_domain(state, read, session.backend_pid)
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
    query = await session.coordinator.beside.run(lambda: plan_query(text, names, session.facts()))
    found = await collect(session, query)
    return dict(zip(*(column.to_pylist() for column in found.columns), strict=True))


async def earliest(session: SqlSession, inputs: Inputs, as_of: AsOf | None = None) -> int:
    """The timestamp before which a read must not be, for what it wants of its upstreams; 0 is any.

    In a transaction only the first read chooses: the others are where that was.
    """
    recency, transaction = session.coordinator.recency, session.transaction
    positions = _positions(session, inputs, as_of)
    if transaction is not None and transaction.hold is not None:
        for id_, position in positions.items():
            if not recency.shown_at(session.state.items[id_], position, transaction.hold.ts):
                raise UserError(
                    "AS OF AT LEAST a position that the transaction does not show",
                    "25000",
                    detail=f"The transaction reads at {transaction.hold.ts}, where its first read was.",
                    hint="Begin a new transaction, or give the position in its first statement.",
                )
        return 0
    exact = as_of is not None and not as_of.at_least
    recent = session.settings.get("real_time_recency") == "on" and not exact
    timeout_s = duration_s(session.settings.get("real_time_recency_timeout"))
    return await recency.wait(inputs, recent, positions, timeout_s)


def _positions(session: SqlSession, inputs: Inputs, as_of: AsOf | None) -> dict[str, Frontier]:
    """By source: how far a read is to be."""
    found: dict[str, Frontier] = {}
    for wanted in () if as_of is None else as_of.positions:
        source = _source_of(session, inputs, wanted)
        full_name = session.coordinator.full_name(session.state.named_source(source.id))
        if source.id in found:
            raise UserError(
                f'source "{full_name}" has more than one position', "42601", position=wanted.offset + 1
            )
        try:
            parse = SOURCE_TYPES[source.ingestion.source_type].position_from_text
            found[source.id] = parse(source.ingestion.options, wanted.text)
        except ValueError as error:
            raise UserError(
                f'invalid position of source "{full_name}": "{wanted.text}"',
                "22023",
                hint=f"It takes {error}.",
                position=wanted.offset + 1,
            ) from None
    return found


def _source_of(session: SqlSession, inputs: Inputs, wanted: UpstreamPosition) -> Item:
    state = session.state
    if wanted.source is not None:
        source = state.ingestion_of(session.names().resolve_item(wanted.source.parts, "source"))
        if not source.ingests:
            full_name = session.coordinator.full_name(source)
            raise UserError(
                f'source "{full_name}" has no position: it reads no upstream',
                "42809",
                position=wanted.offset + 1,
            )
        return source
    ids = sorted({item.source_id or item.id for item in inputs.moving()})
    if len(ids) == 1:
        return state.items[ids[0]]
    names = ", ".join(session.coordinator.full_name(state.named_source(id_)) for id_ in ids)
    raise UserError(
        "a position without a source is of the one source that the query reads",
        "42601",
        detail=f"It reads {names}." if ids else "It reads none.",
        hint="Write AS OF AT LEAST POSITION '...' OF source." if ids else None,
        position=wanted.offset + 1,
    )


async def as_of_timestamp(session: SqlSession, as_of: AsOf | None) -> int | None:
    """The value of an AS OF that has one."""
    if as_of is None or as_of.expression is None:
        return None
    return await timestamp(session, as_of.expression.text, as_of.expression.offset)


async def constant(session: SqlSession, text: str, offset: int) -> Any:
    """The one value of a query that reads nothing, in Python's form of its stored type."""
    names, facts = session.names(), session.facts()
    query = await session.coordinator.beside.run(lambda: plan_query(text, names, facts, (), offset))
    if query.relation_ids:
        raise UserError("an expression here cannot read relations", "0A000", position=offset + 1)
    return await session.coordinator.constant(query)


async def timestamp(session: SqlSession, text: str, offset: int) -> int:
    """The value of AS OF or UP TO: mz_timestamp, timestamp, or the text of either."""
    for target in ("mz_timestamp", "timestamptz::mz_timestamp"):
        try:
            value = await constant(session, f"SELECT ({text})::{target}", offset - 8)
        except UserError as error:
            if error.sqlstate == "57014":
                raise
            continue
        if value is None:
            break
        return int(value)
    raise UserError(
        "AS OF or UP TO should be castable to a (non-null) mz_timestamp value", "22023", position=offset + 1
    )


async def collect(session: SqlSession, query: Query, into: Item | None = None) -> pa.Table:
    """The whole result of a query that reads no tables; `into` is the table that it is written to."""
    read = await session.coordinator.reads.prepare(
        query, session.state, session.isolation, session.allow, facts=session.system_facts
    )
    return await drain(session, read, into)


async def drain(session: SqlSession, read: PreparedRead, into: Item | None) -> pa.Table:
    """All rows of a read in memory; `into` is the table that they are written to."""
    batches, size = [], 0
    async for batch in run_read(session, read):
        batches.append(batch)
        size += written_size(batch)
        if into is not None:
            session.collected.add(written_size(batch))
            check_written_size(size, into.name)
    return pa.Table.from_batches(batches, state_schema(Relation(read.query.columns())))


async def batches_of(rows: pa.RecordBatch | pa.Table) -> AsyncIterator[pa.RecordBatch]:
    """Rows that are there already, as a result wants them."""
    for batch in rows.to_batches() if isinstance(rows, pa.Table) else (rows,):
        yield batch

"""EXPLAIN: our plan, the engine's plan, how the timestamp is chosen, or what a run of it took."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa

from headwater.coordinator.api import ParsedStatement, Prepared, Result
from headwater.coordinator.queries import batches_of, open_read, plan, with_arguments
from headwater.coordinator.read import PreparedRead
from headwater.core.errors import UserError
from headwater.core.relation import Column
from headwater.core.time import TIMESTAMP_END, to_text
from headwater.core.types import TEXT, SqlType
from headwater.sql.select import explain as explain_query
from headwater.sql.select.plan.nodes import Query
from headwater.sql.statements.explain import Explain
from headwater.sql.statements.select import Select

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession

_TITLES = {
    "plan": "Optimized Plan",
    "physical plan": "Physical Plan",
    "timestamp": "Timestamp",
    "analyze": "QUERY PLAN",
}


def describe(
    session: SqlSession, parsed: ParsedStatement, parameter_types: tuple[SqlType | None, ...]
) -> Prepared:
    """Parameters and columns."""
    statement = parsed.statement
    if not isinstance(statement, Explain):
        raise UserError("EXPLAIN needs a query", "42601")
    parameters = plan(session, statement.statement, parameter_types).query.parameters
    return Prepared(parsed, parameters, (Column(_TITLES[statement.kind], TEXT),))


async def run(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Carry it out."""
    statement = prepared.parsed.statement
    if not isinstance(statement, Explain):
        raise UserError("EXPLAIN needs a query", "42601")
    inner = statement.statement
    begun_s = session.coordinator.clock.monotonic_s()
    made = await session.planned(lambda: plan(session, inner, prepared.parameters))
    query = await with_arguments(session, made.query, arguments)
    planned_s = session.coordinator.clock.monotonic_s()
    lines: list[str] | None = None
    session.allow(query)
    if statement.kind == "plan":
        text = await session.coordinator.beside.run(lambda: explain_query(query))
    else:
        read = await open_read(session, query, inner.as_of if isinstance(inner, Select) else None)
        try:
            if statement.kind == "analyze":
                lines = await _analyzed(session, read, statement.engine, begun_s, planned_s)
            elif statement.kind == "timestamp":
                text = _timestamp(session, query, read, statement.format == "json")
            else:
                text = await _physical(session, read, statement.engine)
        finally:
            read.close()
    rows = [text] if lines is None else lines
    batch = pa.RecordBatch.from_arrays([pa.array(rows, pa.string())], names=[_TITLES[statement.kind]])
    return Result(lambda _: "EXPLAIN", prepared.columns, batches_of(batch))


async def _analyzed(
    session: SqlSession, read: PreparedRead, engine: str | None, begun_s: float, planned_s: float
) -> list[str]:
    """Run it, throw its rows away, and say what that took, a line a row as PostgreSQL does."""
    coordinator, reads = session.coordinator, session.coordinator.reads
    wanted = engine or session.settings.get("read_engine")
    chosen = reads.pick_engine(read, wanted)  # type: ignore[arg-type]
    opened_s = coordinator.clock.monotonic_s()
    first_s, rows, size = None, 0, 0
    async for batch in reads.run(read, chosen):
        first_s = first_s or coordinator.clock.monotonic_s()
        rows += batch.num_rows
        size += batch.nbytes
    done_s = coordinator.clock.monotonic_s()
    lines = explain_query(read.query).splitlines()
    lines += [f"Engine: {chosen}", f"Timestamp: {_moment(read.ts)}"]
    for table in read.inputs.tables:
        files = read.plans[table.id]
        count = len(files.state) + len(files.tail)
        lines.append(f"Read: {coordinator.full_name(table)} (files={count} bytes={files.bytes()})")
    lines += [
        f"Actual Rows: {rows} (bytes={size})",
        f"Planning Time: {_milliseconds(planned_s - begun_s)}",
        f"Timestamp Time: {_milliseconds(opened_s - planned_s)}",
        f"First Rows Time: {_milliseconds((first_s or done_s) - opened_s)}",
        f"Execution Time: {_milliseconds(done_s - opened_s)}",
    ]
    return lines


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.3f} ms"


async def _physical(session: SqlSession, read: PreparedRead, engine: str | None) -> str:
    reads = session.coordinator.reads
    wanted = engine or session.settings.get("read_engine")
    chosen = reads.pick_engine(read, wanted)  # type: ignore[arg-type]
    if chosen == "spark":
        return f"Engine: spark\n\n{await reads.spark_plan(read)}"
    sql, tables = await reads.duckdb_text(read)
    schema = pa.schema([("explain_key", pa.string()), ("explain_value", pa.string())])
    rows = await session.coordinator.engine.table(f"EXPLAIN {sql}", schema, tables)
    return "Engine: duckdb\n\n" + "\n".join(rows.column("explain_value").to_pylist())


def _timestamp(session: SqlSession, query: Query, read: PreparedRead, as_json: bool) -> str:
    coordinator = session.coordinator
    inputs = []
    for item in (*read.inputs.tables, *read.inputs.sources):
        inputs.append(
            {
                "name": coordinator.full_name(item),
                "id": item.id,
                "read_frontier": coordinator.holds.since(item.collection_id),
                "write_frontier": coordinator.reads.upper(item),
            }
        )
    choice = coordinator.reads.choose(read.inputs, session.isolation)
    facts = {
        "query_timestamp": read.ts,
        "oracle_read_timestamp": coordinator.oracle.floor,
        "respond_immediately": not choice.waits,
        "timeline": "EpochMilliseconds",
        "session_wall_time": coordinator.clock.now_ms(),
        "sources": inputs,
    }
    if as_json:
        return json.dumps(facts, indent=2)
    lines = [
        f"                query timestamp: {_moment(read.ts)}",
        f"          oracle read timestamp: {_moment(coordinator.oracle.floor)}",
        f"        can respond immediately: {str(not choice.waits).lower()}",
        "                       timeline: Some(EpochMilliseconds)",
        f"              session wall time: {_moment(coordinator.clock.now_ms())}",
    ]
    for entry in inputs:
        lines += [
            "",
            f"source {entry['name']} ({entry['id']}, storage):",
            f"                  read frontier:[{_moment(int(str(entry['read_frontier'])))}]",
            f"                 write frontier:[{_moment(int(str(entry['write_frontier'])))}]",
        ]
    return "\n".join(lines) + "\n"


def _moment(ts: int) -> str:
    return "" if ts == TIMESTAMP_END else f"{ts} ({to_text(ts)})"

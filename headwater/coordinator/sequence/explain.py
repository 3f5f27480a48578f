"""EXPLAIN: our plan, the engine's plan, or how the timestamp is chosen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa

from headwater.coordinator.api import ParsedStatement, Prepared, Result
from headwater.coordinator.queries import batches_of, open_read, plan
from headwater.coordinator.read import PreparedRead
from headwater.core.errors import UserError
from headwater.core.relation import Column
from headwater.core.time import TIMESTAMP_END, to_text
from headwater.core.types import TEXT, SqlType
from headwater.sql.select import bind_parameters
from headwater.sql.select import explain as explain_query
from headwater.sql.select.plan import Query
from headwater.sql.statements.explain import Explain
from headwater.sql.statements.select import Select

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession

_TITLES = {"plan": "Optimized Plan", "physical plan": "Physical Plan", "timestamp": "Timestamp"}


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
    query = bind_parameters(plan(session, inner, prepared.parameters).query, arguments)
    if statement.kind == "plan":
        text = explain_query(query)
    else:
        read = await open_read(session, query, inner.as_of if isinstance(inner, Select) else None)
        try:
            if statement.kind == "timestamp":
                text = _timestamp(session, query, read, statement.format == "json")
            else:
                text = await _physical(session, read, statement.engine)
        finally:
            read.close()
    batch = pa.RecordBatch.from_arrays([pa.array([text])], names=[_TITLES[statement.kind]])
    return Result(lambda _: "EXPLAIN", prepared.columns, batches_of(batch))


async def _physical(session: SqlSession, read: PreparedRead, engine: str | None) -> str:
    reads = session.world.reads
    wanted = engine or session.settings.get("read_engine")
    chosen = reads.pick_engine(read, wanted)  # type: ignore[arg-type]
    if chosen == "spark":
        return f"Engine: spark\n\n{await reads.spark_plan(read)}"
    sql, tables = reads.duckdb_text(read)
    schema = pa.schema([("explain_key", pa.string()), ("explain_value", pa.string())])
    rows = await session.world.engine.table(f"EXPLAIN {sql}", schema, tables)
    return "Engine: duckdb\n\n" + "\n".join(rows.column("explain_value").to_pylist())


def _timestamp(session: SqlSession, query: Query, read: PreparedRead, as_json: bool) -> str:
    world = session.world
    inputs = []
    for item in (*read.inputs.tables, *read.inputs.sources):
        inputs.append(
            {
                "name": world.full_name(item),
                "id": item.id,
                "read_frontier": world.holds.since(item.collection_id),
                "write_frontier": world.reads.upper(item),
            }
        )
    choice = world.reads.choose(read.inputs, session.isolation)
    facts = {
        "query_timestamp": read.ts,
        "oracle_read_timestamp": world.oracle.floor,
        "respond_immediately": not choice.waits,
        "timeline": "EpochMilliseconds",
        "session_wall_time": world.clock.now_ms(),
        "sources": inputs,
    }
    if as_json:
        return json.dumps(facts, indent=2)
    lines = [
        f"                query timestamp: {_moment(read.ts)}",
        f"          oracle read timestamp: {_moment(world.oracle.floor)}",
        f"        can respond immediately: {str(not choice.waits).lower()}",
        "                       timeline: Some(EpochMilliseconds)",
        f"              session wall time: {_moment(world.clock.now_ms())}",
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

"""A planned query -> a timestamp -> files -> an engine -> batches.

    1  which collections it reads (views are inlined already)
    2  wait until each is hydrated and not in error
    3  choose one timestamp for all of them; hold them there; wait for it if need be
    4  ask the ledger for the files at that timestamp
    5  small, or not only files: DuckDB here; otherwise Spark on the cluster

System relations and the progress of sources are computed from memory and handed
to DuckDB as Arrow tables.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from headwater.catalog.builtin.evaluate import evaluate
from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.state import CatalogState, Item
from headwater.coordinator.tables import Seen
from headwater.coordinator.timestamps import Choice, Hold, Isolation, choose
from headwater.core.change import FileEntry, ReadPlan
from headwater.core.clock import unique_name
from headwater.core.errors import UserError
from headwater.core.limits import COMPACTION_CHECK_S, SMALL_READ_BYTES_MAX
from headwater.core.protocol import Peek, PeekFile
from headwater.core.relation import Relation
from headwater.core.time import TIMESTAMP_END
from headwater.formats.arrow import state_schema
from headwater.observe import metrics
from headwater.persist.combine import quote, relation_sql
from headwater.persist.files import DAMAGE_HINT, damage
from headwater.persist.results import read_result, remove_result
from headwater.sources import SOURCE_TYPES
from headwater.sql.select import before_rows
from headwater.sql.select import duckdb as duckdb_sql
from headwater.sql.select import spark as spark_sql
from headwater.sql.select.plan import Query

if TYPE_CHECKING:
    from headwater.coordinator.coordinator import Coordinator

EngineChoice = Literal["auto", "spark", "duckdb"]


class RelationDropped(UserError):
    """Something that a read waited for has gone."""


@dataclass(frozen=True, slots=True)
class Failure:
    """From `ts` on a relation cannot be read; what whoever reads it there is told."""

    ts: int
    error: UserError


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a query reads, by kind."""

    tables: tuple[Item, ...]
    sources: tuple[Item, ...]
    system: tuple[str, ...]

    def ids(self) -> frozenset[str]:
        return frozenset(item.collection_id for item in (*self.tables, *self.sources))

    def plain(self) -> tuple[Item, ...]:
        """Tables that are written here, and not by a source."""
        return tuple(table for table in self.tables if table.source_id is None)

    def moving(self) -> tuple[Item, ...]:
        """What a source moves."""
        return (*(table for table in self.tables if table.source_id is not None), *self.sources)


@dataclass(slots=True)
class PreparedRead:
    """A read whose timestamp is fixed and whose files are known; held until `close`."""

    query: Query
    inputs: Inputs
    ts: int
    hold: Hold
    facts: Callable[[], SystemFacts]
    plans: dict[str, ReadPlan] = field(default_factory=dict)

    def seen(self) -> dict[str, Seen]:
        """The plain tables that it reads, and when."""
        return {table.collection_id: Seen(self.ts, table.name) for table in self.inputs.plain()}

    def bytes(self) -> int:
        return sum(plan.bytes() for plan in self.plans.values())

    def close(self) -> None:
        self.hold.release()


class Reads:
    """Runs queries.  `world` is the coordinator: catalog, ledger, controller, engine, oracle, holds."""

    def __init__(self, world: Coordinator) -> None:
        self._world = world

    def inputs_of(self, state: CatalogState, relation_ids: frozenset[str]) -> Inputs:
        """Sort a query's relations by kind."""
        items = [state.items[id_] for id_ in sorted(relation_ids) if id_ in state.items]
        return Inputs(
            tuple(item for item in items if item.stores),
            tuple(item for item in items if item.ingests),
            tuple(sorted(id_ for id_ in relation_ids if id_ not in state.items)),
        )

    def upper(self, item: Item) -> int:
        """Every timestamp below this can be read without waiting."""
        if item.ingests:
            return self._world.controller.uppers.get(item.id, 0)
        if item.source_id is None:
            return TIMESTAMP_END
        if item.collection_id not in self._world.controller.hydrated:
            return 0
        return self._world.controller.uppers.get(item.source_id, 0)

    def end(self, item: Item) -> int:
        """The last timestamp of a source that has ended."""
        writer = self._world.ledger.writer(item.source_id or item.id)
        return 0 if writer is None else writer.ts

    async def wait_readable(self, inputs: Inputs, pinned: Hold | None = None) -> None:
        """Until every input has some timestamp at which it can be read, or is in error."""
        controller = self._world.controller

        def ready() -> bool:
            return all(self.upper(i) > 0 or not self._exists(i, pinned) for i in inputs.moving())

        if not ready():
            await controller.wait_for(ready)
        for item in inputs.moving():
            self._check_exists(item, pinned)
            self.start_since(item)

    def _exists(self, item: Item, pinned: Hold | None) -> bool:
        """Whether it is there, for a transaction also what it holds although it was dropped since."""
        id_, world = item.collection_id, self._world
        held = pinned is not None and id_ in pinned.ids
        return held or id_ in world.catalog.state.collections() or world.widenings.lingers(id_)

    def _check_exists(self, item: Item, pinned: Hold | None) -> None:
        if not self._exists(item, pinned):
            name = self._world.full_name(item)
            raise RelationDropped(f'query could not complete because relation "{name}" was dropped', "42704")

    def start_since(self, item: Item) -> None:
        """The first time somebody asks for it, a collection's since comes from the ledger."""
        holds, ledger, id_ = self._world.holds, self._world.ledger, item.collection_id
        if holds.since(id_):
            return
        if item.ingests:
            holds.start(id_, ledger.first_binding_ts(id_))
        else:
            collection = ledger.collection(id_)
            holds.start(id_, collection.since if collection is not None else 0)

    def choose(self, inputs: Inputs, isolation: Isolation) -> Choice:
        """The timestamp for these inputs now."""
        holds = self._world.holds
        items = (*inputs.tables, *inputs.sources)
        return choose(
            self._world.oracle.floor,
            [holds.since(item.collection_id) for item in items],
            [self.upper(item) for item in inputs.moving()],
            [self.end(item) for item in inputs.moving() if self.upper(item) == TIMESTAMP_END],
            isolation,
        )

    async def prepare(
        self,
        query: Query,
        state: CatalogState,
        isolation: Isolation,
        as_of: int | None = None,
        at_least: bool = False,
        pinned: Hold | None = None,
        facts: Callable[[], SystemFacts] | None = None,
    ) -> PreparedRead:
        """Fix the timestamp, wait for it, find the files.

        `pinned` is the hold of a transaction that has read before: same timestamp again.
        """
        await self._check_constants(query)
        inputs = self.inputs_of(state, query.relation_ids)
        await self.wait_readable(inputs, pinned)
        if pinned is not None:
            ts = pinned.ts
            self._check_since(inputs, ts, in_transaction=True)
        elif as_of is not None:
            ts = max(as_of, self.choose(inputs, "serializable").ts) if at_least else as_of
            self._check_since(inputs, ts, in_transaction=False)
        else:
            ts = self.choose(inputs, isolation).ts
            if query.uses_mz_now and not inputs.moving():
                ts = max(ts, self._world.clock.now_ms())
        plain = bool(inputs.plain())
        if plain:
            await self._wait_until(ts)
        if plain or (isolation == "strict serializable" and as_of is None):
            # Before anything is awaited: no write may take a timestamp at or before this one.
            self._world.oracle.show(ts)
        hold = self._world.holds.acquire(inputs.ids(), ts)
        try:
            await self.wait_passed(inputs, ts, pinned)
            if plain:
                await self._world.tables.settled(ts)
            self._check_errors(inputs, ts)
            read = PreparedRead(query, inputs, ts, hold, facts or self._world.system_facts)
            for table in inputs.tables:
                plan = self._world.ledger.read_plan(table.collection_id, ts)
                hold.uses(table.collection_id, plan.state_as_of)
                read.plans[table.id] = plan
            return read
        except BaseException:
            hold.release()
            raise

    async def _check_constants(self, query: Query) -> None:
        """As PostgreSQL: what cannot be computed is an error even where no row needs it."""
        parts = before_rows(query)
        if parts is not None:
            schema = state_schema(Relation(parts.columns()))
            await self._world.engine.table(duckdb_sql.generate(parts, {}), schema, {})

    def _check_since(self, inputs: Inputs, ts: int, in_transaction: bool) -> None:
        for item in (*inputs.tables, *inputs.sources):
            since = self._world.holds.since(item.collection_id)
            if ts >= since:
                continue
            name = self._world.full_name(item)
            if in_transaction:
                raise UserError(
                    "Transactions can only reference objects in the same timedomain",
                    "25000",
                    detail=f'"{name}" can be read from {since} on; the transaction reads at {ts}.',
                    hint="Read it in the transaction's first statement too, or begin a new transaction.",
                )
            raise UserError(
                "could not find a valid timestamp for the query",
                "22000",
                detail=f'"{name}" can be read from {since} on; the query asks for {ts}.',
                hint="Use AS OF AT LEAST, or create the table WITH (RETAIN HISTORY FOR ...).",
            )

    async def wait_passed(self, inputs: Inputs, ts: int, pinned: Hold | None = None) -> None:
        """Until all inputs can be read at `ts`."""
        moving = inputs.moving()

        def passed() -> bool:
            return all(self.upper(item) > ts or not self._exists(item, pinned) for item in moving)

        if not passed():
            self._check_errors(inputs, ts)  # which the wait would not change
            await self._world.controller.wait_for(passed)
        for item in moving:
            self._check_exists(item, pinned)

    async def _wait_until(self, ts: int) -> None:
        """Plain tables follow the clock: a timestamp ahead of it is not over yet."""
        while (ahead_ms := ts - max(self._world.clock.now_ms(), self._world.oracle.floor)) > 0:
            await asyncio.sleep(min(ahead_ms / 1000, COMPACTION_CHECK_S))

    def failure(self, inputs: Inputs, until: int) -> Failure | None:
        """The first definite error of these at or before `until`, which they have passed."""
        ledger = self._world.ledger
        firsts = [
            (table, *error) for table in inputs.tables for error in ledger.errors(table.collection_id)[:1]
        ]
        found = min(firsts, key=lambda first: first[1], default=None)
        if found is None or found[1] > until:
            return None
        table, ts, position, message = found
        error = UserError(
            f"Source error: source must be dropped and recreated due to failure: {message}",
            "XX000",
            detail=f'Table "{self._world.full_name(table)}" is stopped at position {position}.',
            hint="Create a second table on the same reference, then drop this one. Where a column's"
            " values cannot be stored: WITH (TEXT COLUMNS (..)) or WITH (EXCLUDE COLUMNS (..)).",
        )
        return Failure(ts, error)

    def _check_errors(self, inputs: Inputs, ts: int) -> None:
        failure = self.failure(inputs, ts)
        if failure is not None:
            raise failure.error

    # Running

    def pick_engine(self, read: PreparedRead, wanted: EngineChoice) -> Literal["spark", "duckdb"]:
        """Which engine runs it; an error when the wanted one cannot."""
        only_files = bool(read.plans) and not read.inputs.sources and not read.inputs.system
        if wanted == "duckdb":
            return "duckdb"
        small = wanted == "auto" and read.bytes() <= SMALL_READ_BYTES_MAX
        if small or not only_files:
            return "duckdb"
        refusal = spark_sql.supported(read.query)
        if refusal is not None and wanted == "spark":
            raise refusal
        return "spark" if refusal is None else "duckdb"

    def run(self, read: PreparedRead, wanted: EngineChoice) -> AsyncIterator[pa.RecordBatch]:
        """Batches of the result; the hold is released at the end or when closed early."""
        engine = self.pick_engine(read, wanted)
        return self._run(read, engine)

    async def _run(
        self, read: PreparedRead, engine: Literal["spark", "duckdb"]
    ) -> AsyncIterator[pa.RecordBatch]:
        begin_s = self._world.clock.monotonic_s()
        outcome: metrics.Outcome = "error"
        try:
            batches = self._on_spark(read) if engine == "spark" else self._on_duckdb(read)
            async for batch in batches:
                yield batch
            outcome = "ok"
        except UserError as error:
            files = [file for plan in read.plans.values() for file in (*plan.state, *plan.tail)]
            self.check_damage(files, error)
            raise
        finally:
            metrics.queried(engine, outcome, self._world.clock.monotonic_s() - begin_s)
            read.close()

    def check_damage(self, files: Iterable[FileEntry], error: UserError) -> None:
        """After an error: if a file that was read is not as it was written, say that instead."""
        found = damage(self._world.data_dir, files)
        if found is not None:
            raise UserError(found, "58030", hint=DAMAGE_HINT) from error

    def duckdb_text(self, read: PreparedRead) -> tuple[str, dict[str, pa.Table]]:
        """The query for DuckDB, and the Arrow tables it names."""
        relations: dict[str, str] = {
            id_: relation_sql(plan, self._world.data_dir) for id_, plan in read.plans.items()
        }
        tables: dict[str, pa.Table] = {}
        facts = read.facts() if read.inputs.system else None
        for id_ in read.inputs.system:
            tables[f"hw_{id_}"] = evaluate(id_, facts or read.facts())
            relations[id_] = quote(f"hw_{id_}")
        for source in read.inputs.sources:
            tables[f"hw_{source.id}"] = self.progress(source, read.ts)
            relations[source.id] = quote(f"hw_{source.id}")
        return duckdb_sql.generate(read.query, relations, read.ts), tables

    async def _on_duckdb(self, read: PreparedRead) -> AsyncIterator[pa.RecordBatch]:
        sql, tables = self.duckdb_text(read)
        schema = state_schema(Relation(read.query.columns()))
        async for batch in self._world.engine.run(sql, schema, tables, files=bool(read.plans)):
            yield batch

    def spark_peek(self, read: PreparedRead, explain: bool = False) -> Peek:
        """The query for Spark."""
        peek_id = f"p{unique_name()[:12]}"
        names = {id_: f"{peek_id}_{id_}" for id_ in read.plans}
        return Peek(
            peek_id,
            spark_sql.generate(read.query, names, read.ts),
            {names[id_]: plan.to_json() for id_, plan in read.plans.items()},
            Relation(read.query.columns()).to_json(),
            "reads",
            explain,
        )

    async def _on_spark(self, read: PreparedRead) -> AsyncIterator[pa.RecordBatch]:
        peek = self.spark_peek(read)
        pending = self._world.controller.start_peek(peek)
        try:
            while (answer := await pending.answers.get()) is not None:
                if isinstance(answer, UserError):
                    raise answer
                if isinstance(answer, pa.RecordBatch):
                    yield answer
                elif isinstance(answer, PeekFile):
                    batches = read_result(self._world.data_dir, answer.path, answer.rows)
                    while (batch := await asyncio.to_thread(next, batches, None)) is not None:
                        yield batch
        finally:
            self._world.controller.end_peek(peek.peek_id)
            with suppress(RuntimeError):  # no thread for it: the next start takes it away
                asyncio.get_running_loop().run_in_executor(
                    None, remove_result, self._world.data_dir, peek.peek_id
                )

    async def spark_plan(self, read: PreparedRead) -> str:
        """Spark's own plan, for EXPLAIN."""
        pending = self._world.controller.start_peek(self.spark_peek(read, explain=True))
        try:
            answer = await pending.answers.get()
        finally:
            self._world.controller.end_peek(pending.command.peek_id)
        if isinstance(answer, UserError):
            raise answer
        return str(answer)

    def progress(self, source: Item, ts: int) -> pa.Table:
        """A source as a relation: its frontier at `ts`."""
        source_type = SOURCE_TYPES[source.details["source_type"]]
        binding = self._world.ledger.binding_at(source.id, ts)
        rows = source_type.progress_rows(binding[1]) if binding is not None else []
        schema = state_schema(Relation(source_type.progress_columns))
        arrays = [pa.array([row[i] for row in rows], type=column.type) for i, column in enumerate(schema)]
        return pa.Table.from_arrays(arrays, schema=schema)

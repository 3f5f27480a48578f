"""A planned query -> a timestamp -> files -> an engine -> batches.

    1  which collections it reads (views are inlined already)
    2  wait until each is hydrated and not in error
    3  choose one timestamp for all of them; hold them there; wait for it if need be
    4  ask the ledger for the files at that timestamp
    5  small, or not only files: DuckDB here; otherwise, or if it needs more memory, Spark on the cluster

System relations and the progress of sources are computed from memory and handed
to DuckDB as Arrow tables.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from headwater.catalog.builtin.evaluate import evaluate
from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.state import CatalogState, Item
from headwater.coordinator import memory
from headwater.coordinator.progress import progress
from headwater.coordinator.replacing import UNSTORED, how_to_replace
from headwater.coordinator.small_reads import small
from headwater.coordinator.tables import Seen, written
from headwater.coordinator.timestamps import Choice, Hold, Isolation, choose
from headwater.core.change import FileEntry, ReadPlan
from headwater.core.clock import unique_name
from headwater.core.errors import UserError
from headwater.core.limits import COMPACTION_CHECK_S
from headwater.core.protocol import Peek, PeekFile
from headwater.core.quoting import quoted
from headwater.core.relation import Relation
from headwater.core.time import TIMESTAMP_END
from headwater.formats.arrow import state_schema
from headwater.observe import metrics
from headwater.persist.combine import relation_sql
from headwater.persist.files import DAMAGE_HINT, damage
from headwater.persist.ledger import ErrorSpan
from headwater.persist.results import read_result, remove_result
from headwater.sql.select import before_rows
from headwater.sql.select.generate.duckdb import query as duckdb_sql
from headwater.sql.select.generate.spark import query as spark_sql
from headwater.sql.select.plan.nodes import Query

if TYPE_CHECKING:
    from headwater.coordinator.coordinator import Coordinator

EngineChoice = Literal["auto", "spark", "duckdb"]


@dataclass(eq=False)
class ReadAgain(UserError):
    """A table cannot be read at a timestamp, but later: it is, or was, read again from its upstream."""

    until: int = 0  # from then on; 0: not known yet


class RelationDropped(UserError):
    """Something that a read waited for has gone."""


class RelationRedefined(RelationDropped):
    """While a read waited, something it was planned with has come to give something else."""


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
    redefined_at: int = 0  # before this timestamp reading them gave something else

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
        """The tables that statements write, as far as it reads them, and when."""
        read = [table for table in self.inputs.tables if written(table)]
        return {table.collection_id: Seen(self.ts, table.name) for table in read}

    def close(self) -> None:
        self.hold.release()


class Reads:
    """Runs queries, with what the coordinator has: catalog, ledger, controller, engine, oracle, holds."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    def inputs_of(self, state: CatalogState, query: Query) -> Inputs:
        """Sort a query's relations by kind."""
        items = [state.items[id_] for id_ in sorted(query.relation_ids) if id_ in state.items]
        views = [state.items[id_] for id_ in query.view_ids]
        return Inputs(
            tuple(item for item in items if item.stores),
            tuple(item for item in items if item.ingests),
            tuple(sorted(id_ for id_ in query.relation_ids if id_ not in state.items)),
            max((item.redefined_at for item in (*items, *views)), default=0),
        )

    def upper(self, item: Item) -> int:
        """Every timestamp below this can be read without waiting."""
        if item.ingests:
            return self._coordinator.controller.uppers.get(item.id, 0)
        if item.source_id is None:
            return TIMESTAMP_END
        if item.collection_id not in self._coordinator.controller.hydrated:
            return 0
        return self._coordinator.controller.uppers.get(item.source_id, 0)

    def failed_at(self, item: Item) -> int | None:
        """From when on it cannot be read, for good or until it was read again; None: it goes on."""
        if item.source_id is None:
            return None
        spans = self._coordinator.ledger.errors(item.collection_id)
        return next((span.ts for span in spans if span.until is None), None)

    def complete_until(self, item: Item) -> int:
        """Below this its rows are there: what has ended does not get any further, as its source does."""
        failed_at = self.failed_at(item)
        return self.upper(item) if failed_at is None else min(failed_at, self.upper(item))

    def newest(self, item: Item) -> int:
        """The last timestamp at which somebody may have read it; of plain tables the oracle knows."""
        upper = self.upper(item)
        if upper != TIMESTAMP_END:
            return upper - 1
        return 0 if item.source_id is None and not item.ingests else self.end(item)

    def end(self, item: Item) -> int:
        """The last timestamp of a source that has ended."""
        writer = self._coordinator.ledger.writer(item.source_id or item.id)
        return 0 if writer is None else writer.ts

    async def wait_readable(
        self, inputs: Inputs, pinned: Hold | None = None, as_of: int | None = None
    ) -> None:
        """Until every input has some timestamp at which it can be read, or is in error.

        A table that is read again from its upstream is waited for, unless `as_of` is before that.
        """
        controller = self._coordinator.controller

        def ready() -> bool:
            return all(
                (self.upper(i) > 0 and not self._read_again(i, as_of)) or not self._exists(i, pinned)
                for i in inputs.moving()
            )

        if not ready():
            with self._coordinator.waits.waiting(inputs.moving()):
                await controller.wait_for(ready)
        for item in inputs.moving():
            self._check_exists(item, pinned)
            self.start_since(item)

    def _read_again(self, item: Item, as_of: int | None) -> bool:
        """Whether a table is being read again, and what is asked for will be readable then."""
        ledger = self._coordinator.ledger
        if item.ingests or not ledger.refilling(item.collection_id):
            return False
        if as_of is None:
            return True
        return any(span.meets(as_of - 1, as_of) for span in ledger.errors(item.collection_id))

    def _exists(self, item: Item, pinned: Hold | None) -> bool:
        """Whether it is there, for a transaction also what it holds although it was dropped since."""
        id_, coordinator = item.collection_id, self._coordinator
        held = pinned is not None and id_ in pinned.ids
        return held or id_ in coordinator.catalog.state.collections() or coordinator.widenings.lingers(id_)

    def _check_exists(self, item: Item, pinned: Hold | None) -> None:
        if not self._exists(item, pinned):
            name = self._coordinator.full_name(item)
            raise RelationDropped(f'query could not complete because relation "{name}" was dropped', "42704")

    def start_since(self, item: Item) -> int:
        """A collection's since, which comes from the ledger before anything else may raise it.

        What retention asks for may be long before the table was there; and a table that is being
        filled is in the ledger, but its history does not begin where it says until it is readable.
        """
        holds, ledger, id_ = self._coordinator.holds, self._coordinator.ledger, item.collection_id
        if not holds.since(id_) and item.ingests:
            holds.start(id_, ledger.first_binding_ts(id_))
        elif not holds.since(id_):
            collection = ledger.collection(id_)
            if collection is not None and collection.hydrated:
                holds.start(id_, collection.since)
        return holds.since(id_)

    def choose(self, inputs: Inputs, isolation: Isolation) -> Choice:
        """The timestamp for these inputs now."""
        items = (*inputs.tables, *inputs.sources)
        return choose(
            max(self._coordinator.oracle.floor, inputs.redefined_at),
            [self._coordinator.holds.since(item.collection_id) for item in items],
            [self.upper(item) for item in inputs.moving()],
            [self.end(item) for item in inputs.moving() if self.upper(item) == TIMESTAMP_END],
            isolation,
        )

    async def prepare(
        self,
        query: Query,
        state: CatalogState,
        isolation: Isolation,
        allow: Callable[[Query], None],
        as_of: int | None = None,
        at_least: bool = False,
        pinned: Hold | None = None,
        facts: Callable[[], SystemFacts] | None = None,
        not_before: int = 0,
        first: bool = False,
    ) -> PreparedRead:
        """Fix the timestamp, wait for it, find the files.

        `pinned` is the hold of a transaction that has read before: same timestamp again.  Without that and
        without `as_of` the timestamp is `not_before` or later.  At the `first` of a transaction's reads
        everything it may read later must mean what it means now.  `allow` refuses who may not read this.
        """
        allow(query)
        await self._check_constants(query)
        while True:
            try:
                return await self._prepare(
                    *(query, state, isolation, allow, as_of, at_least, pinned, facts, not_before, first)
                )
            except ReadAgain as error:
                if pinned is not None or (as_of is not None and not at_least):
                    raise
                # It was not when the read began; what was asked for is what is there now.
                not_before = max(not_before, error.until)

    async def _prepare(
        self,
        query: Query,
        state: CatalogState,
        isolation: Isolation,
        allow: Callable[[Query], None],
        as_of: int | None,
        at_least: bool,
        pinned: Hold | None,
        facts: Callable[[], SystemFacts] | None,
        not_before: int,
        first: bool,
    ) -> PreparedRead:
        inputs = self.inputs_of(state, query)
        if first:
            inputs = replace(inputs, redefined_at=state.redefined_at())
        asked_for = as_of if not at_least else None
        await self.wait_readable(inputs, pinned, asked_for if pinned is None else pinned.ts)
        if pinned is not None:
            ts = pinned.ts
            self._check_since(inputs, ts, in_transaction=True)
        elif as_of is not None:
            readable = max(self.choose(inputs, isolation).first, inputs.redefined_at, not_before)
            ts = max(as_of, readable) if at_least else as_of
            self._check_since(inputs, ts, in_transaction=False)
        else:
            ts = max(self.choose(inputs, isolation).ts, not_before)
            if query.uses_mz_now and not inputs.moving():
                ts = max(ts, self._coordinator.clock.now_ms())
        plain = bool(inputs.plain())
        if plain:
            await self._wait_until(ts)
        if plain or (isolation == "strict serializable" and as_of is None):
            # Before anything is awaited: no write may take a timestamp at or before this one.
            self._coordinator.oracle.show(ts)
        hold = self._coordinator.holds.acquire(inputs.ids(), ts)
        try:
            await self.wait_passed(inputs, ts, pinned)
            if plain:
                await self._coordinator.tables.settled(ts)
            if pinned is None:
                self._check_meaning(query, state)
            self._check_errors(inputs, ts)
            allow(query)
            read = PreparedRead(query, inputs, ts, hold, facts or self._coordinator.system_facts)
            for table in inputs.tables:
                plan = self._coordinator.ledger.read_plan(table.collection_id, ts)
                hold.uses(table.collection_id, plan.state_as_of)
                read.plans[table.id] = plan
            await self._coordinator.value_errors.check_read(inputs.tables, read.plans, inputs.system)
            return read
        except BaseException:
            hold.release()
            raise

    def _check_meaning(self, query: Query, state: CatalogState) -> None:
        """What it was planned with gives the same as then."""
        now = self._coordinator.catalog.state.items
        for id_ in query.relation_ids | query.view_ids:
            if id_ in state.items and id_ in now and now[id_].redefined_at != state.items[id_].redefined_at:
                name = self._coordinator.full_name(now[id_])
                raise RelationRedefined(
                    f'"{name}" was swapped or replaced while the statement ran',
                    "40001",
                    hint="Run the statement again.",
                )

    async def _check_constants(self, query: Query) -> None:
        """As PostgreSQL: what cannot be computed is an error even where no row needs it."""
        parts = await self._coordinator.beside.run(lambda: before_rows(query))
        if parts is not None:
            await self._coordinator.engine.check(*await self.generated(parts, {}, None, {}))

    async def constants(self, query: Query) -> pa.Table:
        """The result of a query that reads nothing."""
        sql, tables = await self.generated(query, {}, None, {})
        return await self._coordinator.engine.table(sql, state_schema(Relation(query.columns())), tables)

    async def generated(
        self, query: Query, relations: Mapping[str, str], ts: int | None, tables: Mapping[str, pa.Table]
    ) -> tuple[str, dict[str, pa.Table]]:
        """DuckDB's text of a query, and these tables with those of its constants."""

        def generate() -> tuple[str, dict[str, pa.Table]]:
            made = dict(tables)
            return duckdb_sql.generate(query, relations, ts, made), made

        return await self._coordinator.beside.run(generate)

    def _check_since(self, inputs: Inputs, ts: int, in_transaction: bool) -> None:
        for item in (*inputs.tables, *inputs.sources):
            since = self._coordinator.holds.since(item.collection_id)
            if ts >= since:
                continue
            name = self._coordinator.full_name(item)
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
                hint="Use AS OF AT LEAST. A table WITH (RETAIN HISTORY FOR ...) keeps its past, but has none"
                " from before it could be read first.",
            )

    async def wait_passed(self, inputs: Inputs, ts: int, pinned: Hold | None = None) -> None:
        """Until all inputs can be read at `ts`."""
        moving = inputs.moving()

        def passed() -> bool:
            return all(self.upper(item) > ts or not self._exists(item, pinned) for item in moving)

        if not passed():
            error = self.stopped(inputs)
            if error is not None:  # which the wait would not change
                self._check_errors(inputs, ts)
            with self._coordinator.waits.waiting(moving):
                await self._coordinator.controller.wait_for(passed)
        for item in moving:
            self._check_exists(item, pinned)

    async def _wait_until(self, ts: int) -> None:
        """Plain tables follow the clock: a timestamp ahead of it is not over yet."""
        while (ahead_ms := ts - max(self._coordinator.clock.now_ms(), self._coordinator.oracle.floor)) > 0:
            await asyncio.sleep(min(ahead_ms / 1000, COMPACTION_CHECK_S))

    def failure(self, inputs: Inputs, after: int, until: int) -> Failure | None:
        """The first timestamp in (after, until], which they have passed, where one cannot be read."""
        met = [
            (max(span.ts, after + 1), -span.ts, span, table)
            for table in inputs.tables
            for span in self._coordinator.ledger.errors(table.collection_id)
            if span.meets(after, until)
        ]
        if not met:
            return None
        # Of several that hold there: what happened last.
        ts, _, span, table = min(met, key=lambda one: one[:2])
        if span.until is None:  # one that was read again may have been stopped for good on the way
            span = self._coordinator.ledger.stopped(table.collection_id) or span
        return Failure(ts, self._error(table, span))

    def stopped(self, inputs: Inputs) -> UserError | None:
        """Why one of these will not come any further; None also while one is read again."""
        for table in inputs.tables:
            span = self._coordinator.ledger.stopped(table.collection_id)
            if span is not None:
                return self._error(table, span)
        return None

    def _error(self, table: Item, span: ErrorSpan) -> UserError:
        coordinator = self._coordinator
        name = coordinator.full_name(table)
        ended = span.until is None and coordinator.ledger.stopped(table.collection_id) is not None
        if ended:
            how = f"is stopped at position {span.position}" if span.position else "is stopped"
        elif span.until is None:
            how = "is being read again from its upstream"
        else:
            how = f"was read again from its upstream, and can be read from {span.until} on"
        due_to = "source must be dropped and recreated due to failure: " if span.hint is None else ""
        replaced = f"{how_to_replace(table)} {UNSTORED}"
        error = UserError(
            f"Source error: {due_to}{span.message}",
            "XX000",
            detail=f'Table "{name}" {how}.',
            hint=replaced if span.hint is None else coordinator.named_in(span.hint, table),
        )
        if ended:
            return error
        return ReadAgain(error.message, error.sqlstate, error.detail, error.hint, until=span.until or 0)

    def last_readable(self, inputs: Inputs, newest: int) -> int:
        """The newest timestamp up to `newest` at which none of these has an error."""
        spans = [
            span for table in inputs.tables for span in self._coordinator.ledger.errors(table.collection_id)
        ]
        while starts := [span.ts for span in spans if span.meets(newest - 1, newest)]:
            newest = min(starts) - 1
        return newest

    def _check_errors(self, inputs: Inputs, ts: int) -> None:
        failure = self.failure(inputs, ts - 1, ts)
        if failure is not None:
            raise failure.error

    # Running

    def pick_engine(self, read: PreparedRead, wanted: EngineChoice) -> Literal["spark", "duckdb"]:
        """Which engine runs it; an error when the wanted one cannot."""
        only_files = bool(read.plans) and not read.inputs.sources and not read.inputs.system
        if wanted == "duckdb" or memory.away_from_spark(wanted):
            return "duckdb"
        if any(plan.flawed for plan in read.plans.values()):
            if wanted == "spark":
                raise UserError(
                    "a table that has had values that could not be stored is not read by Spark",
                    "0A000",
                    hint="SET read_engine = auto. Spark reads it some changes after such rows are corrected.",
                )
            return "duckdb"
        fits = wanted == "auto" and small(read.query, read.plans)
        if fits or not only_files:
            return "duckdb"
        refusal = spark_sql.supported(read.query)
        if refusal is not None and wanted == "spark":
            raise refusal
        return "spark" if refusal is None else "duckdb"

    def _fits_spark(self, read: PreparedRead) -> bool:
        try:
            return self.pick_engine(read, "spark") == "spark"
        except UserError:
            return False

    def run(self, read: PreparedRead, wanted: EngineChoice) -> AsyncIterator[pa.RecordBatch]:
        """Batches of the result; the hold is released at the end or when closed early."""
        engine = self.pick_engine(read, wanted)
        return self._run(read, engine, wanted == "auto" and engine == "duckdb")

    async def _run(
        self, read: PreparedRead, engine: Literal["spark", "duckdb"], movable: bool
    ) -> AsyncIterator[pa.RecordBatch]:
        begin_s = self._coordinator.clock.monotonic_s()
        outcome: metrics.Outcome = "error"
        try:
            try:
                batches = self._on_spark(read) if engine == "spark" else self._on_duckdb(read)
                async for batch in batches:
                    movable = False
                    yield batch
            except UserError as error:
                # Small files may have large values: that is seen when they do not fit.
                if not movable or error.sqlstate != memory.OUT_OF_MEMORY or not self._fits_spark(read):
                    raise
                engine = "spark"
                async for batch in self._on_spark(read):
                    yield batch
            outcome = "ok"
        except UserError as error:
            files = [file for plan in read.plans.values() for file in (*plan.state, *plan.tail)]
            self.check_damage(files, error)
            raise
        finally:
            metrics.queried(engine, outcome, self._coordinator.clock.monotonic_s() - begin_s)
            read.close()

    def check_damage(self, files: Iterable[FileEntry], error: UserError) -> None:
        """After an error: if a file that was read is not as it was written, say that instead."""
        found = damage(self._coordinator.store, files)
        if found is not None:
            raise UserError(found, "58030", hint=DAMAGE_HINT) from error

    async def duckdb_text(
        self, read: PreparedRead, beside: Mapping[str, pa.Table] = MappingProxyType({})
    ) -> tuple[str, dict[str, pa.Table]]:
        """The query for DuckDB, and the Arrow tables it names, with those that are there `beside` it."""
        relations: dict[str, str] = {
            id_: relation_sql(plan, self._coordinator.store) for id_, plan in read.plans.items()
        }
        tables = dict(beside)
        facts = read.facts() if read.inputs.system else None
        for id_ in read.inputs.system:
            tables[f"hw_{id_}"] = evaluate(id_, facts or read.facts())
            relations[id_] = quoted(f"hw_{id_}")
        for source in read.inputs.sources:
            tables[f"hw_{source.id}"] = progress(source, read.ts, self._coordinator.ledger)
            relations[source.id] = quoted(f"hw_{source.id}")
        return await self.generated(read.query, relations, read.ts, tables)

    async def _on_duckdb(self, read: PreparedRead) -> AsyncIterator[pa.RecordBatch]:
        sql, tables = await self.duckdb_text(read)
        schema = state_schema(Relation(read.query.columns()))
        async for batch in self._coordinator.engine.run(sql, schema, tables, files=bool(read.plans)):
            yield batch

    async def spark_peek(self, read: PreparedRead, explain: bool = False) -> Peek:
        """The query for Spark."""
        peek_id = f"p{unique_name()[:12]}"
        names = {id_: f"{peek_id}_{id_}" for id_ in read.plans}
        text = await self._coordinator.beside.run(lambda: spark_sql.generate(read.query, names, read.ts))
        return Peek(
            peek_id,
            text,
            {names[id_]: plan.to_json() for id_, plan in read.plans.items()},
            Relation(read.query.columns()).to_json(),
            "reads",
            explain,
        )

    async def _on_spark(self, read: PreparedRead) -> AsyncIterator[pa.RecordBatch]:
        peek = await self.spark_peek(read)
        pending = self._coordinator.controller.start_peek(peek)
        try:
            while (answer := await pending.answers.get()) is not None:
                if isinstance(answer, UserError):
                    raise answer
                if isinstance(answer, pa.RecordBatch):
                    yield answer
                elif isinstance(answer, PeekFile):
                    batches = read_result(self._coordinator.store, answer.path, answer.rows)
                    while (batch := await asyncio.to_thread(next, batches, None)) is not None:
                        yield batch
        finally:
            self._coordinator.controller.end_peek(peek.peek_id)
            with suppress(RuntimeError):  # no thread for it: the next start takes it away
                asyncio.get_running_loop().run_in_executor(
                    None, remove_result, self._coordinator.store, peek.peek_id
                )

    async def spark_plan(self, read: PreparedRead) -> str:
        """Spark's own plan, for EXPLAIN."""
        pending = self._coordinator.controller.start_peek(await self.spark_peek(read, explain=True))
        try:
            answer = await pending.answers.get()
        finally:
            self._coordinator.controller.end_peek(pending.command.peek_id)
        if isinstance(answer, UserError):
            raise answer
        return str(answer)

"""What runs in Spark tasks: plain functions of picklable values, no pyspark in sight.

Each writes its Parquet files itself and returns only their descriptions, so no
row ever passes through the driver.  A task that is tried again writes other
files; only those that were returned are committed, the rest is swept.  `claim` is in the names of all
of them (claims.py).

Errors that are ours come back as values (`Failed`), because an exception would
reach the driver as a Java stack trace and would make Spark try a definite error
again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from headwater.cluster.ahead import ahead
from headwater.core import limits
from headwater.core.change import FLAWS, KEY, OP, SEQUENCE, FetchedFile, FileEntry, ReadPlan, Received
from headwater.core.errors import DefiniteError, HeadwaterError, InvariantViolation, TransientError
from headwater.core.limits import (
    BACKFILL_NICENESS,
    FOLD_BUCKET_BYTES,
    FOLD_BUCKET_WEIGHT_BYTES,
    ROW_GROUP_BYTES_MAX,
)
from headwater.core.quoting import quoted
from headwater.formats.arrow import change_schema, state_schema
from headwater.formats.columns import map_distinct
from headwater.formats.jsonb import canonical_jsonb
from headwater.observe.failpoints import failpoint
from headwater.persist.answers import StoredAnswers
from headwater.persist.combine import BELOW_ZERO, relation_sql, scan_files
from headwater.persist.files import DAMAGE_HINT, damage, weigh, write_file
from headwater.persist.keys import same_key
from headwater.persist.layout import change_file, state_file
from headwater.persist.secrets import SecretStore
from headwater.persist.store import DataStore
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Export, ReadChunk, ReadPart, Reset, SnapshotChunk
from headwater.sources.unforeseen import Ended, attempted, end_of

_BATCH_ROWS_MAX = 122_880
_PART_SEQUENCES = 2**40
"""More changes than one part of a tick can have."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A task's error, with the export it concerns if it is definite."""

    error: HeadwaterError


@dataclass(frozen=True, slots=True)
class Written:
    """What a part of a tick came to: (table, file) pairs, and the definite errors of tables."""

    files: tuple[tuple[str, FileEntry], ...]
    errors: tuple[tuple[str, DefiniteError], ...]
    received: tuple[tuple[str, Received], ...] = ()


@dataclass(frozen=True, slots=True)
class ReadTask:
    """Read a part of a tick and write the change files of its exports."""

    store: DataStore
    claim: str
    ts: int
    source_id: str
    part: ReadPart

    def run(self) -> Written:
        changes = _Changes(self)
        secrets, answers = SecretStore(self.store).get, StoredAnswers(self.store, self.source_id)
        for export, found in SOURCE_TYPES[self.part.source_type].read(self.part, secrets, answers):
            changes.take(export, found)
        failpoint("ingestion.before_files")
        return changes.written()


class _Changes:
    """What has come of a part; what would be too much to hold is in files already."""

    def __init__(self, task: ReadTask) -> None:
        self._task = task
        self._exports: dict[str, Export] = {}
        self._batches: dict[str, list[pa.RecordBatch]] = {}
        self._held_bytes = 0
        self._files: dict[str, list[FileEntry]] = {}
        self._resets: set[str] = set()  # tables whose next file is the first after they were emptied
        self._errors: dict[str, DefiniteError] = {}
        self._counted: dict[str, Received] = {}
        self._told: dict[str, Received] = {}  # by the kind itself

    def take(self, export: Export, found: pa.RecordBatch | Reset | Received | DefiniteError) -> None:
        id_ = export.table_id
        self._exports[id_] = export
        if isinstance(found, DefiniteError):
            self._errors.setdefault(id_, found)
        elif isinstance(found, Received):
            self._told[id_] = self._told.get(id_, Received()) + found
        elif isinstance(found, Reset):
            self._batches[id_] = []
            self._resets.add(id_)
            self._files.pop(id_, None)
            self._counted.pop(id_, None)
        elif found.num_rows:
            self._batches.setdefault(id_, []).append(found)
            self._counted[id_] = self._counted.get(id_, Received()) + _values(export, found)
            self._held_bytes += found.nbytes
            if self._held_bytes > limits.TICK_PART_HELD_BYTES_MAX:
                self._write()

    def written(self) -> Written:
        self._write()
        whole = {id_: files for id_, files in self._files.items() if id_ not in self._errors}
        files = tuple((id_, file) for id_, made in whole.items() for file in made)
        return Written(files, tuple(self._errors.items()), tuple((self._counted | self._told).items()))

    def _write(self) -> None:
        """What is held, into a file for each table."""
        task, batches = self._task, self._batches
        self._batches, self._held_bytes = {}, 0
        for id_, held in batches.items():
            if id_ in self._errors:
                continue
            export = self._exports[id_]
            path = change_file(id_, task.ts, task.part.index, task.claim)
            file = attempted(partial(self._file, export, path, held))
            if isinstance(file, Exception):
                ended = end_of(export, file, "changes were written")
                self._errors[id_] = ended.error
                self._told[id_] = self._told.get(id_, Received()) + ended.told
                continue
            self._files.setdefault(id_, []).append(replace(file, resets=id_ in self._resets))
            self._resets.discard(id_)

    def _file(self, export: Export, path: str, held: Sequence[pa.RecordBatch]) -> FileEntry:
        task = self._task
        stamped = (stamp(batch, export, task.ts, task.part.index) for batch in held)
        return write_file(task.store, path, stamped, change_schema(export.stored))


def stamp(batch: pa.RecordBatch, export: Export, ts: int, index: int) -> pa.RecordBatch:
    """Changes that were read become changes at a timestamp, in the order of the tick's parts.

    The upstream's own order is not asked any more: it may not be one line, or begin anew.
    """
    sequence = pc.add(batch.column(SEQUENCE), index * _PART_SEQUENCES)
    tick = pa.repeat(pa.scalar(ts, pa.int64()), batch.num_rows)
    columns = stored_columns(batch, export, ts)
    return pa.RecordBatch.from_arrays(
        [*columns, batch.column(OP), sequence, tick], schema=change_schema(export.stored)
    )


def stored_columns(batch: pa.RecordBatch, export: Export, ts: int) -> list[pa.Array]:
    """The columns of what was read as files have them: flaws are what the table wants of them."""
    columns = [batch.column(place) for place in range(len(export.kept.columns))]
    return [*columns, _flaws(batch, export, ts)]


def _flaws(batch: pa.RecordBatch, export: Export, ts: int) -> pa.Array:
    wanted = export.on_value_error
    if FLAWS not in batch.schema.names or not (wanted.fails or wanted.column):
        return pa.nulls(batch.num_rows, pa.string())
    told = batch.column(FLAWS)
    if wanted.column is None:
        return pc.binary_join_element_wise(told, str(ts), "\n")
    values = pc.list_element(pc.split_pattern(told, "\n", max_splits=1), 0)
    return map_distinct(values, canonical_jsonb, pa.string())


def _values(export: Export, batch: pa.RecordBatch) -> Received:
    """Rows that are the upstream's own messages: each a row, of so many bytes without what we add."""
    own = export.relation.column_names()
    return Received(batch.num_rows, sum(batch.column(name).nbytes for name in own))


def received(parts: Sequence[Written]) -> dict[str, Received]:
    """What came for each table of a tick."""
    found: dict[str, Received] = {}
    for part in parts:
        for id_, came in part.received:
            found[id_] = found.get(id_, Received()) + came
    return found


def gather(parts: Sequence[Written]) -> tuple[dict[str, list[FileEntry]], dict[str, DefiniteError]]:
    """The files of each table of a tick in the order of its parts, and the first error of each."""
    files: dict[str, list[FileEntry]] = {}
    errors: dict[str, DefiniteError] = {}
    for part in parts:
        for id_, file in part.files:
            # What an earlier part wrote is gone where a later one resets; the sweeper takes the file.
            files[id_] = [file] if file.resets else [*files.get(id_, ()), file]
        for id_, error in part.errors:
            errors.setdefault(id_, error)
    return {id_: found for id_, found in files.items() if id_ not in errors}, errors


@dataclass(frozen=True, slots=True)
class SnapshotTask:
    """Read a chunk of a snapshot and write it as a state file; part of a `GroupTask`."""

    store: DataStore
    claim: str
    as_of: int
    chunk: SnapshotChunk

    def run(self, read: ReadChunk) -> FetchedFile:
        export, index = self.chunk.export, self.chunk.index
        changes = SOURCE_TYPES[self.chunk.source_type].snapshots_are_changes(export)
        make_path = change_file if changes else state_file
        path = make_path(export.table_id, self.as_of, index, self.claim)
        schema = change_schema(export.stored) if changes else state_schema(export.stored)
        # The upstream goes on sending while a file is written.
        came = _Came()
        with closing(ahead(read(self.chunk))) as batches:
            sized = came.counted(batches)
            stamped = (stamp(batch, export, self.as_of, index) for batch in sized)
            rows = stamped if changes else in_state(sized, export, self.as_of)
            file = write_file(self.store, path, rows, schema)
        received = Received(file.rows, came.bytes) if came.told is None else came.told
        return FetchedFile(
            file.path, file.rows, file.bytes, file.deletes, flawed=file.flawed, received=received
        )


class _Came:
    """What came of a chunk."""

    def __init__(self) -> None:
        self.bytes = 0
        self.told: Received | None = None  # by the kind itself

    def counted(self, found: Iterator[pa.RecordBatch | Received]) -> Iterator[pa.RecordBatch]:
        """The same batches."""
        for batch in found:
            if isinstance(batch, Received):
                self.told = (self.told or Received()) + batch
            else:
                self.bytes += batch.nbytes
                yield batch


def in_state(batches: Iterator[pa.RecordBatch], export: Export, ts: int) -> Iterator[pa.RecordBatch]:
    """The rows of a chunk as state files have them."""
    schema = state_schema(export.stored)
    for batch in batches:
        yield pa.RecordBatch.from_arrays(stored_columns(batch, export, ts), schema=schema)


@dataclass(frozen=True, slots=True)
class GroupTask:
    """Small tasks of several tables of a source, one after the other.

    A definite error is that of one table alone, and so is one that nobody foresaw.
    """

    source_id: str
    tasks: tuple[SnapshotTask | CopyTask, ...]

    def run(self) -> list[FileEntry | DefiniteError | Ended]:
        results: list[FileEntry | DefiniteError | Ended] = []
        with ExitStack() as stack:
            readers: dict[str, ReadChunk] = {}
            for task in self.tasks:
                try:
                    if isinstance(task, CopyTask):
                        results.append(task.run())
                        continue
                    kind = task.chunk.source_type
                    if kind not in readers:
                        secrets, answers = (
                            SecretStore(task.store).get,
                            StoredAnswers(task.store, self.source_id),
                        )
                        readers[kind] = stack.enter_context(SOURCE_TYPES[kind].reading(secrets, answers))
                    read = readers[kind]
                    made = attempted(partial(task.run, read))
                    results.append(end_of(task.chunk.export, made) if isinstance(made, Exception) else made)
                except DefiniteError as error:
                    results.append(error)
        return results


@dataclass(frozen=True, slots=True)
class CopyTask:
    """Write another table's rows as a state file of a new one, with the columns that it takes."""

    store: DataStore
    claim: str
    plan: ReadPlan  # the other table's
    columns: tuple[str, ...]  # of the other table, in the new one's order
    export: Export
    as_of: int
    memory_bytes: int

    def run(self) -> FileEntry:
        store, id_ = self.store, self.export.table_id
        stored = self.export.stored
        named = ", ".join(
            f"{quoted(theirs)} AS {quoted(ours)}"
            for theirs, ours in zip(self.columns, self.export.relation.column_names(), strict=True)
        )
        # Flaws and odd keys are those of both tables.
        more = ", ".join(map(quoted, stored.column_names()[len(self.columns) :]))
        query = f"SELECT {named}, {more} FROM {relation_sql(self.plan, store)}"
        path = state_file(id_, self.as_of, 0, self.claim)
        inputs = (*self.plan.state, *self.plan.tail)
        return write_query(store, query, inputs, path, id_, state_schema(stored), self.memory_bytes)


def _check_flawless(plan: ReadPlan) -> None:
    """What says which values were not stored speaks of one table's columns, and not of another's."""
    if plan.flawed:
        raise TransientError(
            f"table {plan.collection_id} got values that cannot be stored while another was made from it",
            hint="It is read from the upstream instead, which needs nothing of you.",
        )


@dataclass(frozen=True, slots=True)
class PruneTask:
    """Write those rows of a chunk whose keys chunks of a later point do not have."""

    store: DataStore
    claim: str
    export: Export
    as_of: int
    index: int
    file: FileEntry
    later: tuple[FileEntry, ...]
    memory_bytes: int

    def run(self) -> FileEntry:
        store, relation = self.store, self.export.stored
        keys = [quoted(name) for name in relation.key_names()]
        path = state_file(self.export.table_id, self.as_of, self.index, self.claim)
        query = (
            f"SELECT * FROM {scan_files(store, (self.file,))} AS s"
            f" ANTI JOIN {scan_files(store, self.later)} AS later ON {same_key('s', 'later', keys)}"
        )
        return write_query(
            *(store, query, (self.file, *self.later), path),
            *(self.export.table_id, state_schema(relation), self.memory_bytes),
        )


@dataclass(frozen=True, slots=True)
class WidenTask:
    """Write one bucket of a table's rows joined with further columns, as a state file of the wider one."""

    store: DataStore
    claim: str
    plan: ReadPlan  # the narrower table's
    base: Export
    side: tuple[FileEntry, ...]
    export: Export
    as_of: int
    bucket: int
    buckets: int
    memory_bytes: int

    def run(self) -> FileEntry:
        store, export = self.store, self.export
        path = state_file(export.table_id, self.as_of, self.bucket, self.claim)
        if not self.side:
            return write_file(store, path, iter(()), state_schema(export.stored))
        _check_flawless(self.plan)
        ours = dict(zip(export.columns, export.relation.column_names(), strict=True))
        theirs = dict(zip(self.base.columns, self.base.relation.column_names(), strict=True))
        keys = [export.columns[position] for position in export.relation.keys[0]]
        pairs = [(f"b.{quoted(theirs[key])}", f"s.{quoted(ours[key])}") for key in keys]
        odd = [(f"b.{quoted(KEY)}", f"s.{quoted(KEY)}")] if export.odd_keys else []
        same = " AND ".join(f"{base} IS NOT DISTINCT FROM {side}" for base, side in (*pairs, *odd))
        either = {key: f"coalesce({side}, {base})" for key, (base, side) in zip(keys, pairs, strict=True)}
        values = {name: f"s.{quoted(ours[name])}" for name in export.columns if name not in theirs}
        values |= {name: f"b.{quoted(theirs[name])}" for name in export.columns if name in theirs} | either
        named = ", ".join(f"{values[name]} AS {quoted(ours[name])}" for name in export.columns)
        named += "".join(f", {side}" for _, side in odd)  # the base has no flaws, and so no odd keys
        named += f", s.{quoted(str(export.stored.flaws))}"
        where = (
            f" WHERE hash({', '.join(either.values())}) % {self.buckets} = {self.bucket}"
            if self.buckets > 1
            else ""
        )
        # Rows that only the base has are deleted on the way, but one may have changed its key and taken
        # values along.
        query = (
            f"SELECT {named} FROM {scan_files(store, self.side)} AS s"
            f" FULL JOIN {relation_sql(self.plan, store)} AS b ON {same}{where}"
        )
        inputs = (*self.plan.state, *self.plan.tail, *self.side)
        return write_query(
            store, query, inputs, path, export.table_id, state_schema(export.stored), self.memory_bytes
        )


@dataclass(frozen=True, slots=True)
class FoldTask:
    """Write one bucket of a table's rows at the plan's timestamp as a state file.

    A large table is folded by several tasks, each taking the rows whose key (or whole row)
    hashes to its bucket.
    """

    store: DataStore
    claim: str
    plan: ReadPlan
    bucket: int
    buckets: int
    memory_bytes: int

    def run(self) -> FileEntry:
        store = self.store
        relation = self.plan.relation
        share = (self.bucket, self.buckets) if self.buckets > 1 else None
        rows = relation_sql(self.plan, store, checked=True, share=share)
        order = f" ORDER BY {', '.join(map(quoted, relation.key_names()))}" if relation.keys else ""
        path = state_file(self.plan.collection_id, self.plan.as_of, self.bucket, self.claim)
        query = f"SELECT * FROM {rows}{order}"
        inputs = (*self.plan.state, *self.plan.tail)
        return write_query(
            store, query, inputs, path, self.plan.collection_id, state_schema(relation), self.memory_bytes
        )


@dataclass(frozen=True, slots=True)
class PackTask:
    """Put small files of an appended table together into one, dropping the hidden columns."""

    store: DataStore
    claim: str
    plan: ReadPlan
    files: tuple[FileEntry, ...]
    index: int
    memory_bytes: int

    def run(self) -> FileEntry:
        store = self.store
        relation = self.plan.relation
        listed = ", ".join(map(quoted, relation.column_names()))
        path = state_file(self.plan.collection_id, self.plan.as_of, self.index, self.claim)
        query = f"SELECT {listed} FROM {scan_files(store, self.files)}"
        return write_query(
            store,
            query,
            self.files,
            path,
            self.plan.collection_id,
            state_schema(relation),
            self.memory_bytes,
        )


def bucket_count(store: DataStore, plan: ReadPlan, others: Sequence[FileEntry] = ()) -> int:
    """Into how many buckets a table's rows, combined and joined with others, are split for their tasks."""
    files = (*plan.state, *plan.tail, *others)
    buckets = 1 + sum(file.bytes for file in files) // FOLD_BUCKET_BYTES
    passing = plan.discipline == "counted" and not others and not any(file.deletes for file in plan.tail)
    if passing:
        return buckets
    return max(buckets, 1 + weigh(store, files).bytes // FOLD_BUCKET_WEIGHT_BYTES)


@contextmanager
def task_database(store: DataStore, memory_bytes: int) -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB for one task: bounded in memory, and what goes beyond that lies with the rest of our files."""
    with store.spill() as spilled:
        bounds = {"memory_limit": f"{memory_bytes}B", "temp_directory": spilled}
        with duckdb.connect(config={**bounds, "threads": 1}) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            yield connection


def write_query(
    store: DataStore,
    query: str,
    inputs: Sequence[FileEntry],
    path: str,
    table_id: str,
    schema: pa.Schema,
    memory_bytes: int,
) -> FileEntry:
    """What a query over files comes to, as a file."""
    batch_rows = min(weigh(store, inputs).rows(ROW_GROUP_BYTES_MAX), _BATCH_ROWS_MAX)
    with task_database(store, memory_bytes) as connection:
        try:
            reader = connection.sql(query).to_arrow_reader(batch_rows)
            return write_file(store, path, _cast(reader, schema), schema)
        except (duckdb.Error, pa.ArrowException, TransientError) as error:
            if isinstance(error, duckdb.OutOfMemoryException) or str(error).startswith("Out of Memory"):
                raise TransientError(
                    f"a fold of table {table_id} needs more than {memory_bytes} bytes of memory",
                    hint="Free space in the data directory.",
                ) from error
            # Also an error that seems to be the writer's: it reads while it writes.
            found = damage(store, inputs)
            if found is not None:
                raise TransientError(found, DAMAGE_HINT) from error
            if isinstance(error, TransientError):
                raise
            if BELOW_ZERO in str(error):
                raise InvariantViolation(f"{BELOW_ZERO}: table {table_id} is not folded") from error
            raise TransientError(
                f"could not fold table {table_id}: {(str(error).splitlines() or ['no reason given'])[0]}"
            ) from error


def _cast(reader: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    batches = iter(reader)
    while True:
        try:
            batch = next(batches, None)
        except OSError as error:  # of the query, by way of Arrow; not of the file that is written
            raise pa.ArrowInvalid(str(error)) from error
        if batch is None:
            return
        yield batch if batch.schema == schema else batch.cast(schema)


def run_aside(task: Any) -> Any:
    """As `run_task`, where the machine's time goes to others first: ticks, and whoever reads."""

    def run() -> Any:
        # Of this thread alone, and of those that it begins; a whole process could not go back.
        thread = threading.get_native_id()
        niceness = os.getpriority(os.PRIO_PROCESS, thread) + BACKFILL_NICENESS
        os.setpriority(os.PRIO_PROCESS, thread, niceness)  # beyond the last there is the last
        return run_task(task)

    with ThreadPoolExecutor(1, "aside") as pool:
        return pool.submit(run).result()


def run_task(task: Any) -> Any:
    """The function that Spark maps over tasks."""
    run: Callable[[], Any] = task.run
    try:
        return run()
    except (DefiniteError, TransientError, InvariantViolation) as error:
        return Failed(error)

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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from headwater.cluster.ahead import ahead
from headwater.core.change import FileEntry, ReadPlan
from headwater.core.clock import unique_name
from headwater.core.errors import DefiniteError, HeadwaterError, InvariantViolation, TransientError
from headwater.core.limits import BACKFILL_NICENESS
from headwater.core.relation import Relation
from headwater.formats.arrow import change_schema, state_schema
from headwater.persist.combine import BELOW_ZERO, quote, relation_sql, scan_files
from headwater.persist.files import DAMAGE_HINT, damage, write_file
from headwater.persist.layout import change_file, state_file
from headwater.persist.secrets import SecretStore
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Export, ReadChunk, ReadPart, Reset, SnapshotChunk


@dataclass(frozen=True, slots=True)
class Failed:
    """A task's error, with the export it concerns if it is definite."""

    error: HeadwaterError


@dataclass(frozen=True, slots=True)
class Written:
    """What a part of a tick came to: (table, file) pairs, and the definite errors of tables."""

    files: tuple[tuple[str, FileEntry], ...]
    errors: tuple[tuple[str, DefiniteError], ...]


@dataclass(frozen=True, slots=True)
class ReadTask:
    """Read a part of a tick and write the change files of its exports."""

    data_dir: str
    claim: str
    ts: int
    part: ReadPart

    def run(self) -> Written:
        batches: dict[str, list[pa.RecordBatch]] = {}
        exports: dict[str, Export] = {}
        errors: dict[str, DefiniteError] = {}
        resets: set[str] = set()
        for export, found in SOURCE_TYPES[self.part.source_type].read(self.part):
            id_ = export.table_id
            exports[id_] = export
            if isinstance(found, DefiniteError):
                errors.setdefault(id_, found)
            elif isinstance(found, Reset):
                batches[id_] = []
                resets.add(id_)
            elif found.num_rows:
                batches.setdefault(id_, []).append(found)
        files = [
            (id_, self._write(exports[id_], parts, id_ in resets))
            for id_, parts in batches.items()
            if id_ not in errors
        ]
        return Written(tuple(files), tuple(errors.items()))

    def _write(self, export: Export, batches: list[pa.RecordBatch], resets: bool) -> FileEntry:
        path = change_file(export.table_id, self.ts, self.part.index, self.claim, unique_name()[:8])
        schema = change_schema(export.relation)
        return replace(write_file(Path(self.data_dir), path, iter(batches), schema), resets=resets)


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

    data_dir: str
    claim: str
    as_of: int
    chunk: SnapshotChunk

    def run(self, read: ReadChunk) -> FileEntry:
        export = self.chunk.export
        path = state_file(export.table_id, self.as_of, self.chunk.index, self.claim, unique_name()[:8])
        # The upstream goes on sending while a file is written.
        with closing(ahead(read(self.chunk))) as batches:
            return write_file(Path(self.data_dir), path, batches, state_schema(export.relation))


@dataclass(frozen=True, slots=True)
class GroupTask:
    """Small tasks of several tables, one after the other; a definite error is that of one table alone."""

    tasks: tuple[SnapshotTask | CopyTask, ...]

    def run(self) -> list[FileEntry | DefiniteError]:
        results: list[FileEntry | DefiniteError] = []
        with ExitStack() as stack:
            readers: dict[str, ReadChunk] = {}
            for task in self.tasks:
                try:
                    if isinstance(task, CopyTask):
                        results.append(task.run())
                        continue
                    kind = task.chunk.source_type
                    if kind not in readers:
                        secrets = SecretStore(Path(task.data_dir)).get
                        readers[kind] = stack.enter_context(SOURCE_TYPES[kind].reading(secrets))
                    results.append(task.run(readers[kind]))
                except DefiniteError as error:
                    results.append(error)
        return results


@dataclass(frozen=True, slots=True)
class CopyTask:
    """Write another table's rows as a state file of a new one, with the columns that it takes."""

    data_dir: str
    claim: str
    plan: ReadPlan  # the other table's
    columns: tuple[str, ...]  # of the other table, in the new one's order
    export: Export
    as_of: int
    memory_bytes: int

    def run(self) -> FileEntry:
        data_dir, id_ = Path(self.data_dir), self.export.table_id
        named = ", ".join(
            f"{quote(theirs)} AS {quote(ours)}"
            for theirs, ours in zip(self.columns, self.export.relation.column_names(), strict=True)
        )
        query = f"SELECT {named} FROM {relation_sql(self.plan, data_dir)}"
        path = state_file(id_, self.as_of, 0, self.claim, unique_name()[:8])
        inputs = (*self.plan.state, *self.plan.tail)
        return _write_query(data_dir, query, inputs, path, id_, self.export.relation, self.memory_bytes)


@dataclass(frozen=True, slots=True)
class PruneTask:
    """Write those rows of a chunk whose keys chunks of a later point do not have."""

    data_dir: str
    claim: str
    export: Export
    as_of: int
    index: int
    file: FileEntry
    later: tuple[FileEntry, ...]
    memory_bytes: int

    def run(self) -> FileEntry:
        data_dir, relation = Path(self.data_dir), self.export.relation
        keys = ", ".join(map(quote, relation.key_names()))
        path = state_file(self.export.table_id, self.as_of, self.index, self.claim, unique_name()[:8])
        query = (
            f"SELECT * FROM {scan_files(data_dir, (self.file,))}"
            f" ANTI JOIN (SELECT {keys} FROM {scan_files(data_dir, self.later)}) USING ({keys})"
        )
        return _write_query(
            *(data_dir, query, (self.file, *self.later), path),
            *(self.export.table_id, relation, self.memory_bytes),
        )


@dataclass(frozen=True, slots=True)
class WidenTask:
    """Write one bucket of a table's rows joined with further columns, as a state file of the wider one."""

    data_dir: str
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
        data_dir, export = Path(self.data_dir), self.export
        path = state_file(export.table_id, self.as_of, self.bucket, self.claim, unique_name()[:8])
        if not self.side:
            return write_file(data_dir, path, iter(()), state_schema(export.relation))
        ours = dict(zip(export.columns, export.relation.column_names(), strict=True))
        theirs = dict(zip(self.base.columns, self.base.relation.column_names(), strict=True))
        keys = [export.columns[position] for position in export.relation.keys[0]]
        same = " AND ".join(f"b.{quote(theirs[key])} = s.{quote(ours[key])}" for key in keys)
        named = ", ".join(
            f"b.{quote(theirs[name])} AS {quote(ours[name])}"
            if name in theirs and name not in keys
            else f"s.{quote(ours[name])}"
            for name in export.columns
        )
        hashed = ", ".join(f"s.{quote(ours[key])}" for key in keys)
        where = f" WHERE hash({hashed}) % {self.buckets} = {self.bucket}" if self.buckets > 1 else ""
        query = (
            f"SELECT {named} FROM {scan_files(data_dir, self.side)} AS s"
            f" LEFT JOIN {relation_sql(self.plan, data_dir)} AS b ON {same}{where}"
        )
        inputs = (*self.plan.state, *self.plan.tail, *self.side)
        return _write_query(
            data_dir, query, inputs, path, export.table_id, export.relation, self.memory_bytes
        )


@dataclass(frozen=True, slots=True)
class FoldTask:
    """Write one bucket of a table's rows at the plan's timestamp as a state file.

    A large table is folded by several tasks, each taking the rows whose key (or whole row)
    hashes to its bucket.
    """

    data_dir: str
    claim: str
    plan: ReadPlan
    bucket: int
    buckets: int
    memory_bytes: int

    def run(self) -> FileEntry:
        data_dir = Path(self.data_dir)
        relation = self.plan.relation
        names = relation.key_names() or relation.column_names()
        rows = relation_sql(self.plan, data_dir, checked=True)
        where = (
            f" WHERE hash({', '.join(map(quote, names))}) % {self.buckets} = {self.bucket}"
            if self.buckets > 1
            else ""
        )
        order = f" ORDER BY {', '.join(map(quote, relation.key_names()))}" if relation.keys else ""
        path = state_file(
            self.plan.collection_id, self.plan.as_of, self.bucket, self.claim, unique_name()[:8]
        )
        query = f"SELECT * FROM {rows}{where}{order}"
        inputs = (*self.plan.state, *self.plan.tail)
        return _write_query(
            data_dir, query, inputs, path, self.plan.collection_id, relation, self.memory_bytes
        )


@dataclass(frozen=True, slots=True)
class PackTask:
    """Put small files of an appended table together into one, dropping the hidden columns."""

    data_dir: str
    claim: str
    plan: ReadPlan
    files: tuple[FileEntry, ...]
    index: int
    memory_bytes: int

    def run(self) -> FileEntry:
        data_dir = Path(self.data_dir)
        relation = self.plan.relation
        listed = ", ".join(map(quote, relation.column_names()))
        path = state_file(self.plan.collection_id, self.plan.as_of, self.index, self.claim, unique_name()[:8])
        query = f"SELECT {listed} FROM {scan_files(data_dir, self.files)}"
        return _write_query(
            data_dir, query, self.files, path, self.plan.collection_id, relation, self.memory_bytes
        )


def _write_query(
    data_dir: Path,
    query: str,
    inputs: Sequence[FileEntry],
    path: str,
    table_id: str,
    relation: Relation,
    memory_bytes: int,
) -> FileEntry:
    schema = state_schema(relation)
    with duckdb.connect() as connection:
        connection.execute(f"SET memory_limit = '{memory_bytes}B'; SET threads = 1; SET TimeZone = 'UTC'")
        try:
            reader = connection.sql(query).to_arrow_reader(122_880)
            return write_file(data_dir, path, _cast(reader, schema), schema)
        except duckdb.OutOfMemoryException as error:
            raise TransientError(
                f"a fold of table {table_id} needs more than {memory_bytes} bytes of memory",
                hint="Free space in the directory for temporary files.",
            ) from error
        except (duckdb.Error, pa.ArrowException, TransientError) as error:
            # Also an error that seems to be the writer's: it reads while it writes.
            found = damage(data_dir, inputs)
            if found is not None:
                raise TransientError(found, DAMAGE_HINT) from error
            if isinstance(error, TransientError):
                raise
            if BELOW_ZERO in str(error):
                raise InvariantViolation(f"{BELOW_ZERO}: table {table_id} is not folded") from error
            raise TransientError(
                f"could not fold table {table_id}: {(str(error).splitlines() or ['no reason given'])[0]}"
            ) from error


def _cast(reader: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in reader:
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

"""VERIFY TABLE: is a table what it is upstream?

    1  note where the source stands: binding (ts0, F0)
    2  take a snapshot of the upstream: it shows everything up to F0, and perhaps more
    3  read it, once, in chunks
    4  wait for a binding ts1 that covers all that it shows
    5  compare it with the table as of ts1

A row that no change touched in (ts0, ts1] is the same at both moments, so that comparing
it is exact.  Rows that were touched are in doubt; they alone are compared again, with
another snapshot, until none is left or patience is.

Nothing of the table is touched, and its source goes on.
"""

from __future__ import annotations

import shutil
import threading

import pyarrow as pa
import structlog

from headwater.cluster.compare import CompareTask, FetchTask
from headwater.cluster.ingestion import Ingestion
from headwater.cluster.jobs import DriverLost
from headwater.cluster.world import World
from headwater.core.change import FileEntry
from headwater.core.errors import DefiniteError, HeadwaterError, UserError
from headwater.core.limits import (
    COVER_CHECK_S,
    FOLD_TASK_MEMORY_BYTES,
    SNAPSHOT_CHUNK_ROWS,
    VERIFY_ROUNDS_MAX,
    VERIFY_ROWS_MAX,
)
from headwater.core.protocol import VERIFY_COLUMNS, PeekDone, PeekFailed, PeekRows, Verify
from headwater.sources.contract import Export

log = structlog.get_logger("verify")

VERIFY_POOL = "backfill"
Rows = list[tuple[str, str | None, str | None]]


class Verification:
    """One comparison, in a thread of its own."""

    def __init__(self, world: World, ingestion: Ingestion, command: Verify) -> None:
        self._world = world
        self._ingestion = ingestion
        self._type = ingestion.source_type
        self._command = command
        self._folder = world.scratch / command.peek_id
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"verify-{command.table_id}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def cancel(self) -> None:
        """Nobody waits for it any more."""
        self._cancelled.set()

    def _run(self) -> None:
        peek_id = self._command.peek_id
        try:
            rows = self._verify()
        except DriverLost:
            return  # the process is about to end, and the statement is sent again to the next one
        except (HeadwaterError, OSError) as error:
            sqlstate = error.sqlstate if isinstance(error, UserError) else "58000"
            hint = getattr(error, "hint", None)
            self._world.report(PeekFailed(peek_id, sqlstate, str(error), None, hint))
        else:
            self._send(rows)
            self._world.report(PeekDone(peek_id))
        finally:
            self._world.unpin(self)
            shutil.rmtree(self._folder, ignore_errors=True)

    def _send(self, rows: Rows) -> None:
        columns = [pa.array([row[i] for row in rows], pa.string()) for i in range(len(VERIFY_COLUMNS))]
        batch = pa.RecordBatch.from_arrays(columns, names=list(VERIFY_COLUMNS))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        self._world.report(PeekRows(self._command.peek_id), sink.getvalue().to_pybytes())

    def _verify(self) -> Rows:
        table_id = self._command.table_id
        export, collection = self._ingestion.member(table_id), self._world.ledger.collection(table_id)
        if export is None or collection is None or not collection.hydrated:
            raise UserError("the table is not readable yet", "55000", hint="Run it again when it is.")
        for _, _, message in self._world.ledger.errors(table_id)[:1]:
            raise UserError(f"the table has stopped: {message}", "55000")
        found: Rows = []
        only: tuple[FileEntry, ...] | None = None
        compared = 0
        for _ in range(VERIFY_ROUNDS_MAX):
            differing, doubtful, count = self._round(export, only)
            found += differing
            compared = compared or count
            if not doubtful:
                break
            only = doubtful
        else:
            found.append(("changing", None, "some rows change too often to be compared; run it again"))
        if found:
            return found[:VERIFY_ROWS_MAX]
        return [("equal", None, f"{compared} rows at {self._ingestion.stands_at()[1]}")]

    def _round(
        self, export: Export, only: tuple[FileEntry, ...] | None
    ) -> tuple[Rows, tuple[FileEntry, ...], int]:
        """(rows that differ, change files whose rows are in doubt, rows upstream)."""
        ledger, table_id = self._world.ledger, export.table_id
        ts0, frontier = self._ingestion.stands_at()
        if only is None:
            self._world.pin(self, {table_id: ts0})
        prepared = self._type.prepare_snapshot(self._ingestion.options, self._world.secrets, (export,))
        try:
            point = prepared.take(frontier, None)
            chunks = prepared.chunks(export, point, SNAPSHOT_CHUNK_ROWS)
            folder = str(self._folder.relative_to(self._world.data_dir))
            files: list[FileEntry] = []
            for chunk in chunks:
                self._check_wanted()
                files += self._world.jobs.run(
                    [FetchTask(str(self._world.data_dir), folder, chunk)], VERIFY_POOL
                )
        except DefiniteError as error:
            raise UserError(f"the upstream cannot be read: {error.message}", "58000") from error
        finally:
            prepared.close()
        while (ts1 := self._ingestion.covering(point, ts0)) is None:
            self._check_wanted()
            self._cancelled.wait(COVER_CHECK_S)
        changed = ledger.change_files(table_id, ts0, ts1)
        upstream_rows = sum(file.rows for file in files)
        if any(file.resets for file in changed):
            return [], tuple(only or ()) + tuple(changed), upstream_rows
        doubtful = tuple(file for file in changed if file.rows)
        task = CompareTask(
            str(self._world.data_dir),
            ledger.read_plan(table_id, ts1),
            tuple(files),
            doubtful,
            only,
            VERIFY_ROWS_MAX,
            FOLD_TASK_MEMORY_BYTES,
        )
        (differing,) = self._world.jobs.run([task], VERIFY_POOL)
        return list(differing), doubtful, upstream_rows

    def _check_wanted(self) -> None:
        if self._cancelled.is_set():
            raise UserError("canceling statement due to user request", "57014")

"""VERIFY TABLE: is a table what it is upstream?

    1  note where the source stands: binding (ts0, F0)
    2  take a snapshot of the upstream: it shows everything up to F0, and perhaps more
    3  read it, once, in chunks
    4  wait for a binding ts1 that covers all that it shows
    5  compare it with the table as of ts1

A row that no change touched in (ts0, ts1] is the same at both moments, so that comparing
it is exact.  Rows that were touched are in doubt; they alone are compared again, with
another snapshot, until none is left or there have been enough rounds.

Messages of a topic are read again up to where the source stood, so that there is no window.  What the topic
has forgotten cannot be compared, and that is said (compare.py).

Nothing of the table is touched, and its source goes on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from headwater.cluster.compare import CompareTask, Comparison, FetchTask
from headwater.cluster.ingestion import Ingestion
from headwater.cluster.jobs import DriverLost, Pool
from headwater.cluster.read import SEE_LOG
from headwater.cluster.shared import Shared
from headwater.cluster.tasks import bucket_count
from headwater.core.change import FileEntry, ReadPlan
from headwater.core.errors import DefiniteError, HeadwaterError, UserError
from headwater.core.limits import (
    COVER_CHECK_S,
    FOLD_TASK_MEMORY_BYTES,
    SNAPSHOT_CHUNK_ROWS,
    VERIFY_COVER_S_MAX,
    VERIFY_ROUNDS_MAX,
    VERIFY_ROWS_MAX,
)
from headwater.core.protocol import VERIFY_COLUMNS, PeekDone, PeekFailed, PeekRows, Verify
from headwater.persist.layout import result_folder
from headwater.persist.results import remove_result
from headwater.sources.contract import Export

Rows = list[tuple[str, str | None, str | None]]
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Moment:
    """The upstream as a snapshot showed it, and the table at the binding that covers the snapshot."""

    plan: ReadPlan
    upstream: tuple[FileEntry, ...]
    window: tuple[FileEntry, ...]  # change files between the two
    reset: bool  # the table was truncated in between
    forgotten: str | None = None  # why rows may be of something that the upstream has no more


class Verification:
    """One comparison, in a thread of its own."""

    def __init__(self, shared: Shared, ingestion: Ingestion, command: Verify) -> None:
        self._shared = shared
        self._ingestion = ingestion
        self._type = ingestion.source_type
        self._command = command
        self._pinned_from = 0
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"verify-{command.table_id}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def alive(self) -> bool:
        """Whether it is still under way."""
        return self._thread.is_alive()

    def cancel(self) -> None:
        """Nobody waits for it any more."""
        self._cancelled.set()

    def _report(self, message: Any, payload: bytes = b"") -> None:
        if not self._cancelled.is_set():
            self._shared.report(message, payload)

    def _run(self) -> None:
        peek_id = self._command.peek_id
        try:
            rows = self._verify()
        except DriverLost as error:
            self._ingestion.driver_lost(error)  # the statement is sent again to the next process
        except (HeadwaterError, OSError) as error:
            sqlstate = error.sqlstate if isinstance(error, UserError) else "58000"
            hint = getattr(error, "hint", None)
            self._report(PeekFailed(peek_id, sqlstate, str(error), None, hint))
        except Exception:
            what = f'internal error on the cluster while it compared table "{self._command.name}"'
            self._report(PeekFailed(peek_id, "XX000", what, None, SEE_LOG))
            raise
        else:
            self._send(rows)
            self._report(PeekDone(peek_id))
        finally:
            self._shared.unpin(self)
            remove_result(self._shared.store, peek_id, self._command.attempt)

    def _send(self, rows: Rows) -> None:
        columns = [pa.array([row[i] for row in rows], pa.string()) for i in range(len(VERIFY_COLUMNS))]
        batch = pa.RecordBatch.from_arrays(columns, names=list(VERIFY_COLUMNS))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        self._report(PeekRows(self._command.peek_id), sink.getvalue().to_pybytes())

    def _verify(self) -> Rows:
        command = self._command
        table_id, name = command.table_id, command.name
        export = self._ingestion.members.exports.get(table_id)
        collection = self._shared.ledger.collection(table_id)
        if export is None or collection is None or collection.filling:
            raise UserError(
                f'table "{name}" is not readable yet',
                "55000",
                hint="Run it again when its snapshot is complete.",
            )
        stopped = self._shared.ledger.stopped(table_id)
        if stopped is not None:
            raise UserError(
                f'table "{name}" has stopped: {stopped.message}',
                "55000",
                hint=stopped.hint or "Create it again beside this one.",
            )
        found: Rows = []
        windows: list[tuple[FileEntry, ...]] = []
        compared = 0
        for _ in range(VERIFY_ROUNDS_MAX):
            moment = self._moment(export)
            if moment.reset:
                continue  # nothing of this round can be judged
            comparisons = self._compare(export, moment, tuple(windows))
            found += [row for comparison in comparisons for row in comparison.differing]
            compared = compared or sum(file.rows for file in moment.upstream)
            if not any(comparison.doubtful_count for comparison in comparisons):
                at = moment.plan.as_of
                unknown = _unknown(moment, comparisons)
                what = "rows" if self._type.encode is None else "messages"
                equal: Rows = [("equal", None, f"{compared} {what} as of {at}")]
                return [*unknown, *(found[: VERIFY_ROWS_MAX - len(unknown)] or equal)]
            windows.append(moment.window)
        busy = "rows change too often to be compared; run it again when there is less to do upstream"
        return [*found[: VERIFY_ROWS_MAX - 1], ("changing", None, busy)]

    def _moment(self, export: Export) -> Moment:
        """Read the upstream, and find what is to be held against it."""
        ledger, table_id = self._shared.ledger, export.table_id
        ts0, frontier = self._awaited(self._ingestion.standing.stands_at)
        self._shared.pin(self, {table_id: min(self._pinned_from or ts0, ts0)})
        self._pinned_from = self._pinned_from or ts0
        prepared = self._type.prepare_snapshot(self._ingestion.options, self._shared.secrets, (export,))
        try:
            point = prepared.take(frontier, {}, SNAPSHOT_CHUNK_ROWS).points[table_id]
            prepared.settle()
            folder = result_folder(self._command.peek_id, self._command.attempt)
            upstream: list[FileEntry] = []
            for chunk in prepared.chunks(export, point, frozenset()):
                self._check_wanted()
                task = FetchTask(self._shared.store, folder, self._ingestion.source_id, chunk)
                upstream += self._shared.jobs.run([task], Pool.BACKFILLS)
            prepared.held()
        except DefiniteError as error:
            raise UserError(
                f'the upstream of table "{self._command.name}" cannot be read: {error.message}',
                "58000",
                hint="Fix it upstream, then run this again.",
            ) from error
        finally:
            prepared.close()
        forgotten = self._type.forgotten(self._ingestion.options, self._shared.secrets, export, point)
        ts1 = self._awaited(lambda: self._ingestion.standing.covering(point, ts0))
        if any(span.meets(ts0 - 1, ts1) for span in ledger.errors(table_id)):
            raise UserError(
                f'table "{self._command.name}" stopped, or was read again, while it was compared',
                "55000",
                hint="Run it again: mz_internal.mz_source_statuses says how the table is.",
            )
        changed = ledger.change_files(table_id, ts0, ts1)
        return Moment(
            ledger.read_plan(table_id, ts1),
            tuple(upstream),
            tuple(file for file in changed if file.rows),
            any(file.resets for file in changed),
            forgotten,
        )

    def _awaited(self, look: Callable[[], _Found | None]) -> _Found:
        """Where the source is, once it is there: it may be stalled for a moment, or for long."""
        clock = self._shared.clock
        deadline_s = clock.monotonic_s() + VERIFY_COVER_S_MAX
        while (found := look()) is None:
            self._check_wanted()
            if clock.monotonic_s() > deadline_s:
                raise UserError(
                    f'the source of table "{self._command.name}" does not go on',
                    "55000",
                    hint="SELECT * FROM mz_internal.mz_source_statuses says why.",
                )
            self._cancelled.wait(COVER_CHECK_S)
        return found

    def _compare(
        self, export: Export, moment: Moment, before: tuple[tuple[FileEntry, ...], ...]
    ) -> list[Comparison]:
        changes = self._type.snapshots_are_changes(export)
        buckets = bucket_count(self._shared.store, moment.plan, moment.upstream) if changes else 1
        found: list[Comparison] = []
        for bucket in range(buckets):
            self._check_wanted()
            task = CompareTask(
                *(self._shared.store, moment.plan, moment.upstream, moment.window, before),
                *(VERIFY_ROWS_MAX, FOLD_TASK_MEMORY_BYTES, bucket, buckets),
                *(changes, moment.forgotten is not None),
            )
            found += self._shared.jobs.run([task], Pool.BACKFILLS)
        return found

    def _check_wanted(self) -> None:
        if self._cancelled.is_set():
            raise UserError("canceling statement due to user request", "57014")


def _unknown(moment: Moment, comparisons: list[Comparison]) -> Rows:
    """What is not as it is upstream, and may be right."""
    gone = sum(comparison.gone_count for comparison in comparisons)
    crossing = sum(comparison.crossing_count for comparison in comparisons)
    told: Rows = []
    if gone:
        why = f"{gone} rows are of no message that can still be read: {moment.forgotten}"
        told.append(("unknown", None, why))
    if crossing:
        why = (
            f"{crossing} rows differ whose keys have messages in several partitions: which of these was the"
            " last one cannot be told any more"
        )
        told.append(("unknown", None, why))
    return told

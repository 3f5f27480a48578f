"""Snapshots of new tables, beside the ticks of their source.

Tables that one transaction made are one backfill:

    prepare     the upstream is asked for a point at which all of them can be read; may take its time
    take        between two ticks the point is fixed and the tables join: ticks write their changes now
    chunks      read at the point, as Spark tasks; every finished one is put in the ledger
    hydrate     the source has covered the point: in one transaction all tables become readable

After a restart, and when the upstream could not be read to the end, it begins again with
`prepare`.  If the upstream's kind can go on from the point of before, finished chunks count;
otherwise the tables join anew at another point.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

import structlog

from headwater.cluster.donors import DONOR, OwnPoint, is_own
from headwater.cluster.jobs import DriverLost
from headwater.cluster.tasks import CopyTask, PruneTask, SnapshotTask, WidenTask
from headwater.cluster.widening import SidePoint, side_of
from headwater.cluster.world import World
from headwater.core.change import FileEntry
from headwater.core.errors import DefiniteError, HeadwaterError, TransientError
from headwater.core.frontier import Frontier
from headwater.core.limits import (
    COVER_CHECK_S,
    FOLD_BUCKET_BYTES,
    FOLD_TASK_MEMORY_BYTES,
    RETRY_DELAY_S_MAX,
    RETRY_DELAY_S_MIN,
    SNAPSHOT_CHUNK_ROWS,
    SNAPSHOT_OFFER_S_MAX,
)
from headwater.observe.failpoints import failpoint
from headwater.persist.state import commit_state
from headwater.sources.contract import Export, Side, SnapshotChunk, SnapshotPoint, SourceType

if TYPE_CHECKING:
    from headwater.cluster.ingestion import Ingestion

log = structlog.get_logger("backfill")

BACKFILL_POOL = "backfill"


class Backfill:
    """One batch of tables on their way to being readable.

    `take` is called by the source's thread; everything else that works is this one's own.
    """

    def __init__(
        self,
        world: World,
        source_type: SourceType,
        exports: Sequence[Export],
        ingestion: Ingestion,
    ) -> None:
        self._world = world
        self._type = source_type
        self._exports = {export.table_id: export for export in exports}
        self._ingestion = ingestion
        self._working = ""  # the table that is being read or made a Delta table
        self._prepared: SnapshotPoint | None = None
        self._points: Mapping[str, Any] = {}
        self._refusal: HeadwaterError | None = None
        self._taken = threading.Event()  # the point is fixed, or could not be
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="backfill", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def alive(self) -> bool:
        """Whether anything of this backfill still runs."""
        return self._thread.is_alive()

    def writing(self, table_id: str) -> bool:
        """Whether files of this table may still be written."""
        return self.alive() and (table_id in self._exports or table_id == self._working)

    def stop(self) -> None:
        """Give up after the chunks under way."""
        self._stopping.set()
        self._taken.set()

    def stop_table(self, table_id: str) -> None:
        """This table has been dropped; the others of the batch go on."""
        self._exports.pop(table_id, None)
        if not self._exports:
            self.stop()

    def take(self, ts: int, frontier: Frontier) -> dict[str, tuple[Export, Any]]:
        """Fix the point while the source stands at the binding (ts, frontier); who has joined, with it."""
        exports = dict(self._exports)
        if self._prepared is None or not exports:
            return {}
        ledger = self._world.ledger
        found = {id_: ledger.collection(id_) for id_ in exports}
        known = {id_: collection for id_, collection in found.items() if collection is not None}
        try:
            chunks = {id_: len(ledger.chunks(id_)) for id_, at in known.items() if not at.hydrated}
            begun = {id_: known[id_].point for id_, count in chunks.items() if count}
            taken = self._prepared.take(frontier, begun, SNAPSHOT_CHUNK_ROWS)
            failpoint("ingestion.before_join")
            ledger.join(
                [
                    (
                        *(e.table_id, e.discipline, e.relation),
                        *(str(dict(e.options).get("batch", e.table_id)), taken.points[e.table_id]),
                    )
                    for e in exports.values()
                    if e.table_id not in known
                ],
                self._ingestion.source_id,
                ts,
                hydrated=False,
            )
            ledger.repoint({id_: taken.points[id_] for id_ in taken.kept})
            anew = known.keys() & taken.points.keys() - taken.kept
            ledger.rejoin({id_: taken.points[id_] for id_ in anew}, ts)
            failpoint("ingestion.after_join")
            sides = [Side.of(point) for point in taken.points.values()]
            used = [point[DONOR] for point in taken.points.values() if is_own(point)]
            used += [side.base_id for side in sides if side is not None]
            self._world.pin(self, dict.fromkeys(used, ts))
        except (TransientError, DefiniteError) as error:
            self._refusal = error
            return {}
        else:
            self._points = taken.points
            for id_ in taken.kept:
                log.info("snapshot goes on", table=id_, chunks=chunks[id_])
            return {id_: (export, taken.points[id_]) for id_, export in exports.items()}
        finally:
            self._taken.set()

    def refuse(self, error: HeadwaterError) -> None:
        """No point can be taken: the source has failed."""
        self._refusal = error
        self._taken.set()

    def _run(self) -> None:
        delay_s = RETRY_DELAY_S_MIN
        while not self._stopping.is_set():
            try:
                if self._complete():
                    return
            except DriverLost:
                return  # the ingestion's thread notices too and ends the process
            except HeadwaterError as error:
                self._working = ""
                for table_id in list(self._exports):
                    self._world.set_status(table_id, "stalled", str(error), getattr(error, "hint", None))
                log.warning("backfill stalled", tables=sorted(self._exports), error=str(error))
                self._stopping.wait(delay_s)
                delay_s = min(delay_s * 2, RETRY_DELAY_S_MAX)

    def _complete(self) -> bool:
        """From the upstream's point to readable tables.  False when stopped before."""
        self._settle_failed()
        exports = tuple(self._exports.values())
        if not exports:
            return True
        prepared = self._prepare(exports)
        try:
            self._prepared, self._refusal = prepared, None
            self._taken.clear()
            self._ingestion.offer(self)
            if not self._taken.wait(SNAPSHOT_OFFER_S_MAX) and self._ingestion.withdraw(self):
                # What is held upstream for the snapshot must not be held for long.
                raise TransientError(
                    "the source does not go on, and new tables cannot join it",
                    hint="SELECT * FROM mz_internal.mz_source_statuses says why.",
                )
            self._taken.wait()
            self._prepared = None
            if self._stopping.is_set():
                return False
            if self._refusal is not None:
                raise self._refusal
            prepared.settle()
            return self._read_all(prepared)
        finally:
            prepared.close()
            self._world.unpin(self)

    def _prepare(self, exports: tuple[Export, ...]) -> SnapshotPoint:
        """From our own tables if they have all of it, by the side if they have some, or as a whole."""
        options, secrets = self._ingestion.options, self._world.secrets
        base = self._ingestion.base(exports[0]) if len(exports) == 1 else None
        side = side_of(exports[0], base) if base is not None else None
        if base is not None and side is not None:
            prepared = self._type.prepare_snapshot(options, secrets, (side,))
            return SidePoint(prepared, side, base)
        donors = self._ingestion.donors(exports)
        if donors is not None:
            return OwnPoint(donors)
        return self._type.prepare_snapshot(options, secrets, exports)

    def _read_all(self, prepared: SnapshotPoint) -> bool:
        ledger, data_dir = self._world.ledger, self._world.data_dir
        states: dict[str, tuple[int, list[FileEntry]]] = {}
        for export in list(self._exports.values()):
            self._working = export.table_id
            files = self._snapshot(prepared, export)
            if files is None:
                return False
            collection = ledger.collection(export.table_id)
            if collection is None or export.table_id not in self._exports:
                continue
            if collection.hydrated:
                self._ingestion.backfill_progress(export.table_id, 0, 0, committed=True)
                continue
            now_ms = self._world.clock.now_ms()
            version = commit_state(
                data_dir, export.table_id, export.relation, files, collection.joined_ts, now_ms
            )
            states[export.table_id] = (version, files)
        self._working = ""
        prepared.close()  # nothing more is read there: what it holds upstream is let go
        since = self._covered()
        if since is None:
            return False
        states = {id_: state for id_, state in states.items() if id_ in self._exports}
        failpoint("backfill.before_hydrate")
        ledger.hydrate(states, since)
        failpoint("backfill.after_hydrate")
        for table_id, (_, files) in states.items():
            total = sum(file.rows for file in files)
            self._ingestion.backfill_progress(table_id, total, total, committed=True)
        return True

    def _settle_failed(self) -> None:
        """Tables that failed on the way become readable as what they are, an error."""
        ledger, data_dir = self._world.ledger, self._world.data_dir
        for table_id, export in list(self._exports.items()):
            collection, errors = ledger.collection(table_id), ledger.errors(table_id)
            if collection is None or collection.hydrated or not errors:
                continue
            self._working = table_id
            kept = [file for file in ledger.chunks(table_id).values() if file.rows]
            now_ms = self._world.clock.now_ms()
            version = commit_state(data_dir, table_id, export.relation, kept, collection.joined_ts, now_ms)
            ledger.hydrate({table_id: (version, kept)}, errors[0][0])
            self._ingestion.backfill_progress(table_id, 0, 0, committed=True)
            self._exports.pop(table_id, None)
            self._working = ""

    def _covered(self) -> int | None:
        """Wait until the source has covered the point; the binding where it has.  None: it never will."""
        found = [self._world.ledger.collection(id_) for id_ in list(self._exports)]
        # Tables that joined together wait for the same.
        joined = {json.dumps([at.point, at.joined_ts]): at for at in found if at is not None}
        while not self._stopping.is_set() and not self._ingestion.all_failed(list(self._exports)):
            covering = [self._ingestion.covering(at.point, at.joined_ts) for at in joined.values()]
            since = [ts for ts in covering if ts is not None]
            if len(since) == len(covering):
                return max(since, default=0)
            self._stopping.wait(COVER_CHECK_S)
        return None

    def _snapshot(self, prepared: SnapshotPoint, export: Export) -> list[FileEntry] | None:
        """The files of one table's rows; None when it was stopped or dropped on the way."""
        ledger, table_id = self._world.ledger, export.table_id
        collection = ledger.collection(table_id)
        if collection is None or collection.hydrated:
            return []
        try:
            before = ledger.chunks(table_id)
            missing = prepared.chunks(export, self._points[table_id], before.keys())
            done: list[FileEntry] = []
            kept = sum(file.rows for file in before.values())
            known = kept + sum(chunk.rows_estimate for chunk in missing)
            self._ingestion.backfill_progress(table_id, known, kept, committed=False)
            for chunk, file in self._finished(missing, collection.joined_ts):
                failpoint("backfill.before_chunk")
                ledger.add_chunk(table_id, chunk.index, file)
                done.append(file)
                staged = kept + sum(file.rows for file in done)
                self._ingestion.backfill_progress(table_id, max(known, staged), staged, committed=False)
            if len(done) < len(missing):
                return None if self._stopping.is_set() else []
        except DefiniteError as error:
            # Whoever reads the table is told; it becomes readable only for that.
            ledger.poison(table_id, collection.joined_ts, error.position, error.message)
            self._ingestion.poisoned(table_id, error.message)
            return []
        files = [file for file in done if file.rows]
        earlier = [file for file in before.values() if file.rows]
        if any(chunk.index < 0 for chunk in missing):
            earlier = self._pruned(export, collection.joined_ts, earlier, files)
        side = Side.of(collection.point)
        if side is not None:
            return self._widened(export, collection.joined_ts, side.base_id, earlier + files)
        return earlier + files

    def _pruned(
        self, export: Export, as_of: int, earlier: list[FileEntry], later: list[FileEntry]
    ) -> list[FileEntry]:
        """Files of an earlier point, without the rows that a later one has too."""
        if not later:
            return earlier
        data_dir = str(self._world.data_dir)
        tasks = [
            PruneTask(data_dir, export, as_of, index, file, tuple(later), FOLD_TASK_MEMORY_BYTES)
            for index, file in enumerate(earlier)
        ]
        return [file for file in self._world.jobs.run(tasks, BACKFILL_POOL) if file.rows]

    def _widened(self, export: Export, as_of: int, base_id: str, side: list[FileEntry]) -> list[FileEntry]:
        """The base's rows as of the binding at which the wider table joined, with what the side has."""
        base = self._member(base_id)
        plan = self._world.ledger.read_plan(base_id, as_of)
        buckets = 1 + (plan.bytes() + sum(file.bytes for file in side)) // FOLD_BUCKET_BYTES
        tasks = [
            WidenTask(
                *(str(self._world.data_dir), plan, base, tuple(side), export, as_of),
                *(bucket, buckets, FOLD_TASK_MEMORY_BYTES),
            )
            for bucket in range(buckets)
        ]
        return [file for file in self._world.jobs.run(tasks, BACKFILL_POOL) if file.rows]

    def _finished(
        self, chunks: Sequence[SnapshotChunk], as_of: int
    ) -> Iterator[tuple[SnapshotChunk, FileEntry]]:
        """Chunks as they are read, several at a time, until all are or the table is not wanted any more."""
        width = max(1, self._world.cores - 1)  # one place stays free for ticks
        waiting, running = deque(chunks), dict[Future[FileEntry], SnapshotChunk]()
        with ThreadPoolExecutor(width, "chunk") as pool:
            while waiting or running:
                while waiting and len(running) < width:
                    if self._stopping.is_set() or waiting[0].export.table_id not in self._exports:
                        waiting.clear()
                        break
                    chunk = waiting.popleft()
                    running[pool.submit(self._read, chunk, as_of)] = chunk
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(future), future.result()

    def _read(self, chunk: SnapshotChunk, as_of: int) -> FileEntry:
        task: SnapshotTask | CopyTask = SnapshotTask(str(self._world.data_dir), as_of, chunk)
        if is_own(chunk.point):
            task = self._copy_task(chunk, as_of)
        file: FileEntry = self._world.jobs.run([task], BACKFILL_POOL)[0]
        return file

    def _copy_task(self, chunk: SnapshotChunk, as_of: int) -> CopyTask:
        """The donor's rows as of the binding at which the table joined."""
        donor_id = chunk.details
        donor = self._member(donor_id)
        ours = dict(zip(donor.columns, donor.relation.column_names(), strict=True))
        columns = tuple(ours[name] for name in chunk.export.columns)
        plan = self._world.ledger.read_plan(donor_id, as_of)
        return CopyTask(str(self._world.data_dir), plan, columns, chunk.export, as_of, FOLD_TASK_MEMORY_BYTES)

    def _member(self, table_id: str) -> Export:
        found = self._ingestion.member(table_id)
        if found is None:
            raise TransientError(f"table {table_id} went away while another was made from it")
        return found

"""Reading the chunks of new tables: as Spark tasks, several side by side, small ones together.

    chunks of all tables --groups--> tasks --> files, in the ledger as soon as they are written
    files of one table   --prune, widen--> its state --> a version of its Delta table

A table may have millions of rows or ten, and a transaction may make a thousand of them: a group is as
many chunks, of whichever tables, as are worth a task.

Not here: when that happens, and what becomes readable when (backfill.py).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headwater.cluster.compare import CompareTask
from headwater.cluster.difference import DifferenceTask
from headwater.cluster.donors import places_in
from headwater.cluster.jobs import SEE_LOG, Pool
from headwater.cluster.shared import Shared
from headwater.cluster.tasks import (
    CopyTask,
    FoldTask,
    GroupTask,
    PruneTask,
    SnapshotTask,
    WidenTask,
    bucket_count,
)
from headwater.cluster.widening import other_rows
from headwater.core.change import FileEntry, ReadPlan
from headwater.core.errors import DefiniteError, TransientError
from headwater.core.limits import (
    DELTA_COMMITS_CONCURRENT_MAX,
    DOUBTFUL_TRIES,
    FOLD_TASK_MEMORY_BYTES,
    LOST_ROWS_SHOWN_MAX,
    SNAPSHOT_CHUNK_ROWS,
    SNAPSHOT_GROUP_CHUNKS_MAX,
)
from headwater.core.points import Copied, Point, Reread, Widened, point_text
from headwater.observe.failpoints import failpoint
from headwater.persist.ledger import Filled
from headwater.persist.state import commit_state
from headwater.sources.contract import Export, SnapshotChunk, SnapshotPoint
from headwater.sources.unforeseen import Ended

if TYPE_CHECKING:
    from headwater.cluster.backfill import Host

States = dict[str, Filled]


@dataclass(slots=True)
class Table:
    """A table whose chunks are read."""

    export: Export
    joined_ts: int
    point: Point | None
    refilling: bool = False  # it was readable before
    before: Mapping[int, FileEntry] = field(default_factory=dict)  # chunks of an earlier attempt
    missing: tuple[SnapshotChunk, ...] = ()
    done: list[FileEntry] = field(default_factory=list)
    failed: bool = False
    positions: dict[int, int] | None = None  # by chunk, where progress is told in places and not in rows
    passed: set[int] = field(default_factory=set)  # chunks that were read by now

    @property
    def known(self) -> int:
        """How many rows it has, as far as known; or places."""
        if self.positions is not None:
            return sum(self.positions.values())
        return sum(file.rows for file in self.before.values()) + sum(c.rows_estimate for c in self.missing)

    @property
    def staged(self) -> int:
        """How many of them have been read."""
        if self.positions is not None:
            return sum(self.positions.get(index, 0) for index in {*self.before, *self.passed})
        return sum(file.rows for file in (*self.before.values(), *self.done))


Group = list[tuple[Table, SnapshotChunk]]


def groups(tables: Iterable[Table]) -> Iterator[Group]:
    """Chunks that are worth a task together; a large one is a group by itself."""
    group: Group = []
    rows = 0
    for table in tables:
        for chunk in table.missing:
            full = rows + chunk.rows_estimate > SNAPSHOT_CHUNK_ROWS or len(group) >= SNAPSHOT_GROUP_CHUNKS_MAX
            if group and full:
                yield group
                group, rows = [], 0
            group.append((table, chunk))
            rows += chunk.rows_estimate
    if group:
        yield group


class Snapshots:
    """Reads the tables of one backfill; belongs to its thread."""

    def __init__(
        self,
        shared: Shared,
        host: Host,
        wanted: Callable[[str], bool],
        stopping: threading.Event,
        claim: str,
        doubted: dict[str, int],
    ) -> None:
        self._shared = shared
        self._claim = claim  # on all that is written, until the tables are readable
        self._host = host
        self._wanted = wanted  # whether a table has not been dropped meanwhile
        self._stopping = stopping
        self._doubted = doubted  # how often in a row a table's chunks had an error that nobody foresaw
        self._doubtful: dict[str, DefiniteError] = {}  # this time

    def read(
        self, prepared: SnapshotPoint, points: Mapping[str, Point], exports: Iterable[Export]
    ) -> States | None:
        """The states of all tables that are not readable yet; None when it was stopped on the way."""
        begun = [self._begin(prepared, points, export) for export in exports]
        tables = [table for table in begun if table is not None]
        if not self._fetch(tables):
            return None
        self._settle_doubts(tables)
        prepared.held()
        with ThreadPoolExecutor(DELTA_COMMITS_CONCURRENT_MAX, "delta") as pool:
            states = pool.map(self._committed, [table for table in tables if self._is_wanted(table)])
            return dict(states)

    def _is_wanted(self, table: Table) -> bool:
        return self._wanted(table.export.table_id)

    def _begin(self, prepared: SnapshotPoint, points: Mapping[str, Point], export: Export) -> Table | None:
        ledger, id_ = self._shared.ledger, export.table_id
        collection = ledger.collection(id_)
        if collection is None:
            return None
        if not collection.filling:
            self._host.backfilled(id_, [])
            return None
        if point_text(collection.point) != point_text(points[id_]):
            raise TransientError(f"another process has begun to read table {id_}")
        at, refilling = collection.joined_ts, collection.refilling
        table = Table(export, at, collection.point, refilling, ledger.chunks(id_))
        try:
            if self._host.source_type.snapshots_in_positions:
                chunks = prepared.chunks(export, points[id_], frozenset())
                table.positions = {chunk.index: chunk.rows_estimate for chunk in chunks}
                table.missing = tuple(chunk for chunk in chunks if chunk.index not in table.before)
            else:
                table.missing = prepared.chunks(export, points[id_], table.before.keys())
        except DefiniteError as error:
            self._poison(table, error)
        self._host.tallies.progress(id_, table.known, table.staged)
        return table

    def _poison(self, table: Table, error: DefiniteError) -> None:
        """Whoever reads the table is told; it becomes readable only for that."""
        table.failed = True
        id_ = table.export.table_id
        self._shared.ledger.poison(id_, table.joined_ts, error)
        self._host.stopped(id_, error)

    # Chunks

    def _fetch(self, tables: list[Table]) -> bool:
        """All chunks that are missing, several groups at a time; False when it was stopped."""
        width = max(1, self._shared.cores - 1)  # one place stays free for ticks
        waiting, running = deque(groups(tables)), dict[Future[list[Any]], Group]()
        with ThreadPoolExecutor(width, "chunk") as pool:
            while waiting or running:
                while waiting and len(running) < width and not self._stopping.is_set():
                    group = [(t, c) for t, c in waiting.popleft() if self._goes_on(t)]
                    if group:
                        running[pool.submit(self._run, group)] = group
                if not running:
                    break
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    self._finished(running.pop(future), future.result())
        return not self._stopping.is_set()

    def _goes_on(self, table: Table) -> bool:
        return self._is_wanted(table) and not table.failed and table.export.table_id not in self._doubtful

    def _settle_doubts(self, tables: list[Table]) -> None:
        """TransientError unless what nobody foresaw has come so often that it ends its tables."""
        now = {id_: self._doubted.get(id_, 0) + 1 for id_ in self._doubtful}
        self._doubted.clear()
        self._doubted.update(now)
        for id_, error in self._doubtful.items():
            if self._doubted[id_] < DOUBTFUL_TRIES:
                raise TransientError(f"{self._host.source_type.namespace}: {error.message}", SEE_LOG)
        for table in tables:
            if table.export.table_id in self._doubtful:
                self._poison(table, self._doubtful[table.export.table_id])

    def _run(self, group: Group) -> list[Any]:
        tasks = tuple(self._task(chunk, table.joined_ts) for table, chunk in group)
        results: list[Any] = self._shared.jobs.run([GroupTask(self._host.source_id, tasks)], Pool.BACKFILLS)[
            0
        ]
        return results

    def _finished(self, group: Group, results: list[Any]) -> None:
        written = []
        for (table, chunk), result in zip(group, results, strict=True):
            if isinstance(result, DefiniteError):
                if not table.failed:
                    self._poison(table, result)
            elif isinstance(result, Ended):
                self._host.tallies.defective({table.export.table_id: result.told})
                self._doubtful.setdefault(table.export.table_id, result.error)
            else:
                written.append((table.export.table_id, table.point, chunk.index, result))
                table.done.append(result)
                table.passed.add(chunk.index)
                self._host.tallies.fetched(table.export.table_id, result)
        failpoint("backfill.before_chunk")
        self._shared.ledger.add_chunks(written)
        for table in {id(table): table for table, _ in group}.values():
            staged = table.staged
            self._host.tallies.progress(table.export.table_id, max(table.known, staged), staged)

    def _task(self, chunk: SnapshotChunk, as_of: int) -> SnapshotTask | CopyTask:
        store = self._shared.store
        if not isinstance(chunk.point, Copied):
            return SnapshotTask(store, self._claim, as_of, chunk)
        # The donor's rows as of the binding at which the table joined.
        donor, export = self._member(chunk.point.donor_id), chunk.export
        plan = self._shared.ledger.read_plan(donor.table_id, as_of)
        places = places_in(self._host.source_type, donor, export, plan.flawed)
        if places is None:
            raise TransientError(
                f"table {donor.table_id} got values that cannot be stored while another was made from it",
                hint="It is read from the upstream instead, which needs nothing of you.",
            )
        columns = tuple(donor.relation.columns[place].name for place in places)
        return CopyTask(store, self._claim, plan, columns, export, as_of, FOLD_TASK_MEMORY_BYTES)

    def _member(self, table_id: str) -> Export:
        found = self._host.members.exports.get(table_id)
        if found is None:
            raise TransientError(f"table {table_id} went away while another was made from it")
        return found

    # Files

    def _committed(self, table: Table) -> tuple[str, Filled]:
        """The Delta table holds just what was read; or what there is gets what it lacks."""
        export = table.export
        failpoint("backfill.before_state")
        files = [] if table.failed else self._files(table)
        if isinstance(table.point, Reread):
            files = self._still_there(table, table.point.base_id, files)
        if table.refilling:
            return export.table_id, Filled(table.point, [] if table.failed else self._changes(table, files))
        now_ms = self._shared.clock.now_ms()
        failpoint("backfill.before_version")
        version = commit_state(
            self._shared.store, export.table_id, export.stored, files, table.joined_ts, now_ms
        )
        return export.table_id, Filled(table.point, files, version)

    def _changes(self, table: Table, found: list[FileEntry]) -> list[FileEntry]:
        """What makes the table what was read, as changes at the binding at which it joined."""
        plan = self._shared.ledger.read_plan(table.export.table_id, table.joined_ts)
        buckets = bucket_count(self._shared.store, plan, found)
        tasks = [
            DifferenceTask(
                *(self._shared.store, self._claim, plan, tuple(found), bucket, buckets),
                FOLD_TASK_MEMORY_BYTES,
            )
            for bucket in range(buckets)
        ]
        changes = self._shared.jobs.run(tasks, Pool.BACKFILLS)
        return [file for file in changes if file.rows or file.resets]

    def _files(self, table: Table) -> list[FileEntry]:
        files = [file for file in table.done if file.rows]
        earlier = [file for file in table.before.values() if file.rows]
        if any(chunk.index < 0 for chunk in table.missing):
            earlier = self._pruned(table, earlier, files)
        if isinstance(table.point, Widened):
            return self._widened(table, table.point.base_id, earlier + files)
        if self._host.source_type.snapshots_are_changes(table.export) and not isinstance(table.point, Copied):
            return self._put_together(table, earlier + files)
        return earlier + files

    def _still_there(self, table: Table, base_id: str, files: list[FileEntry]) -> list[FileEntry]:
        """The files, if they hold the narrower table's rows as of the binding; otherwise it is an error."""
        if table.failed:
            return []
        plan = self._shared.ledger.read_plan(self._member(base_id).table_id, table.joined_ts)
        buckets = bucket_count(self._shared.store, plan, files)
        tasks = [
            CompareTask(
                *(self._shared.store, plan, tuple(files), (), (), LOST_ROWS_SHOWN_MAX),
                *(FOLD_TASK_MEMORY_BYTES, bucket, buckets),
            )
            for bucket in range(buckets)
        ]
        comparisons = self._shared.jobs.run(tasks, Pool.BACKFILLS)
        differing = [row for comparison in comparisons for row in comparison.differing]
        if not differing:
            return files
        self._poison(table, other_rows(table.export, differing))
        return []

    def _put_together(self, table: Table, files: list[FileEntry]) -> list[FileEntry]:
        """The rows that changes come to, which were read chunk by chunk."""
        export, at = table.export, table.joined_ts
        # The ledger does not keep of a chunk how many of its changes take rows away: any of them may.
        tail = tuple(replace(file, ts=at, deletes=file.rows) for file in files)
        plan = ReadPlan(export.table_id, export.stored, export.discipline, at, 0, (), tail)
        buckets = bucket_count(self._shared.store, plan)
        tasks = [
            FoldTask(self._shared.store, self._claim, plan, bucket, buckets, FOLD_TASK_MEMORY_BYTES)
            for bucket in range(buckets)
        ]
        return [file for file in self._shared.jobs.run(tasks, Pool.BACKFILLS) if file.rows]

    def _pruned(self, table: Table, earlier: list[FileEntry], later: list[FileEntry]) -> list[FileEntry]:
        """Files of an earlier point, without the rows that a later one has too."""
        if not later:
            return earlier
        store = self._shared.store
        tasks = [
            PruneTask(
                *(store, self._claim, table.export, table.joined_ts, index, file, tuple(later)),
                FOLD_TASK_MEMORY_BYTES,
            )
            for index, file in enumerate(earlier)
        ]
        return [file for file in self._shared.jobs.run(tasks, Pool.BACKFILLS) if file.rows]

    def _widened(self, table: Table, base_id: str, side: list[FileEntry]) -> list[FileEntry]:
        """The base's rows as of the binding at which the wider table joined, with what the side has."""
        base = self._member(base_id)
        plan = self._shared.ledger.read_plan(base_id, table.joined_ts)
        buckets = bucket_count(self._shared.store, plan, side)
        tasks = [
            WidenTask(
                *(self._shared.store, self._claim, plan, base, tuple(side), table.export),
                *(table.joined_ts, bucket, buckets, FOLD_TASK_MEMORY_BYTES),
            )
            for bucket in range(buckets)
        ]
        return [file for file in self._shared.jobs.run(tasks, Pool.BACKFILLS) if file.rows]

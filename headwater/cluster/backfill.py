"""Snapshots of new tables, beside the ticks of their source.

Tables that joined together (one transaction made them) are one backfill: each
is read in chunks at the frontier where it joined, every finished chunk is put in
the ledger, and when all chunks of all tables are there they become readable in
one transaction.  From their joining on, ticks have written their changes, so
nothing is missing in between and nothing is twice.

After a restart the finished chunks are in the ledger and only the rest is read.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import structlog

from headwater.cluster.jobs import DriverLost
from headwater.cluster.tasks import SnapshotTask
from headwater.cluster.world import World
from headwater.core.change import FileEntry
from headwater.core.errors import HeadwaterError
from headwater.core.limits import RETRY_DELAY_S_MAX, RETRY_DELAY_S_MIN, SNAPSHOT_CHUNK_ROWS
from headwater.observe.failpoints import failpoint
from headwater.persist.state import commit_state
from headwater.sources.contract import Export, Options, SnapshotChunk, SourceType

if TYPE_CHECKING:
    from headwater.cluster.ingestion import Ingestion

log = structlog.get_logger("backfill")

BACKFILL_POOL = "backfill"


class Backfill:
    """One batch of tables on their way to being readable."""

    def __init__(
        self,
        world: World,
        source_type: SourceType,
        options: Options,
        exports: Sequence[Export],
        ingestion: Ingestion,
    ) -> None:
        self._world = world
        self._type = source_type
        self._options = options
        self._exports = {export.table_id: export for export in exports}
        self._ingestion = ingestion
        self._working = ""  # the table that is being read or made a Delta table
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

    def stop_table(self, table_id: str) -> None:
        """This table has been dropped; the others of the batch go on."""
        self._exports.pop(table_id, None)
        if not self._exports:
            self._stopping.set()

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
        """Read all missing chunks, then make the batch readable.  False when stopped before."""
        ledger, data_dir = self._world.ledger, self._world.data_dir
        versions: dict[str, int] = {}
        totals: dict[str, int] = {}
        for export in list(self._exports.values()):
            self._working = export.table_id
            files = self._snapshot(export)
            if files is None:
                return False
            collection = ledger.collection(export.table_id)
            if collection is None or export.table_id not in self._exports:
                continue
            if collection.hydrated:
                self._ingestion.backfill_progress(export.table_id, 0, 0, committed=True)
                continue
            totals[export.table_id] = sum(file.rows for file in files)
            kept = [file for file in files if file.rows]
            now_ms = self._world.clock.now_ms()
            versions[export.table_id] = commit_state(
                data_dir, export.table_id, export.relation, kept, collection.joined_ts, now_ms
            )
        self._working = ""
        versions = {id_: version for id_, version in versions.items() if id_ in self._exports}
        failpoint("backfill.before_hydrate")
        ledger.hydrate(versions)
        failpoint("backfill.after_hydrate")
        for table_id in versions:
            self._ingestion.backfill_progress(table_id, totals[table_id], totals[table_id], committed=True)
        return True

    def _snapshot(self, export: Export) -> list[FileEntry] | None:
        """All chunks of one table; None when it was stopped or dropped on the way."""
        ledger, table_id = self._world.ledger, export.table_id
        collection = ledger.collection(table_id)
        if collection is None or collection.hydrated:
            return []
        at = self._type.frontier_from_json(collection.joined_frontier)
        chunks = self._type.plan_snapshot(self._options, export, at, SNAPSHOT_CHUNK_ROWS)
        done = ledger.chunks(table_id)
        known = sum(chunk.rows_estimate for chunk in chunks)
        missing = [chunk for chunk in chunks if chunk.index not in done]
        width = max(1, self._world.cores - 1)  # one core stays free for ticks
        while missing:
            if self._stopping.is_set():
                return None
            if table_id not in self._exports:
                return []
            wave, missing = missing[:width], missing[width:]
            for chunk, file in zip(wave, self._run_wave(wave, collection.joined_ts), strict=True):
                failpoint("backfill.before_chunk")
                ledger.add_chunk(table_id, chunk.index, file)
                done[chunk.index] = file
            staged = sum(file.rows for file in done.values())
            self._ingestion.backfill_progress(table_id, max(known, staged), staged, committed=False)
        return list(done.values())

    def _run_wave(self, wave: Sequence[SnapshotChunk], as_of: int) -> list[FileEntry]:
        tasks = [SnapshotTask(str(self._world.data_dir), as_of, chunk) for chunk in wave]
        return self._world.jobs.run(tasks, BACKFILL_POOL)

"""One source's loop: probe, mint, read, commit, report, acknowledge.

    wanted description --converge--> members      exports join and leave between two ticks
    probe -> end        nothing new: time advances in memory, no write, no job
    mint ts             later than every timestamp this source was ever seen at
    read [frontier, end) as Spark tasks, one or more change files per table
    append              binding + files in one ledger transaction       <- the only durable step
    report, acknowledge

A crash before `append` leaves files that nobody names and a frontier that has not
moved; a crash after it leaves a finished tick.  Starting is: open the writer (which
fences whoever was it before), read where it stands, go on.

Not here: reading the upstream (sources/), snapshots (backfill.py), folds (maintenance.py).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import structlog

from headwater.cluster.backfill import Backfill
from headwater.cluster.jobs import DriverLost
from headwater.cluster.tasks import ReadTask
from headwater.cluster.world import World
from headwater.core.change import FileEntry
from headwater.core.errors import DefiniteError, InvariantViolation, TransientError
from headwater.core.frontier import Frontier
from headwater.core.limits import RETRY_DELAY_S_MAX, RETRY_DELAY_S_MIN, TICK_ROWS_MAX
from headwater.core.protocol import Frontiers, RunIngestion, Statistics
from headwater.core.time import TIMESTAMP_END
from headwater.observe.failpoints import failpoint
from headwater.persist.ledger import LedgerConflict, WriterState
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Export

log = structlog.get_logger("ingestion")

TICK_POOL = "ticks"


@dataclass(slots=True)
class Counters:
    """What a source or table has done since this process started."""

    messages_received: int = 0
    bytes_received: int = 0
    updates_staged: int = 0
    updates_committed: int = 0
    gauges: dict[str, Any] = field(default_factory=dict)

    def add(self, files: list[FileEntry]) -> None:
        rows, size = sum(f.rows for f in files), sum(f.bytes for f in files)
        self.messages_received += rows
        self.bytes_received += size
        self.updates_staged += rows
        self.updates_committed += rows

    def values(self) -> dict[str, Any]:
        return {
            "messages_received": self.messages_received,
            "bytes_received": self.bytes_received,
            "updates_staged": self.updates_staged,
            "updates_committed": self.updates_committed,
            **self.gauges,
        }


class Ingestion:
    """A source that runs.  `restate` may be called from any thread, the rest is its own thread's."""

    def __init__(self, world: World, wanted: RunIngestion, lost: Any) -> None:
        self.source_id = wanted.source_id
        self.upper = 0
        self._world = world
        self._wanted = wanted
        self._lost = lost  # called when the JVM has gone
        self._type = SOURCE_TYPES[wanted.source_type]
        self._writer = WriterState(0, 0, None)
        self._members: dict[str, Export] = {}
        self._poisoned: set[str] = set()
        self._joining: set[str] = set()
        self._backfills: dict[str, Backfill] = {}
        self._started: list[Backfill] = []  # backfills whose thread may still run
        self._counters: dict[str, Counters] = {}
        self._wake = threading.Condition()
        self._stopping = False
        self._dirty = True
        self._thread = threading.Thread(target=self._run, name=f"ingestion-{self.source_id}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def restate(self, wanted: RunIngestion) -> None:
        """Replace the description; takes effect at the next tick boundary."""
        with self._wake:
            self._wanted = wanted
            self._dirty = True
            self._wake.notify_all()

    def stop(self) -> None:
        """Ask the loop to end after the tick under way."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        for backfill in list(self._backfills.values()):
            backfill.stop()

    def join(self, timeout_s: float) -> None:
        self._thread.join(timeout_s)

    def hydrated(self) -> list[str]:
        """Members that may be read."""
        found = self._world.ledger.collections(self.source_id)
        return [id_ for id_, collection in found.items() if collection.hydrated]

    def writing(self, collection_id: str) -> bool:
        """Whether a tick or backfill under way may still write files of this table, or name it."""
        named = collection_id in self._members or collection_id in self._joining
        if named and self._thread.is_alive():
            return True
        return any(backfill.writing(collection_id) for backfill in list(self._started))

    def finished(self) -> bool:
        """Whether everything has ended that `stop` asked to end."""
        return not self._thread.is_alive() and not any(backfill.alive() for backfill in self._started)

    def restated(self) -> list[Any]:
        """Responses that tell a newly connected environment where this source stands."""
        statistics = [Statistics(id_, counters.values()) for id_, counters in self._counters.items()]
        if not self.upper:
            return list(statistics)
        return [Frontiers({self.source_id: self.upper}, self.hydrated()), *statistics]

    # The loop

    def _run(self) -> None:
        delay_s = RETRY_DELAY_S_MIN
        attempt = 0
        self._world.set_status(self.source_id, "starting")
        while not self._stopping:
            started_s = self._world.clock.monotonic_s()
            try:
                self._turn()
                delay_s, attempt = RETRY_DELAY_S_MIN, 0
                wait_s = self._wanted.interval_ms / 1000 - (self._world.clock.monotonic_s() - started_s)
            except TransientError as error:
                attempt += 1
                log.warning(
                    "ingestion stalled",
                    source=self.source_id,
                    error=str(error),
                    attempt=attempt,
                    retry_in_s=delay_s,
                )
                self._world.set_status(self.source_id, "stalled", str(error), error.hint)
                # What failed may have become durable all the same: look again before writing.
                self._writer = WriterState(0, 0, None)
                wait_s, delay_s = delay_s, min(delay_s * 2, RETRY_DELAY_S_MAX)
            except LedgerConflict as error:
                log.error("ingestion fenced", source=self.source_id, error=str(error))
                self._world.set_status(self.source_id, "failed", f"internal: {error}")
                return
            except DriverLost as error:
                self._lost(error)
                return
            except InvariantViolation as error:
                log.error("invariant violated", source=self.source_id, what=str(error))
                self._world.set_status(self.source_id, "failed", f"internal: {error}")
                return
            except Exception as error:
                log.exception("ingestion failed", source=self.source_id)
                self._world.set_status(self.source_id, "failed", f"internal: {type(error).__name__}: {error}")
                return
            with self._wake:
                if not self._dirty and not self._stopping and wait_s > 0:
                    self._wake.wait(None if self._resting() else wait_s)

    def _resting(self) -> bool:
        """Whether only a new description can make anything happen."""
        return self._wanted.paused or (
            self.upper == TIMESTAMP_END and len(self._members) == len(self._wanted.exports)
        )

    def _turn(self) -> None:
        """Everything between two waits: converge, then one tick."""
        if not self._writer.epoch:
            self._open()
        self._converge()
        if self._wanted.paused:
            self._world.set_status(
                self.source_id, "paused", None, "There is currently no replica running this source"
            )
            return
        try:
            self._tick()
        except DefiniteError as error:
            self._poison(error)
            return
        self._world.set_status(self.source_id, "running")

    def _open(self) -> None:
        ledger, source_id = self._world.ledger, self.source_id
        start = self._type.start(self._wanted.options).to_json()
        self._writer = ledger.open_writer(source_id, start)
        self.upper = max(self.upper, self._writer.ts + 1 if self._writer.ts else 0)
        known = ledger.collections(source_id)
        for value in self._wanted.exports:
            export = Export.from_json(value)
            if export.table_id in known:
                self._members[export.table_id] = export
        self._poisoned = {id_ for id_ in known if ledger.errors(id_)}
        for table_id in self._members:
            errors = ledger.errors(table_id)
            if errors:
                self._world.set_status(table_id, "stalled", errors[0][2])
            else:
                self._world.set_status(table_id, "running" if known[table_id].hydrated else "starting")
        self._resume_backfills()
        if self._writer.ts and self._frontier().to_json() is None:
            self.upper = TIMESTAMP_END
        for message in self.restated():
            self._world.report(message)

    def _frontier(self) -> Frontier:
        return self._type.frontier_from_json(self._writer.frontier)

    def _converge(self) -> None:
        """Let exports go and let new ones join; between ticks, so no file is half theirs."""
        with self._wake:
            self._dirty = False
            wanted = {e.table_id: e for e in map(Export.from_json, self._wanted.exports)}
            # Said before the lock is let go, so that a drop that follows another description waits for us.
            self._joining = {id_ for id_ in wanted if id_ not in self._members}
        for table_id in [id_ for id_ in self._members if id_ not in wanted]:
            backfill = self._backfills.pop(table_id, None)
            if backfill is not None:
                backfill.stop_table(table_id)
            del self._members[table_id]
            self._counters.pop(table_id, None)
        new = [wanted[id_] for id_ in wanted if id_ in self._joining]
        if new and self._writer.ts:
            self._join(new)
        self._joining = set()

    def _join(self, new: list[Export]) -> None:
        """New tables begin where the source stands now."""
        failpoint("ingestion.before_join")
        self._world.ledger.join(
            [
                (e.table_id, e.discipline, e.relation, str(dict(e.options).get("batch", e.table_id)))
                for e in new
            ],
            self.source_id,
            self._writer.ts,
            self._writer.frontier,
            hydrated=False,
        )
        failpoint("ingestion.after_join")
        self._members.update({export.table_id: export for export in new})
        for export in new:
            self._world.set_status(export.table_id, "starting")
        self._resume_backfills()

    def _resume_backfills(self) -> None:
        """Start a backfill for every batch of members that is not hydrated and has none."""
        batches: dict[str, list[Export]] = {}
        for table_id, collection in self._world.ledger.collections(self.source_id).items():
            if table_id in self._members and not collection.hydrated and table_id not in self._backfills:
                batches.setdefault(collection.batch, []).append(self._members[table_id])
        for exports in batches.values():
            backfill = Backfill(self._world, self._type, self._wanted.options, exports, self)
            self._backfills.update({export.table_id: backfill for export in exports})
            self._started = [started for started in self._started if started.alive()] + [backfill]
            backfill.start()
            if self._stopping:
                backfill.stop()

    def _mint(self) -> int:
        return max(self._world.clock.now_ms(), self.upper, self._writer.ts + 1, self._world.ts_floor + 1)

    def _tick(self) -> None:
        if self.upper == TIMESTAMP_END:
            return
        world, wanted = self._world, self._wanted
        started_s = world.clock.monotonic_s()
        frontier = self._frontier()
        now_ms = world.clock.now_ms()
        end = self._type.probe(wanted.options, now_ms)
        if self._writer.ts and end <= frontier:
            self.upper = max(self.upper, now_ms + 1)
            self._report([])
            return
        exports = tuple(e for id_, e in self._members.items() if id_ not in self._poisoned)
        reached, parts = self._type.plan_read(wanted.options, frontier, end, exports, TICK_ROWS_MAX)
        ts = self._mint()
        tasks = [ReadTask(str(world.data_dir), ts, part) for part in parts]
        files: dict[str, list[FileEntry]] = {}
        for written in world.jobs.run(tasks, TICK_POOL):
            for table_id, file in written:
                files.setdefault(table_id, []).append(file)
        failpoint("ingestion.before_append")
        self._writer = world.ledger.append(self.source_id, self._writer, ts, reached.to_json(), files)
        failpoint("ingestion.after_append")
        self.upper = TIMESTAMP_END if self._writer.frontier is None else ts + 1
        for table_id, written in files.items():
            self._counters.setdefault(table_id, Counters()).add(written)
        source = self._counters.setdefault(self.source_id, Counters())
        source.add([file for written in files.values() for file in written])
        source.gauges |= {
            "offset_known": self._type.offset(end),
            "offset_committed": self._type.offset(reached),
            "tick_seconds": world.clock.monotonic_s() - started_s,
            "ticks": source.gauges.get("ticks", 0) + 1,
        }
        self._report([self.source_id, *files])
        world.committed.set()
        self._type.acknowledge(wanted.options, reached)
        if not end <= reached or len(self._members) < len(wanted.exports):
            self._dirty = True  # more is waiting, or tables to join: the next turn follows at once

    def _report(self, ids: list[str]) -> None:
        """Tell the environment how far this source is, and what changed for these."""
        if self.upper:
            self._world.report(Frontiers({self.source_id: self.upper}, []))
        for id_ in ids:
            self._world.report(Statistics(id_, self._counters[id_].values()))

    def _poison(self, error: DefiniteError) -> None:
        """Stop the tables of a reference at this point; the others go on."""
        ts = self._mint()
        concerned = [
            table_id
            for table_id, export in self._members.items()
            if ".".join(export.reference) == error.reference and table_id not in self._poisoned
        ]
        if not concerned:
            raise InvariantViolation(f"an error of {error.reference}, which feeds no table: {error}")
        self.upper = ts + 1
        for table_id in concerned:
            self._world.ledger.poison(table_id, ts, error.position, error.message)
            self._poisoned.add(table_id)
            self._world.set_status(table_id, "stalled", error.message)
        self._dirty = True

    # Called by a backfill's thread

    def backfill_progress(self, table_id: str, known: int, staged: int, committed: bool) -> None:
        """Rows known and staged so far; `committed` once the table may be read."""
        counters = self._counters.setdefault(table_id, Counters())
        if committed:
            counters.updates_committed += staged
            counters.updates_staged += staged
        counters.gauges |= {
            "snapshot_records_known": known,
            "snapshot_records_staged": staged,
            "snapshot_committed": committed,
        }
        self._world.report(Statistics(table_id, counters.values()))
        if committed:
            self._backfills.pop(table_id, None)
            self._world.set_status(table_id, "running")
            self._world.report(Frontiers({self.source_id: self.upper}, [table_id]))

"""One source's loop: probe, mint, read, commit, report, acknowledge.

    wanted description --converge--> members      exports join and leave between two ticks
    take                backfills that are ready fix their point here, and their tables join
    probe -> end        nothing new: time advances in memory, no write, no job
    mint ts             later than every timestamp this source was ever seen at
    read [frontier, end) as Spark tasks, one or more change files per table
    look                what the upstream did without a change that says so
    append              binding + files in one ledger transaction       <- the only durable step
    report, acknowledge

A crash before `append` leaves files that nobody names and a frontier that has not
moved; a crash after it leaves a finished tick.  Starting is: open the writer (which
fences whoever was it before), read where it stands, go on.

Not here: reading the upstream (sources/), snapshots (backfill.py), folds (maintenance.py).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import structlog

from headwater.cluster.backfill import Backfill
from headwater.cluster.counters import Counters
from headwater.cluster.donors import donor_of, is_own
from headwater.cluster.jobs import DriverLost, Pool
from headwater.cluster.tasks import ReadTask, gather
from headwater.cluster.widening import base_of
from headwater.cluster.world import World
from headwater.core.change import FileEntry
from headwater.core.errors import DefiniteError, InvariantViolation, TransientError
from headwater.core.frontier import Frontier
from headwater.core.limits import REFERENCE_CHECK_S, RETRY_DELAY_S_MAX, RETRY_DELAY_S_MIN, TICK_ROWS_MAX
from headwater.core.protocol import Frontiers, RunIngestion, Statistics
from headwater.core.time import TIMESTAMP_END, interval_left, interval_start
from headwater.observe.failpoints import failpoint
from headwater.persist.ledger import LedgerConflict
from headwater.persist.ledger_tables import WriterState
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Export, Reader, Side, seen_at

log = structlog.get_logger("ingestion")

NEVER_S = float("-inf")
NAMESPACES = {"load-generator": "generator"}
"""What errors of a source type are named after, where that is not its own name."""
RECREATE = "Drop the table and create it again, or create another one beside it."
RECREATE_ALL = "Drop the source and create it again: what is upstream now does not continue what was read."
LEAVE_TO_ONE = "Another process writes this source: see to it that one server alone uses the data directory."
TRIED_AGAIN = "It is tried again; the cluster's log says more."
START_AGAIN = "A defect, but what is written is whole. Start the server again; the cluster's log says more."


class Ingestion:
    """A source that runs.  `restate` may be called from any thread, the rest is its own thread's."""

    def __init__(self, world: World, wanted: RunIngestion, lost: Any) -> None:
        self.source_id = wanted.source_id
        self.upper = 0
        self._world = world
        self._wanted = wanted
        self.options = wanted.options
        self._lost = lost  # called when the JVM has gone
        self.source_type = SOURCE_TYPES[wanted.source_type]
        self._reader: Reader | None = None
        self._checked_s = NEVER_S  # when the exports' references were last looked at
        self._writer = WriterState(0, 0, None)
        self._members: dict[str, Export] = {}
        self._points: dict[str, Any] = {}  # of members whose point the source has not covered yet
        self._seen: dict[str, Any] = {}  # by member: what was seen of its reference at the newest binding
        self._poisoned: set[str] = set()
        self._offered: list[Backfill] = []  # ready to take their point
        self._joining: set[str] = set()
        self._unfinished: set[str] = set()  # members without a backfill whose snapshot is not complete
        self._backfills: dict[str, Backfill] = {}
        self._started: list[Backfill] = []  # backfills whose thread may still run
        self._counters: dict[str, Counters] = {}
        self._wake = threading.Condition()
        self._stopping = False
        self._dirty = True
        self._moment_ms = 0  # of the turn under way
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
        statistics = [Statistics(id_, counters.values()) for id_, counters in list(self._counters.items())]
        if not self.upper:
            return list(statistics)
        return [Frontiers({self.source_id: self.upper}, self.hydrated()), *statistics]

    # The loop

    def _run(self) -> None:
        while True:
            try:
                self._loop()
                return
            except Exception as error:
                # Where a failure is dealt with something failed as well: the disk may be full.
                log.exception("ingestion failed", source=self.source_id, retry_in_s=RETRY_DELAY_S_MAX)
                self._world.set_status(self.source_id, "stalled", f"internal: {error!r}", TRIED_AGAIN)
            finally:
                self._close_reader()
            with self._wake:
                if not self._stopping:
                    self._wake.wait(RETRY_DELAY_S_MAX)

    def driver_lost(self, error: Exception) -> None:
        """The JVM has gone; whoever notices says so, since a source that rests would not."""
        self._lost(error)

    def _loop(self) -> None:
        clock = self._world.clock
        delay_s = RETRY_DELAY_S_MIN
        attempt = 0
        self._moment_ms = clock.now_ms()
        self._world.set_status(self.source_id, "starting")
        while not self._stopping:
            interval_ms, now_ms = self._wanted.interval_ms, clock.now_ms()
            began_ms = interval_start(now_ms, interval_ms)
            # The first turn of an interval is as of its beginning, as other sources' are.
            self._moment_ms = began_ms if began_ms > self._moment_ms else now_ms
            try:
                self._turn()
                delay_s, attempt = RETRY_DELAY_S_MIN, 0
                wait_s = interval_left(began_ms, interval_ms, clock.now_ms()) / 1000
            except TransientError as error:
                attempt += 1
                log.warning(
                    "ingestion stalled",
                    source=self.source_id,
                    error=str(error),
                    attempt=attempt,
                    retry_in_s=delay_s,
                )
                self._stall(str(error), error.hint)
                wait_s, delay_s = delay_s, min(delay_s * 2, RETRY_DELAY_S_MAX)
            except DefiniteError as error:
                # Of the whole source: no table of it can go on from here.
                self._fail(error)
                wait_s = RETRY_DELAY_S_MAX
            except LedgerConflict as error:
                log.error("ingestion fenced", source=self.source_id, error=str(error))
                self._world.set_status(self.source_id, "failed", f"internal: {error}", LEAVE_TO_ONE)
                return
            except DriverLost as error:
                self._lost(error)
                return
            except InvariantViolation as error:
                log.error("invariant violated", source=self.source_id, what=str(error))
                self._world.set_status(self.source_id, "failed", f"internal: {error}", START_AGAIN)
                return
            except Exception as error:
                # Nobody foresaw it, and it may pass; the other sources go on.
                log.exception("ingestion failed", source=self.source_id, retry_in_s=delay_s)
                cause = f"internal: {type(error).__name__}: {error}"
                self._stall(cause, TRIED_AGAIN)
                wait_s, delay_s = delay_s, min(delay_s * 2, RETRY_DELAY_S_MAX)
            with self._wake:
                if not self._dirty and not self._stopping and wait_s > 0:
                    self._wake.wait(None if self._resting() else wait_s)

    def _stall(self, error: str, hint: str | None) -> None:
        self._world.set_status(self.source_id, "stalled", error, hint)
        # What failed may have become durable all the same: look again before writing.
        self._close_reader()

    def _resting(self) -> bool:
        """Whether only a new description or a backfill that is ready can make anything happen."""
        return self._wanted.paused or self.upper == TIMESTAMP_END

    def _turn(self) -> None:
        """Everything between two waits: converge, connect, take points, then one tick."""
        self._open()
        self._converge()  # also while the upstream cannot be reached: a dropped table must be let go
        if self._wanted.paused:
            self._let_go()
            self._world.set_status(
                self.source_id, "paused", None, "There is currently no replica running this source"
            )
            return
        reader = self._connect()
        self._take_points()
        self._tick(reader)
        self._world.set_status(self.source_id, "running")

    def _open(self) -> None:
        """Become the writer, unless that is so already and the options are the same."""
        if self._writer.epoch and self.options == self._wanted.options:
            return
        self._close_reader()
        ledger, source_id = self._world.ledger, self.source_id
        self.options = self._wanted.options
        # Before anything is made upstream, so that a drop finds what to take away after any crash.
        upstream = {"source_type": self._wanted.source_type, "options": self.options}
        self._writer = ledger.open_writer(source_id, upstream)
        self.upper = max(self.upper, self._writer.ts + 1 if self._writer.ts else 0)
        known = ledger.collections(source_id)
        for value in self._wanted.exports:
            export = Export.from_json(value)
            if export.table_id in known:
                self._members[export.table_id] = export
        self._points = {
            id_: at.point
            for id_, at in known.items()
            if id_ in self._members and not is_own(at.point) and not self._covered(at.point)
        }
        self._seen = {id_: dict(ledger.seen(id_) or seen_at(known[id_].point)) for id_ in self._members}
        self._poisoned = {id_ for id_ in known if ledger.errors(id_)}
        for table_id in self._members:
            errors = ledger.errors(table_id)
            if errors:
                self._world.set_status(table_id, "stalled", self._named(errors[0][2]), RECREATE)
            else:
                self._world.set_status(table_id, "running" if known[table_id].hydrated else "starting")
        self._unfinished = {id_ for id_ in self._members if not known[id_].hydrated}
        if self._writer.ts and self._frontier().to_json() is None:
            self.upper = TIMESTAMP_END
        for message in self.restated():
            self._world.report(message)

    def _connect(self) -> Reader:
        """The connection to the upstream, made if there is none."""
        if self._reader is None:
            self._reader = self.source_type.open(
                self.options,
                self._world.secrets,
                self._frontier() if self._writer.ts else None,
                self._world.scratch / self.source_id,
                self._waits,
            )
        if not self._writer.ts:
            self._writer = replace(self._writer, frontier=self._reader.start.to_json())
        return self._reader

    def _waits(self, message: str, hint: str) -> bool:
        """The upstream lets us wait; whether nobody wants the source any more."""
        self._world.set_status(self.source_id, "stalled", message, hint)
        return self._stopping

    def _close_reader(self) -> None:
        """Let go of the upstream and of the writer: both are taken up again together."""
        self._writer = WriterState(0, 0, None)
        self._let_go()

    def _let_go(self) -> None:
        """Close the connection to the upstream."""
        self._checked_s = NEVER_S  # what happened meanwhile shows at once
        if self._reader is not None:
            reader, self._reader = self._reader, None
            try:
                reader.close()
            except Exception:
                # It is let go of all the same; what follows must not depend on how.
                log.exception("could not close the connection to the upstream", source=self.source_id)

    def _frontier(self) -> Frontier:
        return self.source_type.frontier_from_json(self._writer.frontier)

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
            self._seen.pop(table_id, None)
            self._points.pop(table_id, None)
            self._counters.pop(table_id, None)
        for table_id, backfill in list(self._backfills.items()):
            if table_id not in wanted:
                self._backfills.pop(table_id, None)
                backfill.stop_table(table_id)
            elif not backfill.alive() and self._backfills.pop(table_id, None) is not None:
                # Its thread could not begin, or ended as nobody foresaw: another one goes on.
                self._unfinished |= {table_id} & self._members.keys()
        if self._wanted.paused:
            self._stop_backfills()
        else:
            self._start_backfills([wanted[id_] for id_ in wanted if id_ in self._joining | self._unfinished])
            self._unfinished -= self._backfills.keys()

    def _take_points(self) -> None:
        """Backfills that are ready fix their point here, and their tables join."""
        if not self._writer.ts:
            return  # there is no binding to join at yet
        while True:
            with self._wake:
                if not self._offered:
                    return
                backfill = self._offered.pop(0)
            joined = backfill.take(self._writer.ts, self._frontier())
            for table_id, (export, point) in joined.items():
                self._members[table_id] = export
                self._seen[table_id] = dict(self._world.ledger.seen(table_id) or seen_at(point))
                self._points.pop(table_id, None)  # one of an earlier attempt
                if not is_own(point):
                    self._points[table_id] = point
                self._joining.discard(table_id)
                self._world.set_status(table_id, "starting")

    def _stop_backfills(self) -> None:
        """While the source is paused nothing is held upstream."""
        self._unfinished |= self._backfills.keys() & self._members.keys()
        for backfill in list(self._backfills.values()):
            backfill.stop()
        self._backfills.clear()

    def _start_backfills(self, exports: list[Export]) -> None:
        """One for each transaction's tables, unless they have one or an earlier one has not ended yet."""
        batches: dict[str, list[Export]] = {}
        self._started = [started for started in self._started if started.alive()]
        for export in exports:
            ending = any(started.writing(export.table_id) for started in self._started)
            if export.table_id not in self._backfills and not ending:
                batches.setdefault(str(dict(export.options).get("batch", "")), []).append(export)
        for batch in batches.values():
            backfill = Backfill(self._world, self.source_type, batch, self)
            self._backfills.update({export.table_id: backfill for export in batch})
            self._started.append(backfill)
            backfill.start()
            if self._stopping:
                backfill.stop()

    def _mint(self) -> int:
        return max(self._moment_ms, self.upper, self._writer.ts + 1, self._world.ts_floor + 1)

    def _tick(self, reader: Reader) -> None:
        if self.upper == TIMESTAMP_END:
            return
        world = self._world
        started_s = world.clock.monotonic_s()
        frontier = self._frontier()
        # First: where references are gone the upstream may refuse to go on at all.
        checked = self._check_references(reader)
        end = frontier if checked else reader.probe(world.clock.now_ms())
        if self._writer.ts and end <= frontier and not checked:
            self.upper = max(self.upper, self._moment_ms + 1)
            self._report([])
            return
        doubted = {} if checked else dict(reader.confirm(self._followed()))
        looked_at = tuple(export for export in self._followed() if export.table_id not in checked)
        exports = tuple(export for export in looked_at if export.table_id not in doubted)
        reached, parts = reader.plan_read(frontier, end, exports, self._points, TICK_ROWS_MAX)
        ts = self._mint()
        with world.claims.claim() as claim:
            tasks = [ReadTask(str(world.data_dir), claim, ts, part) for part in parts]
            files, found = gather(world.jobs.run(tasks, Pool.TICKS))
            noticed, seen = reader.look(looked_at, self._seen, reached)
            errors = {**doubted, **noticed, **found, **checked}
            failpoint("ingestion.before_append")
            self._writer = world.ledger.append(
                self.source_id,
                self._writer,
                ts,
                reached.to_json(),
                files,
                [(id_, error.position, error.message) for id_, error in errors.items()],
                seen,
            )
        self._seen |= seen
        failpoint("ingestion.after_append")
        self.upper = TIMESTAMP_END if self._writer.frontier is None else ts + 1
        for table_id, error in errors.items():
            self.poisoned(table_id, error.message)
        self._points = {id_: at for id_, at in self._points.items() if not self._covers(reached, at)}
        for table_id, written in files.items():
            self._counters.setdefault(table_id, Counters()).add(written)
        source = self._counters.setdefault(self.source_id, Counters())
        source.add([file for written in files.values() for file in written])
        source.gauges |= {
            "offset_known": self.source_type.offset(end),
            "offset_committed": self.source_type.offset(reached),
            "tick_seconds": world.clock.monotonic_s() - started_s,
            "ticks": source.gauges.get("ticks", 0) + 1,
        }
        self._report([self.source_id, *files])
        world.committed.set()
        reader.acknowledge(reached)
        if not end <= reached or self._offered:
            self._dirty = True  # more is waiting, or tables to join: the next turn follows at once

    def _check_references(self, reader: Reader) -> dict[str, DefiniteError]:
        """Errors of members whose references are not what they were, now and then."""
        now_s = self._world.clock.monotonic_s()
        if now_s < self._checked_s + REFERENCE_CHECK_S:
            return {}
        self._checked_s = now_s
        return dict(reader.check(self._followed()))

    def _followed(self) -> tuple[Export, ...]:
        """Members that have not stopped."""
        return tuple(export for id_, export in self._members.items() if id_ not in self._poisoned)

    def _report(self, ids: list[str]) -> None:
        """Tell the environment how far this source is, and what changed for these."""
        if self.upper:
            self._world.report(Frontiers({self.source_id: self.upper}, []))
        for id_ in ids:
            self._world.report(Statistics(id_, self._counters[id_].values()))

    def poisoned(self, table_id: str, message: str) -> None:
        """A table has a definite error: it stops here, the others go on."""
        self._poisoned.add(table_id)
        self._world.set_status(table_id, "stalled", self._named(message), RECREATE)

    def _named(self, message: str) -> str:
        """A definite error as statuses show it."""
        return f"{NAMESPACES.get(self.source_type.name, self.source_type.name)}: {message}"

    def _fail(self, error: DefiniteError) -> None:
        """Every table stops where it is, and reads say why."""
        self._close_reader()
        ts = self._mint()
        self._join_failed(ts)
        for table_id in [id_ for id_ in self._members if id_ not in self._poisoned]:
            self._world.ledger.poison(table_id, ts, error.position, error.message)
            self.poisoned(table_id, error.message)
        with self._wake:
            offered, self._offered = self._offered, []
        for backfill in offered:
            backfill.refuse(error)
        self.upper = max(self.upper, ts + 1)
        self._report([])
        self._world.set_status(self.source_id, "stalled", self._named(error.message), RECREATE_ALL)

    def _join_failed(self, ts: int) -> None:
        """Tables that wait to join will not: they are readable as what they are, an error."""
        for value in self._wanted.exports:
            export = Export.from_json(value)
            if export.table_id not in self._joining:
                continue
            backfill = self._backfills.pop(export.table_id, None)
            if backfill is not None:
                backfill.stop_table(export.table_id)
            self._world.ledger.join(
                [(export.table_id, export.discipline, export.relation, "", None)],
                self.source_id,
                ts,
                hydrated=True,
            )
            self._members[export.table_id] = export
            self._world.report(Frontiers({}, [export.table_id]))
        self._joining = set()

    # Called by a backfill's thread

    def offer(self, backfill: Backfill) -> None:
        """This backfill is ready to take its point, between two ticks."""
        with self._wake:
            self._offered.append(backfill)
            self._dirty = True
            self._wake.notify_all()

    def seen(self, table_id: str) -> Mapping[str, Any]:
        """What was seen of a member's reference at the newest binding."""
        found: Mapping[str, Any] = self._seen.get(table_id, {})
        return found

    def member(self, table_id: str) -> Export | None:
        return self._members.get(table_id)

    def base(self, export: Export) -> Export | None:
        """The narrower table that an export takes the place of, if its rows can be used."""
        id_ = base_of(export)
        usable = id_ is not None and id_ in self.hydrated() and id_ not in self._poisoned
        return self._members.get(id_) if usable and id_ is not None else None

    def all_failed(self, table_ids: list[str]) -> bool:
        """Whether all of these tables have stopped for good."""
        return self._poisoned.issuperset(table_ids)

    def stands_at(self) -> tuple[int, Frontier]:
        """The newest durable binding."""
        writer = self._writer
        if not writer.ts:
            raise TransientError("the source does not run")
        return writer.ts, self.source_type.frontier_from_json(writer.frontier)

    def donors(self, exports: tuple[Export, ...]) -> dict[str, str] | None:
        """By new table: one of ours that has all its columns; None unless every table has one."""
        readable = set(self.hydrated()) - self._poisoned
        members = [export for id_, export in list(self._members.items()) if id_ in readable]
        found = {export.table_id: donor_of(export, members) for export in exports}
        given = {id_: donor.table_id for id_, donor in found.items() if donor is not None}
        return given if len(given) == len(exports) else None

    def withdraw(self, backfill: Backfill) -> bool:
        """The offer no longer stands; False when it is being taken up already."""
        with self._wake:
            if backfill not in self._offered:
                return False
            self._offered.remove(backfill)
            return True

    def covering(self, point: Any, joined_ts: int) -> int | None:
        """The binding from which on tables that joined at a point may be read; None: not reached yet."""
        if is_own(point):
            return joined_ts
        binding = self._world.ledger.binding_at(self.source_id, joined_ts)
        if binding is not None and self._covers(self.source_type.frontier_from_json(binding[1]), point):
            return joined_ts
        writer = self._writer
        if not writer.ts or not self._covers(self.source_type.frontier_from_json(writer.frontier), point):
            return None
        return writer.ts

    def _covered(self, point: Any) -> bool:
        """Whether the source has passed a point: it must not be used any more, as what it tells apart by
        may come again (numbers of transactions do).  A table that failed before it could join has none."""
        return point is None or (bool(self._writer.ts) and self._covers(self._frontier(), point))

    def _covers(self, frontier: Frontier, point: Any) -> bool:
        side = Side.of(point)
        return self.source_type.covers(frontier, point if side is None else side.point)

    def backfill_progress(self, table_id: str, known: int, staged: int, committed: bool = False) -> None:
        """Rows known and staged so far."""
        counters = self._counters.setdefault(table_id, Counters())
        counters.gauges |= {
            "snapshot_records_known": known,
            "snapshot_records_staged": staged,
            "snapshot_committed": committed,
        }
        self._world.report(Statistics(table_id, counters.values()))

    def backfilled(self, table_id: str, snapshot: list[FileEntry]) -> None:
        """The table may be read."""
        self._counters.setdefault(table_id, Counters()).add(snapshot)
        rows = sum(file.rows for file in snapshot)
        self.backfill_progress(table_id, rows, rows, committed=True)
        self._backfills.pop(table_id, None)
        if table_id not in self._poisoned:
            self._world.set_status(table_id, "running")
        self._world.report(Frontiers({self.source_id: self.upper}, [table_id]))

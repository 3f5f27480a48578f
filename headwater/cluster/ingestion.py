"""One source's loop: probe, mint, read, commit, report, acknowledge.

    wanted description --converge--> members      exports join and leave between two ticks
    take                backfills that are ready fix their point here, and their tables join
    probe, look -> end  nothing new: time advances in memory, no write, no job
    mint ts             later than every timestamp this source was ever seen at
    read [frontier, end) as Spark tasks, one or more change files per table
    append              binding + files in one ledger transaction       <- the only durable step
    report, acknowledge

A crash before `append` leaves files that nobody names and a frontier that has not
moved; a crash after it leaves a finished tick.  Starting is: open the writer (which
fences whoever was it before), read where it stands, go on.

    Ingestion    the loop and its turns
    members      its tables, and how each of them stands
    standing     the newest binding, and how far everything is complete
    backfills    what reads new tables beside the ticks
    counters     what was done, for statistics

Not here: reading the upstream (sources/), snapshots (backfill.py), folds (maintenance.py).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import structlog

from headwater.cluster.backfill import Backfill
from headwater.cluster.backfills import Backfills
from headwater.cluster.counters import Tallies
from headwater.cluster.jobs import DriverLost, Pool
from headwater.cluster.members import Members
from headwater.cluster.shared import Shared
from headwater.cluster.standing import Standing
from headwater.cluster.tasks import ReadTask, gather, received
from headwater.core.change import FileEntry
from headwater.core.errors import DefiniteError, InvariantViolation, TransientError
from headwater.core.limits import (
    DOUBTFUL_TRIES,
    REFERENCE_CHECK_S,
    RETRY_DELAY_S_MAX,
    RETRY_DELAY_S_MIN,
    TICK_ROWS_MAX,
)
from headwater.core.protocol import Frontiers, RunIngestion
from headwater.core.time import interval_left, interval_start
from headwater.observe.failpoints import failpoint
from headwater.persist.ledger import LedgerConflict
from headwater.sources import SOURCE_TYPES
from headwater.sources.contract import Export, Looked, Reader

log = structlog.get_logger("ingestion")

NEVER_S = float("-inf")
RECREATE = "Drop the table and create it again, or create another one beside it."
RECREATE_ALL = "Drop the source and create it again: what is upstream now does not continue what was read."
LEAVE_TO_ONE = "Another process writes this source: see to it that one server alone uses the data directory."
RESTARTED = "the source started over, and the table had to be read again"
HEALS = "You need not do anything: the table is being read again, and then continues by itself."
LATER = "Read it without AS OF, or at a later timestamp."
TRIED_AGAIN = "It is tried again; the cluster's log says more."
START_AGAIN = "A defect, but what is written is whole. Start the server again; the cluster's log says more."


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the environment wants of a source, as it was stated last."""

    source_type: str
    options: Mapping[str, Any]
    interval_ms: int
    paused: bool
    exports: Mapping[str, Export]  # by table id

    @staticmethod
    def stated(command: RunIngestion) -> Wanted:
        """By a command."""
        exports = map(Export.from_json, command.exports)
        return Wanted(
            command.source_type,
            command.options,
            command.interval_ms,
            command.paused,
            {export.table_id: export for export in exports},
        )


class Ingestion:
    """A source that runs.

    What is written under `_wake` (what is wanted, whether to end, whether something is to be done) any thread
    may change.  Members, standing and reader are changed by the source's own thread alone, apart from tables
    that a backfill ends; others may look.  Backfills and tallies see to their threads themselves.
    """

    def __init__(self, shared: Shared, command: RunIngestion, lost: Any) -> None:
        self.source_id = command.source_id
        self.source_type = SOURCE_TYPES[command.source_type]
        self.options: Mapping[str, Any] = command.options
        self.standing = Standing(shared.ledger, self.source_type, self.source_id)
        self.members = Members(shared.ledger, self.source_id)
        self.tallies = Tallies(self.source_id, shared.report, shared.clock)
        self.backfills = Backfills(
            lambda exports: Backfill(shared, self.source_type, exports, self), self._something_to_do
        )
        self._shared = shared
        self._lost = lost  # called when the JVM has gone
        self._reader: Reader | None = None
        self._checked_s = NEVER_S  # when the exports' references were last looked at
        self._moment_ms = 0  # of the turn under way
        self._doubted: Mapping[str, int] = {}  # how often in a row tables had an error that nobody foresaw
        self._wake = threading.Condition()
        self._wanted = Wanted.stated(command)
        self._stopping = False
        self._dirty = True
        self._thread = threading.Thread(target=self._run, name=f"ingestion-{self.source_id}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def restate(self, command: RunIngestion) -> None:
        """Replace the description; takes effect at the next tick boundary."""
        wanted = Wanted.stated(command)
        with self._wake:
            self._wanted = wanted
            self._dirty = True
            self._wake.notify_all()

    def stop(self) -> None:
        """Ask the loop to end after the tick under way."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        self.backfills.stop()

    def join(self, timeout_s: float) -> None:
        self._thread.join(timeout_s)

    def writing(self, collection_id: str) -> bool:
        """Whether a tick or backfill under way may still write files of this table, or name it."""
        if self.members.knows(collection_id) and self._thread.is_alive():
            return True
        return self.backfills.writing(collection_id)

    def finished(self) -> bool:
        """Whether everything has ended that `stop` asked to end."""
        return not self._thread.is_alive() and not self.backfills.alive()

    def restated(self) -> list[Any]:
        """Responses that tell a newly connected environment where this source stands."""
        statistics = self.tallies.messages()
        if not self.standing.upper:
            return list(statistics)
        return [Frontiers({self.source_id: self.standing.upper}, self.members.hydrated()), *statistics]

    def driver_lost(self, error: Exception) -> None:
        """The JVM has gone; whoever notices says so, since a source that rests would not."""
        self._lost(error)

    def _something_to_do(self) -> None:
        with self._wake:
            self._dirty = True
            self._wake.notify_all()

    # The loop

    def _run(self) -> None:
        while True:
            try:
                self._loop()
                return
            except Exception as error:
                # Where a failure is dealt with something failed as well: the disk may be full.
                log.exception("ingestion failed", source=self.source_id, retry_in_s=RETRY_DELAY_S_MAX)
                self._shared.set_status(self.source_id, "stalled", f"internal: {error!r}", TRIED_AGAIN)
            finally:
                self._close_reader()
            with self._wake:
                if not self._stopping:
                    self._wake.wait(RETRY_DELAY_S_MAX)

    def _loop(self) -> None:
        clock = self._shared.clock
        delay_s = RETRY_DELAY_S_MIN
        attempt = 0
        self._moment_ms = clock.now_ms()
        self._shared.set_status(self.source_id, "starting")
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
                self._shared.set_status(self.source_id, "failed", f"internal: {error}", LEAVE_TO_ONE)
                return
            except DriverLost as error:
                self._lost(error)
                return
            except InvariantViolation as error:
                log.error("invariant violated", source=self.source_id, what=str(error))
                self._shared.set_status(self.source_id, "failed", f"internal: {error}", START_AGAIN)
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
        self._shared.set_status(self.source_id, "stalled", error, hint)
        # What failed may have become durable all the same: look again before writing.
        self._close_reader()

    def _resting(self) -> bool:
        """Whether only a new description or a backfill that is ready can make anything happen."""
        return self._wanted.paused or self.standing.ended

    def _turn(self) -> None:
        """Everything between two waits: converge, connect, take points, then one tick."""
        self._open()
        self._converge()  # also while the upstream cannot be reached: a dropped table must be let go
        if self._wanted.paused:
            self._let_go()
            self.tallies.of(self.source_id).rest()
            self._shared.set_status(
                self.source_id, "paused", None, "There is currently no replica running this source"
            )
            return
        self.tallies.begin()
        reader = self._connect()
        self._take_points()
        self._tick(reader)
        self.tallies.arrive()
        if reader.waiting is None:
            self._shared.set_status(self.source_id, "running")
        else:
            self._shared.set_status(self.source_id, "stalled", *reader.waiting)

    # The upstream and the ledger

    def _open(self) -> None:
        """Become the writer, unless that is so already and the options are the same."""
        wanted = self._wanted
        if self.standing.opened and self.options == wanted.options:
            return
        self._close_reader()
        self.options = wanted.options
        # Before anything is made upstream, so that a drop finds what to take away after any crash.
        self.standing.open({"source_type": wanted.source_type, "options": self.options})
        failed = self.members.load(wanted.exports.values(), self.standing.covered)
        for table_id in self.members.exports:
            if table_id in failed:
                self._show_failed(table_id, failed[table_id].message, failed[table_id].hint)
            else:
                filling = table_id in self.members.unfinished
                self._shared.set_status(table_id, "starting" if filling else "running")
        for message in self.restated():
            self._shared.report(message)

    def _connect(self) -> Reader:
        """The connection to the upstream, made if there is none."""
        if self._reader is None:
            self._reader = self.source_type.open(
                self.options,
                self._shared.secrets,
                self.standing.frontier if self.standing.ts else None,
                self._shared.scratch / self.source_id,
                self._waits,
            )
            if self.standing.ts and not self._reader.continues:
                self._restart(self._reader)
        self.standing.begin(self._reader.start)
        return self._reader

    def _restart(self, reader: Reader) -> None:
        """What was read does not lead to where the upstream is now: every table is read again."""
        ts = self._mint()
        error = DefiniteError("", str(reader.start), RESTARTED, LATER, heals=True)
        failpoint("ingestion.before_restart")
        self.standing.restart(ts, reader.start, error)
        failpoint("ingestion.after_restart")
        self.standing.rise(ts + 1)
        for table_id in self.members.exports:
            self.stopped(table_id, error)
        # What was offered shows the upstream, or rows of ours, of before: nothing says what came after it.
        self.members.unfinish(self.backfills.pause())
        self._something_to_do()
        self._report_upper()

    def _waits(self, message: str, hint: str) -> bool:
        """The upstream lets us wait; whether nobody wants the source any more."""
        self._shared.set_status(self.source_id, "stalled", message, hint)
        return self._stopping

    def _close_reader(self) -> None:
        """Let go of the upstream and of the writer: both are taken up again together."""
        self.standing.close()
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

    # Tables

    def _converge(self) -> None:
        """Let exports go and let new ones join; between ticks, so no file is half theirs."""
        with self._wake:
            self._dirty = False
            wanted = self._wanted
            # Said before the lock is let go, so that a drop that follows another description waits for us.
            joining = self.members.joining.keys()
            gone = self.members.want(wanted.exports)
            if not self.members.joining.keys() <= joining:
                self._checked_s = NEVER_S  # the upstream may have what they are of since a moment ago
        for table_id in gone:
            self.backfills.leave(table_id)
            self.members.leave(table_id)
            self.tallies.counters.pop(table_id, None)
        for table_id in self.backfills.tables() - wanted.exports.keys():
            self.backfills.leave(table_id)
        self.members.unfinish(self.backfills.abandoned())
        if wanted.paused:
            self.members.unfinish(self.backfills.pause())
        else:
            self.members.begun(self.backfills.start(self.members.to_be_read()))

    def _take_points(self) -> None:
        """Backfills that are ready fix their point here, and their tables join."""
        if not self.standing.ts:
            return  # there is no binding to join at yet
        while (backfill := self.backfills.next_offered()) is not None:
            joined = backfill.take(self.standing.ts, self.standing.frontier)
            for table_id, (export, point) in joined.items():
                self.members.join(export, point)
                self._checked_s = NEVER_S  # it may have been altered since it was last looked at
                self._shared.set_status(table_id, "starting")

    # A tick

    def _mint(self) -> int:
        return self.standing.mint(self._moment_ms, self._shared.ts_floor)

    def _tick(self, reader: Reader) -> None:
        if self.standing.ended:
            return
        shared = self._shared
        started_s = shared.clock.monotonic_s()
        frontier = self.standing.frontier
        # First: where references are gone the upstream may refuse to go on at all.
        checked = self._check_references(reader)
        end = frontier if checked else reader.probe(shared.clock.now_ms())
        if self.standing.ts and end <= frontier and not checked:
            self._pass_time()
            return
        followed = self.members.followed()
        looked = Looked(end) if checked else reader.look(followed, self.members.seen, end)
        stopped = {**looked.errors, **checked}
        if self.standing.ts and looked.end <= frontier and not stopped and not looked.seen:
            self._pass_time()
            return
        exports = tuple(export for export in followed if export.table_id not in stopped)
        reached, parts = reader.plan_read(frontier, looked.end, exports, self.members.points, TICK_ROWS_MAX)
        ts = self._mint()
        with shared.claims.claim() as claim:
            tasks = [ReadTask(shared.store, claim, ts, self.source_id, part) for part in parts]
            written = shared.jobs.run(tasks, Pool.TICKS)
            files, found = gather(written)
            came = received(written)
            self.tallies.defective(came)
            errors = {**found, **stopped}
            self._check_believable(errors)
            files = {id_: kept for id_, kept in files.items() if id_ not in errors}
            failpoint("ingestion.before_append")
            self.standing.append(ts, reached, files, errors, looked.seen)
        self.members.saw(looked.seen)
        failpoint("ingestion.after_append")
        self.standing.appended()
        for table_id, error in errors.items():
            self.stopped(table_id, error)
        self.members.pass_points(lambda point: self.standing.covers(reached, point))
        gauges = {
            "offset_known": self.source_type.offset(end),
            "offset_committed": self.source_type.offset(reached),
            "tick_seconds": shared.clock.monotonic_s() - started_s,
        }
        self._report_upper()
        self.tallies.ticked(files, came, gauges)
        shared.committed.set()
        reader.acknowledge(reached)
        if not end <= reached or self.backfills.offering():
            self._dirty = True  # more is waiting, or tables to join: the next turn follows at once

    def _pass_time(self) -> None:
        """Nothing new could be read: time goes on in memory."""
        self.standing.rise(self._moment_ms + 1)
        self._report_upper()

    def _check_references(self, reader: Reader) -> dict[str, DefiniteError]:
        """Errors of members whose references are not what they were, now and then."""
        now_s = self._shared.clock.monotonic_s()
        if now_s < self._checked_s + REFERENCE_CHECK_S:
            return {}
        self._checked_s = now_s
        joining, again = self.members.joining, self.members.read_again()
        found = reader.check((*self.members.followed(), *again, *joining.values()))
        if any(error.doubtful for error in found.values()):
            self._checked_s = NEVER_S
            found = {id_: error for id_, error in found.items() if not error.doubtful or id_ not in joining}
        # What is to be read, again or for the first time, is not hindered by what reading heals.
        unread = joining.keys() | self.members.waiting
        errors = {id_: error for id_, error in found.items() if id_ not in unread or not error.heals}
        self._give_up_joining({id_: errors.pop(id_) for id_ in joining.keys() & errors.keys()})
        return errors

    def _report_upper(self) -> None:
        """Tell the environment how far this source is."""
        if self.standing.upper:
            self._shared.report(Frontiers({self.source_id: self.standing.upper}, []))

    # Errors

    def _check_believable(self, errors: Mapping[str, DefiniteError]) -> None:
        """TransientError if one that nobody foresaw may not come again: the tick is tried once more."""
        doubtful = {id_: error for id_, error in errors.items() if error.doubtful}
        self._doubted = {id_: self._doubted.get(id_, 0) + 1 for id_ in doubtful}
        for id_, times in self._doubted.items():
            if times < DOUBTFUL_TRIES:
                raise TransientError(self._named(doubtful[id_].message), TRIED_AGAIN)

    def _give_up_joining(self, errors: Mapping[str, DefiniteError]) -> None:
        """The upstream has no longer what these tables were made of, and none of it was read yet."""
        if not errors:
            return
        ts = self._mint()
        self._join_failed(ts, errors.keys())
        for table_id, error in errors.items():
            self._shared.ledger.poison(table_id, ts, error)
            self.stopped(table_id, error)
        self.standing.rise(ts + 1)
        self._report_upper()

    def _show_failed(self, table_id: str, message: str, hint: str | None) -> None:
        self._shared.set_failed(table_id, self._named(message), hint or RECREATE)

    def _named(self, message: str) -> str:
        """A definite error as statuses show it."""
        return f"{self.source_type.namespace}: {message}"

    def _fail(self, error: DefiniteError) -> None:
        """Every table stops where it is, and reads say why."""
        self._close_reader()
        ts = self._mint()
        self._join_failed(ts, self.members.joining.keys())
        for table_id in self.members.exports.keys() - self.members.failed:
            self._shared.ledger.poison(table_id, ts, error)
            self.stopped(table_id, error)
        self._shared.ledger.fail(self.source_id, self._named(error.message), error.hint)
        self.backfills.refuse(error)
        self.standing.rise(ts + 1)
        self._report_upper()
        self._shared.set_status(
            self.source_id, "failed", self._named(error.message), error.hint or RECREATE_ALL
        )

    def _join_failed(self, ts: int, ids: Set[str]) -> None:
        """Tables that wait to join will not: they are readable as what they are, an error."""
        for export in [export for id_, export in self.members.joining.items() if id_ in ids]:
            self.backfills.leave(export.table_id)
            self._shared.ledger.join(
                [(export.table_id, export.discipline, export.stored, "", None)],
                self.source_id,
                ts,
                hydrated=True,
            )
            self.members.join_failed(export)
            self._shared.report(Frontiers({}, [export.table_id]))

    # What a backfill says, from its own thread

    def stopped(self, table_id: str, error: DefiniteError) -> None:
        """A table has a definite error: it stops here, for good or to be read again; the others go on."""
        if error.heals or table_id in self.members.waiting:
            self.backfills.leave(table_id)  # what it has read is worth nothing any more
        self.members.stop(table_id, error.heals)
        if not error.heals:
            self._show_failed(table_id, error.message, error.hint)
            return
        log.warning("table is read again", table=table_id, source=self.source_id, why=error.message)
        self._shared.set_healing(table_id, self._named(error.message), HEALS)
        self._something_to_do()

    def backfilled(self, table_id: str, files: Sequence[FileEntry], differences: bool = False) -> None:
        """The table may be read: these files hold its rows, or what made them right."""
        self.tallies.filled(table_id, files, self.source_type.snapshots_in_positions, differences)
        self.backfills.finished(table_id)
        if not self.members.stopped(table_id):
            self._shared.set_status(table_id, "running")
        self._shared.report(Frontiers({self.source_id: self.standing.upper}, [table_id]))

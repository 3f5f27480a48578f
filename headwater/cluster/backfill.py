"""Snapshots of new tables, beside the ticks of their source.

Tables that one transaction made are one backfill:

                 +------ the source failed, or the upstream ------------+
                 |                                                      |
    Preparing ---+--> Offered --take, between two ticks--> Joined --> readable
        ^        |       |                                   |
        |        v       | nobody took it in time            | could not be read to the end
        +----- Refused <-+                                   |
        +----------------------------------------------------+

    Preparing   the upstream is asked for a point at which all of them can be read; may take its time
    Offered     the point can be fixed
    Joined      it is: ticks write the tables' changes, chunks are read at it as Spark tasks, and every
                finished one is put in the ledger; when the source has covered the point, all tables become
                readable in one transaction
    Refused     why the point could not be fixed

After a restart, and when the upstream could not be read to the end, it begins again.  If the
upstream's kind can go on from the point of before, finished chunks count; otherwise the tables
join anew at another point.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import structlog

from headwater.cluster.donors import OwnPoint
from headwater.cluster.jobs import DriverLost
from headwater.cluster.shared import Shared
from headwater.cluster.snapshots import Snapshots
from headwater.cluster.widening import RereadPoint, SidePoint, base_of, side_of
from headwater.core.change import FileEntry
from headwater.core.errors import DefiniteError, HeadwaterError, InvariantViolation, TransientError
from headwater.core.frontier import Frontier
from headwater.core.limits import (
    COVER_CHECK_S,
    RETRY_DELAY_S_MAX,
    RETRY_DELAY_S_MIN,
    SNAPSHOT_CHUNK_ROWS,
    SNAPSHOT_OFFER_S_MAX,
)
from headwater.core.points import Copied, Point, Read, Reread, Widened, point_text
from headwater.observe.failpoints import failpoint
from headwater.persist.ledger import Filled
from headwater.persist.state import commit_state
from headwater.sources.contract import Export, SnapshotPoint, SourceType

if TYPE_CHECKING:
    from headwater.cluster.backfills import Backfills
    from headwater.cluster.counters import Tallies
    from headwater.cluster.members import Members
    from headwater.cluster.standing import Standing

log = structlog.get_logger("backfill")

_ANEW = "You need not do anything: the table is read again."


@dataclass(frozen=True, slots=True)
class Preparing:
    """The upstream is being asked."""


@dataclass(frozen=True, slots=True)
class Offered:
    """The source may fix the point."""

    prepared: SnapshotPoint


@dataclass(frozen=True, slots=True)
class Joined:
    """The point is fixed."""

    points: Mapping[str, Point]  # by table id
    kept: Set[str]  # tables some of whose chunks were read at an earlier point


@dataclass(frozen=True, slots=True)
class Refused:
    """The point could not be fixed."""

    error: HeadwaterError


class Host(Protocol):
    """What a backfill asks of its source, from its own thread."""

    source_id: str
    source_type: SourceType
    options: Mapping[str, Any]
    members: Members
    standing: Standing
    backfills: Backfills
    tallies: Tallies

    def driver_lost(self, error: Exception) -> None:
        """The JVM has gone."""

    def stopped(self, table_id: str, error: DefiniteError) -> None:
        """A table has a definite error."""

    def backfilled(self, table_id: str, files: Sequence[FileEntry], differences: bool = False) -> None:
        """A table may be read: these files hold its rows, or what made them right."""


class Backfill:
    """One batch of tables on their way to being readable.

    `take` and `refuse` are called by the source's thread, `stop` and `stop_table` by any; everything else
    that works is this one's own.
    """

    def __init__(
        self,
        shared: Shared,
        source_type: SourceType,
        exports: Sequence[Export],
        host: Host,
    ) -> None:
        self._shared = shared
        self._type = source_type
        self._exports = {export.table_id: export for export in exports}
        self._host = host
        self._working: set[str] = set()  # tables that are being read or made Delta tables
        self._doubted: dict[str, int] = {}  # by table, how often in a row what nobody foresaw has come
        self._phase: Preparing | Offered | Joined | Refused = Preparing()
        self._taking = threading.Lock()  # whoever has it decides what becomes of the offer
        self._answered = threading.Event()  # the offer is not open any more
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="backfill", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def alive(self) -> bool:
        """Whether anything of this backfill still runs."""
        return self._thread.is_alive()

    def writing(self, table_id: str) -> bool:
        """Whether files of this table may still be written."""
        return self.alive() and (table_id in self._exports or table_id in self._working)

    def stop(self) -> None:
        """Give up after the chunks under way."""
        self._stopping.set()
        self._answered.set()

    def stop_table(self, table_id: str) -> None:
        """This table has been dropped; the others of the batch go on."""
        self._exports.pop(table_id, None)
        if not self._exports:
            self.stop()

    def take(self, ts: int, frontier: Frontier) -> dict[str, tuple[Export, Point]]:
        """Fix the point while the source stands at the binding (ts, frontier); who has joined, with it."""
        with self._taking:
            if not isinstance(self._phase, Offered) or self._stopping.is_set():
                return {}
            exports = dict(self._exports)
            try:
                self._phase = joined = self._join(self._phase.prepared, exports, ts, frontier)
            except (TransientError, DefiniteError) as error:
                self._phase = Refused(error)
                return {}
            except BaseException as error:
                # The source has to do with it as well; whatever it was, nothing has been taken here.
                self._phase = Refused(TransientError(f"the source could not take tables in: {error}"))
                raise
            finally:
                self._answered.set()
        return {id_: (exports[id_], point) for id_, point in joined.points.items()}

    def refuse(self, error: HeadwaterError) -> None:
        """No point can be taken: the source has failed."""
        with self._taking:
            self._phase = Refused(error)
            self._answered.set()

    def _join(
        self, prepared: SnapshotPoint, exports: dict[str, Export], ts: int, frontier: Frontier
    ) -> Joined:
        if not exports:
            return Joined({}, frozenset())
        ledger = self._shared.ledger
        found = {id_: ledger.collection(id_) for id_ in exports}
        known = {id_: collection for id_, collection in found.items() if collection is not None}
        chunks = {id_: len(ledger.chunks(id_)) for id_, at in known.items() if at.filling}
        begun = {
            id_: point
            for id_, count in chunks.items()
            # What was begun otherwise begins anew: rows of ours are not the upstream's at another point.
            if count and isinstance(point := known[id_].point, Read)
            if not self._carried(id_, known[id_].joined_ts, ts)
        }
        taken = prepared.take(frontier, begun, SNAPSHOT_CHUNK_ROWS)
        failpoint("ingestion.before_join")
        ledger.join(
            [
                (
                    *(e.table_id, e.discipline, e.stored),
                    *(str(dict(e.options).get("batch", e.table_id)), taken.points[e.table_id]),
                )
                for e in exports.values()
                if e.table_id not in known
            ],
            self._host.source_id,
            ts,
            hydrated=False,
        )
        ledger.repoint({id_: taken.points[id_] for id_ in taken.kept})
        anew = known.keys() & taken.points.keys() - taken.kept
        ledger.rejoin({id_: taken.points[id_] for id_ in anew}, ts)
        failpoint("ingestion.after_join")
        self._shared.pin(self, dict.fromkeys(_read_of(taken.points.values()), ts))
        for id_ in taken.kept:
            log.info("snapshot goes on", table=id_, chunks=chunks[id_])
        return Joined({id_: taken.points[id_] for id_ in exports}, taken.kept)

    def _carried(self, table_id: str, after: int, until: int) -> bool:
        """Whether rows have changed their keys and taken values along that only the old keys' rows have.

        Chunks of two points may then have none of them: the old row was not read yet at the first, and is
        gone at the second.
        """
        return any(file.carriers for file in self._shared.ledger.change_files(table_id, after, until))

    def _run(self) -> None:
        delay_s = RETRY_DELAY_S_MIN
        while not self._stopping.is_set():
            try:
                if self._complete():
                    return
                continue
            except DriverLost as error:
                self._host.driver_lost(error)
                return
            except HeadwaterError as error:
                log.warning("backfill stalled", tables=sorted(self._exports), error=str(error))
                self._stall(str(error), getattr(error, "hint", None))
            except Exception as error:
                # Of these tables alone: the source and its other tables go on.
                log.exception("backfill failed", tables=sorted(self._exports))
                self._stall(f"internal: {error!r}", "It is tried again; the cluster's log says more.")
            self._stopping.wait(delay_s)
            delay_s = min(delay_s * 2, RETRY_DELAY_S_MAX)

    def _stall(self, error: str, hint: str | None) -> None:
        self._working = set()
        for table_id in list(self._exports):
            self._shared.set_status(table_id, "stalled", error, hint)

    def _complete(self) -> bool:
        """From the upstream's point to readable tables.  False when stopped before."""
        self._settle_failed()
        exports = tuple(self._exports.values())
        if not exports:
            return True
        prepared = self._prepare(exports)
        try:
            joined = self._offer(prepared)
            if joined is None:
                return False
            prepared.settle()
            with self._shared.claims.claim() as claim:
                return self._read_all(prepared, joined, claim)
        finally:
            with self._taking:  # nothing is taken from now on, and nothing pinned
                self._phase = Preparing()
            prepared.close()
            self._shared.unpin(self)

    def _offer(self, prepared: SnapshotPoint) -> Joined | None:
        """Let the source fix the point; None when stopped before."""
        backfills = self._host.backfills
        self._answered.clear()
        with self._taking:
            self._phase = Offered(prepared)
        if self._stopping.is_set():  # who has stopped us has woken us before the lines above
            return None
        backfills.offer(self)
        if not self._answered.wait(SNAPSHOT_OFFER_S_MAX) and backfills.withdraw(self):
            # What is held upstream for the snapshot must not be held for long.
            raise TransientError(
                "the source does not go on, and new tables cannot join it",
                hint="SELECT * FROM mz_internal.mz_source_statuses says why.",
            )
        self._answered.wait()
        with self._taking:
            phase = self._phase
        if self._stopping.is_set():
            return None
        match phase:
            case Refused(error):
                raise error
            case Joined():
                return phase
        raise InvariantViolation(f"an offer was answered with {phase}")

    def _prepare(self, exports: tuple[Export, ...]) -> SnapshotPoint:
        """From our own tables if they have all of it, by the side if they have some, or as a whole."""
        options, secrets = self._host.options, self._shared.secrets
        members = self._host.members
        again = self._read_again(exports)
        if again is not None:
            return RereadPoint(self._type.prepare_snapshot(options, secrets, exports), again, members)
        base = members.base(exports[0]) if len(exports) == 1 else None
        side = side_of(exports[0], base) if base is not None else None
        if base is not None and side is not None:
            prepared = self._type.prepare_snapshot(options, secrets, (side,))
            return SidePoint(prepared, side, base, members.seen_of, members.stopped)
        donors = members.donors(self._type, exports)
        if donors is not None:
            return OwnPoint(donors, members.seen_of, members.stopped)
        return self._type.prepare_snapshot(options, secrets, exports)

    def _read_again(self, exports: tuple[Export, ...]) -> str | None:
        """The narrower table of messages that an export takes the place of, if it is not there yet."""
        base_id = base_of(exports[0]) if self._type.grown is not None and len(exports) == 1 else None
        if base_id is None or base_id not in self._host.members.exports:
            return None
        known = self._shared.ledger.collection(exports[0].table_id)
        return None if known is not None and known.hydrated else base_id

    def _read_all(self, prepared: SnapshotPoint, joined: Joined, claim: str) -> bool:
        exports = list(self._exports.values())
        self._working = {export.table_id for export in exports}
        snapshots = Snapshots(
            *(self._shared, self._host, self._exports.__contains__, self._stopping, claim, self._doubted)
        )
        states = snapshots.read(prepared, joined.points, exports)
        if states is None:
            return False
        self._working = set()
        prepared.close()  # nothing more is read there: what it holds upstream is let go
        since = self._covered()
        if since is None:
            return False
        filled = {id_: made for id_, made in states.items() if id_ in self._exports}
        self._check_whole(filled.keys() & joined.kept, since)
        failpoint("backfill.before_hydrate")
        self._shared.ledger.fill(filled, since)
        failpoint("backfill.after_hydrate")
        for table_id, made in filled.items():
            self._host.backfilled(table_id, made.files, differences=made.version is None)
        return True

    def _check_whole(self, table_ids: Set[str], until: int) -> None:
        """TransientError if a table that was read at two points must be read anew: it then is, at one."""
        for table_id in table_ids:
            collection = self._shared.ledger.collection(table_id)
            if collection is not None and self._carried(table_id, collection.joined_ts, until):
                raise TransientError("rows changed their keys while the snapshot was interrupted", hint=_ANEW)

    def _settle_failed(self) -> None:
        """Tables that failed on the way become readable as what they are, an error."""
        ledger, store = self._shared.ledger, self._shared.store
        for table_id, export in list(self._exports.items()):
            collection, stopped = ledger.collection(table_id), ledger.stopped(table_id)
            if collection is None or stopped is None or collection.hydrated:
                continue
            self._working = {table_id}
            kept = [file for file in ledger.chunks(table_id).values() if file.rows]
            now_ms = self._shared.clock.now_ms()
            version = commit_state(store, table_id, export.stored, kept, collection.joined_ts, now_ms)
            ledger.fill({table_id: Filled(collection.point, kept, version)}, stopped.ts)
            self._host.backfilled(table_id, [])
            self._exports.pop(table_id, None)
            self._working = set()

    def _covered(self) -> int | None:
        """Wait until the source has covered the point; the binding where it has.  None: it never will."""
        found = [self._shared.ledger.collection(id_) for id_ in list(self._exports)]
        # Tables that joined together wait for the same.
        joined = {(point_text(at.point), at.joined_ts): at for at in found if at is not None}
        while not self._stopping.is_set() and not self._all_failed():
            covering = [self._host.standing.covering(at.point, at.joined_ts) for at in joined.values()]
            since = [ts for ts in covering if ts is not None]
            if len(since) == len(covering):
                return max(since, default=0)
            self._stopping.wait(COVER_CHECK_S)
        return None

    def _all_failed(self) -> bool:
        return self._exports.keys() <= self._host.members.failed


def _read_of(points: Iterable[Point]) -> list[str]:
    """Tables of ours whose rows are read at these points."""
    return [
        point.donor_id if isinstance(point, Copied) else point.base_id
        for point in points
        if isinstance(point, Copied | Widened | Reread)
    ]

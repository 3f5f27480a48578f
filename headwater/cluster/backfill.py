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
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import structlog

from headwater.cluster.donors import DONOR, OwnPoint, is_own
from headwater.cluster.jobs import DriverLost
from headwater.cluster.snapshots import Snapshots
from headwater.cluster.widening import SidePoint, side_of
from headwater.cluster.world import World
from headwater.core.errors import DefiniteError, HeadwaterError, TransientError
from headwater.core.frontier import Frontier
from headwater.core.limits import (
    COVER_CHECK_S,
    RETRY_DELAY_S_MAX,
    RETRY_DELAY_S_MIN,
    SNAPSHOT_CHUNK_ROWS,
    SNAPSHOT_OFFER_S_MAX,
)
from headwater.observe.failpoints import failpoint
from headwater.persist.state import commit_state
from headwater.sources.contract import Export, Side, SnapshotPoint, SourceType

if TYPE_CHECKING:
    from headwater.cluster.ingestion import Ingestion

log = structlog.get_logger("backfill")


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
        self._working: set[str] = set()  # tables that are being read or made Delta tables
        self._prepared: SnapshotPoint | None = None
        self._points: Mapping[str, Any] = {}
        self._refusal: HeadwaterError | None = None
        self._taken = threading.Event()  # the point is fixed, or could not be
        self._taking = threading.Lock()
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
        self._taken.set()

    def stop_table(self, table_id: str) -> None:
        """This table has been dropped; the others of the batch go on."""
        self._exports.pop(table_id, None)
        if not self._exports:
            self.stop()

    def take(self, ts: int, frontier: Frontier) -> dict[str, tuple[Export, Any]]:
        """Fix the point while the source stands at the binding (ts, frontier); who has joined, with it."""
        try:
            with self._taking:
                exports = dict(self._exports)
                if self._prepared is None or not exports:
                    return {}
                return self._join(self._prepared, exports, ts, frontier)
        except (TransientError, DefiniteError) as error:
            self._refusal = error
            return {}
        except BaseException as error:
            # The source has to do with it as well; whatever it was, nothing has been taken here.
            self._refusal = TransientError(f"the source could not take tables in: {error}")
            raise
        finally:
            self._taken.set()

    def _join(
        self, prepared: SnapshotPoint, exports: dict[str, Export], ts: int, frontier: Frontier
    ) -> dict[str, tuple[Export, Any]]:
        ledger = self._world.ledger
        found = {id_: ledger.collection(id_) for id_ in exports}
        known = {id_: collection for id_, collection in found.items() if collection is not None}
        chunks = {id_: len(ledger.chunks(id_)) for id_, at in known.items() if not at.hydrated}
        begun = {id_: known[id_].point for id_, count in chunks.items() if count}
        taken = prepared.take(frontier, begun, SNAPSHOT_CHUNK_ROWS)
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
        self._points = taken.points
        for id_ in taken.kept:
            log.info("snapshot goes on", table=id_, chunks=chunks[id_])
        return {id_: (export, taken.points[id_]) for id_, export in exports.items()}

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
                continue
            except DriverLost as error:
                self._ingestion.driver_lost(error)
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
            self._world.set_status(table_id, "stalled", error, hint)

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
            if self._stopping.is_set():  # who has stopped us has woken us before the line above
                return False
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
            with self._world.claims.claim() as claim:
                return self._read_all(prepared, claim)
        finally:
            with self._taking:  # nothing is taken from now on, and nothing pinned
                self._prepared = None
            prepared.close()
            self._world.unpin(self)

    def _prepare(self, exports: tuple[Export, ...]) -> SnapshotPoint:
        """From our own tables if they have all of it, by the side if they have some, or as a whole."""
        options, secrets = self._ingestion.options, self._world.secrets
        base = self._ingestion.base(exports[0]) if len(exports) == 1 else None
        side = side_of(exports[0], base) if base is not None else None
        if base is not None and side is not None:
            prepared = self._type.prepare_snapshot(options, secrets, (side,))
            return SidePoint(prepared, side, base, self._ingestion.seen)
        donors = self._ingestion.donors(exports)
        if donors is not None:
            return OwnPoint(donors, self._ingestion.seen)
        return self._type.prepare_snapshot(options, secrets, exports)

    def _read_all(self, prepared: SnapshotPoint, claim: str) -> bool:
        exports = list(self._exports.values())
        self._working = {export.table_id for export in exports}
        snapshots = Snapshots(self._world, self._ingestion, self._exports.__contains__, self._stopping, claim)
        states = snapshots.read(prepared, self._points, exports)
        if states is None:
            return False
        self._working = set()
        prepared.close()  # nothing more is read there: what it holds upstream is let go
        since = self._covered()
        if since is None:
            return False
        states = {id_: state for id_, state in states.items() if id_ in self._exports}
        failpoint("backfill.before_hydrate")
        self._world.ledger.hydrate(states, since)
        failpoint("backfill.after_hydrate")
        for table_id, (_, files) in states.items():
            self._ingestion.backfilled(table_id, files)
        return True

    def _settle_failed(self) -> None:
        """Tables that failed on the way become readable as what they are, an error."""
        ledger, data_dir = self._world.ledger, self._world.data_dir
        for table_id, export in list(self._exports.items()):
            collection, errors = ledger.collection(table_id), ledger.errors(table_id)
            if collection is None or collection.hydrated or not errors:
                continue
            self._working = {table_id}
            kept = [file for file in ledger.chunks(table_id).values() if file.rows]
            now_ms = self._world.clock.now_ms()
            version = commit_state(data_dir, table_id, export.relation, kept, collection.joined_ts, now_ms)
            ledger.hydrate({table_id: (version, kept)}, errors[0][0])
            self._ingestion.backfilled(table_id, [])
            self._exports.pop(table_id, None)
            self._working = set()

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

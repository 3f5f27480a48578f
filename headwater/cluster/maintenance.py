"""The housekeeping thread: drops, forgetting, folds, sweeps; one thing at a time.

Because it is one thread, a fold never meets the drop of the same table, and
folds take one core at most from the ticks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

from headwater.cluster.fold import due, fold
from headwater.cluster.jobs import DriverLost
from headwater.cluster.world import World
from headwater.core.errors import HeadwaterError
from headwater.core.limits import FOLD_CHECK_S_MAX, SWEEP_INTERVAL_S
from headwater.core.protocol import Dropped
from headwater.persist.retention import drop_collection, forget, sweep

log = structlog.get_logger("maintenance")

_TURN_S = 0.5


class Maintenance:
    """Owns everything that shortens what is stored."""

    def __init__(self, world: World, busy: Callable[[str], bool], lost: Callable[[Exception], None]) -> None:
        self._world = world
        self._busy = busy  # whether an ingestion may still write files of a table
        self._lost = lost
        self._drops: set[str] = set()
        self._since: dict[str, int] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="maintenance", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()

    def join(self, timeout_s: float) -> None:
        self._thread.join(timeout_s)

    def drop(self, ids: list[str]) -> None:
        """Forget these as soon as nothing writes them any more."""
        with self._lock:
            self._drops.update(ids)

    def allow(self, since: dict[str, int]) -> None:
        """History before these timestamps may go."""
        with self._lock:
            self._since.update(since)

    def _run(self) -> None:
        clock = self._world.clock
        checked_s = swept_s = clock.monotonic_s()
        while not self._stopping.wait(_TURN_S):
            try:
                self._drop()
                self._forget()
                now_s = clock.monotonic_s()
                if self._world.committed.is_set() or now_s - checked_s > FOLD_CHECK_S_MAX:
                    self._world.committed.clear()
                    checked_s = now_s
                    self._fold()
                if now_s - swept_s > SWEEP_INTERVAL_S:
                    swept_s = now_s
                    removed = sweep(self._world.ledger, self._world.data_dir, clock.now_ms())
                    if removed:
                        log.info("files swept", files=len(removed))
            except DriverLost as error:
                self._lost(error)
                return
            except HeadwaterError as error:
                log.warning("maintenance failed", error=str(error), hint=getattr(error, "hint", None))

    def _drop(self) -> None:
        with self._lock:
            ready = [id_ for id_ in self._drops if not self._busy(id_)]
        for id_ in ready:
            drop_collection(self._world.ledger, self._world.data_dir, id_)
            self._world.ledger.drop_writer(id_)
            with self._lock:
                self._drops.discard(id_)
            self._world.report(Dropped([id_]))

    def _forget(self) -> None:
        with self._lock:
            since, self._since = self._since, {}
        collections = self._world.ledger.collections() if since else {}
        for id_, ts in since.items():
            if id_ in collections:
                forget(self._world.ledger, self._world.data_dir, id_, ts)
            else:
                self._world.ledger.forget_bindings(id_, ts)

    def _fold(self) -> None:
        for tail in due(self._world.ledger.tails()):
            with self._lock:
                dropping = tail.collection_id in self._drops
            if dropping or self._stopping.is_set():
                continue
            fold(self._world, tail)

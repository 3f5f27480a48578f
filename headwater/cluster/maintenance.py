"""The housekeeping thread: drops, forgetting, folds, sweeps; one thing at a time.

Because it is one thread, a fold never meets the drop of the same table, and
folds take one core at most from the ticks.  Every table and source is on its own, whatever goes wrong:
a table that cannot be folded says so in its status, what cannot be dropped or forgotten says so in the
log; it is left alone for a while, and the others go on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from headwater.cluster.fold import due, fold
from headwater.cluster.jobs import SEE_LOG, DriverLost
from headwater.cluster.shared import Shared
from headwater.core.errors import HeadwaterError
from headwater.core.limits import FOLD_CHECK_S_MAX, FOLD_RETRY_DELAY_S_MAX, SWEEP_INTERVAL_S
from headwater.core.protocol import Dropped
from headwater.persist.retention import drop_collection, remove_forgotten, sweep
from headwater.sources import SOURCE_TYPES
from headwater.sources.unforeseen import named, where

log = structlog.get_logger("maintenance")

_TURN_S = 0.5


@dataclass(frozen=True, slots=True)
class _Failure:
    """A table whose fold failed, or a source that could not be left; and when it is tried again."""

    again_at_s: float
    delay_s: float


class Maintenance:
    """Owns everything that shortens what is stored."""

    def __init__(
        self, shared: Shared, busy: Callable[[str], bool], lost: Callable[[Exception], None]
    ) -> None:
        self._shared = shared
        self._busy = busy  # whether an ingestion may still write files of a table
        self._lost = lost
        self._drops: set[str] = set()
        self._since: dict[str, int] = {}
        self._failures: dict[str, _Failure] = {}
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
        clock = self._shared.clock
        checked_s = clock.monotonic_s()
        swept_s = checked_s - SWEEP_INTERVAL_S  # the process before us may have left something
        while not self._stopping.wait(_TURN_S):
            self._attempt("drop", self._drop)
            self._attempt("forget", self._forget)
            now_s = clock.monotonic_s()
            if self._shared.committed.is_set() or now_s - checked_s > FOLD_CHECK_S_MAX:
                self._shared.committed.clear()
                checked_s = now_s
                self._attempt("fold", self._fold)
            if now_s - swept_s >= SWEEP_INTERVAL_S:
                swept_s = now_s
                self._attempt("sweep", self._sweep)

    def _attempt(self, name: str, step: Callable[[], None]) -> None:
        """One step of a turn: where it fails the others are due all the same."""
        try:
            step()
        except DriverLost as error:
            self._lost(error)
        except Exception as error:
            _tell(error, "maintenance failed", step=name)

    def _sweep(self) -> None:
        removed = sweep(self._shared.ledger, self._shared.store, self._shared.claims.under_way)
        if removed:
            log.info("files swept", files=len(removed))

    def _drop(self) -> None:
        with self._lock:
            ready = [id_ for id_ in self._drops if not (self._busy(id_) or self._shared.pinned(id_))]
        upstreams = self._shared.ledger.upstreams() if ready else {}
        for id_ in ready:
            if upstreams.get(id_) is not None and not self._leave(id_, upstreams[id_]):
                continue
            self._attempt(f"drop of {id_}", partial(self._drop_one, id_))

    def _drop_one(self, id_: str) -> None:
        drop_collection(self._shared.ledger, self._shared.store, id_)
        self._shared.ledger.drop_writer(id_)
        with self._lock:
            self._drops.discard(id_)
        self._failures.pop(id_, None)
        self._shared.report(Dropped([id_]))

    def _leave(self, source_id: str, upstream: dict[str, Any]) -> bool:
        """Take away what a source that is gone has upstream; False: later."""
        failure = self._failures.get(source_id)
        if failure is not None and self._shared.clock.monotonic_s() < failure.again_at_s:
            return False
        try:
            SOURCE_TYPES[upstream["source_type"]].drop(upstream["options"], self._shared.secrets)
        except Exception as error:
            self._put_off(source_id)
            _tell(error, "could not clean up upstream; trying again", source=source_id)
            return False
        return True

    def _put_off(self, id_: str) -> float:
        """Leave it alone for a while, longer each time; how long."""
        previous = self._failures.get(id_)
        delay_s = min(previous.delay_s * 2, FOLD_RETRY_DELAY_S_MAX) if previous else FOLD_CHECK_S_MAX
        self._failures[id_] = _Failure(self._shared.clock.monotonic_s() + delay_s, delay_s)
        return delay_s

    def _forget(self) -> None:
        with self._lock:
            since = dict(self._since)
        collections = self._shared.ledger.collections() if since else {}
        for id_, ts in since.items():
            self._attempt(f"forget of {id_}", partial(self._forget_one, id_, ts, id_ in collections))

    def _forget_one(self, id_: str, ts: int, collected: bool) -> None:
        kept_from = ts
        if collected:
            kept_from, paths = self._shared.forget(id_, ts)
            remove_forgotten(self._shared.store, paths)
        else:
            self._shared.ledger.forget_bindings(id_, ts)
        with self._lock:
            if self._since.get(id_) == ts and kept_from == ts:
                del self._since[id_]

    def _fold(self) -> None:
        for tail in due(self._shared.ledger.tails()):
            with self._lock:
                dropping = tail.collection_id in self._drops
            failure = self._failures.get(tail.collection_id)
            waiting = failure is not None and self._shared.clock.monotonic_s() < failure.again_at_s
            if dropping or waiting or self._stopping.is_set():
                continue
            try:
                fold(self._shared, tail)
            except DriverLost:
                raise
            except Exception as error:
                self._failed(tail.collection_id, error)
            else:
                self._succeeded(tail.collection_id)

    def _failed(self, collection_id: str, error: Exception) -> None:
        """Its reads may work or not; nothing is lost, and the fold is tried again."""
        delay_s = self._put_off(collection_id)
        _tell(error, "fold failed", table=collection_id, retry_in_s=delay_s)
        foreseen = isinstance(error, HeadwaterError)
        text = str(error) if foreseen else f"internal: {named(error)}"
        self._shared.set_status(
            collection_id, "stalled", text, getattr(error, "hint", None) if foreseen else SEE_LOG
        )

    def _succeeded(self, collection_id: str) -> None:
        if self._failures.pop(collection_id, None) is not None:
            self._shared.set_status(collection_id, "running")


def _tell(error: Exception, event: str, **facts: object) -> None:
    """Into the log; of what nobody foresaw also where it came about."""
    if isinstance(error, HeadwaterError | OSError):
        log.warning(event, error=str(error), hint=getattr(error, "hint", None), **facts)
    else:
        log.error(event, defect=where(error), **facts)

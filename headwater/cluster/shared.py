"""What the parts of the cluster process share: the ledger, the executors, the clock, the way out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from headwater.cluster.claims import Claims
from headwater.cluster.jobs import Jobs
from headwater.core.clock import Clock
from headwater.core.protocol import Status
from headwater.persist.ledger import Ledger
from headwater.persist.store import DataStore
from headwater.sources.contract import Secrets


@dataclass(slots=True)
class Shared:
    """Handed to every part; `report` sends a response to whichever environment is connected."""

    store: DataStore
    scratch: Path  # of this machine; emptied when the process starts
    ledger: Ledger
    jobs: Jobs
    clock: Clock
    cores: int
    report: Callable[..., None]
    secrets: Secrets
    ts_floor: int = 0
    statuses: dict[str, Status] = field(default_factory=dict)
    ended: set[str] = field(
        default_factory=set
    )  # tables with a definite error, whatever else is said of them
    committed: threading.Event = field(default_factory=threading.Event)  # a tick was; folds may be due
    lock: threading.Lock = field(default_factory=threading.Lock)
    pins: dict[object, dict[str, int]] = field(default_factory=dict)
    """By whoever reads them: tables whose history from a timestamp on must stay."""
    claims: Claims = field(init=False)

    def __post_init__(self) -> None:
        self.claims = Claims(self.ledger.incarnation)

    def pin(self, reader: object, tables: dict[str, int]) -> None:
        """Keep these tables readable from these timestamps on, until `unpin`.

        With the files of all plans that are made from now on: those of the state that one there would
        begin with stay too, although a later state may be made that answers the same timestamp.
        """
        with self.lock:
            self.pins[reader] = {id_: self.ledger.state_at(id_, ts) for id_, ts in tables.items()}

    def unpin(self, reader: object) -> None:
        with self.lock:
            self.pins.pop(reader, None)

    def pinned(self, table_id: str) -> bool:
        """Whether somebody here reads this table."""
        with self.lock:
            return any(table_id in tables for tables in self.pins.values())

    def forget(self, table_id: str, since: int) -> tuple[int, list[str]]:
        """Let history before `since` go, as far as nobody here reads it: how far, and the files of it.

        Nobody can pin it meanwhile, and make a plan with files that are about to go.
        """
        with self.lock:
            pinned = [tables[table_id] for tables in self.pins.values() if table_id in tables]
            kept_from = min([since, *pinned])
            return kept_from, self.ledger.forget(table_id, kept_from)

    def set_status(self, id_: str, status: str, error: str | None = None, hint: str | None = None) -> None:
        """Report a status, but only when it is another one than before."""
        with self.lock:
            if id_ in self.ended and status != "failed":
                return  # a fold that works again, say, does not make the table go on
            last = self.statuses.get(id_)
            if last is not None and (last.status, last.error) == (status, error):
                return
            message = Status(id_, status, error, hint, self.clock.now_ms())
            self.statuses[id_] = message
        self.report(message)

    def set_failed(self, table_id: str, error: str, hint: str) -> None:
        """Report that a table has ended for good."""
        with self.lock:
            self.ended.add(table_id)
        self.set_status(table_id, "failed", error, hint)

    def set_healing(self, table_id: str, error: str, hint: str) -> None:
        """Report that a table, also one that had ended, is read again."""
        with self.lock:
            self.ended.discard(table_id)
        self.set_status(table_id, "stalled", error, hint)

    def forget_status(self, id_: str) -> None:
        """It was dropped."""
        with self.lock:
            self.statuses.pop(id_, None)
            self.ended.discard(id_)

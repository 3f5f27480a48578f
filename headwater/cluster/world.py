"""What the parts of the cluster process share: the ledger, the executors, the clock, the way out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from headwater.cluster.jobs import Jobs
from headwater.core.clock import Clock
from headwater.core.protocol import Status
from headwater.persist.ledger import Ledger
from headwater.sources.contract import Secrets


@dataclass(slots=True)
class World:
    """Handed to every part; `report` sends a response to whichever environment is connected."""

    data_dir: Path
    scratch: Path  # emptied when the process starts
    ledger: Ledger
    jobs: Jobs
    clock: Clock
    cores: int
    report: Callable[..., None]
    secrets: Secrets
    ts_floor: int = 0
    statuses: dict[str, Status] = field(default_factory=dict)
    committed: threading.Event = field(default_factory=threading.Event)  # a tick was; folds may be due
    lock: threading.Lock = field(default_factory=threading.Lock)
    pins: dict[object, dict[str, int]] = field(default_factory=dict)
    """By whoever reads them: tables whose history from a timestamp on must stay."""

    def pin(self, reader: object, tables: dict[str, int]) -> None:
        """Keep these tables readable from these timestamps on, until `unpin`."""
        with self.lock:
            self.pins[reader] = tables

    def unpin(self, reader: object) -> None:
        with self.lock:
            self.pins.pop(reader, None)

    def kept_from(self, table_id: str, since: int) -> int:
        """Up to where history of a table may go, when `since` is allowed."""
        with self.lock:
            return min([since, *(tables[table_id] for tables in self.pins.values() if table_id in tables)])

    def set_status(self, id_: str, status: str, error: str | None = None, hint: str | None = None) -> None:
        """Report a status, but only when it is another one than before."""
        with self.lock:
            last = self.statuses.get(id_)
            if last is not None and (last.status, last.error) == (status, error):
                return
            message = Status(id_, status, error, hint, self.clock.now_ms())
            self.statuses[id_] = message
        self.report(message)

"""The backfills of one source: which tables each of them reads, which have ended, which can take their point.

Any thread may call: the source's, which starts them and takes up their offers, their own, and the one that
ends everything.

Not here: what a backfill does (backfill.py).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from headwater.cluster.backfill import Backfill
from headwater.core.errors import HeadwaterError
from headwater.sources.contract import Export


class Backfills:
    """Of each table one at the most; `wake` is called when one is ready to take its point."""

    def __init__(self, make: Callable[[list[Export]], Backfill], wake: Callable[[], None]) -> None:
        self._make = make
        self._wake = wake
        self._lock = threading.Lock()
        self._by_table: dict[str, Backfill] = {}
        self._started: list[Backfill] = []  # whose thread may still run
        self._offered: list[Backfill] = []
        self._stopping = False

    def start(self, exports: Iterable[Export]) -> set[str]:
        """One for each transaction's tables, unless they have one or an earlier one has not ended yet.

        The tables that have one now.
        """
        batches: dict[str, list[Export]] = {}
        with self._lock:
            self._started = [backfill for backfill in self._started if backfill.alive()]
            for export in exports:
                ending = any(backfill.writing(export.table_id) for backfill in self._started)
                if export.table_id not in self._by_table and not ending:
                    batches.setdefault(str(dict(export.options).get("batch", "")), []).append(export)
        for batch in batches.values():
            backfill = self._make(batch)
            with self._lock:
                self._by_table.update({export.table_id: backfill for export in batch})
                self._started.append(backfill)
            backfill.start()
            if self._stopping:
                backfill.stop()
        return self.tables()

    def tables(self) -> set[str]:
        """Those that are being read."""
        with self._lock:
            return set(self._by_table)

    def leave(self, table_id: str) -> None:
        """Nobody wants what is being read of this table; the others of its transaction go on."""
        with self._lock:
            backfill = self._by_table.pop(table_id, None)
        if backfill is not None:
            backfill.stop_table(table_id)

    def finished(self, table_id: str) -> None:
        """This table is readable."""
        with self._lock:
            self._by_table.pop(table_id, None)

    def abandoned(self) -> set[str]:
        """Tables whose thread could not begin, or ended as nobody foresaw: another one may go on."""
        with self._lock:
            found = {id_ for id_, backfill in self._by_table.items() if not backfill.alive()}
            for id_ in found:
                del self._by_table[id_]
        return found

    def pause(self) -> set[str]:
        """Nothing is held upstream any more; the tables that were being read."""
        with self._lock:
            found, self._by_table = self._by_table, {}
        for backfill in found.values():
            backfill.stop()
        return set(found)

    def stop(self) -> None:
        """Ask all of them to end."""
        with self._lock:
            self._stopping = True
            running = list(self._by_table.values())
        for backfill in running:
            backfill.stop()

    def alive(self) -> bool:
        """Whether any of them still runs."""
        with self._lock:
            return any(backfill.alive() for backfill in self._started)

    def writing(self, table_id: str) -> bool:
        """Whether files of this table may still be written."""
        with self._lock:
            return any(backfill.writing(table_id) for backfill in self._started)

    # Offers

    def offer(self, backfill: Backfill) -> None:
        """It is ready to take its point, between two ticks."""
        with self._lock:
            self._offered.append(backfill)
        self._wake()

    def withdraw(self, backfill: Backfill) -> bool:
        """The offer no longer stands; False when it is being taken up already."""
        with self._lock:
            if backfill not in self._offered:
                return False
            self._offered.remove(backfill)
            return True

    def next_offered(self) -> Backfill | None:
        """One that is ready; it is taken up."""
        with self._lock:
            return self._offered.pop(0) if self._offered else None

    def offering(self) -> bool:
        """Whether any is ready."""
        with self._lock:
            return bool(self._offered)

    def refuse(self, error: HeadwaterError) -> None:
        """The source has failed: no point can be taken."""
        while (backfill := self.next_offered()) is not None:
            backfill.refuse(error)

"""What a source or table has done since this process started, for statistics.

    messages, bytes    what came from the upstream: messages of the stream, rows of snapshots
    staged             rows that were written
    committed          rows that were written and are durable

A message may be two rows (an update of a table without a key takes one away and brings one) or none (what a
snapshot has shown already).  Rows that are copied from another table of ours were received by that one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from headwater.core.change import FetchedFile, FileEntry, Received
from headwater.core.clock import Clock
from headwater.core.protocol import Statistics

log = structlog.get_logger("counters")


@dataclass(slots=True)
class Counters:
    """What a source or table has done since this process started."""

    received: Received = field(default_factory=Received)
    updates_staged: int = 0
    updates_committed: int = 0
    gauges: dict[str, Any] = field(default_factory=dict)
    _filled: int = 0  # rows staged by a snapshot that is not complete
    _began_s: float | None = None

    def ticked(self, files: Sequence[FileEntry], received: Received) -> None:
        """A tick has committed these."""
        rows = sum(file.rows for file in files)
        self.received += received
        self.updates_staged += rows
        self.updates_committed += rows

    def fetched(self, rows: int, received: Received) -> None:
        """A chunk of a snapshot was read and written."""
        self.received += received
        self.updates_staged += rows
        self._filled += rows

    def filled(self, rows: int) -> None:
        """A snapshot has become the table's first state, with so many rows."""
        self.updates_committed += rows
        # What was written anew on the way, or by a process before this one, was staged as well.
        self.updates_staged = max(self.updates_staged + rows - self._filled, self.updates_committed)
        self._filled = 0

    def begin(self, now_s: float) -> None:
        """It starts, or goes on after a pause; nothing new while that is under way."""
        if self._began_s is None:
            self._began_s = now_s

    def arrive(self, now_s: float) -> bool:
        """It is up to date for the first time since; False when it was before."""
        if self._began_s is None or "rehydration_latency_ms" in self.gauges:
            return False
        self.gauges["rehydration_latency_ms"] = int((now_s - self._began_s) * 1000)
        return True

    def rest(self) -> None:
        """It is paused."""
        self._began_s = None
        self.gauges.pop("rehydration_latency_ms", None)

    def values(self) -> dict[str, Any]:
        return {
            "messages_received": self.received.messages,
            "bytes_received": self.received.bytes,
            "updates_staged": self.updates_staged,
            "updates_committed": self.updates_committed,
            **self.gauges,
        }


class Tallies:
    """The counters of a source and its tables; backfills count from threads of their own."""

    def __init__(self, source_id: str, report: Callable[..., None], clock: Clock) -> None:
        self.counters: dict[str, Counters] = {}
        self._source_id = source_id
        self._report = report
        self._clock = clock
        self._defects: dict[str, str] = {}  # by table, the last that was logged

    def of(self, id_: str) -> Counters:
        return self.counters.setdefault(id_, Counters())

    def messages(self) -> list[Statistics]:
        """All of them, for an environment that has just come."""
        return [Statistics(id_, counters.values()) for id_, counters in list(self.counters.items())]

    def tell(self, *ids: str) -> None:
        """Report how these stand."""
        for id_ in ids:
            self._report(Statistics(id_, self.of(id_).values()))

    # The source

    def begin(self) -> None:
        """The source starts, or goes on after a pause."""
        self.of(self._source_id).begin(self._clock.monotonic_s())

    def arrive(self) -> None:
        """The source has ticked."""
        if self.of(self._source_id).arrive(self._clock.monotonic_s()):
            self.tell(self._source_id)

    def ticked(
        self,
        files: Mapping[str, Sequence[FileEntry]],
        came: Mapping[str, Received],
        gauges: Mapping[str, Any],
    ) -> None:
        """A tick has committed these files, made of what came, by table."""
        source = self.of(self._source_id)
        changed = files.keys() | came.keys()
        for table_id in changed:
            for counters in (self.of(table_id), source):
                counters.ticked(files.get(table_id, ()), came.get(table_id, Received()))
        source.gauges |= {**gauges, "ticks": source.gauges.get("ticks", 0) + 1}
        self.tell(self._source_id, *changed)

    def defective(self, came: Mapping[str, Received]) -> None:
        """Log where errors came about that nobody foresaw; the same of a table is said once."""
        for table_id, received in came.items():
            for defect in received.defects:
                if self._defects.get(table_id) == defect:
                    continue
                self._defects[table_id] = defect
                log.error("messages cannot be decoded", source=self._source_id, table=table_id, defect=defect)

    # Snapshots

    def progress(self, table_id: str, known: int, staged: int, committed: bool = False) -> None:
        """Rows of a snapshot that are known, and staged so far."""
        counters = self.of(table_id)
        counters.begin(self._clock.monotonic_s())
        counters.gauges |= {
            "snapshot_records_known": known,
            "snapshot_records_staged": staged,
            "snapshot_committed": committed,
        }
        self.tell(table_id)

    def fetched(self, table_id: str, file: FileEntry) -> None:
        """A chunk of a snapshot is there; one that was copied here did not come from the upstream."""
        came = file.received if isinstance(file, FetchedFile) else Received()
        self.defective({table_id: came})
        self.of(table_id).fetched(file.rows, came)

    def filled(
        self,
        table_id: str,
        files: Sequence[FileEntry],
        in_positions: bool = False,
        differences: bool = False,
    ) -> None:
        """A snapshot is complete and these files are in the table: all its rows, or those that differed.

        How far it was may have been told in places.
        """
        rows = sum(file.rows for file in files)
        counters = self.of(table_id)
        counters.filled(rows)
        counters.arrive(self._clock.monotonic_s())
        if in_positions or differences:
            told = "snapshot_records_known" if in_positions else "snapshot_records_staged"
            rows = counters.gauges.get(told, 0)
        self.progress(table_id, rows, rows, committed=True)

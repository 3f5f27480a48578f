"""Where a source stands: the newest binding it has made durable, and how far it is complete.

    closed --open--> at a binding, or never read --append, restart--> at a later one

Only the source's own thread changes it.  Other threads may ask: what they get is whole, of before a change
or of after it.

Not here: what is read in between (ingestion.py), how it becomes durable (persist/ledger.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from headwater.core.change import FileEntry
from headwater.core.errors import DefiniteError, InvariantViolation
from headwater.core.frontier import Frontier
from headwater.core.points import Copied, Point
from headwater.core.time import TIMESTAMP_END
from headwater.persist.ledger import Ledger, WriterState
from headwater.sources.contract import SourceType

_CLOSED = WriterState(0, 0, None)


class Standing:
    """The writer's place of one source."""

    def __init__(self, ledger: Ledger, source_type: SourceType, source_id: str) -> None:
        self.upper = 0  # everything before is complete
        self._ledger = ledger
        self._type = source_type
        self._source_id = source_id
        self._writer = _CLOSED

    @property
    def opened(self) -> bool:
        """Whether we are the writer."""
        return bool(self._writer.epoch)

    @property
    def ts(self) -> int:
        """Of the newest binding; 0: nothing was ever read."""
        return self._writer.ts

    @property
    def frontier(self) -> Frontier:
        """Up to where everything is durable."""
        return self._type.frontier_from_json(self._writer.frontier)

    @property
    def ended(self) -> bool:
        """Whether the upstream has said all that it will ever say."""
        return self.upper == TIMESTAMP_END

    def open(self, upstream: Mapping[str, Any]) -> None:
        """Become the writer; whoever was it before cannot write any more."""
        self._writer = self._ledger.open_writer(self._source_id, upstream)
        bound = self._ledger.binding_at(self._source_id, self.ts) if self.ts else None
        if bound is not None and list(bound) != [self.ts, self._writer.frontier]:
            raise InvariantViolation(f"{self._source_id} stands at {self._writer}, but is bound at {bound}")
        self.rise(self.ts + 1 if self.ts else 0)
        if self.ts and self.frontier.to_json() is None:
            self.upper = TIMESTAMP_END

    def close(self) -> None:
        """What was written last may be durable although we were told otherwise: the next `open` looks."""
        self._writer = _CLOSED

    def begin(self, start: Frontier) -> None:
        """Nothing was ever read: the first range begins here."""
        if not self.ts:
            self._writer = replace(self._writer, frontier=start.to_json())

    def mint(self, moment_ms: int, floor: int) -> int:
        """A timestamp that is later than every one this source or a reader was seen at."""
        return max(moment_ms, self.upper, self.ts + 1, floor + 1)

    def append(
        self,
        ts: int,
        reached: Frontier,
        files: Mapping[str, Sequence[FileEntry]],
        errors: Mapping[str, DefiniteError],
        seen: Mapping[str, Any],
    ) -> None:
        """Everything up to `reached` was read: a binding, with all that belongs to it."""
        if not self.frontier <= reached:
            raise InvariantViolation(
                f"{self._source_id} stands at {self.frontier} and would go back to {reached}"
            )
        self._writer = self._ledger.append(
            self._source_id, self._writer, ts, reached.to_json(), files, errors, seen
        )

    def appended(self) -> None:
        """Let the newest binding be seen."""
        self.upper = TIMESTAMP_END if self._writer.frontier is None else self.ts + 1

    def restart(self, ts: int, start: Frontier, error: DefiniteError) -> None:
        """What was read does not lead to `start`, from where it goes on; tables are told why they stop."""
        self._writer = self._ledger.restart(self._source_id, self._writer, ts, start.to_json(), error)

    def rise(self, upper: int) -> None:
        """Time goes on, without anything durable."""
        self.upper = max(self.upper, upper)

    # Points

    def stands_at(self) -> tuple[int, Frontier] | None:
        """The newest durable binding; None while the source is stalled, or has none."""
        writer = self._writer
        return (writer.ts, self._type.frontier_from_json(writer.frontier)) if writer.ts else None

    def covered(self, point: Point | None) -> bool:
        """Whether the source has passed a point: it must not be used any more, as what it tells apart by
        may come again (numbers of transactions do).  A table that failed before it could join has none."""
        if point is None or isinstance(point, Copied):
            return True
        return bool(self.ts) and self.covers(self.frontier, point)

    def covers(self, frontier: Frontier, point: Point) -> bool:
        """Whether what a point shows is in what was read up to a frontier."""
        return isinstance(point, Copied) or self._type.covers(frontier, point.at)

    def covering(self, point: Point | None, joined_ts: int) -> int | None:
        """The binding from which on tables that joined at a point may be read; None: not reached yet."""
        if point is None:
            return None
        if isinstance(point, Copied):
            return joined_ts
        binding = self._ledger.binding_at(self._source_id, joined_ts)
        if binding is not None and self.covers(self._type.frontier_from_json(binding[1]), point):
            return joined_ts
        writer = self._writer
        if not writer.ts or not self.covers(self._type.frontier_from_json(writer.frontier), point):
            return None
        return writer.ts

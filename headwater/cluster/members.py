"""The tables of a source that runs: which they are, and how each of them stands.

    followed     its changes are written with every tick
    failed       it has stopped for good
    waiting      nothing is written: it is to be read again, and has no point yet
    unfinished   its rows are to be read from the upstream, and no backfill does so yet

Not here: what is read (ingestion.py, backfill.py), what is kept (persist/ledger.py).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Set
from typing import Any, TypeVar

from headwater.cluster.donors import donor_of
from headwater.cluster.widening import base_of
from headwater.core.points import Copied, Point
from headwater.persist.ledger import ErrorSpan, Ledger
from headwater.sources.contract import Export, SourceType

_Value = TypeVar("_Value")


class Members:
    """What is known of them is replaced, never changed in place: whoever looks sees all of a change or none.

    The source's thread changes it; a backfill's thread may `stop` a table.
    """

    def __init__(self, ledger: Ledger, source_id: str) -> None:
        self._ledger = ledger
        self._source_id = source_id
        self._lock = threading.Lock()
        self._wanted: Mapping[str, Export] = {}
        self.exports: Mapping[str, Export] = {}
        self.joining: Mapping[str, Export] = {}  # those that are wanted, and are no members yet
        self.points: Mapping[str, Point] = {}  # of those whose point the source has not covered yet
        self.seen: Mapping[str, Any] = {}  # what was seen of the reference at the newest binding
        self.failed: Set[str] = frozenset()
        self.waiting: Set[str] = frozenset()
        self.unfinished: Set[str] = frozenset()

    def load(
        self, exports: Iterable[Export], covered: Callable[[Point | None], bool]
    ) -> dict[str, ErrorSpan]:
        """What the ledger knows of these; by table id: why some have failed for good."""
        known = self._ledger.collections(self._source_id)
        with self._lock:
            self.exports = {**self.exports, **{e.table_id: e for e in exports if e.table_id in known}}
            at = {id_: known[id_] for id_ in self.exports}
            self.points = {
                id_: table.point
                for id_, table in at.items()
                if table.point is not None and not covered(table.point)
            }
            self.seen = {id_: self._first_seen(id_, table.point) for id_, table in at.items()}
            failed = {id_: span for id_ in at if (span := self._ledger.stopped(id_)) is not None}
            self.unfinished = {id_ for id_, table in at.items() if table.filling}
            self.waiting = {id_ for id_ in self.unfinished if at[id_].point is None}
            self.failed = frozenset(failed)
        return failed

    def _first_seen(self, table_id: str, point: Point | None) -> Mapping[str, Any]:
        return dict(self._ledger.seen(table_id) or ({} if point is None else point.seen))

    # Who belongs to it

    def want(self, exports: Mapping[str, Export]) -> list[str]:
        """These alone are wanted from now on; members that are not any more."""
        with self._lock:
            self._wanted = exports
            self.joining = _without(exports, self.exports)
            return [id_ for id_ in self.exports if id_ not in exports]

    def knows(self, table_id: str) -> bool:
        """Whether it is a member, or about to be one."""
        return table_id in self.exports or table_id in self.joining

    def join(self, export: Export, point: Point) -> None:
        """A table's rows are read at a point, and its changes are written from now on."""
        id_ = export.table_id
        seen = self._first_seen(id_, point)
        with self._lock:
            self.exports = {**self.exports, id_: export}
            self.joining = _without(self.joining, {id_})
            self.seen = {**self.seen, id_: seen}
            self.waiting -= {id_}
            self.points = _without(self.points, {id_})  # one of an earlier attempt
            if not isinstance(point, Copied):
                self.points = {**self.points, id_: point}

    def join_failed(self, export: Export) -> None:
        """It belongs to the source as what it is, a table with an error."""
        with self._lock:
            self.exports = {**self.exports, export.table_id: export}
            self.joining = _without(self.joining, {export.table_id})

    def leave(self, table_id: str) -> None:
        """It has been dropped."""
        with self._lock:
            self.exports = _without(self.exports, {table_id})
            self.seen = _without(self.seen, {table_id})
            self.points = _without(self.points, {table_id})
            self.failed -= {table_id}
            self.waiting -= {table_id}
            self.unfinished -= {table_id}

    # How they stand

    def stop(self, table_id: str, heals: bool) -> None:
        """It has an error; one that heals is to be read again."""
        with self._lock:
            self.points = _without(self.points, {table_id})
            if heals:
                self.failed -= {table_id}
                self.waiting |= {table_id}
                self.unfinished |= {table_id}
            else:
                self.failed |= {table_id}
                self.waiting -= {table_id}
                self.unfinished -= {table_id}

    def stopped(self, table_id: str) -> bool:
        """Whether nothing is written of it now."""
        return table_id in self.failed or table_id in self.waiting

    def to_be_read(self) -> list[Export]:
        """Those whose rows nobody reads yet."""
        unread = self.joining.keys() | self.unfinished
        return [export for id_, export in self._wanted.items() if id_ in unread]

    def begun(self, table_ids: Set[str]) -> None:
        """Their rows are being read."""
        with self._lock:
            self.unfinished -= table_ids

    def unfinish(self, table_ids: Set[str]) -> None:
        """Nobody reads their rows any more, although not all were read."""
        with self._lock:
            self.unfinished |= table_ids & self.exports.keys()

    def followed(self) -> tuple[Export, ...]:
        """Those whose changes are written."""
        return tuple(export for id_, export in self.exports.items() if not self.stopped(id_))

    def read_again(self) -> tuple[Export, ...]:
        """Those that wait for a point at which they are read again."""
        return tuple(export for id_, export in self.exports.items() if id_ in self.waiting)

    def pass_points(self, covered: Callable[[Point], bool]) -> None:
        """Points that the source has passed must not be used any more."""
        with self._lock:
            self.points = {id_: point for id_, point in self.points.items() if not covered(point)}

    def saw(self, seen: Mapping[str, Any]) -> None:
        """What was seen at the newest binding, where it is not as before."""
        with self._lock:
            self.seen = {**self.seen, **seen}

    def hydrated(self) -> list[str]:
        """Those that have been readable."""
        found = self._ledger.collections(self._source_id)
        return [id_ for id_, collection in found.items() if collection.hydrated]

    def readable(self) -> set[str]:
        """Those whose rows are right now."""
        found = self._ledger.collections(self._source_id)
        return {id_ for id_, collection in found.items() if not collection.filling} - self.failed

    def base(self, export: Export) -> Export | None:
        """The narrower table that an export takes the place of, if its rows can be used."""
        id_ = base_of(export)
        # What is said of flaws is said of one table.
        usable = self.readable() - self.waiting - set(self._ledger.flawed())
        return self.exports.get(id_) if id_ is not None and id_ in usable else None

    def donors(self, source_type: SourceType, exports: Collection[Export]) -> dict[str, str] | None:
        """By new table: one of ours that has all its columns; None unless every table has one."""
        usable, flawed = self.readable() - self.waiting, set(self._ledger.flawed())
        members = [export for id_, export in self.exports.items() if id_ in usable]
        found = {export.table_id: donor_of(source_type, export, members, flawed) for export in exports}
        given = {id_: donor.table_id for id_, donor in found.items() if donor is not None}
        return given if len(given) == len(exports) else None

    def seen_of(self, table_id: str) -> Mapping[str, Any]:
        """What was seen of a member's reference at the newest binding."""
        found: Mapping[str, Any] = self.seen.get(table_id, {})
        return found


def _without(mapping: Mapping[str, _Value], ids: Container[str]) -> dict[str, _Value]:
    return {id_: value for id_, value in mapping.items() if id_ not in ids}

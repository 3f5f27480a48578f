"""Tables that get more columns: what they have is ours, the rest is read beside it, by key.

A wider table is a new collection that takes the place of the narrower one when it is complete:

    side export     the key and the new columns; what is read of the upstream
    SidePoint       the upstream's point for that, while the source stands at a binding
    rows            the narrower table's at that binding, joined with the side's by key

The point shows more than the binding: what was committed in between is in the stream as well.
None of it is left out, but of the new columns it says nothing: the side has them as they are at
the point, which is later.  A row that only the side has gets its other columns from its insert,
or from the row whose key it had; one that the side has no more is deleted on the way.  So once the
source has covered the point the rows are exactly the upstream's, whatever its tables looked like in between.

Rows without a key cannot be joined: such tables are read anew as a whole (backfill.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from typing import Any

from headwater.cluster.donors import check_goes_on
from headwater.core.frontier import Frontier
from headwater.core.points import Point, Read, Widened
from headwater.core.relation import Relation
from headwater.sources.contract import Export, SnapshotChunk, SnapshotPoint, Taken

WIDENS = "widens"


def base_of(export: Export) -> str | None:
    """The narrower table's collection, if the export is one that takes its place."""
    found = dict(export.options).get(WIDENS)
    return None if found is None else str(found)


def side_of(export: Export, base: Export) -> Export | None:
    """What must be read to make the base as wide; None: it cannot be joined."""
    if (base.discipline, export.discipline) != ("keyed", "keyed"):
        return None
    key = [export.columns[position] for position in export.relation.keys[0]]
    if {base.columns[position] for position in base.relation.keys[0]} != set(key):
        return None
    wanted = [*key, *(name for name in export.columns if name not in base.columns and name not in key)]
    return narrowed(export, wanted)


def narrowed(export: Export, wanted: list[str]) -> Export:
    """The same with fewer columns, key first; what is pinned of columns follows."""
    places = [export.columns.index(name) for name in wanted]
    columns = export.relation.columns
    keys = (tuple(range(len(export.relation.keys[0]))),)
    relation = Relation(tuple(columns[place] for place in places), keys)
    return replace(export, relation=relation, columns=tuple(wanted), pinned=export.pinned.at(places))


class SidePoint:
    """The upstream's point, for the side alone; a restart begins anew, at another binding."""

    def __init__(
        self,
        prepared: SnapshotPoint,
        side: Export,
        base: Export,
        seen: Callable[[str], Mapping[str, Any]],
        stopped: Callable[[str], bool],
    ) -> None:
        self._stopped = stopped
        self._prepared = prepared
        self._side = side
        self._base = base
        self._seen = seen

    def take(self, frontier: Frontier, before: Mapping[str, Read], rows: int) -> Taken:
        id_ = self._side.table_id
        check_goes_on(self._base.table_id, self._stopped)
        taken = self._prepared.take(frontier, {}, rows)
        added = tuple(name for name in self._side.columns if name not in self._base.columns)
        point, base_id = taken.points[id_], self._base.table_id
        # What the base has was seen at the binding, the rest at the point.
        seen = {**point.seen, **self._seen(base_id)}
        return Taken({id_: Widened(base_id, added, point.at, seen)})

    def settle(self) -> None:
        self._prepared.settle()

    def chunks(self, export: Export, point: Point, done: Set[int]) -> tuple[SnapshotChunk, ...]:
        return self._prepared.chunks(self._side, Read(point.at, point.seen), done)

    def held(self) -> None:
        self._prepared.held()

    def close(self) -> None:
        self._prepared.close()

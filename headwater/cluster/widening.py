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

Tables of messages are read anew as well, since a row has to come from one message:

    RereadPoint     where the source stands: all messages before it that the topic still has
    rows            what they come to, if it is what the narrower table has at that binding

A topic may have let go of some of them.  Then nobody knows what the new columns of their rows would be, and
the table gets an error in place of the columns: it stays what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headwater.cluster.compare import MISSING, UNEXPECTED
from headwater.cluster.donors import check_goes_on
from headwater.core.errors import DefiniteError, TransientError
from headwater.core.frontier import Frontier
from headwater.core.points import Point, Read, Reread, Widened
from headwater.core.relation import Relation
from headwater.sources.contract import Export, SnapshotChunk, SnapshotPoint, Taken

if TYPE_CHECKING:
    from headwater.cluster.members import Members

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


class RereadPoint:
    """Where the source stands; a restart begins anew, at another binding."""

    def __init__(self, prepared: SnapshotPoint, base_id: str, members: Members) -> None:
        self._prepared = prepared
        self._base_id = base_id
        self._members = members

    def take(self, frontier: Frontier, before: Mapping[str, Read], rows: int) -> Taken:
        if self._base_id not in self._members.readable() - self._members.waiting | self._members.failed:
            raise TransientError(
                f"table {self._base_id} is being read, and cannot tell which rows its wider one has",
                hint="Nothing has to be done: columns are added when it can be read.",
            )
        taken = self._prepared.take(frontier, {}, rows)
        points = {id_: Reread(self._base_id, point.at, point.seen) for id_, point in taken.points.items()}
        return Taken(points)

    def settle(self) -> None:
        self._prepared.settle()

    def chunks(self, export: Export, point: Point, done: Set[int]) -> tuple[SnapshotChunk, ...]:
        if self._base_id in self._members.failed:
            raise DefiniteError(".".join(export.reference), "", "the table has stopped")
        return self._prepared.chunks(export, point, done)

    def held(self) -> None:
        self._prepared.held()

    def close(self) -> None:
        self._prepared.close()


def other_rows(export: Export, differing: Sequence[tuple[str, str, str]]) -> DefiniteError:
    """What was read again is not what the narrower table has: (missing or unexpected there, key, row)."""
    read, had = ({key: row for what, key, row in differing if what == one} for one in (MISSING, UNEXPECTED))
    gone = [key for key in had if key not in read]
    more = " and others" if len(gone or read) > 1 else ""
    if gone:
        message = f"the topic no longer has the messages of rows {gone[0]}{more}"
    else:
        key, row = next(iter(read.items()))
        message = f"the messages of row {key}{more} do not come to what the table has, but to {row}"
    return DefiniteError(".".join(export.reference), "", message)

"""New tables that are filled from what we have, without asking the upstream.

A table whose columns another one of the same reference already has is that one, at any
timestamp, with some columns left out.  Its snapshot is a copy of the other's files:

    donor_of      pure: which member can give a new table its rows
    places_in     pure: which of its columns are the new table's
    OwnPoint      the snapshot point of such tables: the binding at which they join

The donor's files stay while they are copied: it is pinned, and history of a pinned table is
not let go.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Set
from typing import Any

from headwater.core.errors import TransientError
from headwater.core.frontier import Frontier
from headwater.core.points import Copied, Point, Read
from headwater.sources.contract import Export, SnapshotChunk, SourceType, Taken


def donor_of(
    source_type: SourceType, export: Export, members: Iterable[Export], flawed: Container[str]
) -> Export | None:
    """A member that has all that the new table takes, and keeps rows in the same way; some have flaws."""
    found = (m for m in members if places_in(source_type, m, export, m.table_id in flawed) is not None)
    return next(found, None)


def places_in(
    source_type: SourceType, member: Export, export: Export, flawed: bool
) -> tuple[int, ...] | None:
    """Where the new table's columns are in a member that can give it its rows, flaws included."""
    if (member.reference, member.discipline) != (export.reference, export.discipline):
        return None
    if member.on_value_error != export.on_value_error:
        return None
    if source_type.places_in is not None:
        return source_type.places_in(member, export, flawed)
    return None if flawed else _places_by_name(member, export)


def _places_by_name(member: Export, export: Export) -> tuple[int, ...] | None:
    given, wanted = _columns(member), _columns(export)
    same = (
        all(given.get(name) == facts for name, facts in wanted.items())
        and _key(member) == _key(export)
        and member.pinned.reference == export.pinned.reference
    )
    return tuple(member.columns.index(name) for name in export.columns) if same else None


def _columns(export: Export) -> dict[str, tuple[Any, ...]]:
    """By the reference's name: what decides about the values of a column."""
    columns = zip(export.columns, export.relation.columns, strict=True)
    return {
        name: (column.type, export.pinned.of_column(place)) for place, (name, column) in enumerate(columns)
    }


def _key(export: Export) -> set[str]:
    keyed = export.discipline == "keyed"
    return {export.columns[position] for position in export.relation.keys[0]} if keyed else set()


def check_goes_on(table_id: str, stopped: Callable[[str], bool]) -> None:
    """TransientError if a table has stopped since somebody wanted its rows: they may not be right now."""
    if stopped(table_id):
        raise TransientError(
            f"table {table_id} stopped while another was to be made from it",
            hint="It is read from the upstream instead, which needs nothing of you.",
        )


class OwnPoint:
    """Where tables are copied from others; a restart copies anew, at another binding."""

    def __init__(
        self,
        donors: Mapping[str, str],
        seen: Callable[[str], Mapping[str, Any]],
        stopped: Callable[[str], bool],
    ) -> None:
        self.donors = dict(donors)
        self._seen = seen
        self._stopped = stopped

    def take(self, frontier: Frontier, before: Mapping[str, Read], rows: int) -> Taken:
        for donor_id in self.donors.values():
            check_goes_on(donor_id, self._stopped)
        at = frontier.to_json()
        return Taken(
            {id_: Copied(donor_id, at, self._seen(donor_id)) for id_, donor_id in self.donors.items()}
        )

    def settle(self) -> None:
        """Nothing can be lost."""

    def chunks(self, export: Export, point: Point, done: Set[int]) -> tuple[SnapshotChunk, ...]:
        return (SnapshotChunk("", {}, point, export, 0, 0),)

    def held(self) -> None:
        """Our own files do not go away."""

    def close(self) -> None:
        """Nothing is held."""

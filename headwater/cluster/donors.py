"""New tables that are filled from what we have, without asking the upstream.

A table whose columns another one of the same reference already has is that one, at any
timestamp, with some columns left out.  Its snapshot is a copy of the other's files:

    donor_of      pure: which member can give a new table its rows
    OwnPoint      the snapshot point of such tables: the binding at which they join

The donor's files stay while they are copied: it is pinned, and history of a pinned table is
not let go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

from headwater.core.errors import TransientError
from headwater.core.frontier import Frontier
from headwater.core.points import Copied, Point, Read
from headwater.sources.contract import Export, SnapshotChunk, Taken


def donor_of(export: Export, members: Iterable[Export]) -> Export | None:
    """A member that has all that the new table takes, and keeps rows in the same way."""
    return next((member for member in members if _gives(member, export)), None)


def _gives(member: Export, export: Export) -> bool:
    if (member.reference, member.discipline) != (export.reference, export.discipline):
        return False
    if member.on_value_error != export.on_value_error:
        return False
    given, wanted = _columns(member), _columns(export)
    return (
        all(given.get(name) == facts for name, facts in wanted.items())
        and _key(member) == _key(export)
        and member.pinned.reference == export.pinned.reference
    )


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

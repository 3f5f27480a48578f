"""Primary keys as PostgreSQL's clients look for them.

A relation knows sets of columns that are unique; the first is shown as its primary key,
because tools need one to tell rows apart.  It is a constraint and names an index, but
there is no index: pg_class lists none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headwater.catalog.builtin.objects import Listed, objects_of_type
from headwater.catalog.builtin.oids import key_oid


@dataclass(frozen=True, slots=True)
class Key:
    """The primary key of a table; positions count from 1."""

    table: Listed
    oid: int
    name: str
    positions: tuple[int, ...]
    column_names: tuple[str, ...]


def keys_of(objects: Iterable[Listed]) -> Sequence[Key]:
    """The primary keys of the tables among these."""
    return [
        Key(
            table,
            key_oid(table.oid),
            f"{table.name}_pkey",
            tuple(position + 1 for position in table.relation.keys[0]),
            table.relation.key_names(),
        )
        for table in objects_of_type(objects, "table")
        if table.relation.keys and table.relation.keys[0]
    ]

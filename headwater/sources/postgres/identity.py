"""Which columns of the old row a change carries, as the stream itself says it.

A keyed table follows rows by the key it was made with.  The upstream may switch the replica
identity afterwards; the Relation message before the next change tells which columns it has:

    the key and perhaps more (FULL, a wider index)    changes say which row they are about
    less than the key                                 an update may have changed the key without a word

In the second case rows may still be inserted; the first update or deletion ends the table.  What
the stream says decides, not the catalog: it also knows of a switch that was taken back since.

A key, or a whole row, is found by its text as well.  Where a column of it that is taken as text got
another type, old rows here and in the stream are printed in two ways, and cannot be matched either.

A partitioned table is described by its root, but what its changes carry is up to each partition;
the Relation messages of partitions come beside the root's (watch.py knows which they are).
"""

from __future__ import annotations

from typing import Final

from headwater.sources.contract import Export, Pinned
from headwater.sources.postgres.facts import PARTITIONED
from headwater.sources.postgres.pgoutput import RelationMessage

NO_OLD_ROW: Final = (
    "old row missing from replication stream. Did you forget to set REPLICA IDENTITY to FULL for your table?"
)
_TEXT: Final = 25
_VARCHAR: Final = 1043


def keyed_by(export: Export) -> tuple[str, ...]:
    """The upstream's names of the columns by which rows are followed; none for a counted table."""
    if export.discipline != "keyed":
        return ()
    return tuple(export.columns[position] for position in export.relation.keys[0])


def unsent(export: Export, relation: RelationMessage) -> tuple[str, ...]:
    """The columns of the key that updates and deletions do not carry with this shape."""
    sent = {column.name for column in relation.columns if column.identity}
    return tuple(name for name in keyed_by(export) if name not in sent)


def reprinted(export: Export, relation: RelationMessage) -> tuple[str, ...]:
    """Columns that rows are found by and that are printed as of another type than when the table was made."""
    types = {column.name: _printed_as(column.type_oid, column.typmod) for column in relation.columns}
    key = keyed_by(export)
    return tuple(
        column["name"]
        for column in export.pinned.columns
        if column["text"]
        and (not key or column["name"] in key)
        and types.get(column["name"]) != _printed_as(column["type_oid"], column["typmod"])
    )


def _printed_as(type_oid: int, typmod: int) -> tuple[int, int]:
    """The same for types that print the same values alike."""
    return (_TEXT, -1) if type_oid in (_TEXT, _VARCHAR) else (type_oid, typmod)


def speaks_for_itself(export: Export) -> bool:
    """Whether a table's Relation message tells what its changes carry: not a partitioned one's."""
    relkind: str = export.pinned.reference.get("relkind", "r")
    return relkind != PARTITIONED


def switched(pinned: Pinned, lacking: tuple[str, ...], partition: str | None = None) -> str:
    """Why a table ends whose changes no longer carry its key."""
    table = f"source table {pinned.reference['table']} with oid {pinned.reference['oid']}"
    of = table if partition is None else f"partition {partition} of {table}"
    named = f"{pinned.reference['schema']}.{pinned.reference['table']}" if partition is None else partition
    return (
        f"{NO_OLD_ROW} The replica identity of {of} was switched and no longer has"
        f" {', '.join(lacking)}, by which rows are followed. In the upstream: ALTER TABLE {named}"
        " REPLICA IDENTITY FULL; then drop the table here and create it again"
    )


def retyped(pinned: Pinned, columns: tuple[str, ...]) -> str:
    """Why a table ends whose rows cannot be found by their texts."""
    table, oid = pinned.reference["table"], pinned.reference["oid"]
    return (
        f"incompatible schema change: {', '.join(columns)} of source table {table} with oid"
        f" {oid} now has a different type, so that old rows can no longer be found by their texts."
        " Drop the table and create it again"
    )

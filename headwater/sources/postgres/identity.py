"""Which columns of the old row a change carries, as the stream itself says it.

A keyed table follows rows by the key it was made with.  The upstream may switch the replica
identity afterwards; the Relation message before the next change tells which columns it has:

    the key and perhaps more (FULL, a wider index)    changes say which row they are about
    less than the key                                 an update may have changed the key without a word

In the second case rows may still be inserted; the first update or deletion ends the table.  What
the stream says decides, not the catalog: it also knows of a switch that was taken back since.

A partitioned table is described by its root, but what its changes carry is up to each partition;
the Relation messages of partitions come beside the root's (watch.py knows which they are).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headwater.sources.contract import Export
from headwater.sources.postgres.facts import PARTITIONED
from headwater.sources.postgres.pgoutput import RelationMessage


def keyed_by(export: Export) -> tuple[str, ...]:
    """The upstream's names of the columns by which rows are followed; none for a counted table."""
    if export.discipline != "keyed":
        return ()
    return tuple(export.columns[position] for position in export.relation.keys[0])


def unsent(export: Export, relation: RelationMessage) -> tuple[str, ...]:
    """The columns of the key that updates and deletions do not carry with this shape."""
    sent = {column.name for column in relation.columns if column.identity}
    return tuple(name for name in keyed_by(export) if name not in sent)


def speaks_for_itself(export: Export) -> bool:
    """Whether a table's Relation message tells what its changes carry: not a partitioned one's."""
    relkind: str = export.details.get("relkind", "r")
    return relkind != PARTITIONED


def switched(pinned: Mapping[str, Any], lacking: tuple[str, ...], partition: str | None = None) -> str:
    """Why a table ends whose changes no longer carry its key."""
    table = f"source table {pinned['table']} with oid {pinned['oid']}"
    of = table if partition is None else f"partition {partition} of {table}"
    named = f"{pinned['schema']}.{pinned['table']}" if partition is None else partition
    return (
        f"incompatible schema change: the replica identity of {of} was switched and no longer has"
        f" {', '.join(lacking)}, by which rows are followed. In the upstream ALTER TABLE {named}"
        " REPLICA IDENTITY FULL, or leave it as it is; then drop the table here and create it again"
    )

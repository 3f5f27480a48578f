"""mz_internal.mz_storage_shards: under which name the files of each object are kept."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    kept = [item for item in facts.state.items.values() if item.stores or item.ingests]
    # The directories of an object's log and state are named after this.
    return {"object_id": [item.id for item in kept], "shard_id": [item.collection_id for item in kept]}


RELATION = BuiltinTable(
    number=237,
    schema="mz_internal",
    name="mz_storage_shards",
    description="Under which name the files of each object are kept.",
    columns=shape(
        """
        object_id text
        shard_id text
        """
    ),
    rows=_rows,
)

"""mz_internal.mz_storage_shards: under which name the files of each object are kept."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    # The directories of an object's log and state are named after its id.
    kept = [item.id for item in facts.state.items.values() if item.kind in ("table", "source")]
    return {"object_id": kept, "shard_id": list(kept)}


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

"""mz_catalog.mz_recent_storage_usage: how much the files of each object take."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    newest = {usage.id: usage.size_bytes for usage in facts.storage_usage()}
    return {"object_id": list(newest), "size_bytes": list(newest.values())}


RELATION = BuiltinTable(
    number=138,
    schema="mz_catalog",
    name="mz_recent_storage_usage",
    description="How much the files of each object take.",
    columns=shape(
        """
        object_id text
        size_bytes uint8?
        """
    ),
    rows=_rows,
    scope="moment",
)

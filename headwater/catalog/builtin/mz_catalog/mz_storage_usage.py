"""mz_catalog.mz_storage_usage: how much the files of each object took, over time."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import moment


def _rows(facts: SystemFacts) -> Columns:
    usages = facts.storage_usage_history()
    return {
        "object_id": [u.id for u in usages],
        "size_bytes": [u.size_bytes for u in usages],
        "collection_timestamp": [moment(u.collected_at_ms) for u in usages],
    }


RELATION = BuiltinTable(
    number=139,
    schema="mz_catalog",
    name="mz_storage_usage",
    description="How much the files of each object took, over time.",
    columns=shape(
        """
        object_id text
        size_bytes uint8
        collection_timestamp timestamptz
        """
    ),
    rows=_rows,
    scope="moment",
)

"""mz_internal.mz_global_frontiers: up to which timestamp each object is complete."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    frontiers = [f for f in facts.frontiers() if f.write is not None]
    return {"object_id": [f.id for f in frontiers], "time": [f.write for f in frontiers]}


RELATION = BuiltinTable(
    number=218,
    schema="mz_internal",
    name="mz_global_frontiers",
    description="Up to which timestamp each object is complete.",
    columns=shape(
        """
        object_id text
        time mz_timestamp
        """
    ),
    rows=_rows,
    scope="moment",
)

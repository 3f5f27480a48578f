"""mz_internal.mz_frontiers: from which timestamp, and up to which, each object can be read."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    frontiers = facts.frontiers()
    return {
        "object_id": [f.id for f in frontiers],
        "read_frontier": [f.read for f in frontiers],
        "write_frontier": [f.write for f in frontiers],
    }


RELATION = BuiltinTable(
    number=217,
    schema="mz_internal",
    name="mz_frontiers",
    description="From which timestamp, and up to which, each object can be read.",
    columns=shape(
        """
        object_id text
        read_frontier mz_timestamp?
        write_frontier mz_timestamp?
        """
    ),
    rows=_rows,
    scope="moment",
)

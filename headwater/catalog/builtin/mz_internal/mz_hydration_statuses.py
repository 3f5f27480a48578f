"""mz_internal.mz_hydration_statuses: whether each object is complete and may be read."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    reported = facts.hydration_statuses()
    known = {status.id for status in reported}
    # A plain table is complete from the start; one from a source is not until somebody says so.
    rest = [
        item for item in facts.state.items.values() if item.id not in known and (item.stores or item.ingests)
    ]
    return {
        "object_id": [*(s.id for s in reported), *(item.id for item in rest)],
        "replica_id": [*(s.replica_id for s in reported), *(None for _ in rest)],
        "hydrated": [
            *(s.hydrated for s in reported),
            *(item.plain for item in rest),
        ],
    }


RELATION = BuiltinTable(
    number=219,
    schema="mz_internal",
    name="mz_hydration_statuses",
    description="Whether each object is complete and may be read.",
    columns=shape(
        """
        object_id text
        replica_id text?
        hydrated bool?
        """
    ),
    rows=_rows,
    scope="moment",
)

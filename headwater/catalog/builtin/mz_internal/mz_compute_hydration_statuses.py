"""mz_internal.mz_compute_hydration_statuses: whether each maintained view or index is hydrated."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=220,
    schema="mz_internal",
    name="mz_compute_hydration_statuses",
    description="Whether each maintained view or index is hydrated.",
    columns=shape(
        """
        object_id text
        replica_id text
        hydrated bool
        hydration_time interval?
        """
    ),
)

"""mz_internal.mz_materialization_lag: how far materializations are behind their inputs."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=225,
    schema="mz_internal",
    name="mz_materialization_lag",
    description="How far materializations are behind their inputs.",
    columns=shape(
        """
        object_id text
        local_lag interval?
        global_lag interval?
        slowest_local_input_id text
        slowest_global_input_id text
        """
    ),
)

"""mz_internal.mz_wallclock_global_lag_history: how far each object was behind the clock."""

from __future__ import annotations

from headwater.catalog.builtin.lag import global_lag_rows
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=222,
    schema="mz_internal",
    name="mz_wallclock_global_lag_history",
    description="How far each object was behind the clock.",
    columns=shape(
        """
        object_id text
        lag interval?
        occurred_at timestamptz
        """
    ),
    rows=lambda facts: global_lag_rows(facts.lag_history()),
    scope="moment",
)

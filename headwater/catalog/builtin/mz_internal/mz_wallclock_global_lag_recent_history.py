"""mz_internal.mz_wallclock_global_lag_recent_history: how far behind the clock objects were, in a day."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.lag import global_lag_rows
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.core.calendar import DAY_MS


def _rows(facts: SystemFacts) -> Columns:
    since_ms = facts.now_ms - DAY_MS
    return global_lag_rows([event for event in facts.lag_history() if event.occurred_at_ms >= since_ms])


RELATION = BuiltinTable(
    number=223,
    schema="mz_internal",
    name="mz_wallclock_global_lag_recent_history",
    description="How far each object was behind the clock, in the last day.",
    columns=shape(
        """
        object_id text
        lag interval?
        occurred_at timestamptz
        """
    ),
    rows=_rows,
    scope="moment",
)

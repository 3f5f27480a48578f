"""mz_internal.mz_wallclock_lag_history: how far each object was behind the clock on each replica."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import duration, moment


def _rows(facts: SystemFacts) -> Columns:
    events = facts.lag_history()
    return {
        "object_id": [e.id for e in events],
        "replica_id": [e.replica_id for e in events],
        "lag": [duration(e.lag_ms) for e in events],
        "occurred_at": [moment(e.occurred_at_ms) for e in events],
    }


RELATION = BuiltinTable(
    number=224,
    schema="mz_internal",
    name="mz_wallclock_lag_history",
    description="How far each object was behind the clock on each replica.",
    columns=shape(
        """
        object_id text
        replica_id text?
        lag interval?
        occurred_at timestamptz
        """
    ),
    rows=_rows,
    scope="moment",
)

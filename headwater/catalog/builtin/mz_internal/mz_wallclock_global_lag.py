"""mz_internal.mz_wallclock_global_lag: how far each object is behind the clock, now."""

from __future__ import annotations

from headwater.catalog.builtin.facts import Frontiers, SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import duration


def _lag_ms(frontier: Frontiers, now_ms: int) -> int | None:
    """A finished object is never behind, one that cannot be read yet is not to be measured."""
    if frontier.write is None:
        return 0
    return max(0, now_ms - frontier.write) if frontier.write else None


def _rows(facts: SystemFacts) -> Columns:
    frontiers = facts.frontiers()
    return {
        "object_id": [f.id for f in frontiers],
        "lag": [duration(_lag_ms(f, facts.now_ms)) for f in frontiers],
    }


RELATION = BuiltinTable(
    number=221,
    schema="mz_internal",
    name="mz_wallclock_global_lag",
    description="How far each object is behind the clock, now.",
    columns=shape(
        """
        object_id text
        lag interval?
        """
    ),
    rows=_rows,
    scope="moment",
)

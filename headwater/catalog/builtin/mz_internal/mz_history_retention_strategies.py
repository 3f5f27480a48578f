"""mz_internal.mz_history_retention_strategies: how long each object keeps its history, in milliseconds."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    kept = [item for item in facts.state.items.values() if item.stores or item.ingests]
    return {
        "id": [item.id for item in kept],
        "strategy": "FOR",
        "value": [str(item.retain_history_ms) for item in kept],
    }


RELATION = BuiltinTable(
    number=233,
    schema="mz_internal",
    name="mz_history_retention_strategies",
    description="How long each object keeps its history, in milliseconds.",
    columns=shape(
        """
        id text
        strategy text
        value jsonb
        """
    ),
    rows=_rows,
)

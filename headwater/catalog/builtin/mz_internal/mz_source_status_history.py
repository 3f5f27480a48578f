"""mz_internal.mz_source_status_history: how sources and their tables were doing, over time."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import canonical_jsonb, moment
from headwater.catalog.state import CatalogState


def _shown(state: CatalogState, id_: str) -> str:
    """What is told of an ingestion is told of the source that users know, if that has no word of its own."""
    if id_ not in state.items:
        return id_
    named = state.named_source(id_)
    return id_ if named.stores else named.id


def _rows(facts: SystemFacts) -> Columns:
    events = facts.status_history()
    return {
        "occurred_at": [moment(e.occurred_at_ms) for e in events],
        "source_id": [_shown(facts.state, e.id) for e in events],
        "status": [e.status for e in events],
        "error": [e.error for e in events],
        "details": [canonical_jsonb(e.details) for e in events],
        "replica_id": [e.replica_id for e in events],
    }


RELATION = BuiltinTable(
    number=209,
    schema="mz_internal",
    name="mz_source_status_history",
    description="How sources and their tables were doing, over time.",
    columns=shape(
        """
        occurred_at timestamptz
        source_id text
        status text
        error text?
        details jsonb?
        replica_id text?
        """
    ),
    rows=_rows,
    scope="moment",
)

"""mz_catalog.mz_audit_events: what was created, altered and dropped, by whom and when."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import jsonb, moment


def _rows(facts: SystemFacts) -> Columns:
    events = facts.audit_events()
    return {
        "id": [e.id for e in events],
        "event_type": [e.event_type for e in events],
        "object_type": [e.object_type for e in events],
        "details": [jsonb(e.details) for e in events],
        "user": [e.user for e in events],
        "occurred_at": [moment(e.occurred_at_ms) for e in events],
    }


RELATION = BuiltinTable(
    number=137,
    schema="mz_catalog",
    name="mz_audit_events",
    description="What was created, altered and dropped, by whom and when.",
    columns=shape(
        """
        id uint8
        event_type text
        object_type text
        details jsonb
        user text?
        occurred_at timestamptz
        """
    ),
    rows=_rows,
    scope="moment",
)

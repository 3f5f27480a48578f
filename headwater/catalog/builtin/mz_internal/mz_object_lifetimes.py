"""mz_internal.mz_object_lifetimes: when objects were created and dropped."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.lives import lifetimes
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import moment


def _rows(facts: SystemFacts) -> Columns:
    lives = lifetimes(facts.audit_events())
    return {
        "id": [object_id for object_id, _ in lives],
        "object_type": [event.object_type for _, event in lives],
        "event_type": [event.event_type for _, event in lives],
        "occurred_at": [moment(event.occurred_at_ms) for _, event in lives],
    }


RELATION = BuiltinTable(
    number=230,
    schema="mz_internal",
    name="mz_object_lifetimes",
    description="When objects were created and dropped.",
    columns=shape(
        """
        id text?
        previous_id text?
        object_type text
        event_type text
        occurred_at timestamptz
        """
    ),
    rows=_rows,
    scope="moment",
)

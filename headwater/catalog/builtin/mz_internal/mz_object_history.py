"""mz_internal.mz_object_history: the lives of objects, also of those that are gone."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.lives import histories
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import moment


def _rows(facts: SystemFacts) -> Columns:
    lives = histories(facts.audit_events())
    return {
        "id": [life.id for life in lives],
        "cluster_id": [life.cluster_id for life in lives],
        "object_type": [life.object_type for life in lives],
        "created_at": [moment(life.created_at_ms) for life in lives],
        "dropped_at": [moment(life.dropped_at_ms) for life in lives],
    }


RELATION = BuiltinTable(
    number=231,
    schema="mz_internal",
    name="mz_object_history",
    description="The lives of objects, also of those that are gone.",
    columns=shape(
        """
        id text?
        cluster_id text?
        object_type text
        created_at timestamptz?
        dropped_at timestamptz?
        """
    ),
    rows=_rows,
    scope="moment",
)

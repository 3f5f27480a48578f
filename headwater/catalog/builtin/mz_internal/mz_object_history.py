"""mz_internal.mz_object_history: the lives of objects, also of those that are gone."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.lives import lifetimes
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import moment


def _rows(facts: SystemFacts) -> Columns:
    created: dict[tuple[str, str], tuple[object, int]] = {}
    dropped: dict[tuple[str, str], int] = {}
    for object_id, event in lifetimes(facts.audit_events()):
        key = (event.object_type, object_id)
        if event.event_type == "create":
            created[key] = (event.details.get("cluster_id"), event.occurred_at_ms)
        else:
            dropped[key] = event.occurred_at_ms
    return {
        "id": [object_id for _, object_id in created],
        "cluster_id": [cluster_id for cluster_id, _ in created.values()],
        "object_type": [object_type for object_type, _ in created],
        "created_at": [moment(at_ms) for _, at_ms in created.values()],
        "dropped_at": [moment(dropped.get(key)) for key in created],
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

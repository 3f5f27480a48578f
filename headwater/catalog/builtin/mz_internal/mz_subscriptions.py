"""mz_internal.mz_subscriptions: the running SUBSCRIBEs."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import moment


def _rows(facts: SystemFacts) -> Columns:
    subscriptions = facts.subscriptions()
    return {
        "id": [s.id for s in subscriptions],
        "session_id": [s.session_id for s in subscriptions],
        "cluster_id": [s.cluster_id for s in subscriptions],
        "created_at": [moment(s.created_at_ms) for s in subscriptions],
        "referenced_object_ids": [list(s.referenced_object_ids) for s in subscriptions],
    }


RELATION = BuiltinTable(
    number=235,
    schema="mz_internal",
    name="mz_subscriptions",
    description="The running SUBSCRIBEs.",
    columns=shape(
        """
        id text
        session_id uuid
        cluster_id text
        created_at timestamptz
        referenced_object_ids text list
        """
    ),
    rows=_rows,
    scope="moment",
)

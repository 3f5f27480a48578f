"""mz_internal.mz_cluster_replica_statuses: whether each process of a cluster answers."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import moment


def _rows(facts: SystemFacts) -> Columns:
    statuses = facts.replica_statuses()
    return {
        "replica_id": [s.replica_id for s in statuses],
        "process_id": 0,
        "status": [s.status for s in statuses],
        "reason": [s.reason for s in statuses],
        "updated_at": [moment(s.occurred_at_ms) for s in statuses],
    }


RELATION = BuiltinTable(
    number=238,
    schema="mz_internal",
    name="mz_cluster_replica_statuses",
    description="Whether each process of a cluster answers.",
    columns=shape(
        """
        replica_id text
        process_id uint8
        status text
        reason text?
        updated_at timestamptz
        """
    ),
    rows=_rows,
    scope="moment",
)

"""mz_internal.mz_show_cluster_replicas: what SHOW CLUSTER REPLICAS lists."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import transposed
from headwater.catalog.state import replica_ids


def _rows(facts: SystemFacts) -> Columns:
    online = {s.replica_id for s in facts.replica_statuses() if s.status == "online"}
    return transposed(
        ("cluster", "replica", "replica_id", "size", "ready", "comment"),
        [
            (cluster.name, f"r{place}", replica_id, cluster.size, replica_id in online, "")
            for cluster in facts.state.clusters.values()
            for place, replica_id in enumerate(replica_ids(cluster), start=1)
        ],
    )


RELATION = BuiltinTable(
    number=255,
    schema="mz_internal",
    name="mz_show_cluster_replicas",
    description="What SHOW CLUSTER REPLICAS lists.",
    columns=shape(
        """
        cluster text
        replica text
        replica_id text
        size text?
        ready bool
        comment text
        """
    ),
    rows=_rows,
    scope="moment",
)

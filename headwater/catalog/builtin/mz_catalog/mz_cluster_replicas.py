"""mz_catalog.mz_cluster_replicas: the processes of clusters."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.state import replica_ids


def _rows(facts: SystemFacts) -> Columns:
    replicas = [
        (replica_id, f"r{place}", cluster)
        for cluster in facts.state.clusters.values()
        for place, replica_id in enumerate(replica_ids(cluster), start=1)
    ]
    return {
        "id": [replica_id for replica_id, _, _ in replicas],
        "name": [name for _, name, _ in replicas],
        "cluster_id": [cluster.id for _, _, cluster in replicas],
        "size": [cluster.size for _, _, cluster in replicas],
        "owner_id": [cluster.owner_id for _, _, cluster in replicas],
        "disk": True,
    }


RELATION = BuiltinTable(
    number=121,
    schema="mz_catalog",
    name="mz_cluster_replicas",
    description="The processes of clusters.",
    columns=shape(
        """
        id text
        name text
        cluster_id text
        size text?
        owner_id text
        disk bool?
        """
    ),
    rows=_rows,
)

"""mz_catalog.mz_cluster_replica_frontiers: how far each replica has brought each object."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.values import transposed
from headwater.catalog.state import replica_ids


def _rows(facts: SystemFacts) -> Columns:
    items, clusters = facts.state.items, facts.state.clusters
    frontiers = []
    for frontier in facts.frontiers():
        item = items.get(frontier.id)
        # A table is kept by the cluster of the source that feeds it.
        keeper = items.get(item.source_id) if item is not None and item.source_id is not None else item
        if keeper is not None and keeper.cluster_id is not None:
            for replica_id in replica_ids(clusters[keeper.cluster_id]):
                frontiers.append((frontier.id, replica_id, frontier.write))
    return transposed(("object_id", "replica_id", "write_frontier"), frontiers)


RELATION = BuiltinTable(
    number=122,
    schema="mz_catalog",
    name="mz_cluster_replica_frontiers",
    description="How far each replica has brought each object.",
    columns=shape(
        """
        object_id text
        replica_id text
        write_frontier mz_timestamp?
        """
    ),
    rows=_rows,
    scope="moment",
)

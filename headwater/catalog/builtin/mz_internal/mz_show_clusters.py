"""mz_internal.mz_show_clusters: what SHOW CLUSTERS lists."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.state import Cluster, replica_ids


def _replicas(cluster: Cluster) -> str | None:
    names = [f"r{place} ({cluster.size})" for place, _ in enumerate(replica_ids(cluster), start=1)]
    return ", ".join(names) or None


def _rows(facts: SystemFacts) -> Columns:
    clusters = facts.state.clusters.values()
    return {
        "name": [c.name for c in clusters],
        "replicas": [_replicas(c) for c in clusters],
        "activity": ["active" if c.replication_factor else "paused" for c in clusters],
        "comment": [facts.state.comment_on("cluster", c.id) or "" for c in clusters],
    }


RELATION = BuiltinTable(
    number=254,
    schema="mz_internal",
    name="mz_show_clusters",
    description="What SHOW CLUSTERS lists.",
    columns=shape(
        """
        name text
        replicas text?
        activity text
        comment text
        """
    ),
    rows=_rows,
)

"""mz_catalog.mz_clusters: the clusters."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.rights import acl_items


def _rows(facts: SystemFacts) -> Columns:
    clusters = facts.state.clusters.values()
    return {
        "id": [c.id for c in clusters],
        "name": [c.name for c in clusters],
        "owner_id": [c.owner_id for c in clusters],
        "privileges": [acl_items(facts.state, ("cluster", c.id)) for c in clusters],
        "managed": True,
        "size": [c.size for c in clusters],
        "replication_factor": [c.replication_factor for c in clusters],
        "disk": True,
        "introspection_debugging": False,
    }


RELATION = BuiltinTable(
    number=120,
    schema="mz_catalog",
    name="mz_clusters",
    description="The clusters.",
    columns=shape(
        """
        id text
        name text
        owner_id text
        privileges mz_aclitem[]
        managed bool
        size text?
        replication_factor uint4?
        disk bool?
        availability_zones text list?
        introspection_debugging bool?
        introspection_interval interval?
        """
    ),
    rows=_rows,
)

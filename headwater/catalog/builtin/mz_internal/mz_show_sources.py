"""mz_internal.mz_show_sources: what SHOW SOURCES lists."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    clusters = facts.state.clusters
    sources = [item for item in facts.state.items.values() if item.kind == "source"]
    return {
        "id": [s.id for s in sources],
        "name": [s.name for s in sources],
        "type": [facts.state.source_type(s) for s in sources],
        "cluster": [None if s.cluster_id is None else clusters[s.cluster_id].name for s in sources],
        "schema_id": [s.schema_id for s in sources],
        "cluster_id": [s.cluster_id for s in sources],
        "comment": [facts.state.comment_on("source", s.id) or "" for s in sources],
    }


RELATION = BuiltinTable(
    number=240,
    schema="mz_internal",
    name="mz_show_sources",
    description="What SHOW SOURCES lists.",
    columns=shape(
        """
        id text
        name text
        type text
        cluster text?
        schema_id text
        cluster_id text?
        comment text
        """
    ),
    rows=_rows,
)

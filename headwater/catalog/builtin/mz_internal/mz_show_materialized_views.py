"""mz_internal.mz_show_materialized_views: what SHOW MATERIALIZED VIEWS lists."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=244,
    schema="mz_internal",
    name="mz_show_materialized_views",
    description="What SHOW MATERIALIZED VIEWS lists.",
    columns=shape(
        """
        id text
        name text
        cluster text
        schema_id text
        cluster_id text
        comment text
        """
    ),
)

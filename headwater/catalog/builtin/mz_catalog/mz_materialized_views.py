"""mz_catalog.mz_materialized_views: the materialized views."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=109,
    schema="mz_catalog",
    name="mz_materialized_views",
    description="The materialized views.",
    columns=shape(
        """
        id text
        oid oid
        schema_id text
        name text
        cluster_id text
        definition text
        owner_id text
        privileges mz_aclitem[]
        create_sql text
        redacted_create_sql text
        """
    ),
)

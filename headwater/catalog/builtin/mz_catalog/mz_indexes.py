"""mz_catalog.mz_indexes: the indexes."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=111,
    schema="mz_catalog",
    name="mz_indexes",
    description="The indexes.",
    columns=shape(
        """
        id text
        oid oid
        name text
        on_id text
        cluster_id text
        owner_id text
        create_sql text
        redacted_create_sql text
        """
    ),
)

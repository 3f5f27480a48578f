"""mz_internal.mz_show_indexes: what SHOW INDEXES lists."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=249,
    schema="mz_internal",
    name="mz_show_indexes",
    description="What SHOW INDEXES lists.",
    columns=shape(
        """
        id text
        name text
        on text
        cluster text
        key text[]
        on_id text
        schema_id text
        cluster_id text
        comment text
        """
    ),
)

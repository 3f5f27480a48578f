"""mz_internal.mz_show_sinks: what SHOW SINKS lists."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=243,
    schema="mz_internal",
    name="mz_show_sinks",
    description="What SHOW SINKS lists.",
    columns=shape(
        """
        id text
        name text
        type text
        cluster text
        schema_id text
        cluster_id text
        comment text
        """
    ),
)

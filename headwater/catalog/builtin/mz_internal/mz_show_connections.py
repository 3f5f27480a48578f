"""mz_internal.mz_show_connections: what SHOW CONNECTIONS lists."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=245,
    schema="mz_internal",
    name="mz_show_connections",
    description="What SHOW CONNECTIONS lists.",
    columns=shape(
        """
        schema_id text
        name text
        type text
        comment text
        """
    ),
)

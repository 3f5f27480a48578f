"""mz_catalog.mz_connections: the connections."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=113,
    schema="mz_catalog",
    name="mz_connections",
    description="The connections.",
    columns=shape(
        """
        id text
        oid oid
        schema_id text
        name text
        type text
        owner_id text
        privileges mz_aclitem[]
        create_sql text
        redacted_create_sql text
        """
    ),
)

"""mz_catalog.mz_sinks: the sinks."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=110,
    schema="mz_catalog",
    name="mz_sinks",
    description="The sinks.",
    columns=shape(
        """
        id text
        oid oid
        schema_id text
        name text
        type text
        connection_id text?
        size text?
        envelope_type text?
        format text?
        key_format text?
        value_format text?
        cluster_id text
        owner_id text
        create_sql text
        redacted_create_sql text
        """
    ),
)

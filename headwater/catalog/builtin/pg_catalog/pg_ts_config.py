"""pg_catalog.pg_ts_config: text search configurations."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=466,
    schema="pg_catalog",
    name="pg_ts_config",
    description="Text search configurations.",
    columns=shape(
        """
        oid oid
        cfgname name
        cfgnamespace oid
        cfgowner oid
        cfgparser oid
        """
    ),
    postgres_oid=3602,
)

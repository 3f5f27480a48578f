"""pg_catalog.pg_matviews: materialized views, with their queries."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=448,
    schema="pg_catalog",
    name="pg_matviews",
    description="Materialized views, with their queries.",
    columns=shape(
        """
        schemaname name?
        matviewname name?
        matviewowner name?
        tablespace name?
        hasindexes bool?
        ispopulated bool?
        definition text?
        """
    ),
)

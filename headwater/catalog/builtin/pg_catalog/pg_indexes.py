"""pg_catalog.pg_indexes: indexes, with the names around them."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=444,
    schema="pg_catalog",
    name="pg_indexes",
    description="Indexes, with the names around them.",
    columns=shape(
        """
        schemaname name?
        tablename name?
        indexname name?
        tablespace name?
        indexdef text?
        """
    ),
)

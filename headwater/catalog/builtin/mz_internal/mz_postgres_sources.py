"""mz_internal.mz_postgres_sources: facts of PostgreSQL sources."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=202,
    schema="mz_internal",
    name="mz_postgres_sources",
    description="Facts of PostgreSQL sources.",
    columns=shape(
        """
        id text
        replication_slot text
        timeline_id uint8?
        """
    ),
)

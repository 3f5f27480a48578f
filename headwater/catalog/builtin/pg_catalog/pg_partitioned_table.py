"""pg_catalog.pg_partitioned_table: partitioned tables."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=451,
    schema="pg_catalog",
    name="pg_partitioned_table",
    description="Partitioned tables.",
    columns=shape(
        """
        partrelid oid
        partstrat "char"
        partnatts int2
        partdefid oid
        partattrs int2vector
        partclass oid[]
        partcollation oid[]
        partexprs text?
        """
    ),
    postgres_oid=3350,
)

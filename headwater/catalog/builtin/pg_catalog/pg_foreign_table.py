"""pg_catalog.pg_foreign_table: foreign tables."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=443,
    schema="pg_catalog",
    name="pg_foreign_table",
    description="Foreign tables.",
    columns=shape(
        """
        ftrelid oid
        ftserver oid
        ftoptions text[]?
        """
    ),
    postgres_oid=3118,
)

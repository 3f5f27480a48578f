"""pg_catalog.pg_extension: installed extensions."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=440,
    schema="pg_catalog",
    name="pg_extension",
    description="Installed extensions.",
    columns=shape(
        """
        oid oid
        extname name
        extowner oid
        extnamespace oid
        extrelocatable bool
        extversion text
        extconfig oid[]?
        extcondition text[]?
        """
    ),
    postgres_oid=3079,
)

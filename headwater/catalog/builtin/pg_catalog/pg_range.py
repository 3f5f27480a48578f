"""pg_catalog.pg_range: range types."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=458,
    schema="pg_catalog",
    name="pg_range",
    description="Range types.",
    columns=shape(
        """
        rngtypid oid
        rngsubtype oid
        rngmultitypid oid
        rngcollation oid
        rngsubopc oid
        rngcanonical regproc
        rngsubdiff regproc
        """
    ),
    postgres_oid=3541,
)

"""pg_catalog.pg_cast: conversions between types."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=434,
    schema="pg_catalog",
    name="pg_cast",
    description="Conversions between types.",
    columns=shape(
        """
        oid oid
        castsource oid
        casttarget oid
        castfunc oid
        castcontext "char"
        castmethod "char"
        """
    ),
    postgres_oid=2605,
)

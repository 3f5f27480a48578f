"""pg_catalog.pg_enum: values of enumerated types."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=438,
    schema="pg_catalog",
    name="pg_enum",
    description="Values of enumerated types.",
    columns=shape(
        """
        oid oid
        enumtypid oid
        enumsortorder float4
        enumlabel name
        """
    ),
    postgres_oid=3501,
)

"""pg_catalog.pg_policy: row security."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=453,
    schema="pg_catalog",
    name="pg_policy",
    description="Row security.",
    columns=shape(
        """
        oid oid
        polname name
        polrelid oid
        polcmd "char"
        polpermissive bool
        polroles oid[]
        polqual text?
        polwithcheck text?
        """
    ),
    postgres_oid=3256,
)

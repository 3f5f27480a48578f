"""pg_catalog.pg_inherits: which table inherits from which."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=445,
    schema="pg_catalog",
    name="pg_inherits",
    description="Which table inherits from which.",
    columns=shape(
        """
        inhrelid oid
        inhparent oid
        inhseqno int4
        inhdetachpending bool
        """
    ),
    postgres_oid=2611,
)

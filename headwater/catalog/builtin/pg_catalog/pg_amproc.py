"""pg_catalog.pg_amproc: support functions of operator families."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=473,
    schema="pg_catalog",
    name="pg_amproc",
    description="Support functions of operator families.",
    columns=shape(
        """
        oid oid
        amprocfamily oid
        amproclefttype oid
        amprocrighttype oid
        amprocnum int2
        amproc regproc
        """
    ),
    postgres_oid=2603,
)

"""pg_catalog.pg_amop: operators of operator families."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=472,
    schema="pg_catalog",
    name="pg_amop",
    description="Operators of operator families.",
    columns=shape(
        """
        oid oid
        amopfamily oid
        amoplefttype oid
        amoprighttype oid
        amopstrategy int2
        amoppurpose "char"
        amopopr oid
        amopmethod oid
        amopsortfamily oid
        """
    ),
    postgres_oid=2602,
)

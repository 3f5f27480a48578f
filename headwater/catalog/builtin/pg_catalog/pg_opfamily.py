"""pg_catalog.pg_opfamily: operator families."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=450,
    schema="pg_catalog",
    name="pg_opfamily",
    description="Operator families.",
    columns=shape(
        """
        oid oid
        opfmethod oid
        opfname name
        opfnamespace oid
        opfowner oid
        """
    ),
    postgres_oid=2753,
)

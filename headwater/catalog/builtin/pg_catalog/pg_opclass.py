"""pg_catalog.pg_opclass: operator classes."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=449,
    schema="pg_catalog",
    name="pg_opclass",
    description="Operator classes.",
    columns=shape(
        """
        oid oid
        opcmethod oid
        opcname name
        opcnamespace oid
        opcowner oid
        opcfamily oid
        opcintype oid
        opcdefault bool
        opckeytype oid
        """
    ),
    postgres_oid=2616,
)

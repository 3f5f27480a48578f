"""pg_catalog.pg_statistic_ext: extended statistics."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=463,
    schema="pg_catalog",
    name="pg_statistic_ext",
    description="Extended statistics.",
    columns=shape(
        """
        oid oid
        stxrelid oid
        stxname name
        stxnamespace oid
        stxowner oid
        stxstattarget int4
        stxkeys int2vector
        stxkind "char"[]
        stxexprs text?
        """
    ),
    postgres_oid=3381,
)

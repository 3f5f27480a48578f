"""pg_catalog.pg_conversion: conversions between encodings."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=435,
    schema="pg_catalog",
    name="pg_conversion",
    description="Conversions between encodings.",
    columns=shape(
        """
        oid oid
        conname name
        connamespace oid
        conowner oid
        conforencoding int4
        contoencoding int4
        conproc regproc
        condefault bool
        """
    ),
    postgres_oid=2607,
)

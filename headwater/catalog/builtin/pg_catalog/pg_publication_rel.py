"""pg_catalog.pg_publication_rel: tables of publications."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=456,
    schema="pg_catalog",
    name="pg_publication_rel",
    description="Tables of publications.",
    columns=shape(
        """
        oid oid
        prpubid oid
        prrelid oid
        prqual text?
        prattrs int2vector?
        """
    ),
    postgres_oid=6106,
)

"""pg_catalog.pg_publication_namespace: schemas of publications."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=455,
    schema="pg_catalog",
    name="pg_publication_namespace",
    description="Schemas of publications.",
    columns=shape(
        """
        oid oid
        pnpubid oid
        pnnspid oid
        """
    ),
    postgres_oid=6237,
)

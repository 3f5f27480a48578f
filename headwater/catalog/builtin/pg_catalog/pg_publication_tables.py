"""pg_catalog.pg_publication_tables: tables of publications, with their names."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=457,
    schema="pg_catalog",
    name="pg_publication_tables",
    description="Tables of publications, with their names.",
    columns=shape(
        """
        pubname name?
        schemaname name?
        tablename name?
        attnames name[]?
        rowfilter text?
        """
    ),
)

"""pg_catalog.pg_largeobject_metadata: large objects."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=446,
    schema="pg_catalog",
    name="pg_largeobject_metadata",
    description="Large objects.",
    columns=shape(
        """
        oid oid
        lomowner oid
        lomacl mz_aclitem[]?
        """
    ),
    postgres_oid=2995,
)

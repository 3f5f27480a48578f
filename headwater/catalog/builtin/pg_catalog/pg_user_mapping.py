"""pg_catalog.pg_user_mapping: mappings of users to foreign servers."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=470,
    schema="pg_catalog",
    name="pg_user_mapping",
    description="Mappings of users to foreign servers.",
    columns=shape(
        """
        oid oid
        umuser oid
        umserver oid
        umoptions text[]?
        """
    ),
    postgres_oid=1418,
)

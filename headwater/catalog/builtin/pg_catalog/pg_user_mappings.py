"""pg_catalog.pg_user_mappings: mappings of users to foreign servers, with names."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=471,
    schema="pg_catalog",
    name="pg_user_mappings",
    description="Mappings of users to foreign servers, with names.",
    columns=shape(
        """
        umid oid
        srvid oid
        srvname name
        umuser oid
        usename name
        umoptions text[]?
        """
    ),
)

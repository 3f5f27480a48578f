"""pg_catalog.pg_db_role_setting: settings of roles and databases."""

from __future__ import annotations

from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=436,
    schema="pg_catalog",
    name="pg_db_role_setting",
    description="Settings of roles and databases.",
    columns=shape(
        """
        setdatabase oid
        setrole oid
        setconfig text[]?
        """
    ),
    postgres_oid=2964,
)

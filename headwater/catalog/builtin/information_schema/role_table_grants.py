"""information_schema.role_table_grants: what roles may do with relations."""

from __future__ import annotations

from headwater.catalog.builtin.grants import grant_rows
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=612,
    schema="information_schema",
    name="role_table_grants",
    description="What roles may do with relations.",
    columns=shape(
        """
        grantor text?
        grantee text?
        table_catalog text?
        table_schema text?
        table_name text?
        privilege_type text?
        is_grantable text?
        with_hierarchy text?
        """
    ),
    rows=lambda facts: grant_rows(facts, public=False),
    scope="database",
    database_columns=("table_catalog",),
)

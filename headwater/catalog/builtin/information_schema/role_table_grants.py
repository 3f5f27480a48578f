"""information_schema.role_table_grants: what roles may do with relations."""

from __future__ import annotations

from headwater.catalog.builtin.grants import GRANT_COLUMNS, grant_rows
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=612,
    schema="information_schema",
    name="role_table_grants",
    description="What roles may do with relations.",
    columns=GRANT_COLUMNS,
    rows=lambda facts: grant_rows(facts, public=False),
    scope="database",
    database_columns=("table_catalog",),
)

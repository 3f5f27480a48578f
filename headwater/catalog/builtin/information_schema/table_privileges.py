"""information_schema.table_privileges: what roles may do with relations."""

from __future__ import annotations

from headwater.catalog.builtin.grants import GRANT_COLUMNS, grant_rows
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=611,
    schema="information_schema",
    name="table_privileges",
    description="What roles may do with relations.",
    columns=GRANT_COLUMNS,
    rows=lambda facts: grant_rows(facts, public=True),
    scope="database",
    database_columns=("table_catalog",),
)

"""mz_internal.mz_sql_server_source_tables: which SQL Server table feeds which table."""

from __future__ import annotations

from headwater.catalog.builtin.exports import upstream_tables
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=205,
    schema="mz_internal",
    name="mz_sql_server_source_tables",
    description="Which SQL Server table feeds which table.",
    columns=shape(
        """
        id text
        schema_name text
        table_name text
        """
    ),
    rows=lambda facts: upstream_tables(facts, "sql-server"),
)

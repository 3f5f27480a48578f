"""System relations about MySQL sources."""

from __future__ import annotations

from typing import Final

from headwater.catalog.builtin.exports import upstream_tables
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

MZ_MYSQL_SOURCE_TABLES: Final = BuiltinTable(
    number=204,
    schema="mz_internal",
    name="mz_mysql_source_tables",
    description="Which MySQL table feeds which table.",
    columns=shape(
        """
        id text
        schema_name text
        table_name text
        """
    ),
    rows=lambda facts: upstream_tables(facts, "mysql"),
)

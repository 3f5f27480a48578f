"""mz_internal.mz_postgres_source_tables: which PostgreSQL table feeds which table."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    items = facts.state.items
    tables = [t for t in items.values() if t.source_id is not None]
    fed = [t for t in tables if items[t.source_id or ""].details["source_type"] == "postgres"]
    details = [table.details["export"]["details"] for table in fed]
    return {
        "id": [table.id for table in fed],
        "schema_name": [detail["schema"] for detail in details],
        "table_name": [detail["table"] for detail in details],
    }


RELATION = BuiltinTable(
    number=203,
    schema="mz_internal",
    name="mz_postgres_source_tables",
    description="Which PostgreSQL table feeds which table.",
    columns=shape(
        """
        id text
        schema_name text
        table_name text
        """
    ),
    rows=_rows,
)

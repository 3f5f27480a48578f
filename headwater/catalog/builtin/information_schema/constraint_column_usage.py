"""information_schema.constraint_column_usage: columns that constraints are about."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.keys import keys_of
from headwater.catalog.builtin.objects import session_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    columns = [(key, name) for key in keys_of(session_objects(facts)) for name in key.column_names]
    return {
        "constraint_schema": [key.table.schema.name for key, _ in columns],
        "constraint_name": [key.name for key, _ in columns],
        "table_schema": [key.table.schema.name for key, _ in columns],
        "table_name": [key.table.name for key, _ in columns],
        "column_name": [name for _, name in columns],
    }


RELATION = BuiltinTable(
    number=607,
    schema="information_schema",
    name="constraint_column_usage",
    description="Columns that constraints are about.",
    columns=shape(
        """
        table_catalog text?
        table_schema text?
        table_name text?
        column_name text?
        constraint_catalog text?
        constraint_schema text?
        constraint_name text?
        """
    ),
    rows=_rows,
    scope="database",
    database_columns=(
        "table_catalog",
        "constraint_catalog",
    ),
)

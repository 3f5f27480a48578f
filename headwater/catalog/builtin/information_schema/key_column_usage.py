"""information_schema.key_column_usage: columns of primary keys."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.keys import keys_of
from headwater.catalog.builtin.objects import session_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    columns = [
        (key, place, name)
        for key in keys_of(session_objects(facts))
        for place, name in enumerate(key.column_names, start=1)
    ]
    return {
        "constraint_schema": [key.table.schema.name for key, _, _ in columns],
        "constraint_name": [key.name for key, _, _ in columns],
        "table_schema": [key.table.schema.name for key, _, _ in columns],
        "table_name": [key.table.name for key, _, _ in columns],
        "column_name": [name for _, _, name in columns],
        "ordinal_position": [place for _, place, _ in columns],
    }


RELATION = BuiltinTable(
    number=606,
    schema="information_schema",
    name="key_column_usage",
    description="Columns of primary keys.",
    columns=shape(
        """
        constraint_catalog text?
        constraint_schema text?
        constraint_name text?
        table_catalog text?
        table_schema text?
        table_name text?
        column_name text?
        ordinal_position int4?
        position_in_unique_constraint int4?
        """
    ),
    rows=_rows,
    scope="database",
    database_columns=(
        "constraint_catalog",
        "table_catalog",
    ),
)

"""information_schema.table_constraints: primary keys of tables."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.keys import keys_of
from headwater.catalog.builtin.objects import session_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    keys = keys_of(session_objects(facts))
    return {
        "constraint_schema": [k.table.schema.name for k in keys],
        "constraint_name": [k.name for k in keys],
        "table_schema": [k.table.schema.name for k in keys],
        "table_name": [k.table.name for k in keys],
        "constraint_type": "PRIMARY KEY",
        "is_deferrable": "NO",
        "initially_deferred": "NO",
        "enforced": "YES",
    }


RELATION = BuiltinTable(
    number=605,
    schema="information_schema",
    name="table_constraints",
    description="Primary keys of tables.",
    columns=shape(
        """
        constraint_catalog text?
        constraint_schema text?
        constraint_name text?
        table_catalog text?
        table_schema text?
        table_name text?
        constraint_type text?
        is_deferrable text?
        initially_deferred text?
        enforced text?
        nulls_distinct text?
        """
    ),
    rows=_rows,
    scope="database",
    database_columns=(
        "constraint_catalog",
        "table_catalog",
    ),
)

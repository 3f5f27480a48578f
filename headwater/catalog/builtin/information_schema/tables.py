"""information_schema.tables: relations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headwater.catalog.builtin.objects import Listed, relations_of, session_objects, system_objects, writable
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns

_TYPES: Final = {"view": "VIEW", "materialized-view": "MATERIALIZED VIEW", "source": "SOURCE"}


def _table_type(listed: Listed) -> str:
    return "LOCAL TEMPORARY" if listed.temporary else _TYPES.get(listed.type, "BASE TABLE")


def _rows(objects: Sequence[Listed]) -> Columns:
    relations = relations_of(objects)
    return {
        "table_schema": [o.schema.name for o in relations],
        "table_name": [o.name for o in relations],
        "table_type": [_table_type(o) for o in relations],
        "is_insertable_into": ["YES" if writable(o) else "NO" for o in relations],
        "is_typed": "NO",
    }


RELATION = BuiltinTable(
    number=602,
    schema="information_schema",
    name="tables",
    description="Relations.",
    columns=shape(
        """
        table_catalog text?
        table_schema text?
        table_name text?
        table_type text?
        self_referencing_column_name text?
        reference_generation text?
        user_defined_type_catalog text?
        user_defined_type_schema text?
        user_defined_type_name text?
        is_insertable_into text?
        is_typed text?
        commit_action text?
        """
    ),
    rows=lambda facts: _rows(session_objects(facts)),
    fixed=lambda builtins: _rows(system_objects(builtins)),
    scope="database",
    database_columns=("table_catalog",),
)

"""information_schema.views: views, with their queries."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import objects_of_type, session_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    views = objects_of_type(session_objects(facts), "view")
    return {
        "table_schema": [v.schema.name for v in views],
        "table_name": [v.name for v in views],
        "view_definition": [v.definition for v in views],
        "check_option": "NONE",
        "is_updatable": "NO",
        "is_insertable_into": "NO",
        "is_trigger_updatable": "NO",
        "is_trigger_deletable": "NO",
        "is_trigger_insertable_into": "NO",
    }


RELATION = BuiltinTable(
    number=604,
    schema="information_schema",
    name="views",
    description="Views, with their queries.",
    columns=shape(
        """
        table_catalog text?
        table_schema text?
        table_name text?
        view_definition text?
        check_option text?
        is_updatable text?
        is_insertable_into text?
        is_trigger_updatable text?
        is_trigger_deletable text?
        is_trigger_insertable_into text?
        """
    ),
    rows=_rows,
    scope="database",
    database_columns=("table_catalog",),
)

"""pg_catalog.pg_views: views, with their queries."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import objects_of_type, session_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    views = objects_of_type(session_objects(facts), "view")
    return {
        "schemaname": [v.schema.name for v in views],
        "viewname": [v.name for v in views],
        "viewowner": [v.owner_name for v in views],
        "definition": [v.definition for v in views],
    }


RELATION = BuiltinTable(
    number=427,
    schema="pg_catalog",
    name="pg_views",
    description="Views, with their queries.",
    columns=shape(
        """
        schemaname name?
        viewname name?
        viewowner name?
        definition text?
        """
    ),
    rows=_rows,
    scope="database",
)

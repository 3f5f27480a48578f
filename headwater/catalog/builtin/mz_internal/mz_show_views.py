"""mz_internal.mz_show_views: what SHOW VIEWS lists."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import comment_of, objects_of_type, user_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    views = objects_of_type(user_objects(facts), "view")
    return {
        "schema_id": [v.schema.id for v in views],
        "name": [v.name for v in views],
        "comment": [comment_of(facts, v) for v in views],
    }


RELATION = BuiltinTable(
    number=247,
    schema="mz_internal",
    name="mz_show_views",
    description="What SHOW VIEWS lists.",
    columns=shape(
        """
        schema_id text
        name text
        comment text
        """
    ),
    rows=_rows,
)

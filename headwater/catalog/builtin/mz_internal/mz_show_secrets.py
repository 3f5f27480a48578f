"""mz_internal.mz_show_secrets: what SHOW SECRETS lists."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import comment_of, objects_of_type, user_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    secrets = objects_of_type(user_objects(facts), "secret")
    return {
        "schema_id": [o.schema.id for o in secrets],
        "name": [o.name for o in secrets],
        "comment": [comment_of(facts, o) for o in secrets],
    }


RELATION = BuiltinTable(
    number=246,
    schema="mz_internal",
    name="mz_show_secrets",
    description="What SHOW SECRETS lists.",
    columns=shape(
        """
        schema_id text
        name text
        comment text
        """
    ),
    rows=_rows,
)

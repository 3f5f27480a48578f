"""mz_internal.mz_show_connections: what SHOW CONNECTIONS lists."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import comment_of, connection_type, objects_of_type, user_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    connections = objects_of_type(user_objects(facts), "connection")
    return {
        "schema_id": [o.schema.id for o in connections],
        "name": [o.name for o in connections],
        "type": [connection_type(o) for o in connections],
        "comment": [comment_of(facts, o) for o in connections],
    }


RELATION = BuiltinTable(
    number=245,
    schema="mz_internal",
    name="mz_show_connections",
    description="What SHOW CONNECTIONS lists.",
    columns=shape(
        """
        schema_id text
        name text
        type text
        comment text
        """
    ),
    rows=_rows,
)

"""mz_catalog.mz_connections: the connections."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import connection_type, objects_of_type, redacted, user_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    connections = objects_of_type(user_objects(facts), "connection")
    return {
        "id": [o.id for o in connections],
        "oid": [o.oid for o in connections],
        "schema_id": [o.schema.id for o in connections],
        "name": [o.name for o in connections],
        "type": [connection_type(o) for o in connections],
        "owner_id": [o.owner_id for o in connections],
        "privileges": [o.privileges for o in connections],
        "create_sql": [o.create_sql for o in connections],
        "redacted_create_sql": [redacted(o.create_sql) for o in connections],
    }


RELATION = BuiltinTable(
    number=113,
    schema="mz_catalog",
    name="mz_connections",
    description="The connections.",
    columns=shape(
        """
        id text
        oid oid
        schema_id text
        name text
        type text
        owner_id text
        privileges mz_aclitem[]
        create_sql text
        redacted_create_sql text
        """
    ),
    rows=_rows,
)

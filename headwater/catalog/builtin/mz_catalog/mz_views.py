"""mz_catalog.mz_views: the views."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.objects import Listed, objects_of_type, redacted, user_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(objects: Sequence[Listed]) -> Columns:
    views = objects_of_type(objects, "view")
    return {
        "id": [o.id for o in views],
        "oid": [o.oid for o in views],
        "schema_id": [o.schema.id for o in views],
        "name": [o.name for o in views],
        "definition": [o.definition for o in views],
        "owner_id": [o.owner_id for o in views],
        "privileges": [o.privileges for o in views],
        "create_sql": [o.create_sql for o in views],
        "redacted_create_sql": [redacted(o.create_sql) for o in views],
    }


RELATION = BuiltinTable(
    number=108,
    schema="mz_catalog",
    name="mz_views",
    description="The views.",
    columns=shape(
        """
        id text
        oid oid
        schema_id text
        name text
        definition text
        owner_id text
        privileges mz_aclitem[]
        create_sql text
        redacted_create_sql text
        """
    ),
    rows=lambda facts: _rows(user_objects(facts)),
)

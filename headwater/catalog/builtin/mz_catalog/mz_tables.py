"""mz_catalog.mz_tables: the tables; `source_id` is the source that feeds one."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.objects import Listed, objects_of_type, redacted, system_objects, user_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(objects: Sequence[Listed]) -> Columns:
    tables = objects_of_type(objects, "table")
    return {
        "id": [o.id for o in tables],
        "oid": [o.oid for o in tables],
        "schema_id": [o.schema.id for o in tables],
        "name": [o.name for o in tables],
        "owner_id": [o.owner_id for o in tables],
        "privileges": [o.privileges for o in tables],
        "create_sql": [o.create_sql for o in tables],
        "redacted_create_sql": [redacted(o.create_sql) for o in tables],
        "source_id": [o.source_id for o in tables],
    }


RELATION = BuiltinTable(
    number=106,
    schema="mz_catalog",
    name="mz_tables",
    description="The tables; `source_id` is the source that feeds one.",
    columns=shape(
        """
        id text
        oid oid
        schema_id text
        name text
        owner_id text
        privileges mz_aclitem[]
        create_sql text?
        redacted_create_sql text?
        source_id text?
        """
    ),
    rows=lambda facts: _rows(user_objects(facts)),
    fixed=lambda builtins: _rows(system_objects(builtins)),
)

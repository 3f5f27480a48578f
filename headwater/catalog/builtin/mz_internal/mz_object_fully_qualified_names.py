"""mz_internal.mz_object_fully_qualified_names: the full names of all objects."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.objects import Listed, system_objects, user_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(objects: Sequence[Listed]) -> Columns:
    return {
        "id": [o.id for o in objects],
        "name": [o.name for o in objects],
        "object_type": [o.type for o in objects],
        "schema_id": [o.schema.id for o in objects],
        "schema_name": [o.schema.name for o in objects],
        "database_id": [o.schema.database_id for o in objects],
        "database_name": [o.database_name for o in objects],
        "cluster_id": [o.cluster_id for o in objects],
    }


RELATION = BuiltinTable(
    number=229,
    schema="mz_internal",
    name="mz_object_fully_qualified_names",
    description="The full names of all objects.",
    columns=shape(
        """
        id text
        name text
        object_type text
        schema_id text
        schema_name text
        database_id text?
        database_name text?
        cluster_id text?
        """
    ),
    rows=lambda facts: _rows(user_objects(facts)),
    fixed=lambda builtins: _rows(system_objects(builtins)),
)

"""mz_catalog.mz_relations: the objects that have rows: tables, sources, views, materialized views."""

from __future__ import annotations

from headwater.catalog.builtin.objects import (
    object_rows,
    relations_of,
    system_objects,
    user_objects,
)
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable

RELATION = BuiltinTable(
    number=104,
    schema="mz_catalog",
    name="mz_relations",
    description="The objects that have rows: tables, sources, views, materialized views.",
    columns=shape(
        """
        id text
        oid oid
        schema_id text
        name text
        type text
        owner_id text
        cluster_id text?
        privileges mz_aclitem[]
        """
    ),
    rows=lambda facts: object_rows(relations_of(user_objects(facts))),
    fixed=lambda builtins: object_rows(relations_of(system_objects(builtins))),
)

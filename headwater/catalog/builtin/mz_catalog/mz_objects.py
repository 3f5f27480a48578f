"""mz_catalog.mz_objects: everything that is in a schema."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.catalog.builtin.objects import object_rows, system_objects, system_privileges, user_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.builtin.types import TYPES
from headwater.catalog.state import SYSTEM_ROLE_ID, SYSTEM_SCHEMA_IDS


def _fixed(builtins: Sequence[BuiltinTable]) -> Columns:
    relations = object_rows(system_objects(builtins))
    types: dict[str, list[object]] = {
        "id": [t.id for t in TYPES],
        "oid": [t.oid for t in TYPES],
        "schema_id": [SYSTEM_SCHEMA_IDS[t.schema_name] for t in TYPES],
        "name": [t.name for t in TYPES],
        "type": ["type"] * len(TYPES),
        "owner_id": [SYSTEM_ROLE_ID] * len(TYPES),
        "cluster_id": [None] * len(TYPES),
        "privileges": [system_privileges("type")] * len(TYPES),
    }
    return {name: [*relations[name], *types[name]] for name in relations}


RELATION = BuiltinTable(
    number=103,
    schema="mz_catalog",
    name="mz_objects",
    description="Everything that is in a schema.",
    columns=shape(
        """
        id text
        oid oid
        schema_id text
        name text
        type text
        owner_id text
        cluster_id text?
        privileges mz_aclitem[]?
        """
    ),
    rows=lambda facts: object_rows(user_objects(facts)),
    fixed=_fixed,
)

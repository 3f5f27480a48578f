"""mz_catalog.mz_secrets: the secrets, without what they hide."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import objects_of_type, user_objects
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns


def _rows(facts: SystemFacts) -> Columns:
    secrets = objects_of_type(user_objects(facts), "secret")
    return {
        "id": [o.id for o in secrets],
        "oid": [o.oid for o in secrets],
        "schema_id": [o.schema.id for o in secrets],
        "name": [o.name for o in secrets],
        "owner_id": [o.owner_id for o in secrets],
        "privileges": [o.privileges for o in secrets],
    }


RELATION = BuiltinTable(
    number=114,
    schema="mz_catalog",
    name="mz_secrets",
    description="The secrets, without what they hide.",
    columns=shape(
        """
        id text
        oid oid
        schema_id text
        name text
        owner_id text
        privileges mz_aclitem[]
        """
    ),
    rows=_rows,
)

"""mz_catalog.mz_default_privileges: privileges that new objects will have."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.rights import acl_item
from headwater.catalog.state import Grant


def _rows(facts: SystemFacts) -> Columns:
    grants = facts.state.default_grants.values()
    return {
        "role_id": [g.role_id for g in grants],
        "database_id": [g.database_id for g in grants],
        "schema_id": [g.schema_id for g in grants],
        "object_type": [g.object_kind for g in grants],
        "grantee": [g.grantee_id for g in grants],
        "privileges": [acl_item(Grant(g.grantee_id, g.role_id, g.privileges)) for g in grants],
    }


RELATION = BuiltinTable(
    number=127,
    schema="mz_catalog",
    name="mz_default_privileges",
    description="Privileges that new objects will have.",
    columns=shape(
        """
        role_id text
        database_id text?
        schema_id text?
        object_type text
        grantee text
        privileges mz_aclitem
        """
    ),
    rows=_rows,
)

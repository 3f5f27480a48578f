"""mz_catalog.mz_schemas: the schemas of all databases and of the system."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import system_privileges
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.rights import acl_items
from headwater.catalog.state import SYSTEM_SCHEMAS


def _rows(facts: SystemFacts) -> Columns:
    schemas = [*SYSTEM_SCHEMAS.values(), *facts.state.schemas.values()]
    return {
        "id": [s.id for s in schemas],
        "oid": [s.oid for s in schemas],
        "database_id": [s.database_id for s in schemas],
        "name": [s.name for s in schemas],
        "owner_id": [s.owner_id for s in schemas],
        "privileges": [
            acl_items(facts.state, ("schema", s.id)) if s.database_id else system_privileges("schema")
            for s in schemas
        ],
    }


RELATION = BuiltinTable(
    number=102,
    schema="mz_catalog",
    name="mz_schemas",
    description="The schemas of all databases and of the system.",
    columns=shape(
        """
        id text
        oid oid
        database_id text?
        name text
        owner_id text
        privileges mz_aclitem[]
        """
    ),
    rows=_rows,
)

"""mz_catalog.mz_databases: the databases."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.rights import acl_items


def _rows(facts: SystemFacts) -> Columns:
    databases = facts.state.databases.values()
    return {
        "id": [d.id for d in databases],
        "oid": [d.oid for d in databases],
        "name": [d.name for d in databases],
        "owner_id": [d.owner_id for d in databases],
        "privileges": [acl_items(facts.state, ("database", d.id)) for d in databases],
    }


RELATION = BuiltinTable(
    number=101,
    schema="mz_catalog",
    name="mz_databases",
    description="The databases.",
    columns=shape(
        """
        id text
        oid oid
        name text
        owner_id text
        privileges mz_aclitem[]
        """
    ),
    rows=_rows,
)

"""mz_internal.mz_show_all_privileges: what SHOW PRIVILEGES lists."""

from __future__ import annotations

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.builtin.objects import role_name
from headwater.catalog.builtin.shape import shape
from headwater.catalog.builtin.table import BuiltinTable, Columns
from headwater.catalog.rights import SYSTEM, grants_on, kind_of, object_of
from headwater.catalog.state import CatalogState, Item, ObjectKey, Schema


def _rows(facts: SystemFacts) -> Columns:
    state = facts.state
    keys: list[ObjectKey] = [
        SYSTEM,
        *(("cluster", id_) for id_ in state.clusters),
        *(("database", id_) for id_ in state.databases),
        *(("schema", id_) for id_ in state.schemas),
        *(("item", item.id) for item in state.items.values() if item.temporary_pid is None),
    ]
    rows = [
        (*_places(state, key), kind_of(state, key), grant, name)
        for key in keys
        for grant in grants_on(state, key)
        for name in sorted(grant.privileges)
    ]
    return {
        "grantor": [role_name(state, grant.grantor_id) for *_, grant, _ in rows],
        "grantee": [role_name(state, grant.grantee_id) for *_, grant, _ in rows],
        "database": [row[0] for row in rows],
        "schema": [row[1] for row in rows],
        "name": [row[2] for row in rows],
        "object_type": [row[3] for row in rows],
        "privilege_type": [row[5] for row in rows],
    }


def _places(state: CatalogState, key: ObjectKey) -> tuple[str | None, str | None, str | None]:
    """Database and schema around an object, and its name."""
    found = object_of(state, key)
    if found is None:
        return None, None, None
    if isinstance(found, Item):
        schema, database = state.schema(found.schema_id), state.database_of(found)
        return None if database is None else database.name, schema.name, found.name
    if isinstance(found, Schema):
        return state.databases[found.database_id or ""].name, None, found.name
    return None, None, found.name


RELATION = BuiltinTable(
    number=258,
    schema="mz_internal",
    name="mz_show_all_privileges",
    description="What SHOW PRIVILEGES lists.",
    columns=shape(
        """
        grantor text
        grantee text
        database text?
        schema text?
        name text?
        object_type text
        privilege_type text
        """
    ),
    rows=_rows,
)

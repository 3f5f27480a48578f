"""New objects belong to whoever makes them, and are granted to others as default privileges say.

What a statement makes is put somewhere, and uses connections and secrets as its owner.  That is asked here
once more, of what was planned: whatever a statement may name (a progress relation, the tables of a legacy
source), nothing gets around it.
"""

from __future__ import annotations

from dataclasses import replace

from headwater.catalog.rights import Need, check, new_grants, to_create
from headwater.catalog.updates import (
    CreateCluster,
    CreateDatabase,
    CreateItem,
    CreateSchema,
    SetGrants,
    Update,
    UpdateItem,
)
from headwater.coordinator.ddl import DdlScope, Outcome


def owned(scope: DdlScope, outcome: Outcome) -> Outcome:
    """The outcome with owners and grants."""
    changes: list[Update] = []
    for update in outcome.updates:
        _check_used(scope, update)
        changes += _owned(scope, update)
    return replace(outcome, updates=tuple(changes))


def _owned(scope: DdlScope, update: Update) -> list[Update]:
    state, owner_id = scope.state, scope.who.role_id
    match update:
        case CreateItem(item):
            schema = state.schemas.get(item.schema_id)
            database_id = None if schema is None else schema.database_id
            grants = new_grants(state, item.kind, owner_id, item.schema_id, database_id)
            made: Update = CreateItem(replace(item, owner_id=owner_id))
            key = ("item", item.id)
        case CreateSchema(schema):
            grants = new_grants(state, "schema", owner_id, None, schema.database_id)
            made, key = CreateSchema(replace(schema, owner_id=owner_id)), ("schema", schema.id)
        case CreateDatabase(database):
            grants = new_grants(state, "database", owner_id, None, None)
            made, key = CreateDatabase(replace(database, owner_id=owner_id)), ("database", database.id)
        case CreateCluster(cluster):
            grants = new_grants(state, "cluster", owner_id, None, None)
            made, key = CreateCluster(replace(cluster, owner_id=owner_id)), ("cluster", cluster.id)
        case _:
            return [update]
    return [made] if grants is None else [made, SetGrants(key, grants)]


def _check_used(scope: DdlScope, update: Update) -> None:
    match update:
        case CreateItem(item):
            if item.schema_id in scope.state.schemas:  # what is temporary is nowhere
                check(scope.state, scope.who, to_create(scope.state, item.schema_id))
            ids, known = set(item.dependencies), set[str]()
        case UpdateItem(id_, dependencies=dependencies) if dependencies is not None:
            ids, known = set(dependencies), set(scope.state.items[id_].dependencies)
        case _:
            return
    for id_ in sorted(ids - known):
        used = scope.state.items.get(id_)
        if used is not None and used.kind in ("connection", "secret"):
            check(scope.state, scope.who, [Need("USAGE", ("item", id_))])

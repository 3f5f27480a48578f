"""(state, update) -> state: pure, and loud when an update breaks what must hold.

What must hold in every state, checked as far as an update could break it:

    names       unique among databases, clusters, roles, schemas of a database, items of a schema
    belonging   a schema's database, an item's schema, cluster and dependencies exist
    order       nothing is dropped that something else still needs

A violation is a bug in whoever planned the update, because users are told of
clashes by requirements (`updates.check`) before anything is applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from headwater.catalog.state import (
    SYSTEM_ROLE_ID,
    SYSTEM_SCHEMA_IDS,
    SYSTEM_SCHEMAS,
    TEMPORARY_SCHEMA_ID,
    CatalogState,
    Cluster,
    Comment,
    CommentKey,
    Database,
    DefaultGrant,
    DefaultGrantKey,
    Grant,
    Item,
    MembershipKey,
    NameKey,
    ObjectKey,
    Role,
    Schema,
    key_of,
)
from headwater.catalog.updates import (
    AlterCluster,
    CreateCluster,
    CreateDatabase,
    CreateItem,
    CreateRole,
    CreateSchema,
    DropCluster,
    DropDatabase,
    DropItem,
    DropRole,
    DropSchema,
    Redefine,
    RenameCluster,
    RenameItem,
    RenameSchema,
    ReplaceItems,
    SetComment,
    SetDefaultGrant,
    SetGrants,
    SetMembership,
    SetOwner,
    SetSystemVariable,
    SwapClusters,
    SwapItems,
    SwapSchemas,
    Update,
    UpdateItem,
    UpdateRole,
)
from headwater.core.errors import InvariantViolation

Key = TypeVar("Key")
Value = TypeVar("Value")


def apply(state: CatalogState, update: Update) -> CatalogState:
    """The state after one update; the version stays, it counts transactions."""
    match update:
        case CreateItem() | DropItem() | UpdateItem() | RenameItem() | SwapItems() | ReplaceItems():
            return _apply_to_items(state, update)
        case CreateCluster() | AlterCluster() | RenameCluster() | SwapClusters() | DropCluster():
            return _apply_to_clusters(state, update)
        case CreateDatabase(database):
            return _create_database(state, database)
        case DropDatabase(database_id):
            return _drop_database(state, database_id)
        case CreateSchema(schema):
            return _create_schema(state, schema)
        case DropSchema(schema_id):
            return _drop_schema(state, schema_id)
        case RenameSchema(schema_id, name):
            schema = _known(state.schemas, schema_id, "schema")
            _require(_schema_name_free(state, schema.database_id, name), f"schema name {name!r} is taken")
            return _evolve(state, schemas=_with(state.schemas, schema_id, replace(schema, name=name)))
        case SwapSchemas(first_id, second_id):
            return _swap_schemas(state, first_id, second_id)
        case CreateRole() | DropRole() | UpdateRole() | SetMembership():
            return _apply_to_roles(state, update)
        case SetGrants() | SetDefaultGrant() | SetOwner():
            return _apply_to_rights(state, update)
        case Redefine(ids, at):
            marked = {
                id_: replace(item, redefined_at=at)
                for id_ in ids
                if (item := state.items.get(id_)) is not None  # it may be dropped in the same block
            }
            return _evolve(state, items={**state.items, **marked})
        case SetComment(comment):
            return _set_comment(state, comment)
        case SetSystemVariable(name, value):
            variables = _without(state.system_variables, name)
            return _evolve(
                state, system_variables=variables if value is None else _with(variables, name, value)
            )


def _apply_to_roles(
    state: CatalogState, update: CreateRole | DropRole | UpdateRole | SetMembership
) -> CatalogState:
    match update:
        case CreateRole(role):
            _require(role.id not in state.roles, f"role {role.id} exists")
            _require(state.role_named(role.name) is None, f"role name {role.name!r} is taken")
            return _evolve(state, roles=_with(state.roles, role.id, role))
        case UpdateRole(role):
            _known(state.roles, role.id, "role")
            others = _without(state.roles, role.id).values()
            _require(all(r.name != role.name for r in others), f"role name {role.name!r} is taken")
            return _evolve(state, roles=_with(state.roles, role.id, role))
        case DropRole(role_id):
            _known(state.roles, role_id, "role")
            _require(not mentions(state, role_id), f"role {role_id} is still needed")
            return _evolve(
                state,
                roles=_without(state.roles, role_id),
                memberships={
                    key: SYSTEM_ROLE_ID if by == role_id else by
                    for key, by in state.memberships.items()
                    if role_id not in key
                },
                comments=_without_comments(state, "role", role_id),
            )
        case SetMembership(role_id, member_id, grantor_id):
            _known(state.roles, role_id, "role")
            _known(state.roles, member_id, "role")
            _require(role_id != member_id, f"role {role_id} would be a member of itself")
            key = (role_id, member_id)
            if grantor_id is None:
                return _evolve(state, memberships=_without(state.memberships, key))
            return _evolve(state, memberships=_with(state.memberships, key, grantor_id))


def mentions(state: CatalogState, role_id: str) -> list[ObjectKey]:
    """What a role owns, or is granted something on, or has granted to somebody."""
    owned: list[ObjectKey] = [
        (kind, id_)
        for kind, objects in _owned(state).items()
        for id_, one in objects.items()
        if one.owner_id == role_id
    ]
    granted = [
        key
        for key, grants in state.grants.items()
        if any(role_id in (grant.grantee_id, grant.grantor_id) for grant in grants)
    ]
    defaults = [("default", "") for key in state.default_grants if role_id in (key[0], key[-1])]
    return list(dict.fromkeys([*owned, *granted, *defaults]))


def _owned(state: CatalogState) -> Mapping[str, Mapping[str, Database | Schema | Cluster | Item]]:
    return {
        "database": state.databases,
        "schema": state.schemas,
        "cluster": state.clusters,
        "item": state.items,
    }


def _apply_to_rights(state: CatalogState, update: SetGrants | SetDefaultGrant | SetOwner) -> CatalogState:
    match update:
        case SetGrants(object_, grants):
            kind, id_ = object_
            _require(kind == "system" or id_ in _owned(state)[kind], f"{kind} {id_} does not exist")
            if grants is None:
                return _evolve(state, grants=_without(state.grants, object_))
            return _evolve(state, grants=_with(state.grants, object_, grants))
        case SetDefaultGrant(grant):
            if not grant.privileges:
                return _evolve(state, default_grants=_without(state.default_grants, grant.key))
            return _evolve(state, default_grants=_with(state.default_grants, grant.key, grant))
        case SetOwner((kind, id_), owner_id):
            _known(state.roles, owner_id, "role")
            match kind:
                case "database":
                    database = replace(_known(state.databases, id_, kind), owner_id=owner_id)
                    return _evolve(state, databases=_with(state.databases, id_, database))
                case "schema":
                    schema = replace(_known(state.schemas, id_, kind), owner_id=owner_id)
                    return _evolve(state, schemas=_with(state.schemas, id_, schema))
                case "cluster":
                    cluster = replace(_known(state.clusters, id_, kind), owner_id=owner_id)
                    return _evolve(state, clusters=_with(state.clusters, id_, cluster))
                case _:
                    item = replace(_known(state.items, id_, kind), owner_id=owner_id)
                    return _evolve(state, items=_with(state.items, id_, item))


def _without_grants(state: CatalogState, kind: str, id_: str) -> Mapping[ObjectKey, tuple[Grant, ...]]:
    return _without(state.grants, (kind, id_))


def _apply_to_items(
    state: CatalogState, update: CreateItem | DropItem | UpdateItem | RenameItem | SwapItems | ReplaceItems
) -> CatalogState:
    match update:
        case CreateItem(item):
            return _create_item(state, item)
        case DropItem(item_id):
            return _drop_item(state, item_id)
        case UpdateItem():
            return _update_item(state, update)
        case RenameItem(item_id, name):
            item = _known(state.items, item_id, "item")
            return _move_items(state, [replace(item, name=name)])
        case SwapItems(first_id, second_id):
            first = _known(state.items, first_id, "item")
            second = _known(state.items, second_id, "item")
            return _move_items(
                state,
                [
                    replace(first, schema_id=second.schema_id, name=second.name),
                    replace(second, schema_id=first.schema_id, name=first.name),
                ],
            )
        case ReplaceItems(items):
            return _replace_items(state, items)


def _replace_items(state: CatalogState, items: tuple[Item, ...]) -> CatalogState:
    for item in items:
        _known(state.items, item.id, "item")
    moved = _move_items(state, list(items))
    dependents = moved.dependents
    for item in items:
        dependents = _linked(dependents, item.id, state.items[item.id].dependencies, item.dependencies)
        _check_links(moved, item)
    return _evolve(moved, dependents=dependents)


def _apply_to_clusters(
    state: CatalogState, update: CreateCluster | AlterCluster | RenameCluster | SwapClusters | DropCluster
) -> CatalogState:
    match update:
        case CreateCluster(cluster):
            _require(cluster.id not in state.clusters, f"cluster {cluster.id} exists")
            _require(state.cluster_named(cluster.name) is None, f"cluster name {cluster.name!r} is taken")
            return _evolve(state, clusters=_with(state.clusters, cluster.id, cluster))
        case AlterCluster(cluster_id, size, replication_factor):
            cluster = _known(state.clusters, cluster_id, "cluster")
            altered = replace(
                cluster,
                size=cluster.size if size is None else size,
                replication_factor=(
                    cluster.replication_factor if replication_factor is None else replication_factor
                ),
            )
            return _evolve(state, clusters=_with(state.clusters, cluster_id, altered))
        case RenameCluster(cluster_id, name):
            cluster = _known(state.clusters, cluster_id, "cluster")
            _require(state.cluster_named(name) is None, f"cluster name {name!r} is taken")
            return _evolve(state, clusters=_with(state.clusters, cluster_id, replace(cluster, name=name)))
        case SwapClusters(first_id, second_id):
            first = _known(state.clusters, first_id, "cluster")
            second = _known(state.clusters, second_id, "cluster")
            clusters = _with(state.clusters, first_id, replace(first, name=second.name))
            return _evolve(state, clusters=_with(clusters, second_id, replace(second, name=first.name)))
        case DropCluster(cluster_id):
            _known(state.clusters, cluster_id, "cluster")
            _require(not state.items_of_cluster(cluster_id), f"cluster {cluster_id} still has items")
            return _evolve(
                state,
                clusters=_without(state.clusters, cluster_id),
                comments=_without_comments(state, "cluster", cluster_id),
                grants=_without_grants(state, "cluster", cluster_id),
            )


def _create_database(state: CatalogState, database: Database) -> CatalogState:
    _require(database.id not in state.databases, f"database {database.id} exists")
    _require(state.database_named(database.name) is None, f"database name {database.name!r} is taken")
    return _evolve(state, databases=_with(state.databases, database.id, database))


def _drop_database(state: CatalogState, database_id: str) -> CatalogState:
    _known(state.databases, database_id, "database")
    _require(not state.schemas_of(database_id), f"database {database_id} still has schemas")
    return _evolve(
        state,
        databases=_without(state.databases, database_id),
        comments=_without_comments(state, "database", database_id),
        grants=_without_grants(state, "database", database_id),
        default_grants={k: g for k, g in state.default_grants.items() if g.database_id != database_id},
    )


def _create_schema(state: CatalogState, schema: Schema) -> CatalogState:
    _require(schema.id not in state.schemas, f"schema {schema.id} exists")
    _require(schema.database_id in state.databases, f"schema {schema.id} belongs to no known database")
    _require(
        _schema_name_free(state, schema.database_id, schema.name), f"schema name {schema.name!r} is taken"
    )
    return _evolve(state, schemas=_with(state.schemas, schema.id, schema))


def _drop_schema(state: CatalogState, schema_id: str) -> CatalogState:
    _known(state.schemas, schema_id, "schema")
    _require(not state.items_of(schema_id), f"schema {schema_id} still has items")
    return _evolve(
        state,
        schemas=_without(state.schemas, schema_id),
        comments=_without_comments(state, "schema", schema_id),
        grants=_without_grants(state, "schema", schema_id),
        default_grants={k: g for k, g in state.default_grants.items() if g.schema_id != schema_id},
    )


def _swap_schemas(state: CatalogState, first_id: str, second_id: str) -> CatalogState:
    first = _known(state.schemas, first_id, "schema")
    second = _known(state.schemas, second_id, "schema")
    _require(
        first.database_id == second.database_id, f"schemas {first_id} and {second_id} are not neighbours"
    )
    schemas = _with(state.schemas, first_id, replace(first, name=second.name))
    return _evolve(state, schemas=_with(schemas, second_id, replace(second, name=first.name)))


def _schema_name_free(state: CatalogState, database_id: str | None, name: str) -> bool:
    return name not in SYSTEM_SCHEMA_IDS and state.schema_named(database_id, name) is None


def _create_item(state: CatalogState, item: Item) -> CatalogState:
    _require(item.id not in state.items, f"item {item.id} exists")
    if item.schema_id in SYSTEM_SCHEMAS:
        _require(item.schema_id == TEMPORARY_SCHEMA_ID, f"item {item.id} is in a system schema")
    else:
        _known(state.schemas, item.schema_id, "schema")
    _require(
        (item.schema_id == TEMPORARY_SCHEMA_ID) == (item.temporary_pid is not None),
        f"item {item.id} is temporary by half",
    )
    _require(key_of(item) not in state.item_ids, f"item name {item.name!r} is taken")
    _check_links(state, item)
    return _evolve(
        state,
        items=_with(state.items, item.id, item),
        item_ids=_with(state.item_ids, key_of(item), item.id),
        dependents=_linked(state.dependents, item.id, (), item.dependencies),
    )


def _drop_item(state: CatalogState, item_id: str) -> CatalogState:
    item = _known(state.items, item_id, "item")
    dependents = state.dependents.get(item_id)
    _require(not dependents, f"item {item_id} is still needed by {sorted(dependents or ())}")
    return _evolve(
        state,
        items=_without(state.items, item_id),
        item_ids=_without(state.item_ids, key_of(item)),
        dependents=_linked(state.dependents, item_id, item.dependencies, ()),
        comments=_without_comments(state, item.kind, item_id),
        grants=_without_grants(state, "item", item_id),
    )


def _update_item(state: CatalogState, update: UpdateItem) -> CatalogState:
    item = _known(state.items, update.id, "item")
    updated = replace(
        item,
        create_sql=item.create_sql if update.create_sql is None else update.create_sql,
        definition=item.definition if update.definition is None else update.definition,
        relation=item.relation if update.relation is None else update.relation,
        dependencies=item.dependencies if update.dependencies is None else update.dependencies,
        details=item.details if update.details is None else update.details,
        cluster_id=item.cluster_id if update.cluster_id is None else update.cluster_id,
        owner_id=item.owner_id if update.owner_id is None else update.owner_id,
    )
    _check_links(state, updated)
    return _evolve(
        state,
        items=_with(state.items, item.id, updated),
        dependents=_linked(state.dependents, item.id, item.dependencies, updated.dependencies),
    )


def _move_items(state: CatalogState, moved: list[Item]) -> CatalogState:
    """Give items other names; all leave their places before any takes its new one."""
    items: dict[str, Item] = dict(state.items)
    item_ids: dict[NameKey, str] = dict(state.item_ids)
    for item in moved:
        before = items[item.id]
        _require(
            (item.schema_id == TEMPORARY_SCHEMA_ID) == (before.temporary_pid is not None),
            f"item {item.id} would become temporary by half",
        )
        del item_ids[key_of(before)]
    for item in moved:
        _require(key_of(item) not in item_ids, f"item name {item.name!r} is taken")
        item_ids[key_of(item)] = item.id
        items[item.id] = item
    return _evolve(state, items=items, item_ids=item_ids)


def _check_links(state: CatalogState, item: Item) -> None:
    for dependency in item.dependencies:
        _require(
            dependency in state.items or dependency.startswith("s"),
            f"item {item.id} depends on {dependency}, which does not exist",
        )
    _require(item.id not in item.dependencies, f"item {item.id} depends on itself")
    if item.cluster_id is not None:
        _known(state.clusters, item.cluster_id, "cluster")


def _linked(
    dependents: Mapping[str, frozenset[str]], item_id: str, before: tuple[str, ...], after: tuple[str, ...]
) -> Mapping[str, frozenset[str]]:
    """The reverse links after an item's dependencies changed from `before` to `after`."""
    if set(before) == set(after):
        return dependents
    links = dict(dependents)
    for gone in set(before) - set(after):
        rest = links[gone] - {item_id}
        if rest:
            links[gone] = rest
        else:
            del links[gone]
    for new in set(after) - set(before):
        links[new] = links.get(new, frozenset()) | {item_id}
    return links


def _set_comment(state: CatalogState, comment: Comment) -> CatalogState:
    key: CommentKey = (comment.object_kind, comment.object_id, comment.sub_id or 0)
    if comment.text:
        return _evolve(state, comments=_with(state.comments, key, comment))
    return _evolve(state, comments=_without(state.comments, key))


def _without_comments(state: CatalogState, object_kind: str, object_id: str) -> Mapping[CommentKey, Comment]:
    return {key: comment for key, comment in state.comments.items() if key[:2] != (object_kind, object_id)}


def _evolve(
    state: CatalogState,
    *,
    databases: Mapping[str, Database] | None = None,
    schemas: Mapping[str, Schema] | None = None,
    clusters: Mapping[str, Cluster] | None = None,
    roles: Mapping[str, Role] | None = None,
    items: Mapping[str, Item] | None = None,
    comments: Mapping[CommentKey, Comment] | None = None,
    system_variables: Mapping[str, str] | None = None,
    memberships: Mapping[MembershipKey, str] | None = None,
    grants: Mapping[ObjectKey, tuple[Grant, ...]] | None = None,
    default_grants: Mapping[DefaultGrantKey, DefaultGrant] | None = None,
    item_ids: Mapping[NameKey, str] | None = None,
    dependents: Mapping[str, frozenset[str]] | None = None,
) -> CatalogState:
    """A state with some parts replaced, and nothing derived yet."""
    return CatalogState(
        version=state.version,
        databases=state.databases if databases is None else databases,
        schemas=state.schemas if schemas is None else schemas,
        clusters=state.clusters if clusters is None else clusters,
        roles=state.roles if roles is None else roles,
        items=state.items if items is None else items,
        comments=state.comments if comments is None else comments,
        system_variables=state.system_variables if system_variables is None else system_variables,
        memberships=state.memberships if memberships is None else memberships,
        grants=state.grants if grants is None else grants,
        default_grants=state.default_grants if default_grants is None else default_grants,
        item_ids=state.item_ids if item_ids is None else item_ids,
        dependents=state.dependents if dependents is None else dependents,
    )


def _with(mapping: Mapping[Key, Value], key: Key, value: Value) -> Mapping[Key, Value]:
    copy = dict(mapping)
    copy[key] = value
    return copy


def _without(mapping: Mapping[Key, Value], key: Key) -> Mapping[Key, Value]:
    copy = dict(mapping)
    copy.pop(key, None)
    return copy


def _known(mapping: Mapping[str, Value], key: str, what: str) -> Value:
    value = mapping.get(key)
    if value is None:
        raise InvariantViolation(f"{what} {key} does not exist")
    return value


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise InvariantViolation(otherwise)

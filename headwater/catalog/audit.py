"""What the audit log says of each update.

    events(before, update, after) -> the lines of mz_audit_events, without id and time

Lives of objects (mz_object_lifetimes, mz_object_history) are read from the same
lines, so what is not said here has no history.  Temporary items leave no trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headwater.catalog.details import Connection
from headwater.catalog.rights import grants_on
from headwater.catalog.state import (
    CatalogState,
    Cluster,
    Database,
    DefaultGrant,
    Item,
    Role,
    Schema,
    replica_ids,
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

Details = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One line of the audit log; `id` counts from 1."""

    id: int
    event_type: str  # create, drop, alter, comment
    object_type: str  # as mz_objects.type has it, or database, schema, cluster, cluster-replica, role
    details: Details
    user: str | None
    occurred_at_ms: int


Line = tuple[str, str, Details]
"""(event_type, object_type, details)."""


def events(before: CatalogState, update: Update, after: CatalogState) -> list[Line]:
    """The lines an update leaves."""
    match update:
        case CreateItem() | DropItem() | RenameItem() | SwapItems() | UpdateItem() | ReplaceItems():
            return _item_events(before, update, after)
        case CreateCluster() | AlterCluster() | RenameCluster() | SwapClusters() | DropCluster():
            return _cluster_events(before, update, after)
        case CreateDatabase(database):
            return [("create", "database", {"id": database.id, "name": database.name})]
        case DropDatabase(database_id):
            return [("drop", "database", {"id": database_id, "name": before.databases[database_id].name})]
        case CreateSchema(schema):
            return [("create", "schema", _schema_details(after, schema))]
        case DropSchema(schema_id):
            return [("drop", "schema", _schema_details(before, before.schemas[schema_id]))]
        case RenameSchema(schema_id):
            return [_schema_renamed(before, after, schema_id)]
        case SwapSchemas(first_id, second_id):
            return [_schema_renamed(before, after, i) for i in (first_id, second_id)]
        case CreateRole() | DropRole() | UpdateRole() | SetMembership():
            return _role_events(before, update)
        case SetGrants():
            return _grant_events(before, update, after)
        case SetDefaultGrant(grant):
            event = "grant" if grant.privileges else "revoke"
            return [(event, "default-privilege", _default_details(grant))]
        case SetOwner((kind, id_), owner_id):
            old = _owner_id(before, kind, id_)
            owners = {"id": id_, "old_owner_id": old, "new_owner_id": owner_id}
            return [] if _temporary(after, kind, id_) else [("alter", _type(after, kind, id_), owners)]
        case SetComment(comment):
            details = {"id": comment.object_id, "sub_id": comment.sub_id}
            return [("comment", comment.object_kind.replace(" ", "-"), details)]
        case Redefine(ids):
            # Tables that were swapped have got another name, which is said there.
            there = [after.items[id_] for id_ in ids if id_ in after.items]
            views = [item for item in there if item.kind == "view" and item.temporary_pid is None]
            return [_item_line("alter", after, view) for view in views]
        case SetSystemVariable(name, value):
            return [("alter", "system", {"name": name, "value": value})]


def _item_events(
    before: CatalogState,
    update: CreateItem | DropItem | RenameItem | SwapItems | UpdateItem | ReplaceItems,
    after: CatalogState,
) -> list[Line]:
    match update:
        case CreateItem(item):
            return [] if item.temporary_pid is not None else [_item_line("create", after, item)]
        case DropItem(item_id):
            item = before.items[item_id]
            return [] if item.temporary_pid is not None else [_item_line("drop", before, item)]
        case RenameItem(item_id):
            return _item_renamed(before, after, item_id)
        case SwapItems(first_id, second_id):
            return [line for i in (first_id, second_id) for line in _item_renamed(before, after, i)]
        case ReplaceItems(items):
            return [_item_line("alter", after, item) for item in items if item.temporary_pid is None]
        case UpdateItem(item_id):
            # A rewritten text says nothing new of the object; other facts do.
            old, new = before.items[item_id], after.items[item_id]
            same = (old.relation, old.details, old.cluster_id, old.owner_id) == (
                new.relation,
                new.details,
                new.cluster_id,
                new.owner_id,
            )
            return [] if same or new.temporary_pid is not None else [_item_line("alter", after, new)]


def _item_line(event_type: str, state: CatalogState, item: Item) -> Line:
    details: dict[str, object] = {"id": item.id, **_name(state, item)}
    if item.cluster_id is not None:
        details["cluster_id"] = item.cluster_id
    if item.kind == "source":
        details["external_type"] = state.source_type(item)
    if isinstance(item.details, Connection):
        details["external_type"] = item.details.connection_type
    if item.source_id is not None:
        details["source_id"] = item.source_id
    return (event_type, item.kind.replace(" ", "-"), details)


def _item_renamed(before: CatalogState, after: CatalogState, item_id: str) -> list[Line]:
    old, new = before.items[item_id], after.items[item_id]
    if new.temporary_pid is not None:
        return []
    details = {"id": item_id, "old_name": _name(before, old), "new_name": _name(after, new)}
    return [("alter", new.kind.replace(" ", "-"), details)]


def _name(state: CatalogState, item: Item) -> dict[str, object]:
    schema = state.schema(item.schema_id)
    database = state.database_of(item)
    return {
        "database": None if database is None else database.name,
        "schema": schema.name,
        "item": item.name,
    }


def _schema_details(state: CatalogState, schema: Schema) -> Details:
    database = state.databases[schema.database_id] if schema.database_id else None
    return {
        "id": schema.id,
        "name": schema.name,
        "database_name": None if database is None else database.name,
    }


def _schema_renamed(before: CatalogState, after: CatalogState, schema_id: str) -> Line:
    old, new = before.schemas[schema_id], after.schemas[schema_id]
    return ("alter", "schema", {"id": schema_id, "old_name": old.name, "new_name": new.name})


def _cluster_events(
    before: CatalogState,
    update: CreateCluster | AlterCluster | RenameCluster | SwapClusters | DropCluster,
    after: CatalogState,
) -> list[Line]:
    match update:
        case CreateCluster(cluster):
            line: Line = ("create", "cluster", {"id": cluster.id, "name": cluster.name})
            return [line, *_replica_events(before, after, cluster.id)]
        case DropCluster(cluster_id):
            line = ("drop", "cluster", {"id": cluster_id, "name": before.clusters[cluster_id].name})
            return [*_replica_events(before, after, cluster_id), line]
        case AlterCluster(cluster_id):
            new = after.clusters[cluster_id]
            line = ("alter", "cluster", {"id": cluster_id, "name": new.name, "size": new.size})
            return [line, *_replica_events(before, after, cluster_id)]
        case RenameCluster(cluster_id):
            return [_cluster_renamed(before, after, cluster_id)]
        case SwapClusters(first_id, second_id):
            return [_cluster_renamed(before, after, i) for i in (first_id, second_id)]


def _cluster_renamed(before: CatalogState, after: CatalogState, cluster_id: str) -> Line:
    old, new = before.clusters[cluster_id], after.clusters[cluster_id]
    return ("alter", "cluster", {"id": cluster_id, "old_name": old.name, "new_name": new.name})


def _replica_events(before: CatalogState, after: CatalogState, cluster_id: str) -> list[Line]:
    """Replicas come and go with the replication factor, and are made anew when the size changes."""
    old, new = before.clusters.get(cluster_id), after.clusters.get(cluster_id)
    resized = old is not None and new is not None and old.size != new.size
    old_ids = () if old is None else replica_ids(old)
    new_ids = () if new is None else replica_ids(new)
    lines: list[Line] = []
    for event_type, ids, others, cluster in (
        ("drop", old_ids, new_ids, old),
        ("create", new_ids, old_ids, new),
    ):
        for place, replica_id in enumerate(ids, start=1):
            if cluster is not None and (resized or replica_id not in others):
                details = {
                    "cluster_id": cluster.id,
                    "cluster_name": cluster.name,
                    "replica_id": replica_id,
                    "replica_name": f"r{place}",
                    "logical_size": cluster.size,
                }
                lines.append((event_type, "cluster-replica", details))
    return lines


def _role_events(
    before: CatalogState, update: CreateRole | DropRole | UpdateRole | SetMembership
) -> list[Line]:
    match update:
        case CreateRole(role):
            usual = Role(role.id, role.oid, role.name, login=role.login)
            return [("create", "role", _role_details(usual, role))]
        case DropRole(role_id):
            return [("drop", "role", {"id": role_id, "name": before.roles[role_id].name})]
        case UpdateRole(role):
            return [("alter", "role", _role_details(before.roles[role.id], role))]
        case SetMembership(role_id, member_id, grantor_id):
            details = {
                "role_id": role_id,
                "member_id": member_id,
                "grantor_id": grantor_id or before.memberships.get((role_id, member_id)),
            }
            return [("revoke" if grantor_id is None else "grant", "role", details)]


def _role_details(before: Role, after: Role) -> Details:
    """What has become another; of a password only that it has."""
    details: dict[str, object] = {"id": after.id, "name": after.name}
    for name in ("inherit", "login", "superuser", "connection_limit", "settings"):
        if getattr(after, name) != getattr(before, name):
            value = getattr(after, name)
            details[name] = dict(value) if name == "settings" else value
    if after.verifier != before.verifier:
        details["password"] = "removed" if after.verifier is None else "changed"
    return details


def _grant_events(before: CatalogState, update: SetGrants, after: CatalogState) -> list[Line]:
    """A line for each role whose privileges are others now."""
    kind, id_ = update.object
    if _temporary(after, kind, id_):
        return []
    old = {(g.grantee_id, g.grantor_id): g.privileges for g in grants_on(before, update.object)}
    new = {(g.grantee_id, g.grantor_id): g.privileges for g in grants_on(after, update.object)}
    lines: list[Line] = []
    for who in dict.fromkeys([*old, *new]):
        had, has = old.get(who, frozenset()), new.get(who, frozenset())
        for event, names in (("revoke", had - has), ("grant", has - had)):
            if names:
                details = {
                    "object_id": id_,
                    "grantee_id": who[0],
                    "grantor_id": who[1],
                    "privileges": sorted(names),
                }
                lines.append((event, _type(after, kind, id_), details))
    return lines


def _default_details(grant: DefaultGrant) -> Details:
    return {
        "role_id": grant.role_id,
        "database_id": grant.database_id,
        "schema_id": grant.schema_id,
        "object_type": grant.object_kind,
        "grantee_id": grant.grantee_id,
        "privileges": sorted(grant.privileges),
    }


def _type(state: CatalogState, kind: str, id_: str) -> str:
    return state.items[id_].kind.replace(" ", "-") if kind == "item" else kind


def _temporary(state: CatalogState, kind: str, id_: str) -> bool:
    return kind == "item" and state.items[id_].temporary_pid is not None


def _owner_id(state: CatalogState, kind: str, id_: str) -> str:
    objects: Mapping[str, Database | Schema | Cluster | Item] = {
        "database": state.databases,
        "schema": state.schemas,
        "cluster": state.clusters,
        "item": state.items,
    }[kind]  # type: ignore[assignment]
    return objects[id_].owner_id

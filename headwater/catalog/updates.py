"""Changes of the catalog as values: what to do, and what must be true for it.

A DDL statement becomes a list of `Update` and a list of `Requirement`.  The store
checks all requirements and applies all updates in one transaction, or nothing.

    Update        carried out by `apply.apply`; one that cannot be is a bug of ours
    Requirement   checked by `check` against the state the transaction begins with;
                  one that fails is told to the user

Nothing here parses SQL: whoever renames an item also sends `UpdateItem` for the
dependents whose text names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from headwater.catalog.details import Details
from headwater.catalog.state import (
    CatalogState,
    Cluster,
    Comment,
    Database,
    DefaultGrant,
    Grant,
    Item,
    ObjectKey,
    Role,
    Schema,
)
from headwater.core.errors import UserError
from headwater.core.relation import Relation


@dataclass(frozen=True, slots=True)
class CreateDatabase:
    database: Database


@dataclass(frozen=True, slots=True)
class DropDatabase:
    """Its schemas must be gone by now."""

    id: str


@dataclass(frozen=True, slots=True)
class CreateSchema:
    schema: Schema


@dataclass(frozen=True, slots=True)
class DropSchema:
    """Its items must be gone by now."""

    id: str


@dataclass(frozen=True, slots=True)
class RenameSchema:
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class SwapSchemas:
    """The two names change places, within one database."""

    first_id: str
    second_id: str


@dataclass(frozen=True, slots=True)
class CreateCluster:
    cluster: Cluster


@dataclass(frozen=True, slots=True)
class AlterCluster:
    """None leaves a property as it is."""

    id: str
    size: str | None = None
    replication_factor: int | None = None


@dataclass(frozen=True, slots=True)
class RenameCluster:
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class SwapClusters:
    """The two names change places."""

    first_id: str
    second_id: str


@dataclass(frozen=True, slots=True)
class DropCluster:
    """Nothing may run on it any more."""

    id: str


@dataclass(frozen=True, slots=True)
class CreateRole:
    role: Role


@dataclass(frozen=True, slots=True)
class DropRole:
    id: str


@dataclass(frozen=True, slots=True)
class UpdateRole:
    """The role of the same id becomes this one."""

    role: Role


@dataclass(frozen=True, slots=True)
class SetMembership:
    """None as grantor takes it away."""

    role_id: str
    member_id: str
    grantor_id: str | None


@dataclass(frozen=True, slots=True)
class SetGrants:
    """All that is granted on one object; None: what its owner has at first."""

    object: ObjectKey
    grants: tuple[Grant, ...] | None


@dataclass(frozen=True, slots=True)
class SetDefaultGrant:
    """Without privileges it is taken away."""

    grant: DefaultGrant


@dataclass(frozen=True, slots=True)
class SetOwner:
    """Who owns a database, a schema, a cluster or an item."""

    object: ObjectKey
    owner_id: str


@dataclass(frozen=True, slots=True)
class CreateItem:
    item: Item


@dataclass(frozen=True, slots=True)
class DropItem:
    """Its dependents must be gone by now; see `CatalogState.drop_order`."""

    id: str


@dataclass(frozen=True, slots=True)
class UpdateItem:
    """None leaves a property as it is."""

    id: str
    create_sql: str | None = None
    definition: str | None = None
    relation: Relation | None = None
    dependencies: tuple[str, ...] | None = None
    details: Details | None = None
    cluster_id: str | None = None
    owner_id: str | None = None


@dataclass(frozen=True, slots=True)
class RenameItem:
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class SwapItems:
    """The two names, with their schemas, change places; ids and contents stay."""

    first_id: str
    second_id: str


@dataclass(frozen=True, slots=True)
class ReplaceItems:
    """Items become others under the same ids: kinds, names, everything may change, all at once."""

    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Redefine:
    """From the timestamp `at` on reading these gives something else; it is known when this is committed."""

    ids: tuple[str, ...]
    at: int = 0


@dataclass(frozen=True, slots=True)
class SetComment:
    """An empty text takes the comment away."""

    comment: Comment


@dataclass(frozen=True, slots=True)
class SetSystemVariable:
    """None resets it."""

    name: str
    value: str | None


Update: TypeAlias = (
    CreateDatabase
    | DropDatabase
    | CreateSchema
    | DropSchema
    | RenameSchema
    | SwapSchemas
    | CreateCluster
    | AlterCluster
    | RenameCluster
    | SwapClusters
    | DropCluster
    | CreateRole
    | DropRole
    | UpdateRole
    | SetMembership
    | SetGrants
    | SetDefaultGrant
    | SetOwner
    | CreateItem
    | DropItem
    | UpdateItem
    | RenameItem
    | SwapItems
    | ReplaceItems
    | Redefine
    | SetComment
    | SetSystemVariable
)


@dataclass(frozen=True, slots=True)
class CatalogVersionIs:
    """Nobody changed the catalog since the statement was planned."""

    version: int


@dataclass(frozen=True, slots=True)
class NameFree:
    """No item of that name in the schema."""

    schema_id: str
    name: str
    temporary_pid: int | None = None


@dataclass(frozen=True, slots=True)
class DatabaseNameFree:
    name: str


@dataclass(frozen=True, slots=True)
class SchemaNameFree:
    database_id: str
    name: str


@dataclass(frozen=True, slots=True)
class ClusterNameFree:
    name: str


@dataclass(frozen=True, slots=True)
class RoleNameFree:
    name: str


@dataclass(frozen=True, slots=True)
class ItemExists:
    """An item the statement uses is still there; `name` is for the message."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class SchemaExists:
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class DatabaseExists:
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ClusterExists:
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class RoleExists:
    id: str
    name: str


Requirement: TypeAlias = (
    CatalogVersionIs
    | NameFree
    | DatabaseNameFree
    | SchemaNameFree
    | ClusterNameFree
    | RoleNameFree
    | ItemExists
    | SchemaExists
    | DatabaseExists
    | ClusterExists
    | RoleExists
)


def taken_sqlstate(kind: str) -> str:
    """What PostgreSQL says of a name that is taken by an object of this kind."""
    relations = ("table", "source", "view", "materialized view")
    return "42P07" if kind in relations else {"schema": "42P06", "database": "42P04"}.get(kind, "42710")


def check(state: CatalogState, requirement: Requirement) -> None:
    """Raise the user's error if the requirement does not hold in `state`."""
    match requirement:
        case CatalogVersionIs(version):
            if state.version != version:
                raise UserError(
                    "the catalog was changed by another statement at the same time",
                    "40001",
                    detail=f"Planned at version {version}, now at {state.version}.",
                    hint="Run the statement again.",
                )
        case NameFree(schema_id, name, temporary_pid):
            existing = state.item_named(schema_id, name, temporary_pid)
            if existing is not None:
                raise UserError(f"catalog item '{name}' already exists", taken_sqlstate(existing.kind))
        case DatabaseNameFree(name):
            if state.database_named(name) is not None:
                raise UserError(f"database '{name}' already exists", "42P04")
        case SchemaNameFree(database_id, name):
            taken = state.schema_named(database_id, name) or state.schema_named(None, name)
            if taken is not None:
                raise UserError(f"schema '{name}' already exists", "42P06")
        case ClusterNameFree(name):
            if state.cluster_named(name) is not None:
                raise UserError(f"cluster '{name}' already exists", "42710")
        case RoleNameFree(name):
            if state.role_named(name) is not None:
                raise UserError(f"role '{name}' already exists", "42710")
        case ItemExists(item_id, name):
            if item_id not in state.items:
                raise _dropped_meanwhile("catalog item", name)
        case SchemaExists(schema_id, name):
            if schema_id not in state.schemas:
                raise _dropped_meanwhile("schema", name)
        case DatabaseExists(database_id, name):
            if database_id not in state.databases:
                raise _dropped_meanwhile("database", name)
        case ClusterExists(cluster_id, name):
            if cluster_id not in state.clusters:
                raise _dropped_meanwhile("cluster", name)
        case RoleExists(role_id, name):
            if role_id not in state.roles:
                raise _dropped_meanwhile("role", name)


def _dropped_meanwhile(kind: str, name: str) -> UserError:
    return UserError(f"{kind} '{name}' was dropped while the statement ran", "42704")

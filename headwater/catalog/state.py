"""The catalog as a value: what exists at one version, immutable.

    CatalogState
      databases -> schemas -> items       by id; items also by (schema, name)
      clusters, roles, comments, system variables
      memberships, grants, default grants   who may do what
      dependents                          id -> the items that were made from it

A change makes a new state (`apply.py`); readers keep the one they have.  Copying a
dictionary of a few thousand entries takes microseconds, so nothing cleverer than
copying is done.

What the product itself has (system relations, their schemas) never changes and is
not in the mappings: system schemas are constants below, system relations are in
`builtin/`.  Temporary items are in the state but never durable; each session's are
told apart by its backend pid.

Not here: durability (`store.py`), names as a session sees them (`snapshot.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from headwater.catalog.details import (
    Connection,
    Details,
    FedTable,
    Ingestion,
    LegacySource,
    PlainTable,
    Retaining,
    ShownEncoding,
    WebhookTable,
    Widening,
)
from headwater.core.errors import InvariantViolation
from headwater.core.export import Export
from headwater.core.ids import id_number
from headwater.core.relation import Relation

FIRST_USER_OID: Final = 20_000

SYSTEM_ROLE_ID: Final = "s1"
DEFAULT_ROLE_ID: Final = "u1"
TEMPORARY_SCHEMA_ID: Final = "0"
PUBLIC_ID: Final = "p"
"""In place of a role's id: everybody."""


@dataclass(frozen=True, slots=True)
class Role:
    """Someone who may own and connect.

    `verifier` is what a password is compared with, in the form in which PostgreSQL keeps it; no relation,
    text or message has it.  What a role may create beside items (CREATEROLE, CREATEDB, CREATECLUSTER) is
    granted on the system.
    """

    id: str
    oid: int
    name: str
    inherit: bool = True
    login: bool = True
    superuser: bool = False
    verifier: str | None = field(default=None, repr=False)
    connection_limit: int = -1  # so many sessions at a time; -1: as many as there are
    settings: Mapping[str, str] = field(default_factory=dict)  # what its sessions begin with


@dataclass(frozen=True, slots=True)
class Grant:
    """What one role has given another, or everybody, on one object."""

    grantee_id: str  # or PUBLIC_ID
    grantor_id: str
    privileges: frozenset[str]


@dataclass(frozen=True, slots=True)
class DefaultGrant:
    """What new objects of one kind are given, if a role makes them."""

    role_id: str  # whose new objects, or PUBLIC_ID
    database_id: str | None
    schema_id: str | None
    object_kind: str
    grantee_id: str  # or PUBLIC_ID
    privileges: frozenset[str]

    @property
    def key(self) -> DefaultGrantKey:
        """There is one record of each."""
        place = (self.database_id or "", self.schema_id or "")
        return (self.role_id, *place, self.object_kind, self.grantee_id)


@dataclass(frozen=True, slots=True)
class Database:
    """A namespace of schemas."""

    id: str
    oid: int
    name: str
    owner_id: str = DEFAULT_ROLE_ID


@dataclass(frozen=True, slots=True)
class Schema:
    """A namespace of items; system schemas and the temporary one belong to no database."""

    id: str
    oid: int
    database_id: str | None
    name: str
    owner_id: str = DEFAULT_ROLE_ID


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Spark process that runs ingestions and large reads; 0 replicas means it is paused."""

    id: str
    name: str
    size: str
    replication_factor: int = 1
    owner_id: str = DEFAULT_ROLE_ID


@dataclass(frozen=True, slots=True)
class Item:
    """Something in a schema.

    `create_sql` is canonical and names everything in full.  `dependencies` are ids in
    the order in which the statement mentions them.  `details` say what it is (`details.py`).

    A legacy source is several items of kind source: one that ingests and is its progress relation,
    one that the user named, and its subsources, which are fed by the progress relation.
    """

    id: str
    oid: int
    schema_id: str
    name: str
    kind: str
    create_sql: str
    relation: Relation
    dependencies: tuple[str, ...] = ()
    cluster_id: str | None = None
    definition: str | None = None
    owner_id: str = DEFAULT_ROLE_ID
    details: Details = field(kw_only=True)
    created_at_ms: int = 0
    temporary_pid: int | None = None
    redefined_at: int = 0  # reading it gives what it gives now from this timestamp on; 0: it was always so

    @property
    def ingests(self) -> bool:
        """Whether it is what reads an upstream; its rows are its progress."""
        return isinstance(self.details, Ingestion)

    @property
    def ingestion(self) -> Ingestion:
        """How it reads its upstream, of what does."""
        if not isinstance(self.details, Ingestion):
            raise InvariantViolation(f"{self.id} does not ingest, it is a {self.details.sort}")
        return self.details

    @property
    def connection(self) -> Connection:
        """How an upstream is reached by it, of a connection."""
        if not isinstance(self.details, Connection):
            raise InvariantViolation(f"{self.id} is no connection but a {self.details.sort}")
        return self.details

    @property
    def export(self) -> Export | None:
        """What it takes of an upstream, if its rows come from one."""
        return self.details.export if isinstance(self.details, FedTable | LegacySource) else None

    @property
    def fed_export(self) -> Export:
        """The same of what is known to be fed."""
        export = self.export
        if export is None:
            raise InvariantViolation(f"{self.id} is not fed by a source, it is a {self.details.sort}")
        return export

    @property
    def plain(self) -> bool:
        """Whether its rows are written here, by statements or by requests, and not by an ingestion."""
        return isinstance(self.details, PlainTable | WebhookTable)

    @property
    def stores(self) -> bool:
        """Whether it has rows that are kept in files."""
        return self.plain or self.export is not None

    @property
    def retain_history_ms(self) -> int:
        """For how long what it was can be read."""
        if not isinstance(self.details, Retaining):
            raise InvariantViolation(f"{self.id} has no history, it is a {self.details.sort}")
        return self.details.retain_history_ms

    @property
    def encoding(self) -> ShownEncoding | None:
        """What is shown of the format of its messages, if they have one."""
        return self.details.encoding if isinstance(self.details, FedTable | LegacySource) else None

    @property
    def collection_id(self) -> str:
        """Under which id its rows are kept, or the bindings of what ingests: its own, unless columns
        were added since."""
        export = self.export
        return self.id if export is None else export.table_id

    @property
    def widening(self) -> Widening | None:
        """What the item will be when a column that was added to it is filled."""
        return self.details.widening if isinstance(self.details, FedTable) else None

    @property
    def source_id(self) -> str | None:
        """The item that ingests for this one, if it is fed by an upstream."""
        match self.details:
            case FedTable(source_id):
                return source_id
            case LegacySource(progress_id, export=Export()):
                return progress_id
            case _:
                return None

    @property
    def progress_id(self) -> str | None:
        """The progress relation of a legacy source."""
        return self.details.progress_id if isinstance(self.details, LegacySource) else None

    @property
    def parent_id(self) -> str | None:
        """The source whose progress this is, in the legacy syntax."""
        return self.details.parent_id if isinstance(self.details, Ingestion) else None


@dataclass(frozen=True, slots=True)
class Comment:
    """What COMMENT ON left; `sub_id` is a column's 1-based position."""

    object_kind: str
    object_id: str
    sub_id: int | None
    text: str


NameKey = tuple[str, int, str]
"""(schema id, backend pid of a temporary item or 0, name)."""
CommentKey = tuple[str, str, int]
"""(object kind, object id, column position or 0)."""
MembershipKey = tuple[str, str]
"""(id of the role, id of its member)."""
ObjectKey = tuple[str, str]
"""(object kind, object id); the kind is `item`, `schema`, `database`, `cluster` or `system`."""
DefaultGrantKey = tuple[str, str, str, str, str]
"""(role id, database id, schema id, object kind, grantee id)."""

SYSTEM_SCHEMAS: Final[Mapping[str, Schema]] = {
    schema.id: schema
    for schema in (
        Schema("s1", 16_700, None, "mz_catalog", SYSTEM_ROLE_ID),
        Schema("s2", 11, None, "pg_catalog", SYSTEM_ROLE_ID),
        Schema("s3", 16_701, None, "mz_internal", SYSTEM_ROLE_ID),
        Schema("s4", 16_702, None, "information_schema", SYSTEM_ROLE_ID),
        Schema(TEMPORARY_SCHEMA_ID, 16_703, None, "mz_temp", SYSTEM_ROLE_ID),
    )
}
SYSTEM_SCHEMA_IDS: Final[Mapping[str, str]] = {schema.name: schema.id for schema in SYSTEM_SCHEMAS.values()}


def key_of(item: Item) -> NameKey:
    """The place of an item in its namespace."""
    return (item.schema_id, item.temporary_pid or 0, item.name)


@dataclass(frozen=True, slots=True, eq=False)
class CatalogState:
    """Everything users made, at one version.

    `derived` is a place for tables computed from this very state (`builtin/evaluate.py`);
    it lives and dies with it.
    """

    version: int = 0
    databases: Mapping[str, Database] = field(default_factory=dict)
    schemas: Mapping[str, Schema] = field(default_factory=dict)
    clusters: Mapping[str, Cluster] = field(default_factory=dict)
    roles: Mapping[str, Role] = field(default_factory=dict)
    items: Mapping[str, Item] = field(default_factory=dict)
    comments: Mapping[CommentKey, Comment] = field(default_factory=dict)
    system_variables: Mapping[str, str] = field(default_factory=dict)
    memberships: Mapping[MembershipKey, str] = field(default_factory=dict)  # to who granted it
    grants: Mapping[ObjectKey, tuple[Grant, ...]] = field(
        default_factory=dict
    )  # where they are not as at first
    default_grants: Mapping[DefaultGrantKey, DefaultGrant] = field(default_factory=dict)
    item_ids: Mapping[NameKey, str] = field(default_factory=dict)
    dependents: Mapping[str, frozenset[str]] = field(default_factory=dict)
    derived: dict[object, Any] = field(default_factory=dict, repr=False)

    def schema(self, schema_id: str) -> Schema:
        """A schema by id, system schemas included; KeyError when there is none."""
        return SYSTEM_SCHEMAS.get(schema_id) or self.schemas[schema_id]

    def database_named(self, name: str) -> Database | None:
        return next((d for d in self.databases.values() if d.name == name), None)

    def schema_named(self, database_id: str | None, name: str) -> Schema | None:
        """The schema of this name in a database; None as database means the system schemas."""
        if database_id is None:
            return SYSTEM_SCHEMAS.get(SYSTEM_SCHEMA_IDS.get(name, ""))
        return next(
            (s for s in self.schemas.values() if s.name == name and s.database_id == database_id), None
        )

    def cluster_named(self, name: str) -> Cluster | None:
        return next((c for c in self.clusters.values() if c.name == name), None)

    def role_named(self, name: str) -> Role | None:
        return next((r for r in self.roles.values() if r.name == name), None)

    def item_named(self, schema_id: str, name: str, temporary_pid: int | None = None) -> Item | None:
        item_id = self.item_ids.get((schema_id, temporary_pid or 0, name))
        return None if item_id is None else self.items[item_id]

    def schemas_of(self, database_id: str) -> tuple[Schema, ...]:
        return tuple(s for s in self.schemas.values() if s.database_id == database_id)

    def items_of(self, schema_id: str) -> tuple[Item, ...]:
        return tuple(item for item in self.items.values() if item.schema_id == schema_id)

    def items_of_cluster(self, cluster_id: str) -> tuple[Item, ...]:
        return tuple(item for item in self.items.values() if item.cluster_id == cluster_id)

    def collections(self) -> Mapping[str, Item]:
        """By id of a collection: the item whose rows it has, or will have."""
        if "collections" not in self.derived:
            found: dict[str, Item] = {}
            for item in self.items.values():
                if item.stores or item.ingests:
                    found[item.collection_id] = item
                if item.widening is not None:
                    found[item.widening.export.table_id] = item
            self.derived["collections"] = found
        known: Mapping[str, Item] = self.derived["collections"]
        return known

    def redefined_at(self) -> int:
        """The last timestamp from which on reading something gives something else."""
        if "redefined_at" not in self.derived:
            self.derived["redefined_at"] = max((i.redefined_at for i in self.items.values()), default=0)
        found: int = self.derived["redefined_at"]
        return found

    def widened(self) -> tuple[Item, ...]:
        """Items that get more columns."""
        if "widened" not in self.derived:
            self.derived["widened"] = tuple(i for i in self.items.values() if i.widening is not None)
        found: tuple[Item, ...] = self.derived["widened"]
        return found

    def ingestion_of(self, source: Item) -> Item:
        """What reads the upstream for a source: itself, or its progress relation."""
        return source if source.progress_id is None else self.items[source.progress_id]

    def named_source(self, ingestion_id: str) -> Item:
        """The source that a user named, of which this is the ingestion."""
        ingestion = self.items[ingestion_id]
        return ingestion if ingestion.parent_id is None else self.items[ingestion.parent_id]

    def exports_of(self, ingestion_id: str) -> tuple[Item, ...]:
        """The tables and subsources that are fed by an ingestion, in order of creation."""
        if "exports" not in self.derived:
            fed: dict[str, list[Item]] = {}
            for item in sorted(self.items.values(), key=lambda i: id_number(i.id)):
                if item.source_id is not None:
                    fed.setdefault(item.source_id, []).append(item)
            self.derived["exports"] = {id_: tuple(items) for id_, items in fed.items()}
        exports: Mapping[str, tuple[Item, ...]] = self.derived["exports"]
        return exports.get(ingestion_id, ())

    def source_type(self, source: Item) -> str:
        """As mz_sources.type has it."""
        if source.parent_id is not None:
            return "progress"
        if source.progress_id is None and source.source_id is not None:
            return "subsource"
        if isinstance(source.details, WebhookTable):
            return "webhook"
        return self.ingestion_of(source).ingestion.source_type

    def temporary_items_of(self, backend_pid: int) -> tuple[Item, ...]:
        return tuple(item for item in self.items.values() if item.temporary_pid == backend_pid)

    def database_of(self, item: Item) -> Database | None:
        database_id = self.schema(item.schema_id).database_id
        return None if database_id is None else self.databases[database_id]

    def comment_on(self, object_kind: str, object_id: str, sub_id: int | None = None) -> str | None:
        comment = self.comments.get((object_kind, object_id, sub_id or 0))
        return None if comment is None else comment.text

    def drop_order(self, item_ids: Iterable[str]) -> tuple[str, ...]:
        """These items and all that depend on them, each after everything that depends on it.

        A legacy source takes its progress relation with it, on which it depends.
        """
        order: list[str] = []
        seen: set[str] = set()
        roots = list(item_ids)
        for root in roots:
            if root in seen:
                continue
            seen.add(root)
            # An explicit stack: a chain of views may be longer than Python's own.
            stack: list[tuple[str, Iterator[str]]] = [(root, self._dependents_of(root))]
            while stack:
                current, children = stack[-1]
                child = next((c for c in children if c not in seen), None)
                if child is None:
                    order.append(current)
                    stack.pop()
                    progress_id = self.items[current].progress_id
                    if progress_id is not None:
                        roots.append(progress_id)
                else:
                    seen.add(child)
                    stack.append((child, self._dependents_of(child)))
        return tuple(order)

    def _dependents_of(self, item_id: str) -> Iterator[str]:
        return iter(sorted(self.dependents.get(item_id, ()), key=id_number, reverse=True))


_REPLICA_NUMBERS: Final = 16
"""So many numbers each cluster has for its replicas, and uses one: ids stay as they were given out."""


def replica_id(cluster: Cluster) -> str:
    """The id of a cluster's replica, also while it has none: it is no other when it comes back."""
    return f"u{(id_number(cluster.id) - 1) * _REPLICA_NUMBERS + 1}"


def replica_ids(cluster: Cluster) -> tuple[str, ...]:
    """The ids of the replicas that a cluster has: one, as all clusters are pools of one process, or none."""
    return (replica_id(cluster),) if cluster.replication_factor else ()

"""What system relations are computed from: the catalog's state and what the server knows at this moment.

The coordinator makes one `SystemFacts` per query.  Everything that is not in the
catalog comes through a callable that is called only when a relation that needs it is
read, so a query of `pg_class` costs nothing of the others.  All rows are frozen
values; times are milliseconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headwater.catalog.audit import AuditEvent
from headwater.catalog.state import CatalogState, Item


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """The newest status of a source or of a table from a source.

    `details` is JSON text: `{"namespaced": {"postgres": "..."}, "hints": ["..."]}`.
    """

    id: str
    status: str
    error: str | None
    details: str | None
    changed_at_ms: int


@dataclass(frozen=True, slots=True)
class StatusEvent:
    """A change of status, also of objects that are gone."""

    id: str
    status: str
    error: str | None
    details: str | None
    occurred_at_ms: int
    replica_id: str | None = None


@dataclass(frozen=True, slots=True)
class SourceStatistics:
    """Counters and gauges of one export, or of a source for what belongs to none of its exports.

    A source's row in mz_source_statistics adds its exports' to its own; nobody adds
    them beforehand.
    """

    id: str
    replica_id: str | None = None
    messages_received: int = 0
    bytes_received: int = 0
    updates_staged: int = 0
    updates_committed: int = 0
    records_indexed: int = 0
    bytes_indexed: int = 0
    rehydration_latency_ms: int | None = None
    snapshot_records_known: int | None = None
    snapshot_records_staged: int | None = None
    snapshot_committed: bool = False
    offset_known: int | None = None
    offset_committed: int | None = None


@dataclass(frozen=True, slots=True)
class Frontiers:
    """`since` and `upper` of a collection; None is the empty frontier of a finished one."""

    id: str
    read: int | None
    write: int | None


@dataclass(frozen=True, slots=True)
class UpstreamLog:
    """What an upstream keeps for a source, as it said last."""

    id: str
    state: str
    held_bytes: int | None
    left_bytes: int | None
    limit_bytes: int | None
    measured_at_ms: int


@dataclass(frozen=True, slots=True)
class ValueErrorRow:
    """A value that could not be stored; without a column it is all of a message."""

    table_id: str
    key: str
    column: str | None
    value: str
    reason: str
    position: str
    first_seen_ms: int


@dataclass(frozen=True, slots=True)
class HydrationStatus:
    """Whether a collection may be read."""

    id: str
    replica_id: str | None
    hydrated: bool | None


@dataclass(frozen=True, slots=True)
class LagEvent:
    """How far a collection was behind the clock at some moment; None while it was not readable."""

    id: str
    lag_ms: int | None
    occurred_at_ms: int
    replica_id: str | None = None


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A connected session; `id` is a uuid in text form."""

    id: str
    backend_pid: int
    user: str
    database: str
    application_name: str
    client_address: str | None
    connected_at_ms: int
    active: bool = False
    transaction: str = "I"  # as the protocol tells it: I is none, T is one, E is one that has failed
    query: str = ""
    query_started_at_ms: int | None = None
    state_changed_at_ms: int | None = None
    transaction_began_at_ms: int | None = None
    client_port: int = -1
    waits_for_lock: bool = False


@dataclass(frozen=True, slots=True)
class SubscriptionRow:
    """A running SUBSCRIBE."""

    id: str
    session_id: str
    cluster_id: str
    created_at_ms: int
    referenced_object_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """A configuration parameter as this session has it; `kind` is bool, integer, real, string or enum."""

    name: str
    value: str
    description: str = ""
    kind: str = "string"
    unit: str | None = None
    default: str | None = None
    changeable: bool = True


@dataclass(frozen=True, slots=True)
class FunctionRow:
    """A function of the function table, for pg_proc; `kind` is f, a, w as in prokind."""

    oid: int
    schema: str
    name: str
    argument_type_oids: tuple[int, ...]
    return_type_oid: int
    kind: str = "f"
    returns_set: bool = False
    strict: bool = True
    volatility: str = "i"


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """An operator of the function table."""

    oid: int
    name: str
    argument_type_oids: tuple[int, ...]
    return_type_oid: int


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """What is known of a cluster's process: `online` or `offline`."""

    replica_id: str
    status: str
    reason: str | None
    occurred_at_ms: int


@dataclass(frozen=True, slots=True)
class StorageUsage:
    """How much an object's files take."""

    id: str
    size_bytes: int
    collected_at_ms: int


@dataclass(frozen=True, slots=True)
class PreparedRow:
    """A prepared statement of this session."""

    name: str
    statement: str
    prepared_at_ms: int
    parameter_type_oids: tuple[int, ...]
    from_sql: bool


@dataclass(frozen=True, slots=True)
class CursorRow:
    """An open cursor of this session."""

    name: str
    statement: str
    created_at_ms: int
    holdable: bool = False


@dataclass(frozen=True, slots=True)
class LockRow:
    """An advisory lock that a session holds or waits for."""

    database: str
    key: tuple[int, int, int]  # two halves, and 1 for one number or 2 for two
    backend_pid: int
    exclusive: bool
    granted: bool


@dataclass(frozen=True, slots=True)
class Refusal:
    """What somebody was refused, however often."""

    user: str
    client: str
    statement: str
    object: str | None
    error: str
    count: int
    first_at_ms: int
    last_at_ms: int


@dataclass(frozen=True, slots=True)
class SystemFacts:
    """The catalog, the session that asks, and the server around them."""

    state: CatalogState
    now_ms: int = 0
    database: str = "materialize"
    user: str = "materialize"
    backend_pid: int = 0
    audit_events: Callable[[], Sequence[AuditEvent]] = lambda: ()
    refusals: Callable[[], Sequence[Refusal]] = lambda: ()
    source_statuses: Callable[[], Sequence[SourceStatus]] = lambda: ()
    status_history: Callable[[], Sequence[StatusEvent]] = lambda: ()
    statistics: Callable[[], Sequence[SourceStatistics]] = lambda: ()
    statistics_history: Callable[[], Sequence[SourceStatistics]] = lambda: ()
    frontiers: Callable[[], Sequence[Frontiers]] = lambda: ()
    upstream_logs: Callable[[], Sequence[UpstreamLog]] = lambda: ()
    value_errors: Callable[[], Sequence[ValueErrorRow]] = lambda: ()
    hydration_statuses: Callable[[], Sequence[HydrationStatus]] = lambda: ()
    lag_history: Callable[[], Sequence[LagEvent]] = lambda: ()
    sessions: Callable[[], Sequence[SessionRow]] = lambda: ()
    subscriptions: Callable[[], Sequence[SubscriptionRow]] = lambda: ()
    settings: Callable[[], Sequence[Setting]] = lambda: ()
    functions: Callable[[], Sequence[FunctionRow]] = lambda: ()
    operators: Callable[[], Sequence[OperatorRow]] = lambda: ()
    replica_statuses: Callable[[], Sequence[ReplicaStatus]] = lambda: ()
    replica_status_history: Callable[[], Sequence[ReplicaStatus]] = lambda: ()
    storage_usage: Callable[[], Sequence[StorageUsage]] = lambda: ()
    storage_usage_history: Callable[[], Sequence[StorageUsage]] = lambda: ()
    prepared_statements: Callable[[], Sequence[PreparedRow]] = lambda: ()
    cursors: Callable[[], Sequence[CursorRow]] = lambda: ()
    locks: Callable[[], Sequence[LockRow]] = lambda: ()
    webhook_url: Callable[[Item], str] = lambda item: ""

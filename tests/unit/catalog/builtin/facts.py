"""Facts about the populated catalog, one of each kind, and rows of a relation as dictionaries."""

from __future__ import annotations

from typing import Any

from headwater.catalog.audit import AuditEvent
from headwater.catalog.builtin.evaluate import evaluate
from headwater.catalog.builtin.facts import (
    CursorRow,
    Frontiers,
    FunctionRow,
    HydrationStatus,
    LagEvent,
    OperatorRow,
    PreparedRow,
    ReplicaStatus,
    SessionRow,
    Setting,
    SourceStatistics,
    SourceStatus,
    StatusEvent,
    StorageUsage,
    SubscriptionRow,
    SystemFacts,
)
from headwater.catalog.builtin.registry import BUILTINS_BY_NAME
from tests.support.stored import shown_value
from tests.unit.catalog.populated import SESSION_PID, populated_state

NOW_MS = 1_700_000_000_000
SESSION_ID = "00000000-0000-4000-8000-000000000001"

AUDIT_EVENTS = (
    AuditEvent(1, "create", "source", {"id": "u1", "cluster_id": "u1"}, "ann", NOW_MS - 9_000),
    AuditEvent(2, "alter", "source", {"id": "u1"}, None, NOW_MS - 8_000),
    AuditEvent(3, "create", "table", {"id": "u9"}, "ann", NOW_MS - 7_000),
    AuditEvent(4, "drop", "table", {"id": "u9"}, "ann", NOW_MS - 6_000),
    AuditEvent(5, "create", "cluster-replica", {"replica_id": "u1", "cluster_id": "u1"}, None, NOW_MS),
)
STATISTICS = (
    SourceStatistics("u1", "u1", messages_received=1, offset_known=90, offset_committed=80),
    SourceStatistics(
        "u2",
        "u1",
        messages_received=10,
        bytes_received=100,
        updates_staged=9,
        updates_committed=8,
        rehydration_latency_ms=1_500,
        snapshot_records_known=5,
        snapshot_records_staged=4,
        snapshot_committed=True,
        offset_known=95,
        offset_committed=70,
    ),
    SourceStatistics("u9", "u1", messages_received=7),
)


def full_facts() -> SystemFacts:
    """Something of everything."""
    return SystemFacts(
        state=populated_state(),
        now_ms=NOW_MS,
        backend_pid=SESSION_PID,
        audit_events=lambda: AUDIT_EVENTS,
        source_statuses=lambda: (
            SourceStatus("u1", "running", None, None, NOW_MS - 5_000),
            SourceStatus("u2", "starting", None, '{"hints": ["wait"]}', NOW_MS - 4_000),
        ),
        status_history=lambda: (
            StatusEvent("u1", "starting", None, None, NOW_MS - 6_000, "u1"),
            StatusEvent("u9", "dropped", None, '{"b":1,"a":2}', NOW_MS - 5_500),
        ),
        statistics=lambda: STATISTICS,
        frontiers=lambda: (
            Frontiers("u1", 0, None),
            Frontiers("u2", NOW_MS - 3_000, NOW_MS - 2_000),
            Frontiers("u3", 0, 0),
        ),
        hydration_statuses=lambda: (HydrationStatus("u2", "u1", True),),
        lag_history=lambda: (
            LagEvent("u2", 900, NOW_MS - 60_000, "u1"),
            LagEvent("u2", 300, NOW_MS - 60_000, "u2"),
            LagEvent("u2", None, NOW_MS - 200_000_000, "u1"),
        ),
        sessions=lambda: (
            SessionRow(SESSION_ID, SESSION_PID, "materialize", "materialize", "psql", "127.0.0.1", NOW_MS),
        ),
        subscriptions=lambda: (SubscriptionRow("u7", SESSION_ID, "u1", NOW_MS, ("u2", "u3")),),
        settings=lambda: (
            Setting("statement_timeout", "5s", "how long a statement may run", default="60s"),
            Setting("server_version", "15.0", changeable=False),
        ),
        functions=lambda: (FunctionRow(1_234, "pg_catalog", "lower", (25,), 25),),
        operators=lambda: (OperatorRow(91, "+", (23, 23), 23), OperatorRow(92, "-", (23,), 23)),
        replica_statuses=lambda: (ReplicaStatus("u1", "online", None, NOW_MS),),
        replica_status_history=lambda: (ReplicaStatus("u1", "offline", "killed", NOW_MS - 1),),
        storage_usage=lambda: (StorageUsage("u2", 10, NOW_MS - 1), StorageUsage("u2", 20, NOW_MS)),
        prepared_statements=lambda: (PreparedRow("p", "SELECT $1", NOW_MS, (23,), True),),
        cursors=lambda: (CursorRow("c", "SELECT 1", NOW_MS),),
    )


def rows(name: str, facts: SystemFacts | None = None) -> list[dict[str, Any]]:
    """The rows of `schema.name`."""
    schema, _, relation = name.partition(".")
    builtin = BUILTINS_BY_NAME[schema, relation]
    found = evaluate(builtin.id, facts or full_facts()).to_pylist()
    return [{name: shown_value(value) for name, value in row.items()} for row in found]


def user_rows(name: str, key: str = "id", facts: SystemFacts | None = None) -> dict[Any, dict[str, Any]]:
    """The rows about what users made, by a column of ids."""
    return {row[key]: row for row in rows(name, facts) if str(row[key]).startswith("u")}

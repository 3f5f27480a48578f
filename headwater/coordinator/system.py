"""What system relations show: the facts of this moment, for the session that asks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from headwater.catalog.builtin import facts as f
from headwater.catalog.state import replica_ids
from headwater.coordinator.functions import function_rows, operator_rows
from headwater.core.protocol import Status
from headwater.core.time import TIMESTAMP_END
from headwater.core.types import FACTS
from headwater.sql.statement import shown_text

if TYPE_CHECKING:
    from headwater.coordinator.coordinator import Coordinator
    from headwater.coordinator.session import SqlSession


def facts(world: Coordinator, session: SqlSession | None = None) -> f.SystemFacts:
    """Everything lazily: a relation that is not read costs nothing."""
    return f.SystemFacts(
        state=world.catalog.state if session is None else session.state,
        now_ms=world.clock.now_ms(),
        database="materialize" if session is None else session.settings.get("database"),
        user="materialize" if session is None else session.user,
        backend_pid=0 if session is None else session.backend_pid,
        audit_events=lambda: world.catalog.audit_events(),
        source_statuses=lambda: _statuses(world),
        status_history=lambda: _history(world),
        statistics=lambda: _statistics(world),
        frontiers=lambda: _frontiers(world),
        hydration_statuses=lambda: _hydration(world),
        lag_history=lambda: _lags(world),
        sessions=lambda: _sessions(world),
        subscriptions=lambda: _subscriptions(world),
        settings=lambda: [] if session is None else _settings(session),
        functions=function_rows,
        operators=operator_rows,
        replica_statuses=lambda: _replica_statuses(world),
        replica_status_history=lambda: _replica_statuses(world),
        storage_usage=lambda: _storage_usage(world),
        prepared_statements=lambda: [] if session is None else _prepared(session),
        cursors=lambda: [] if session is None else _cursors(session),
    )


_NAMESPACES = frozenset(
    ("postgres", "mysql", "sql-server", "kafka", "generator", "ssh", "upsert", "decode", "internal")
)
"""What an error of a source may say before its text that it is from."""


def _details(status: Status, further_hint: str | None = None) -> str | None:
    details: dict[str, object] = {}
    if status.error is not None:
        namespace, _, message = status.error.partition(": ")
        known = namespace in _NAMESPACES
        details["namespaced"] = {namespace: message} if known else {"internal": status.error}
    hints = [hint for hint in (status.hint, further_hint) if hint is not None]
    if hints:
        details["hints"] = hints
    return json.dumps(details) if details else None


def _shown_id(world: Coordinator, id_: str) -> str | None:
    """The item that a cluster's word is about; None when it is about what an item will be."""
    item = world.catalog.state.collections().get(id_)
    if item is None:
        return world.named_ids.get(id_, id_)  # of what has been dropped
    return item.id if item.collection_id == id_ else None


def _statuses(world: Coordinator) -> Sequence[f.SourceStatus]:
    found = [(_shown_id(world, s.id), s) for s in world.controller.health.statuses.values()]
    return [
        f.SourceStatus(id_, s.status, s.error, _details(s, _filling(world, id_)), s.at_ms)
        for id_, s in found
        if id_ is not None
    ]


def _filling(world: Coordinator, item_id: str) -> str | None:
    """What keeps columns that are being added to a table from being filled."""
    item = world.catalog.state.items.get(item_id)
    if item is None or item.widening is None:
        return None
    status = world.controller.health.statuses.get(item.widening["export"]["table_id"])
    if status is None or status.error is None:
        return None
    return f"Columns are being added, but: {status.error}"


def _history(world: Coordinator) -> Sequence[f.StatusEvent]:
    found = [
        (_shown_id(world, s.id), s) for entries in world.controller.health.history.values() for s in entries
    ]
    return [
        f.StatusEvent(id_, s.status, s.error, _details(s), s.at_ms) for id_, s in found if id_ is not None
    ]


def _statistics(world: Coordinator) -> Sequence[f.SourceStatistics]:
    rows = []
    all_numbers = world.controller.health.numbers
    for id_, numbers in all_numbers.items():
        item = world.catalog.state.collections().get(id_)
        if item is None or item.collection_id != id_:
            continue
        own = item.stores  # a source's row adds up those of its tables
        # While columns are added, what is read for them is the snapshot under way.
        wider = None if item.widening is None else all_numbers.get(item.widening["export"]["table_id"])
        snapshot = (wider or numbers).current
        rows.append(
            f.SourceStatistics(
                item.id,
                _replica(world),
                numbers.counter("messages_received") if own else 0,
                numbers.counter("bytes_received") if own else 0,
                numbers.counter("updates_staged") if own else 0,
                numbers.counter("updates_committed") if own else 0,
                snapshot_records_known=snapshot.get("snapshot_records_known"),
                snapshot_records_staged=snapshot.get("snapshot_records_staged"),
                snapshot_committed=id_ in world.controller.hydrated if own else True,
                offset_known=numbers.current.get("offset_known"),
                offset_committed=numbers.current.get("offset_committed"),
            )
        )
    return rows


def _replica(world: Coordinator) -> str | None:
    cluster = world.catalog.state.cluster_named("quickstart")
    ids = replica_ids(cluster) if cluster is not None else ()
    return ids[0] if ids else None


def _readable(world: Coordinator) -> Sequence[tuple[str, int, int]]:
    """(id, since, upper) of every table and source."""
    rows = []
    for item in world.catalog.state.items.values():
        if item.stores or item.ingests:
            upper = world.reads.upper(item)
            if upper:
                world.reads.start_since(item)
            rows.append((item.id, world.holds.since(item.collection_id), upper))
    return rows


def _frontiers(world: Coordinator) -> Sequence[f.Frontiers]:
    now = world.oracle.closed + 1
    rows = []
    for id_, since, upper in _readable(world):
        item = world.catalog.state.items[id_]
        plain = item.kind == "table" and item.source_id is None
        write = now if plain else None if upper == TIMESTAMP_END else upper
        rows.append(f.Frontiers(id_, since, write))
    return rows


def _hydration(world: Coordinator) -> Sequence[f.HydrationStatus]:
    return [f.HydrationStatus(id_, _replica(world), upper > 0) for id_, _, upper in _readable(world)]


def _lags(world: Coordinator) -> Sequence[f.LagEvent]:
    now_ms = world.clock.now_ms()
    return [
        f.LagEvent(
            id_, None if not upper else max(0, now_ms - upper) if upper != TIMESTAMP_END else 0, now_ms
        )
        for id_, _, upper in _readable(world)
    ]


def _sessions(world: Coordinator) -> Sequence[f.SessionRow]:
    return [
        f.SessionRow(
            session.session_id,
            session.backend_pid,
            session.user,
            session.settings.get("database"),
            session.settings.get("application_name"),
            session.address,
            session.connected_at_ms,
            bool(session.active_query),
            session.status == "T",
            session.active_query,
            session.query_started_at_ms,
        )
        for session in world.sessions.values()
    ]


def _subscriptions(world: Coordinator) -> Sequence[f.SubscriptionRow]:
    cluster = world.catalog.state.cluster_named("quickstart")
    return [
        f.SubscriptionRow(
            f"{session.session_id}-{number}",
            session.session_id,
            cluster.id if cluster is not None else "",
            session.query_started_at_ms or 0,
            tuple(sorted(ids)),
        )
        for number, (session, ids) in enumerate(world.subscriptions.values())
    ]


def _settings(session: SqlSession) -> Sequence[f.Setting]:
    return [
        f.Setting(v.name, value, v.description, v.kind, None, v.default, v.changeable)
        for v, value in session.settings.all()
    ]


def _replica_statuses(world: Coordinator) -> Sequence[f.ReplicaStatus]:
    """All clusters are pools of one process, so what is true of it is true of them."""
    online = world.controller.connected
    status, reason = ("online", None) if online else ("offline", "the process is starting")
    now_ms = world.clock.now_ms()
    clusters = world.catalog.state.clusters.values()
    return [f.ReplicaStatus(id_, status, reason, now_ms) for c in clusters for id_ in replica_ids(c)]


def _storage_usage(world: Coordinator) -> Sequence[f.StorageUsage]:
    now_ms = world.clock.now_ms()
    rows = []
    for item in world.catalog.state.items.values():
        if item.stores and world.ledger.collection(item.collection_id) and world.reads.upper(item):
            plan = world.ledger.read_plan(item.collection_id, TIMESTAMP_END - 1)
            rows.append(f.StorageUsage(item.id, plan.bytes(), now_ms))
    return rows


def _prepared(session: SqlSession) -> Sequence[f.PreparedRow]:
    return [
        f.PreparedRow(
            name,
            shown_text(prepared.parsed.statement, prepared.parsed.text),
            getattr(prepared.plan, "made_at_ms", session.connected_at_ms),
            tuple(FACTS[type_.kind].oid for type_ in prepared.parameters),
            prepared.parsed.offset > 0,  # inside of a PREPARE
        )
        for name, prepared in session.statements.items()
        if name
    ]


def _cursors(session: SqlSession) -> Sequence[f.CursorRow]:
    return [f.CursorRow(c.name, c.text, c.created_at_ms) for c in session.cursors.values()]

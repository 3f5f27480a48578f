"""What system relations show: the facts of this moment, for the session that asks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headwater.catalog.builtin import facts as f
from headwater.catalog.details import WebhookTable
from headwater.catalog.rights import Need, has
from headwater.catalog.state import CatalogState, Cluster, Item, replica_id, replica_ids
from headwater.coordinator.functions import function_rows, operator_rows
from headwater.coordinator.variables import in_unit
from headwater.core.protocol import Status
from headwater.core.time import TIMESTAMP_END
from headwater.core.types import FACTS
from headwater.observe.metrics import ObjectNumbers
from headwater.sources import SOURCE_TYPES
from headwater.sql.statement import shown_text
from headwater.storage.health import Numbers
from headwater.storage.replicas import ReplicaEvent

if TYPE_CHECKING:
    from headwater.coordinator.coordinator import Coordinator
    from headwater.coordinator.session import SqlSession


def facts(coordinator: Coordinator, session: SqlSession | None = None) -> f.SystemFacts:
    """Everything lazily: a relation that is not read costs nothing."""
    return f.SystemFacts(
        state=coordinator.catalog.state if session is None else session.state,
        now_ms=coordinator.clock.now_ms(),
        database="materialize" if session is None else session.settings.get("database"),
        user="materialize" if session is None else session.user,
        backend_pid=0 if session is None else session.backend_pid,
        audit_events=lambda: coordinator.catalog.audit_events(),
        refusals=lambda: _refusals(coordinator, session),
        source_statuses=lambda: _statuses(coordinator),
        status_history=lambda: _history(coordinator),
        statistics=lambda: _statistics(coordinator, also_gone=False),
        statistics_history=lambda: _statistics(coordinator, also_gone=True),
        frontiers=lambda: _frontiers(coordinator),
        upstream_logs=lambda: _upstream_logs(coordinator),
        value_errors=lambda: _value_errors(coordinator, session),
        hydration_statuses=lambda: _hydration(coordinator),
        lag_history=coordinator.sampling.lag_history,
        sessions=lambda: _sessions(coordinator, session),
        subscriptions=lambda: tuple(feed.shown() for feed in coordinator.subscriptions.values()),
        settings=lambda: [] if session is None else _settings(session),
        functions=function_rows,
        operators=operator_rows,
        replica_statuses=lambda: _replica_statuses(coordinator.controller.replicas.current()),
        replica_status_history=lambda: _replica_statuses(coordinator.controller.replicas.history),
        storage_usage=lambda: storage_usage(coordinator),
        storage_usage_history=coordinator.sampling.usage_history,
        prepared_statements=lambda: [] if session is None else _prepared(session),
        cursors=lambda: [] if session is None else _cursors(session),
        locks=lambda: _locks(coordinator),
        webhook_url=coordinator.webhooks.url,
    )


_NAMESPACES = frozenset(
    (*(kind.namespace for kind in SOURCE_TYPES.values()), "ssh", "upsert", "decode", "internal")
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


def _named(coordinator: Coordinator, status: Status) -> Status:
    """With the source's name in the hint."""
    item = coordinator.catalog.state.collections().get(status.id)
    if status.hint is None or item is None:
        return status
    return replace(status, hint=coordinator.named_in(status.hint, item))


def _shown_id(coordinator: Coordinator, id_: str) -> str | None:
    """The item that a cluster's word is about; None when it is about what an item will be."""
    item = coordinator.catalog.state.collections().get(id_)
    if item is None:
        return coordinator.named_ids.get(id_, id_)  # of what has been dropped
    return item.id if item.collection_id == id_ else None


def _statuses(coordinator: Coordinator) -> Sequence[f.SourceStatus]:
    found = [(_shown_id(coordinator, s.id), s) for s in coordinator.controller.health.statuses.values()]
    return [
        f.SourceStatus(
            *(id_, s.status, s.error),
            _details(
                _named(coordinator, s), _filling(coordinator, id_) or coordinator.retained_logs.hint(s.id)
            ),
            s.at_ms,
        )
        for id_, s in found
        if id_ is not None
    ]


def _filling(coordinator: Coordinator, item_id: str) -> str | None:
    """What keeps columns that are being added to a table from being filled."""
    item = coordinator.catalog.state.items.get(item_id)
    if item is None or item.widening is None:
        return None
    status = coordinator.controller.health.statuses.get(item.widening.export.table_id)
    if status is None or status.error is None:
        return None
    return f"Columns are being added, but: {status.error}"


def _history(coordinator: Coordinator) -> Sequence[f.StatusEvent]:
    events = [event for entries in coordinator.controller.health.history.values() for event in entries]
    found = [(_shown_id(coordinator, event.shown.id), event.shown, event.replica_id) for event in events]
    state = coordinator.catalog.state
    return [
        f.StatusEvent(id_, s.status, s.error, _details(_named(coordinator, s)), s.at_ms, replica_id)
        for id_, s, replica_id in found
        # A collection that a wider one has replaced is dropped; its table is not.
        if id_ is not None and not (s.status == "dropped" and id_ in state.items)
    ]


def _statistics(coordinator: Coordinator, also_gone: bool) -> Sequence[f.SourceStatistics]:
    """Rows of sources and tables, with or without what processes and replicas that have gone said last."""
    state, all_numbers = coordinator.catalog.state, coordinator.controller.health.numbers
    rows = []
    for id_, item in state.collections().items():
        webhook = isinstance(item.details, WebhookTable)
        if item.collection_id != id_ or not (item.ingests or item.source_id or webhook):
            continue
        numbers = all_numbers.get(id_, Numbers())
        source = all_numbers.get(item.source_id, Numbers()) if item.source_id is not None else numbers
        own = item.stores  # a source's row adds up those of its tables
        # While columns are added, what is read for them is the snapshot under way.
        wider = None if item.widening is None else all_numbers.get(item.widening.export.table_id)
        readable = id_ in coordinator.controller.hydrated
        failed_at = coordinator.reads.failed_at(item)
        indexed = _indexed(coordinator, item) if own and readable else (0, 0)
        latency_ms = numbers.gauge("rehydration_latency_ms", also_gone) if failed_at is None else None
        if latency_ms is None and readable and failed_at is None:
            latency_ms = source.gauge("rehydration_latency_ms", also_gone)  # it was there with its source
        rows.append(
            f.SourceStatistics(
                item.id,
                replica_then(state, item) if also_gone else replica_of(state, item),
                numbers.counter("messages_received") if own else 0,
                numbers.counter("bytes_received") if own else 0,
                numbers.counter("updates_staged") if own else 0,
                numbers.counter("updates_committed") if own else 0,
                *indexed,
                rehydration_latency_ms=latency_ms,
                snapshot_records_known=(wider or numbers).gauge("snapshot_records_known", also_gone),
                snapshot_records_staged=(wider or numbers).gauge("snapshot_records_staged", also_gone),
                snapshot_committed=readable if own else True,
                offset_known=coordinator.retained_logs.offset_known(
                    item.source_id or id_, source.gauge("offset_known", also_gone)
                ),
                offset_committed=_offset(
                    coordinator, item, failed_at, source.gauge("offset_committed", also_gone)
                ),
            )
        )
    return rows


def _indexed(coordinator: Coordinator, item: Item) -> tuple[int, int]:
    """Of a table that has the last message of each key: how many keys, and in how many bytes, when its
    changes were last folded into its state.  Of others nothing."""
    source = coordinator.catalog.state.items.get(item.source_id or "")
    if source is None or item.export is None:
        return 0, 0
    if not SOURCE_TYPES[source.ingestion.source_type].snapshots_are_changes(item.export):
        return 0, 0
    state = coordinator.ledger.read_plan(item.collection_id, TIMESTAMP_END - 1).state
    return sum(file.rows for file in state), sum(file.bytes for file in state)


def _offset(coordinator: Coordinator, item: Item, failed_at: int | None, of_source: int | None) -> int | None:
    """How far upstream an item has been read: as far as its source, unless it is not filled or has ended."""
    if item.source_id is None:
        return of_source
    if item.collection_id not in coordinator.controller.hydrated:
        return None
    if failed_at is None:
        return of_source
    binding = coordinator.ledger.binding_at(item.source_id, failed_at - 1)
    if binding is None:
        return None
    source_type = SOURCE_TYPES[coordinator.catalog.state.items[item.source_id].ingestion.source_type]
    return source_type.offset(source_type.frontier_from_json(binding[1]))


def _cluster_of(state: CatalogState, item: Item) -> Cluster | None:
    """The cluster that keeps an item up to date; None of plain tables."""
    if item.source_id is not None:
        keeper = state.items[item.source_id]
    else:
        keeper = state.ingestion_of(item) if item.kind == "source" else item
    return state.clusters.get(keeper.cluster_id or "")


def replica_of(state: CatalogState, item: Item) -> str | None:
    """The replica that keeps an item up to date; None while its cluster has none, and of plain tables."""
    cluster = _cluster_of(state, item)
    return None if cluster is None else next(iter(replica_ids(cluster)), None)


def replica_then(state: CatalogState, item: Item) -> str | None:
    """The replica that kept an item up to date whenever its cluster had one: it stays on its cluster."""
    cluster = _cluster_of(state, item)
    return None if cluster is None else replica_id(cluster)


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a table or source is: readable from `since` on, complete below `upper`."""

    item: Item
    since: int
    upper: int
    failed: bool

    @property
    def plain(self) -> bool:
        return self.item.plain

    @property
    def hydrated(self) -> bool:
        """Whether a read gives rows."""
        return self.upper > 0 and not self.failed

    def lag_ms(self, now_ms: int) -> int | None:
        """How far it is behind the clock; None while it cannot be read, and 0 when it is finished."""
        if not self.upper:
            return None
        return 0 if self.upper == TIMESTAMP_END else max(0, now_ms - self.upper)


def standings(coordinator: Coordinator) -> Sequence[Standing]:
    """Of every table and source; a legacy one stands where its progress relation does."""
    state = coordinator.catalog.state
    rows = []
    for item in state.items.values():
        kept = state.ingestion_of(item) if item.kind == "source" and not item.stores else item
        if kept.stores or kept.ingests:
            upper = coordinator.reads.complete_until(kept)
            if upper:
                coordinator.reads.start_since(kept)
            since = coordinator.holds.since(kept.collection_id)
            rows.append(Standing(item, since, upper, coordinator.reads.failed_at(kept) is not None))
    return rows


def _frontiers(coordinator: Coordinator) -> Sequence[f.Frontiers]:
    now = coordinator.oracle.closed + 1
    rows = []
    for at in standings(coordinator):
        write = now if at.plain else None if at.upper == TIMESTAMP_END else at.upper
        rows.append(f.Frontiers(at.item.id, at.since, write))
    return rows


def _upstream_logs(coordinator: Coordinator) -> Sequence[f.UpstreamLog]:
    return [
        f.UpstreamLog(
            id_,
            m.retained.state,
            m.retained.held_bytes,
            m.retained.left_bytes,
            m.retained.limit_bytes,
            m.at_ms,
        )
        for id_, m in coordinator.retained_logs.measured.items()
    ]


def _hydration(coordinator: Coordinator) -> Sequence[f.HydrationStatus]:
    state = coordinator.catalog.state
    return [
        f.HydrationStatus(at.item.id, replica_of(state, at.item), at.hydrated)
        for at in standings(coordinator)
    ]


def lags(coordinator: Coordinator) -> Sequence[f.LagEvent]:
    """How far everything is behind the clock now."""
    now_ms, state = coordinator.clock.now_ms(), coordinator.catalog.state
    return [
        f.LagEvent(at.item.id, at.lag_ms(now_ms), now_ms, replica_of(state, at.item))
        for at in standings(coordinator)
    ]


def object_numbers(coordinator: Coordinator) -> Sequence[ObjectNumbers]:
    """Sources and tables for metrics, under the names that they have now."""
    now_ms, state = coordinator.clock.now_ms(), coordinator.catalog.state
    statuses = coordinator.controller.health.statuses
    found = []
    for at in standings(coordinator):
        if at.plain:
            continue
        fed = at.item.source_id is not None
        ingestion = state.items[at.item.source_id] if at.item.source_id else state.ingestion_of(at.item)
        status = statuses.get(at.item.collection_id if fed else ingestion.id)
        lag_ms = at.lag_ms(now_ms)
        found.append(
            ObjectNumbers(
                at.item.id,
                coordinator.full_name(at.item),
                "table" if fed else "source",
                coordinator.full_name(state.named_source(ingestion.id)),
                "created" if status is None else status.status,
                at.hydrated,
                None if lag_ms is None else lag_ms / 1000,
            )
        )
    return found


def _value_errors(coordinator: Coordinator, asking: SqlSession | None) -> Sequence[f.ValueErrorRow]:
    """Keys and values are parts of rows: those are shown to who may read their tables."""
    return [
        row
        for row in coordinator.value_errors.shown()
        if asking is not None and has(asking.authority, asking.who, Need("SELECT", ("item", row.table_id)))
    ]


def _sessions(coordinator: Coordinator, asking: SqlSession | None) -> Sequence[f.SessionRow]:
    return [_session(coordinator, session, asking) for session in coordinator.sessions.values()]


def _session(coordinator: Coordinator, session: SqlSession, asking: SqlSession | None) -> f.SessionRow:
    """What somebody runs is shown to members of their role; where subscriptions share a read, to nobody."""
    member = Need("MEMBER", ("role", session.role_id))
    shown = asking is not None and has(asking.authority, asking.who, member)
    host, _, port = session.address.rpartition(":")
    began_at_ms = None if session.transaction is None else session.transaction.began_at_ms
    return f.SessionRow(
        session.session_id,
        session.backend_pid,
        session.user,
        session.settings.get("database"),
        session.settings.get("application_name"),
        host or None,
        session.connected_at_ms,
        session.active,
        session.status,
        session.query if shown else "<insufficient privilege>",
        session.query_started_at_ms,
        session.state_changed_at_ms,
        session.query_started_at_ms if session.active and began_at_ms is None else began_at_ms,
        int(port) if port.isdecimal() else -1,
        coordinator.advisory_locks.waits(session.backend_pid),
    )


def _settings(session: SqlSession) -> Sequence[f.Setting]:
    return [
        f.Setting(
            v.name,
            in_unit(v, value),
            v.description,
            "integer" if v.unit else v.kind,
            v.unit,
            in_unit(v, v.default),
            v.changeable,
        )
        for v, value in session.settings.all()
    ]


def _refusals(coordinator: Coordinator, session: SqlSession | None) -> Sequence[f.Refusal]:
    """Superusers see those of all, others their own."""
    found = coordinator.refusals.shown()
    everybodys = session is not None and session.who.superuser
    return [r for r in found if everybodys or (session is not None and r.user == session.user)]


def _replica_statuses(events: Iterable[ReplicaEvent]) -> Sequence[f.ReplicaStatus]:
    return [f.ReplicaStatus(e.replica_id, e.status, e.reason, e.at_ms) for e in events]


def storage_usage(coordinator: Coordinator) -> Sequence[f.StorageUsage]:
    """All files of each object: its rows, its history, and what it will be when columns are added."""
    now_ms, sizes = coordinator.clock.now_ms(), coordinator.ledger.file_bytes()
    taken = {item.id: 0 for item in coordinator.catalog.state.items.values() if item.stores}
    for id_, item in coordinator.catalog.state.collections().items():
        if item.id in taken:
            taken[item.id] += sizes.get(id_, 0)
    return [f.StorageUsage(id_, size, now_ms) for id_, size in taken.items()]


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


def _locks(coordinator: Coordinator) -> Sequence[f.LockRow]:
    return [
        f.LockRow(lock.key[0], lock.key[1:], lock.pid, lock.exclusive, granted)
        for lock, granted in coordinator.advisory_locks.shown()
    ]

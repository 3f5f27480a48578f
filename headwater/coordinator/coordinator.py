"""The coordinator: the parts of the environment, and what they do together.

    catalog     what should be          (durable)
    ledger      what is                 (durable, shared with clusters)
    controller  makes the second follow the first

After every change of the catalog, and at start, `converge` tells the controller
everything that is wanted.  So there is one path for creating, altering, dropping and
restarting: state what should be.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import structlog

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.snapshot import SessionNames
from headwater.catalog.state import CatalogState, Item, replica_ids
from headwater.catalog.store import MZ_SYSTEM, CatalogStore
from headwater.catalog.updates import CatalogVersionIs, DropItem, Redefine, Update
from headwater.coordinator import operator, system
from headwater.coordinator.advisory import AdvisoryLocks
from headwater.coordinator.beside import Beside
from headwater.coordinator.carrying import inputs_below, readers_of
from headwater.coordinator.completion import to_the_end
from headwater.coordinator.ddl import DdlScope, Outcome, StagedDdl
from headwater.coordinator.engine import Engine
from headwater.coordinator.feed import Feed
from headwater.coordinator.hubs import Hubs
from headwater.coordinator.memory import Accounts
from headwater.coordinator.patience import patiently
from headwater.coordinator.read import PreparedRead, Reads
from headwater.coordinator.recency import Recency
from headwater.coordinator.refusals import Refusals
from headwater.coordinator.retained_logs import RetainedLogs
from headwater.coordinator.sampling import Sampling
from headwater.coordinator.session import SqlSession
from headwater.coordinator.source_details import ingestion_of, secrets_of
from headwater.coordinator.switching import turn
from headwater.coordinator.tables import Meant, Seen, TableWrites, WriteConflict, renamed_since
from headwater.coordinator.timestamps import Hold, Holds, Oracle
from headwater.coordinator.upstreams import Upstreams
from headwater.coordinator.value_errors import ValueErrors
from headwater.coordinator.variables import beginnings_of
from headwater.coordinator.waiting import Waits
from headwater.coordinator.webhooks import Webhooks
from headwater.coordinator.widening import Widenings
from headwater.core.clock import Clock
from headwater.core.errors import HeadwaterError, TransientError, UserError
from headwater.core.limits import COMPACTION_CHECK_S, METADATA_TRY_MS_MAX, ORPHAN_CHECK_S, SWEEP_INTERVAL_S
from headwater.core.protocol import Status
from headwater.core.relation import Relation
from headwater.core.time import TIMESTAMP_END
from headwater.persist.ledger import TABLES, Accepted, Ledger
from headwater.persist.secrets import SecretStore
from headwater.persist.store import DataStore
from headwater.sql.select.plan.nodes import Query
from headwater.storage.controller import Controller
from headwater.storage.loops import end_loops, keep_running

log = structlog.get_logger("coordinator")

_FLOOR_SETTING = "oracle_floor"
_STATISTICS_SETTING = "statistics"
_HISTORY_SETTING = "status_history"
_REPLICAS_SETTING = "replica_history"
_REFUSALS_SETTING = "refusals"


class Coordinator:
    """Implements `api.Sessions`; belongs to one event loop."""

    def __init__(
        self,
        store: DataStore,
        catalog: CatalogStore,
        ledger: Ledger,
        controller: Controller,
        engine: Engine,
        clock: Clock,
        oracle: Oracle,
    ) -> None:
        self.store = store
        self.catalog = catalog
        self.ledger = ledger
        self.controller = controller
        self.engine = engine
        self.clock = clock
        self.oracle = oracle
        self.holds = Holds()
        self.accounts = Accounts()
        self.refusals = Refusals(clock)
        self.beside = Beside()
        self.reads = Reads(self)
        self.waits = Waits(self)
        self.tables = TableWrites(ledger, store, oracle)
        self.hubs = Hubs(self)
        self.secrets = SecretStore(store)
        self.upstreams = Upstreams(self.secrets.get)
        self.recency = Recency(self)
        self.retained_logs = RetainedLogs(self)
        self.value_errors = ValueErrors(self)
        self.widenings = Widenings(self)
        self.sampling = Sampling(self)
        self.webhooks = Webhooks(self)
        self.sessions: dict[int, SqlSession] = {}
        self.advisory_locks = AdvisoryLocks()
        self.subscriptions: dict[int, Feed] = {}
        self.subscription_numbers = count(1)
        self.environment_id = "headwater-local"
        self.started_at_ms = clock.now_ms()
        self.named_ids: dict[str, str] = {}  # of legacy sources, by progress relation, also when dropped
        self._next_pid = 1
        self._pending_drops: set[str] = set()
        self._unstated = False  # the catalog has changed, and `converge` has failed since
        self._dropped_secrets: set[str] = set()  # whose values a source that is going may still need
        self._tasks: list[asyncio.Task[None]] = []
        controller.on_status = self._say_failed

    # Start and end

    def start(self) -> None:
        """State everything wanted; what the ledger has beyond that is dropped."""
        self.catalog.patience_ms = METADATA_TRY_MS_MAX
        saved = self.catalog.get_setting(_STATISTICS_SETTING)
        if saved is not None:
            self.controller.cluster_pid, numbers = json.loads(saved)
            self.controller.health.restore_numbers(numbers)
        history = self.catalog.get_setting(_HISTORY_SETTING)
        if history is not None:
            self.controller.health.restore_history(json.loads(history))
        replicas = self.catalog.get_setting(_REPLICAS_SETTING)
        if replicas is not None:
            self.controller.replicas.restore(json.loads(replicas))
        refusals = self.catalog.get_setting(_REFUSALS_SETTING)
        if refusals is not None:
            self.refusals.restore(json.loads(refusals))
        for id_, collection in self.ledger.collections().items():
            if collection.hydrated:  # until then nobody knows from when on it can be read
                self.holds.start(id_, collection.since)
                self.controller.hydrated.add(id_)
        for id_, writer in self.ledger.writers().items():
            # What is durable can be read before the cluster is there.
            if id_ != TABLES and writer.ts:
                self.controller.uppers[id_] = TIMESTAMP_END if writer.frontier is None else writer.ts + 1
        wanted = set(self.catalog.state.items)
        # A source that is gone may still have something upstream: its secrets are needed until that is away.
        needed = secrets_of(list(self.ledger.upstreams().values()))
        self.secrets.sweep(wanted | needed)
        self._dropped_secrets = needed - wanted
        self._find_orphans()
        self.converge()
        for name, loop in (
            ("housekeeping", self._housekeeping),
            ("widenings", self.widenings.run),
            ("retained-logs", self.retained_logs.run),
            ("value-errors", self.value_errors.run),
            ("webhooks", self.webhooks.run),
        ):
            self._tasks.append(asyncio.create_task(keep_running(name, loop)))

    async def stop(self) -> None:
        """End what `start` began, the cluster too, and keep what the next process wants to know."""
        await end_loops(self._tasks)
        try:
            await self._keep(_FLOOR_SETTING, str(self.oracle.closed))
            await self._keep(_HISTORY_SETTING, self._history())
            await self._keep(_REFUSALS_SETTING, self.refusals.to_json())
            await self._keep(_STATISTICS_SETTING, self._numbers())
        except HeadwaterError as error:
            log.error("the last statistics are lost", error=str(error))
        await self.controller.stop()
        try:
            await self._keep(_REPLICAS_SETTING, self._replicas())
        except HeadwaterError as error:
            log.error("the end of the replicas' history is lost", error=str(error))

    def close(self) -> None:
        self.upstreams.close()
        self.recency.close()
        self.retained_logs.close()
        self.engine.close()
        self.beside.close()

    def _say_failed(self, status: Status) -> None:
        """A line of the log for what does not go on by itself; the cluster that noticed knows no names."""
        if status.status == "failed":
            item = self.catalog.state.collections().get(status.id)
            name = status.id if item is None else self.full_name(item)
            hint = status.hint if item is None or status.hint is None else self.named_in(status.hint, item)
            kind = "source" if item is not None and item.ingests else "table"
            log.error("failed for good", **{kind: name}, id=status.id, error=status.error, hint=hint)

    # What the next process wants to know

    def _numbers(self) -> str:
        return json.dumps([self.controller.cluster_pid, self.controller.health.numbers_to_json()])

    def _history(self) -> str:
        return json.dumps(self.controller.health.history_to_json())

    def _replicas(self) -> str:
        return json.dumps(self.controller.replicas.to_json())

    async def _keep(self, name: str, value: str) -> None:
        await patiently(lambda: asyncio.to_thread(self.catalog.put_setting, name, value))

    async def _housekeeping(self) -> None:
        """Let history go where nobody needs it, drop what nobody reads, keep marks and numbers."""
        since_s = looked_s = self.clock.monotonic_s()
        closed, recorded = self.oracle.closed, self.controller.health.recorded
        seen = -1
        refused = 0
        failed = ""
        while True:
            await asyncio.sleep(COMPACTION_CHECK_S)
            try:
                if self.clock.monotonic_s() - looked_s > ORPHAN_CHECK_S:
                    looked_s = self.clock.monotonic_s()
                    self._find_orphans()
                    if (now := self.refusals.recorded) != refused:
                        await self._keep(_REFUSALS_SETTING, self.refusals.to_json())
                        refused = now
                self._unstated |= self.widenings.release()
                self._state_again()
                self._drop_released()
                self._delete_secrets()
                self._compact()
                now_s = self.clock.monotonic_s()
                if now_s - since_s > SWEEP_INTERVAL_S:
                    since_s = now_s
                    self._compact_bindings()
                    await self._keep(_STATISTICS_SETTING, self._numbers())
                if (now := self.oracle.closed) != closed:
                    await self._keep(_FLOOR_SETTING, str(now))
                    closed = now
                if (now := self.controller.health.recorded) != recorded:
                    await self._keep(_HISTORY_SETTING, self._history())
                    recorded = now
                if (now := self.controller.replicas.recorded) != seen:
                    await self._keep(_REPLICAS_SETTING, self._replicas())
                    seen = now
                await self.sampling.take()
            except HeadwaterError as error:
                # A full disk is no reason to stop: the next turn tries again.
                if str(error) != failed:
                    failed = str(error)
                    log.warning("housekeeping failed", error=failed)
            else:
                failed = ""

    # Convergence

    def converge(self) -> None:
        """Tell the controller all that the catalog wants."""
        state = self.catalog.state
        for item in state.items.values():
            if item.ingests:
                if item.parent_id is not None and not state.items[item.parent_id].stores:
                    self.named_ids[item.id] = item.parent_id
                exports = self.widenings.exports_of(item.id, state.exports_of(item.id))
                wanted = ingestion_of(state, item, exports)
                self.controller.run_ingestion(wanted, system.replica_then(state, item))
            elif item.plain:
                if self.ledger.collection(item.id) is None:
                    self.tables.create(item.id, item.relation)
                collection = self.ledger.collection(item.id)
                self.holds.start(item.id, collection.since if collection is not None else 0)
                self.controller.maintain_table(item.id)
        there = [id_ for cluster in state.clusters.values() for id_ in replica_ids(cluster)]
        self.controller.replicas.state(there, self.clock.now_ms())
        self._drop_released()

    def _find_orphans(self) -> None:
        """What the ledger has and the catalog has not is dropped.

        Also later than at start: a cluster that was told of a table before it was dropped may let it
        join after we have looked.
        """
        kept, known = self.catalog.state.collections(), self._pending_drops | self.controller.undropped
        there = self.ledger.collections().keys() | self.ledger.writers().keys() - {TABLES}
        self._pending_drops |= {
            id_ for id_ in there - known if id_ not in kept and not self.widenings.lingers(id_)
        }

    def _drop_released(self) -> None:
        """Drops wait for those who still read: files live as long as somebody may need them."""
        ready = [
            id_
            for id_ in self._pending_drops
            if not (self.holds.held(id_) or self.tables.writing(id_) or self.widenings.lingers(id_))
        ]
        if ready:
            self._pending_drops.difference_update(ready)
            for id_ in ready:
                self.holds.forget(id_)
                self.tables.forget(id_)
            self.controller.drop(ready)

    def _delete_secrets(self) -> None:
        """Values of dropped secrets stay until no source needs them to leave its upstream."""
        if self._dropped_secrets:
            needed = secrets_of(list(self.ledger.upstreams().values()))
            for id_ in self._dropped_secrets - needed:
                self.secrets.delete(id_)
            self._dropped_secrets &= needed

    def _compact(self) -> None:
        allowed: dict[str, int] = {}
        for id_, states in list(self.controller.superseded.items()):
            item = self.catalog.state.collections().get(id_)
            if item is None or not states:
                self.controller.superseded.pop(id_, None)
                continue
            if item.collection_id != id_:
                continue  # one with more columns, which nobody reads yet
            self.reads.start_since(item)
            since = self.holds.raise_since(id_, self._retained(item))
            # Not `since` itself: a fold may have made a later state that nobody knows of yet.
            passed = [s for s in states if s <= since and not self.holds.uses_before(id_, s)]
            if passed:
                allowed[id_] = max(passed)
        self.controller.allow_compaction(allowed)

    def _compact_bindings(self) -> None:
        """A source's bindings are needed as long as any of its tables can be read there."""
        state = self.catalog.state
        allowed = {}
        for item in state.items.values():
            if item.ingests and self.reads.upper(item):
                tables = state.exports_of(item.id)
                for each in (item, *tables):
                    self.reads.start_since(each)
                wanted = min([self._retained(item), *(self.holds.since(t.collection_id) for t in tables)])
                if wanted > 0:
                    allowed[item.id] = self.holds.raise_since(item.id, wanted)
        self.controller.allow_compaction(allowed)

    def _retained(self, item: Item) -> int:
        """The earliest timestamp that the item's RETAIN HISTORY asks to keep."""
        upper = self.reads.upper(item)
        newest = self.oracle.floor if upper == TIMESTAMP_END else upper - 1
        return max(0, newest - item.retain_history_ms)

    # DDL

    def ddl_scope(self, session: SqlSession) -> DdlScope:
        store = self.catalog

        def new_item() -> tuple[str, int]:
            return store.allocate_ids("item")[0], store.allocate_oids()[0]

        staged = session.transaction.staged if session.transaction is not None else None
        version = session.state.version if staged is None else staged.base.version
        return DdlScope(
            session.state,
            session.names(),
            session.facts(),
            session.backend_pid,
            self.clock.now_ms(),
            new_item,
            lambda kind: store.allocate_ids(kind)[0],  # type: ignore[arg-type]
            lambda: store.allocate_oids()[0],
            f"{version + 1}-{session.session_id[:8]}",
            lambda id_: self.ledger.failure(id_) or self.retained_logs.failure(id_),
            session.internal,
            who=session.who,
        )

    async def carry_out(self, session: SqlSession, outcome: Outcome) -> None:
        """Commit a DDL statement, or stage it in the session's block."""
        if session.transaction is not None and session.transaction.staged is not None:
            for requirement in outcome.requirements:
                session.transaction.staged.check(requirement)
            session.transaction.staged.add(outcome)
            return
        if not outcome.updates:
            return
        before = self.catalog.state
        changes = self._dated(outcome.updates)
        after = self._with_values(
            outcome.secret_values,
            lambda: self.catalog.transact(outcome.requirements, changes, by=session),
        )
        await self._committed(before, after, changes)

    async def commit_staged(self, staged: StagedDdl, session: SqlSession) -> None:
        """Everything of a DDL block at once."""
        before = self.catalog.state
        changes = self._dated(staged.rebased(before))
        version = [CatalogVersionIs(before.version)]
        after = self._with_values(
            staged.secret_values, lambda: self.catalog.transact(version, changes, by=session)
        )
        await self._committed(before, after, changes)

    def _dated(self, changes: Sequence[Update]) -> list[Update]:
        """The changes that are about to be committed, with the timestamp from which on relations mean
        something else: later than all at which anybody can have seen what they mean now."""
        state = self.catalog.state
        ids = readers_of(state, [id_ for u in changes if isinstance(u, Redefine) for id_ in u.ids])
        if not ids:
            return [u for u in changes if not isinstance(u, Redefine)]
        below = [state.items[id_] for id_ in inputs_below(state, ids)]
        at = max([self.oracle.closed, *map(self.reads.newest, below)]) + 1
        self.oracle.close(at - 1)  # nothing is written before it any more
        dated = [replace(u, ids=tuple(ids), at=at) if isinstance(u, Redefine) else u for u in changes]
        return dated

    def _with_values(self, values: Mapping[str, bytes], commit: Callable[[], CatalogState]) -> CatalogState:
        """A new secret's value is durable before the secret is, another value after the rest is.

        What a crash leaves of the first is swept at the next start; after a crash before the
        second the old value still holds, and nobody was told otherwise.
        """
        new = [id_ for id_ in values if id_ not in self.catalog.state.items]
        for id_ in new:
            self.secrets.put(id_, values[id_])
        try:
            after = commit()
        except UserError as error:
            # With a cause it was the disk's, and then nobody knows what is durable: left to the sweep.
            for id_ in new if error.__cause__ is None else ():
                self.secrets.delete(id_)
            raise
        for id_, value in values.items():
            if id_ not in after.items:
                self.secrets.delete(id_)
            elif id_ not in new:
                self.secrets.put(id_, value)
        return after

    async def change_catalog(self, changes: Sequence[Update]) -> None:
        """A change that nobody typed, for the catalog of this moment."""
        expected = CatalogVersionIs(self.catalog.state.version)

        async def changed() -> None:
            before = self.catalog.state
            after = self.catalog.transact([expected], changes, by=MZ_SYSTEM)
            await self._committed(before, after, changes)

        await patiently(changed)

    async def _committed(self, before: CatalogState, after: CatalogState, changes: Sequence[Update]) -> None:
        """These changes are durable.  Before anything else happens those who follow are told."""
        if self.subscriptions:
            news = turn(self, before, after, changes)
            for feed in list(self.subscriptions.values()):
                feed.changed(news)
                feed.check_rights()
        await to_the_end(self._changed(before, after))

    async def _changed(self, before: CatalogState, after: CatalogState) -> None:
        """The catalog is durable, so whoever changed it hears that: what fails now is made good later."""
        self._pending_drops |= before.collections().keys() - after.collections().keys()
        self._dropped_secrets |= {
            id_ for id_, item in before.items.items() if item.kind == "secret" and id_ not in after.items
        }
        self._unstated = True
        try:
            self._delete_secrets()
            self._state_again()
        except HeadwaterError as error:
            log.error("the catalog was changed, and what follows from that is put off", error=str(error))
        for session in self.sessions.values():
            session.refresh_settings()
            session.settings.identify(session.user, session.who.superuser)
        await self.controller.notify()

    def _state_again(self) -> None:
        """Converge, if the last attempt after a change has failed."""
        if self._unstated:
            self.converge()
            self._unstated = False

    # Writes

    async def commit_writes(
        self,
        writes: Mapping[str, tuple[Relation, list[pa.Table]]],
        seen: Mapping[str, Seen] = MappingProxyType({}),
        kept: frozenset[str] = frozenset(),
        meant: Mapping[str, Meant] = MappingProxyType({}),
        accepted: Mapping[str, Accepted] = MappingProxyType({}),
    ) -> None:
        """Rows of one or more tables at one timestamp, if all that was read for them is as it was.

        `kept` are tables that the caller keeps from others; `meant` says what those that a block has
        written to were called: rows do not go to a table that has another name by now.  Until its turn has
        come this can be cancelled; then it is too late, and nothing is left that could fail but the disk.
        """
        changes = {id_: (relation, pa.concat_tables(parts)) for id_, (relation, parts) in writes.items()}
        async with self.tables.turn(frozenset(changes), kept):
            there = self.catalog.state.collections()
            if not there.keys() >= changes.keys():
                raise UserError("the table was dropped while the statement ran", "42704")
            for id_ in changes.keys() & meant.keys():
                now = Meant(self.full_name(there[id_]), there[id_].redefined_at)
                if now != meant[id_]:
                    raise renamed_since(meant[id_], now)
            for id_, table in seen.items():
                if id_ not in there:
                    raise WriteConflict(table.name)
            self.tables.check_unchanged(seen)
            try:
                self._state_again()  # the ledger must know the tables
            except TransientError as error:
                raise UserError(str(error), "58030", hint=error.hint) from error
            await self.tables.append(changes, accepted)
        await to_the_end(self.controller.notify())

    # Reads

    def hold_domain(self, state: CatalogState, first: PreparedRead, backend_pid: int) -> Hold:
        """For a transaction that began in `state` with this read: what it may well read later stays readable.

        That is all tables of the schemas that it has read from.  Others can be read as long as their history
        reaches back so far, and are held from then on.
        """
        there = self.catalog.state.collections().keys() | self._pending_drops
        schemas = {item.schema_id for item in (*first.inputs.tables, *first.inputs.sources)}
        ids = [
            id_
            for id_, item in state.collections().items()
            if item.schema_id in schemas
            and item.temporary_pid in (None, backend_pid)
            and (id_ in there or self.widenings.lingers(id_))
            and self.reads.upper(item)
            and self.reads.start_since(item) <= first.ts
        ]
        return self.holds.acquire(ids, first.ts)

    async def constant(self, query: Query) -> Any:
        """The one value of a query that reads nothing, in Python's form of its stored type."""
        found = await self.reads.constants(query)
        return found.column(0)[0].as_py() if found.num_rows else None

    def system_facts(self) -> SystemFacts:
        return system.facts(self)

    def full_name(self, item: Item) -> str:
        """For messages; of something that was dropped together with its schema only its own name is left."""
        try:
            return SessionNames(self.catalog.state).full_name(item)
        except KeyError:
            return item.name

    def named_in(self, hint: str, item: Item) -> str:
        """A hint in which `{source}` stands for the source of an item."""
        state, id_ = self.catalog.state, item.source_id or item.id
        source = state.named_source(id_) if id_ in state.items else item
        return hint.replace("{source}", self.full_name(source))

    # Sessions

    async def open_session(
        self, user: str, settings: dict[str, str], client_address: str, internal: bool
    ) -> SqlSession:
        role = operator.admitted(self.catalog.state, self.sessions.values(), user, internal)
        pid, self._next_pid = self._next_pid, self._next_pid + 1
        session = SqlSession(self, pid, role, client_address, internal)
        session.begin_with({**beginnings_of(role.settings), **settings})
        session.settings.identify(user, session.who.superuser)
        self.sessions[pid] = session
        return session

    async def close_session(self, session: SqlSession) -> None:
        self.sessions.pop(session.backend_pid, None)
        await patiently(lambda: self.drop_temporary(session))

    async def drop_temporary(self, session: SqlSession) -> None:
        """Temporary objects go with their session."""
        items = self.catalog.state.temporary_items_of(session.backend_pid)
        if items:
            before = self.catalog.state
            order = before.drop_order([item.id for item in items])
            changes = [DropItem(id_) for id_ in order]
            after = self.catalog.transact([], changes, by=session)
            await self._committed(before, after, changes)

    def cancel(self, backend_pid: int, secret_key: int) -> None:
        session = self.sessions.get(backend_pid)
        if session is not None and session.secret_key == secret_key:
            session.cancel()


def initial_floor(catalog: CatalogStore, ledger: Ledger) -> int:
    """The oracle's floor at start: nothing that was ever shown, written or promised lies beyond it."""
    saved = int(catalog.get_setting(_FLOOR_SETTING) or 0)
    return max(saved, catalog.state.redefined_at(), *(state.ts for state in ledger.writers().values()))

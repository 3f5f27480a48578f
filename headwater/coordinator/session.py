"""One client's session: settings, transaction, prepared statements, cursors.

    parse    -> statements
    prepare  -> names and types resolved, so that it can be described
    execute  -> the statement's file in sequence/, inside the transaction's rules

Everything that may take long runs as a task that `cancel` and the statement timeout
can end; what ends that way is told 57014.  Parsing and planning are done beside the event loop when
they take long (beside.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from headwater.catalog.builtin.facts import SystemFacts
from headwater.catalog.rights import Need, Who, check, check_reads, role_as
from headwater.catalog.snapshot import SessionNames
from headwater.catalog.state import CatalogState, Role
from headwater.coordinator import api, dispatch, memory, system
from headwater.coordinator.api import (
    Notice,
    ParsedStatement,
    Prepared,
    Result,
    TransactionStatus,
)
from headwater.coordinator.beside import at_once
from headwater.coordinator.ddl import DdlScope, StagedDdl
from headwater.coordinator.memory import Account, Collected
from headwater.coordinator.patience import patiently
from headwater.coordinator.prepared import PreparedStatements
from headwater.coordinator.resting import Resting, Rows
from headwater.coordinator.sequence.cursors import OpenCursor
from headwater.coordinator.showing import relation_text
from headwater.coordinator.timestamps import Isolation
from headwater.coordinator.transaction import Class, Savepoint, Transaction
from headwater.coordinator.variables import SEVERITIES, VARIABLES, Settings, duration_s, limits_of
from headwater.coordinator.watched_sink import WatchedSink
from headwater.core.clock import secret_number, unique_name
from headwater.core.errors import UserError
from headwater.core.limits import PLAN_ATTEMPTS_MAX, WAIT_NOTICE_S
from headwater.core.names import SessionFacts
from headwater.core.relation import Column, shown_in
from headwater.core.types import SqlType
from headwater.formats.zones import working_zone
from headwater.sql.parse import parse_statements
from headwater.sql.select.plan.nodes import Query
from headwater.sql.statement import shown_text
from headwater.sql.statements.commit import Commit
from headwater.sql.statements.execute import Execute
from headwater.sql.statements.fetch import Fetch
from headwater.sql.statements.rollback import Rollback
from headwater.sql.statements.rollback_to import RollbackTo
from headwater.sql.statements.subscribe import Subscribe

if TYPE_CHECKING:
    from headwater.coordinator.coordinator import Coordinator

T = TypeVar("T")

_TIMEOUT = "canceling statement due to statement timeout"
_BY_NAME = (Execute, Fetch)
"""Statements that return what something else does, which may be another thing of the same name."""


class SqlSession:
    """Implements `api.Session`."""

    def __init__(
        self, coordinator: Coordinator, backend_pid: int, role: Role, address: str, internal: bool
    ) -> None:
        self.coordinator = coordinator
        self.backend_pid = backend_pid
        self.secret_key = secret_number(31)
        self.session_id = unique_name()
        self.user = role.name
        self.role_id = role.id
        self.address = address
        self.internal = internal
        self.connected_at_ms = coordinator.clock.now_ms()
        self.settings = Settings({})
        self.refresh_settings()
        self.statements = PreparedStatements()
        self.cursors: dict[str, OpenCursor] = {}
        self.collected = Collected()
        self.resting = Resting(coordinator.engine.scratch)
        self.transaction: Transaction | None = None
        self.query = ""  # the last one
        self._kind: type = type(None)  # of statement
        self.active = False  # it runs
        self.query_started_at_ms: int | None = None
        self.state_changed_at_ms = self.connected_at_ms
        self._notices: list[Notice] = []
        self._tell: Callable[[Notice], None] = self.notify
        self.end: Callable[[], None] = self.cancel  # hangs up
        self._told_waits = False
        self.pipeline = False
        self._undone: int | None = None
        self._several = False  # statements of one message are one transaction, from one COMMIT to the next
        self._running: asyncio.Task[Any] | None = None
        self._cancelled: str | None = None

    def refresh_settings(self) -> None:
        """Take what the server has now, and what limits the role."""
        state = self.coordinator.catalog.state
        role = state.roles.get(self.role_id)
        limits = {} if role is None else limits_of(role.settings)
        self.settings.refresh_system({**state.system_variables, **limits})

    def begin_with(self, values: Mapping[str, str]) -> None:
        """Take what a client asked for when it connected; it is told what it does not get."""
        refused = [(name, self.settings.start(name, value)) for name, value in values.items()]
        for name, error in refused:
            if error is not None:
                known = name.lower() in VARIABLES
                kept = f'The session has "{self.settings.get(name)}".' if known else "It is ignored."
                self.notify(Notice("WARNING", error.message, error.sqlstate, kept, error.hint))

    # What the protocol asks

    @property
    def status(self) -> TransactionStatus:
        if self.transaction is None or not self.transaction.explicit:
            return "I"
        return "E" if self.transaction.failed else "T"

    def patience_s(self) -> float | None:
        if self.status == "I":
            return None
        return duration_s(self.settings.get("idle_in_transaction_session_timeout")) or None

    def parameter_statuses(self) -> dict[str, str]:
        return self.settings.reported()

    def take_notices(self) -> list[Notice]:
        taken, self._notices = self._notices, []
        return taken

    def listen(self, tell: Callable[[Notice], None], end: Callable[[], None]) -> None:
        self._tell = tell
        self.end = end

    def notify(self, *notices: Notice) -> None:
        """Leave notices for the client, as far as it wants them."""
        self._notices += self._wanted(notices)

    def _wanted(self, notices: Iterable[Notice]) -> list[Notice]:
        least = SEVERITIES.index(str(self.settings.get("client_min_messages")))
        return [
            notice
            for notice in notices
            if notice.severity == "INFO" or SEVERITIES.index(notice.severity.lower()) >= least
        ]

    def _tell_waits(self, task: asyncio.Task[Any]) -> None:
        """Once for a statement: what it waits for, if that does not move."""
        if task.done() or self._told_waits:
            return
        reasons = self.coordinator.waits.reasons(task)
        self._told_waits = bool(reasons)
        for notice in self._wanted(reasons):
            self._tell(notice)
        if not reasons:
            asyncio.get_running_loop().call_later(WAIT_NOTICE_S, self._tell_waits, task)

    async def parse(self, text: str) -> tuple[ParsedStatement, ...]:
        self.resume()
        if (account := self.account) is not None:
            account.check_text(len(text))
        return await self._beside(
            lambda: tuple(ParsedStatement(p.statement, p.text, p.offset) for p in parse_statements(text))
        )

    async def prepare(
        self, parsed: ParsedStatement, parameter_types: tuple[SqlType | None, ...] = ()
    ) -> Prepared:
        if parsed.statement is None:
            return Prepared(parsed, (), None)
        self._kind = type(parsed.statement)
        self.check_usable(parsed.statement)
        described = await self._described(parsed, parameter_types)
        return replace(described, basis=self._basis())

    async def current(self, prepared: Prepared) -> Prepared:
        parsed, basis = prepared.parsed, self._basis()
        by_name = isinstance(parsed.statement, _BY_NAME)
        if parsed.statement is None or (basis is not None and basis == prepared.basis and not by_name):
            return prepared
        if self._running is None:
            self.resume()  # a message of its own, long after the one that prepared it
        again = await self._described(parsed, prepared.parameters)
        basis = self._basis()
        relied_on = prepared.described if by_name else prepared.told
        if relied_on and (again.columns, again.parameters) != (prepared.columns, prepared.parameters):
            raise api.other_columns()
        return replace(again, basis=basis, told=prepared.told, described=relied_on and prepared.described)

    async def _described(
        self, parsed: ParsedStatement, parameter_types: tuple[SqlType | None, ...]
    ) -> Prepared:
        made = at_once(lambda: self.describe(parsed, parameter_types))
        if made is not None:
            return made[0]
        return await self.cancellable(self.planned(lambda: self.describe(parsed, parameter_types)))

    async def _beside(self, work: Callable[[], T]) -> T:
        """What work makes that looks at nothing which others change; can be cancelled."""
        made = at_once(work)
        return (
            made[0] if made is not None else await self.cancellable(self.coordinator.beside.in_thread(work))
        )

    async def planned(self, plan: Callable[[], T]) -> T:
        """What `plan` makes of the catalog, made again when that has changed meanwhile.

        To be called by what runs in `cancellable`.
        """
        for _ in range(PLAN_ATTEMPTS_MAX):
            state = self.state
            made = await self.coordinator.beside.run(plan)
            if self.state is state:
                return made
        raise UserError(
            "the catalog was changed each time that the statement was planned",
            "40001",
            hint="Run the statement again.",
        )

    def _basis(self) -> object:
        """What names mean now; None if that may not be the same the next time it looks the same."""
        state, settings = self.state, self.settings
        if self.staging:
            return None
        return state.version, settings.get("database"), self.search_path, settings.get("timezone")

    async def execute(self, prepared: Prepared, arguments: tuple[str | None, ...] = ()) -> Result:
        statement = prepared.parsed.statement
        self._kind = type(statement)
        self.check_usable(statement)
        self.query, self.active = shown_text(statement, prepared.parsed.text), True
        self.resume()
        self.state_changed_at_ms = self.coordinator.clock.now_ms()
        if self._several and self.transaction is None:
            self.transaction = Transaction(explicit=False, began_at_ms=self.state_changed_at_ms)
            self.settings.begin()
        if self.transaction is not None:
            self.transaction.statement_count += 1
        prepared = await self.current(prepared)
        named = tuple(map(self._named, prepared.parameters, arguments))
        result = await self.cancellable(self.run(prepared, named))
        if result.batches is not None and not result.settled:
            if not isinstance(statement, Subscribe):
                self._let_rest(result, result.batches)
            result.batches = self._watched(result.batches)
            result.beside = lambda encode: self.cancellable(self.coordinator.beside.encode(encode))
        elif result.batches is not None:
            result.beside = self.coordinator.beside.encode
        if result.columns is not None:
            result.columns = shown_in(result.columns, self.zone)
        if result.copy_in is not None:
            result.copy_in.sink = WatchedSink(self.cancellable, result.copy_in.sink)
            result.copy_in.cancelled = lambda: self.cancellable(_for_ever())
        return result

    def _let_rest(self, result: Result, batches: AsyncIterator[Any]) -> None:
        """A result that may be left half read."""
        rows = batches if isinstance(batches, Rows) else self.resting.rows(batches)
        close = result.closed

        def closed() -> None:
            rows.close()
            close()

        result.batches, result.closed = rows, closed
        result.leave = lambda rest: self.cancellable(rows.leave(rest))

    def resume(self) -> None:
        self.query_started_at_ms = self.coordinator.clock.now_ms()
        self._cancelled = None
        self._told_waits = False

    def _named(self, type_: SqlType, argument: str | None) -> str | None:
        """An argument that is a relation or type is the oid that its name has here."""
        if argument is None or argument.isdecimal() or type_.kind not in ("regclass", "regtype"):
            return argument
        names = self.names()
        oid = names.regclass(argument) if type_.kind == "regclass" else names.type_oid(argument)
        if oid is None:
            what = "relation" if type_.kind == "regclass" else "type"
            raise UserError(f'{what} "{argument}" does not exist', "42P01" if what == "relation" else "42704")
        return str(oid)

    def describe(self, parsed: ParsedStatement, parameter_types: tuple[SqlType | None, ...]) -> Prepared:
        """What a statement takes and returns; also for a statement inside another (COPY, DECLARE)."""
        return dispatch.describe(self, parsed, parameter_types)

    async def run(self, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
        """Carry it out within whatever runs already."""
        return await dispatch.run(self, prepared, arguments)

    def cursor_columns(self, name: str) -> tuple[Column, ...] | None:
        cursor = self.cursors.get(name)
        return None if cursor is None else cursor.columns

    def told(self, error: UserError) -> None:
        self.coordinator.refusals.statement(error, self.user, self.address, self._kind)

    def begin_implicit(self, pipeline: bool = False) -> None:
        self._several, self.pipeline = True, pipeline

    async def finish(self, failed: bool) -> None:
        self.active, self.state_changed_at_ms = False, self.coordinator.clock.now_ms()
        self._several = self.pipeline = False
        transaction = self.transaction
        if transaction is not None and not transaction.explicit:
            try:
                if not failed:
                    await self.cancellable(self.end_transaction(commit=True))
            finally:
                if self.transaction is transaction:  # failed, or cancelled before it could begin
                    await self.end_transaction(commit=False)
        if self.transaction is None:
            self.collected.release()

    def cancel(self) -> None:
        self._stop("canceling statement due to user request")

    async def close(self) -> None:
        for cursor in list(self.cursors.values()):
            cursor.close()
        if self.transaction is not None:
            self.transaction.release()
        self.collected.release()
        self.statements.clear()
        self.coordinator.advisory_locks.end(self.backend_pid)
        await self.coordinator.close_session(self)

    # Transactions

    def check_usable(self, statement: object) -> None:
        if self.transaction is not None and self.transaction.failed:
            if isinstance(statement, Commit | Rollback | RollbackTo):
                return
            raise UserError(
                "current transaction is aborted, commands ignored until end of transaction block",
                "25P02",
                hint="ROLLBACK ends the block.",
            )

    @property
    def mark(self) -> int:
        return 0 if self.transaction is None else self.transaction.mark

    def fail(self) -> int:
        transaction = self.transaction
        if transaction is None:
            return 0
        transaction.fail()
        if transaction.savepoints:
            self.settings.go_back(transaction.savepoints[-1].settings)
            self.unlock_since(transaction.savepoints[-1].mark)
            return transaction.savepoints[-1].mark
        self.settings.undo()
        self.close_cursors()
        self.unlock_since(0)
        return 0

    def undo_to(self, savepoint: Savepoint) -> None:
        """ROLLBACK TO: what began after it is gone."""
        self.settings.go_back(savepoint.settings)
        self.unlock_since(savepoint.mark)
        for name in [name for name, cursor in self.cursors.items() if cursor.mark >= savepoint.mark]:
            self.cursors.pop(name).close()
        self._undone = savepoint.mark if self._undone is None else min(self._undone, savepoint.mark)

    def take_undone(self) -> int | None:
        undone, self._undone = self._undone, None
        return undone

    def enter(self, kind: Class) -> None:
        """The statement that runs is of this class."""
        if self.settings.get("transaction_read_only") == "on" and kind in ("write", "ddl", "single"):
            raise UserError("transaction in read-only mode", "25006", hint="BEGIN READ WRITE to write.")
        if self.transaction is not None:
            self.transaction.enter(kind)

    async def end_transaction(self, commit: bool) -> str:
        """Commit or roll back; returns the command tag."""
        transaction, self.transaction = self.transaction, None
        self._undone = 0
        self.close_cursors()
        if transaction is None:
            return "COMMIT" if commit else "ROLLBACK"
        committed = commit and not transaction.failed
        try:
            if committed and transaction.writes:
                await self.coordinator.commit_writes(
                    transaction.writes, transaction.seen, meant=transaction.meant
                )
            if committed and transaction.staged is not None and transaction.staged.updates:
                staged = transaction.staged
                await patiently(lambda: self.coordinator.commit_staged(staged, self))
        except BaseException:
            self.settings.end(False)
            raise
        finally:
            transaction.release()
            self.unlock_since(0)
        self.settings.end(committed)
        return "COMMIT" if committed else "ROLLBACK"

    def unlock_since(self, mark: int) -> None:
        """Let go of what was locked for the transaction from there on."""
        self.coordinator.advisory_locks.release_since(self.backend_pid, mark)

    def close_cursors(self) -> None:
        """Let go of all of them."""
        for cursor in self.cursors.values():
            cursor.close()
        self.cursors.clear()

    @property
    def isolation(self) -> Isolation:
        if self.settings.get("transaction_isolation") == "serializable":
            return "serializable"
        return "strict serializable"

    # What it may do

    @property
    def authority(self) -> CatalogState:
        """The catalog that says who may do what: the newest, whatever a block has read before."""
        return self.state if self.staging else self.coordinator.catalog.state

    @property
    def who(self) -> Who:
        """On whose behalf everything is done; the operator may do everything."""
        known = role_as(self.authority, self.role_id)
        return Who(self.role_id, self.user, self.internal or known.superuser)

    def allow(self, query: Query) -> None:
        """UserError 42501 if it may not read what a query names, or a view's owner what the view names."""
        who, authority = self.who, self.authority
        if not self.internal:
            check_reads(authority, who, query.named_ids)
            gone = query.named_ids - authority.items.keys()  # dropped since a block has read
            check_reads(self.state, who, gone)
            cluster = authority.cluster_named(self.settings.get("cluster"))
            if cluster is not None and not query.named_ids.isdisjoint(self.state.items):
                check(authority, who, [Need("USAGE", ("cluster", cluster.id))])

    # What planning needs

    @property
    def state(self) -> CatalogState:
        """The catalog as this session sees it: its own uncommitted DDL included, and after a read
        in a block as it was then."""
        if self.transaction is not None and self.transaction.staged is not None:
            return self.transaction.staged.state
        if self.transaction is not None and self.transaction.catalog is not None:
            return self.transaction.catalog
        return self.coordinator.catalog.state

    @property
    def search_path(self) -> tuple[str, ...]:
        parts = (part.strip().strip('"') for part in self.settings.get("search_path").split(","))
        return tuple(part for part in parts if part)

    @property
    def zone(self) -> str:
        """Whose clocks it goes by; empty for UTC."""
        return working_zone(self.settings.get("timezone"))

    def names(self) -> SessionNames:
        return SessionNames(self.state, self.settings.get("database"), self.search_path, self.backend_pid)

    def facts(self) -> SessionFacts:
        names = self.names()
        return SessionFacts(
            user=self.user,
            superuser=self.settings.get("is_superuser") == "on",
            database=self.settings.get("database"),
            search_path=tuple(name for name in self.search_path if names.find_schema((name,)) is not None),
            cluster=self.settings.get("cluster"),
            zone=self.zone,
            now_us=self.coordinator.clock.now_ms() * 1000,
            started_us=self.coordinator.started_at_ms * 1000,
            backend_pid=self.backend_pid,
            settings=tuple((variable.name, value) for variable, value in self.settings.all()),
            environment_id=self.coordinator.environment_id,
            position=lambda source, ts: self.coordinator.recency.position_at(self.names(), source, ts),
            known=self.names().known,
            show=lambda text: relation_text(self.names(), text),
        )

    def system_facts(self) -> SystemFacts:
        """What system relations show to this session."""
        return system.facts(self.coordinator, self)

    @property
    def staging(self) -> bool:
        """Whether DDL waits for the block's COMMIT."""
        return self.transaction is not None and self.transaction.staged is not None

    def secret_value(self, id_: str) -> bytes:
        """A secret's value as this session sees it: its own uncommitted DDL included."""
        staged = self.transaction.staged if self.transaction is not None else None
        value = None if staged is None else staged.secret_values.get(id_)
        return self.coordinator.secrets.get(id_) if value is None else value

    def ddl_scope(self) -> DdlScope:
        """For planning a DDL statement; inside a block, against the block's own copy."""
        if self.transaction is not None and self.transaction.staged is None:
            state = self.coordinator.catalog.state
            self.transaction.staged = StagedDdl(state, state)
        return self.coordinator.ddl_scope(self)

    # Cancelling

    async def cancellable(self, work: Coroutine[Any, Any, T]) -> T:
        """Run as a task that `cancel` or the statement timeout ends."""
        left_s = self._left_s()
        if left_s is not None and left_s <= 0 and self._cancelled is None:
            self._cancelled = _TIMEOUT
        if self._cancelled is not None:
            work.close()
            raise UserError(self._cancelled, "57014")
        outside = memory.current.set(self.account)
        task: asyncio.Task[T] = asyncio.ensure_future(work)  # it has the account from here
        memory.current.reset(outside)
        around, self._running = self._running, task
        waited = asyncio.get_running_loop().call_later(WAIT_NOTICE_S, self._tell_waits, task)
        timer = None
        if left_s is not None:
            timer = asyncio.get_running_loop().call_later(left_s, self._stop, _TIMEOUT)
        try:
            return await task
        except asyncio.CancelledError:
            if self._cancelled is None:
                task.cancel()
                raise
            raise UserError(self._cancelled, "57014") from None
        finally:
            if self._running is task:
                self._running = around
            waited.cancel()
            if timer is not None:
                timer.cancel()

    @property
    def account(self) -> Account | None:
        """Whose memory and whose turns its statements take; the operator's are not limited."""
        if self.internal:
            return None
        limit = self.settings.get("max_statement_memory")
        return self.coordinator.accounts.of(self.role_id, self.user, limit)

    def _left_s(self) -> float | None:
        """What is left of the statement's time; None if that is not limited."""
        names = ("statement_timeout",) if self.internal else ("statement_timeout", "max_statement_time")
        timeouts_s = [s for name in names if (s := duration_s(self.settings.get(name)))]
        if not timeouts_s or self.query_started_at_ms is None:
            return None
        return min(timeouts_s) - (self.coordinator.clock.now_ms() - self.query_started_at_ms) / 1000

    def _stop(self, reason: str) -> None:
        """Once for a statement: what is told to stop has something to put in order, and is let do that."""
        if self._cancelled is None:
            self._cancelled = reason
            if self._running is not None:
                self._running.cancel()

    async def _watched(self, batches: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """The same batches, each awaited so that it can be cancelled."""
        iterator = aiter(batches)

        async def step() -> Any:
            return await anext(iterator, None)

        try:
            while True:
                following = [await self.cancellable(step())]
                if following[0] is None:
                    return
                yield following.pop()  # and keep nothing: this may be gone on with much later, or never
        finally:
            close = getattr(batches, "aclose", None)
            if close is not None:
                await close()


async def _for_ever() -> None:
    await asyncio.get_running_loop().create_future()


_: type[api.Session] = SqlSession

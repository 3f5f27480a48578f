"""SET, RESET, SHOW of variables, DISCARD."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from headwater.coordinator.api import Notice, ParsedStatement, Prepared, Result
from headwater.coordinator.ddl import drop_temporary
from headwater.coordinator.patience import patiently
from headwater.coordinator.queries import batches_of
from headwater.coordinator.variables import find
from headwater.core.errors import UserError
from headwater.core.relation import Column
from headwater.core.types import TEXT, SqlType
from headwater.sql.statements.reset import Reset
from headwater.sql.statements.set_transaction import SetTransaction
from headwater.sql.statements.set_variable import SetVariable
from headwater.sql.statements.show_variable import ShowVariable

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession


async def run_set(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Set a session variable."""
    statement = prepared.parsed.statement
    if isinstance(statement, SetVariable):
        value = None if statement.values is None else ", ".join(statement.values)
        set_variable(session, statement.variable, value, statement.local)
        _warn_missing(session, find(statement.variable).name)
        if statement.local:
            _end_without_block(session, "SET LOCAL")
    return Result(lambda _: "SET")


def set_variable(session: SqlSession, name: str, value: str | None, local: bool) -> None:
    """As SET does it: a transaction that has read as one that does not write stays so."""
    begun = session.transaction is not None and session.transaction.kind is not None
    read_only = session.settings.get("transaction_read_only")
    session.settings.set(name, value, local)
    if begun and read_only == "on" and session.settings.get("transaction_read_only") == "off":
        raise UserError("transaction read-write mode must be set before any query", "25001")


def _end_without_block(session: SqlSession, what: str) -> None:
    """What holds until the end of the transaction ends at once if there is none."""
    if session.transaction is None:
        session.settings.end(True)
        session.notify(Notice("WARNING", f"{what} can only be used in transaction blocks", "25P01"))


def _warn_missing(session: SqlSession, name: str) -> None:
    """A name that does not exist may be set, but one should know."""
    if session.settings.get("current_object_missing_warnings") != "on":
        return
    value, state = session.settings.get(name), session.state
    missing = (name == "cluster" and state.cluster_named(value) is None) or (
        name == "database" and state.database_named(value) is None
    )
    if missing:
        session.notify(Notice("NOTICE", f'{name} "{value}" does not exist', "00000"))


async def run_set_transaction(
    session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]
) -> Result:
    """Set modes of the block or of the session."""
    statement = prepared.parsed.statement
    if isinstance(statement, SetTransaction):
        for variable, value in statement.modes.variables():
            if statement.session:
                session.settings.set(f"default_{variable}", value)
            else:
                set_variable(session, variable, value, local=True)
        if not statement.session:
            _end_without_block(session, "SET TRANSACTION")
    return Result(lambda _: "SET")


async def run_reset(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """A variable back to its default, or all."""
    statement = prepared.parsed.statement
    if isinstance(statement, Reset) and statement.variable is not None:
        set_variable(session, statement.variable, None, local=False)
    else:
        session.settings.reset_all()
    return Result(lambda _: "RESET")


async def run_discard(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Forget what the session has gathered."""
    what = getattr(prepared.parsed.statement, "what", "all")
    if what == "all":
        await _leave_block(session, "DISCARD ALL")
        session.close_cursors()
        session.settings.reset_all()
        session.statements.clear()
        session.coordinator.advisory_locks.release_session(session.backend_pid)
    if what in ("all", "temp") and session.state.temporary_items_of(session.backend_pid):
        if session.transaction is not None:
            session.enter("ddl")
        await patiently(lambda: session.coordinator.carry_out(session, drop_temporary(session.ddl_scope())))
    return Result(lambda _: f"DISCARD {what.upper()}")


async def _leave_block(session: SqlSession, what: str) -> None:
    """For what cannot be undone: not in a block, but the first statement of a pipeline is in none yet."""
    transaction = session.transaction
    if transaction is None:
        return
    if transaction.explicit or not session.pipeline:
        raise UserError(
            f"{what} cannot run inside a transaction block", "25001", hint="COMMIT or ROLLBACK first."
        )
    if transaction.statement_count > 1:
        raise UserError(
            f"{what} cannot be executed within a pipeline", "25001", hint="Send it by itself, after a Sync."
        )
    await session.end_transaction(commit=True)


async def run_unlisten(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Nobody listens to anything here, so there is nothing to stop."""
    return Result(lambda _: "UNLISTEN")


def describe_show(
    session: SqlSession, parsed: ParsedStatement, parameter_types: tuple[SqlType | None, ...]
) -> Prepared:
    """One column, or three for ALL."""
    statement = parsed.statement
    if isinstance(statement, ShowVariable) and statement.variable is not None:
        return Prepared(parsed, (), (Column(find(statement.variable).name, TEXT),))
    return Prepared(parsed, (), tuple(Column(name, TEXT) for name in ("name", "setting", "description")))


async def run_show(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """The values of this moment."""
    columns = prepared.columns or ()
    if len(columns) == 1:
        rows = [[session.settings.get(columns[0].name)]]
    else:
        rows = [[v.name, value, v.description] for v, value in session.settings.all()]
    arrays = [pa.array([row[i] for row in rows], pa.string()) for i in range(len(columns))]
    batch = pa.RecordBatch.from_arrays(arrays, names=[c.name for c in columns])
    return Result(lambda n: f"SHOW {n}" if len(columns) > 1 else "SHOW", columns, batches_of(batch))

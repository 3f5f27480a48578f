"""BEGIN, COMMIT, ROLLBACK, and savepoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.coordinator.api import Notice, Prepared, Result
from headwater.coordinator.transaction import Transaction
from headwater.core.errors import UserError
from headwater.sql.statements.begin import Begin
from headwater.sql.statements.lock_table import LockTable
from headwater.sql.statements.release_savepoint import ReleaseSavepoint
from headwater.sql.statements.rollback_to import RollbackTo
from headwater.sql.statements.savepoint import Savepoint

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession


async def run_begin(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Inside a message of several statements the block takes over what has been done so far."""
    statement = prepared.parsed.statement
    if session.transaction is not None and session.transaction.explicit:
        session.notify(Notice("WARNING", "there is already a transaction in progress", "25001"))
        return Result(lambda _: "BEGIN")
    if session.transaction is None:
        session.transaction = Transaction(explicit=True, began_at_ms=session.coordinator.clock.now_ms())
    session.transaction.explicit = True
    session.settings.begin()
    if isinstance(statement, Begin):
        for variable, value in statement.modes.variables():
            session.settings.set(variable, value, local=True)
    return Result(lambda _: "BEGIN")


async def run_commit(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """End the block; a failed one is rolled back."""
    if session.transaction is None or not session.transaction.explicit:
        session.notify(Notice("WARNING", "there is no transaction in progress", "25P01"))
    tag = await session.end_transaction(commit=True)
    return Result(lambda _: tag)


async def run_rollback(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """End the block as if it had not been."""
    if session.transaction is None or not session.transaction.explicit:
        session.notify(Notice("WARNING", "there is no transaction in progress", "25P01"))
    tag = await session.end_transaction(commit=False)
    return Result(lambda _: tag)


async def run_savepoint(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """SAVEPOINT, RELEASE and ROLLBACK TO."""
    transaction = session.transaction
    match prepared.parsed.statement:
        case Savepoint(name):
            _block(transaction, "SAVEPOINT").save(name, session.settings.keep())
            return Result(lambda _: "SAVEPOINT")
        case ReleaseSavepoint(name):
            _block(transaction, "RELEASE SAVEPOINT").forget_after(name)
            return Result(lambda _: "RELEASE")
        case RollbackTo(name):
            session.undo_to(_block(transaction, "ROLLBACK TO SAVEPOINT").go_back(name))
            return Result(lambda _: "ROLLBACK")
    raise UserError("SAVEPOINT needs a name", "42601")


async def run_lock(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """LOCK TABLE: the block reads at one moment anyway, so that they must only be there."""
    _block(session.transaction, "LOCK TABLE")
    statement = prepared.parsed.statement
    for name in statement.names if isinstance(statement, LockTable) else ():
        session.names().find_relation(name.parts)
    return Result(lambda _: "LOCK TABLE")


def _block(transaction: Transaction | None, what: str) -> Transaction:
    if transaction is None or not transaction.explicit:
        raise UserError(f"{what} can only be used in transaction blocks", "25P01", hint="BEGIN one first.")
    return transaction

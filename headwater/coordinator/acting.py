"""What functions that do something do: set_config(), pg_cancel_backend(), pg_advisory_lock() and their kin.

The query has computed their arguments; here each row's call is made, in the order of the rows, and its
answer takes the arguments' place.  If one fails, none has set anything; but what it has locked stays locked,
as in PostgreSQL.

Not here: finding the calls in a query (sql/select/passes/take_actions.py), who gets a lock (advisory.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headwater.catalog.rights import Need, has
from headwater.coordinator.advisory import Lock
from headwater.coordinator.api import Notice
from headwater.coordinator.sequence.variables import set_variable
from headwater.coordinator.variables import duration_s
from headwater.core.errors import UserError
from headwater.core.relation import Column, Relation
from headwater.formats.arrow import state_schema
from headwater.sql.select import Action

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession


async def carried_out(
    session: SqlSession, actions: Sequence[Action], rows: pa.Table, columns: tuple[Column, ...]
) -> pa.Table:
    """The rows of the query as it was written."""
    kept = session.settings.keep()
    answers: dict[int, list[Any]] = {action.column: [] for action in actions}
    given = {
        action.column: list(zip(*(rows.column(i).to_pylist() for i in action.arguments), strict=True))
        or [()] * rows.num_rows
        for action in actions
    }
    try:
        for row in range(rows.num_rows):
            for action in actions:
                answer = await _answer(session, action.function, given[action.column][row])
                answers[action.column].append(answer)
            await asyncio.sleep(0)  # there may be many, and others are to have their turns
    except BaseException:
        session.settings.go_back(kept)
        raise
    finally:
        if session.transaction is None:  # what was for the transaction was for this statement
            session.unlock_since(0)
    if session.transaction is None:
        session.settings.end(True)
    schema = state_schema(Relation(columns))
    taken = {place for action in actions for place in action.arguments}
    others = iter([rows.column(place) for place in range(rows.num_columns) if place not in taken])
    made = [
        pa.array(answers[place], field.type) if place in answers else next(others)
        for place, field in enumerate(schema)
    ]
    return pa.Table.from_arrays(made, schema=schema)


async def _answer(session: SqlSession, function: str, arguments: tuple[Any, ...]) -> Any:
    if None in arguments and function != "set_config":
        return None
    if function in _CALLS:
        return _CALLS[function](session, *arguments)
    return await _lock(session, function, arguments)


async def _lock(session: SqlSession, function: str, key: tuple[int, ...]) -> bool | str:
    """Of pg_[try_]advisory_[xact_]lock[_shared] and pg_advisory_unlock[_shared]: what it says of itself."""
    locks = session.coordinator.advisory_locks
    high, low = (key[0] >> 32, key[0]) if len(key) == 1 else key
    lock = Lock(
        session.backend_pid,
        (session.settings.get("database"), high & 0xFFFFFFFF, low & 0xFFFFFFFF, len(key)),
        exclusive=not function.endswith("_shared"),
        mark=session.mark if "_xact_" in function else None,
    )
    if "_unlock" in function:
        released = locks.release(lock)
        if not released:
            kind = "ExclusiveLock" if lock.exclusive else "ShareLock"
            session.notify(Notice("WARNING", f"you don't own a lock of type {kind}", "01000"))
        return released
    if "_try_" in function:
        return locks.take_now(lock)
    await locks.take(lock, duration_s(session.settings.get("lock_timeout")) or None)
    return ""


def _unlock_all(session: SqlSession) -> str:
    session.coordinator.advisory_locks.release_session(session.backend_pid)
    return ""


def _set_config(session: SqlSession, name: str | None, value: str | None, local: bool | None) -> str:
    if name is None:
        raise UserError("SET requires parameter name", "22004")
    set_variable(session, name, value, bool(local))
    return session.settings.get(name)


def _cancel(session: SqlSession, pid: int) -> bool:
    other = _found(session, pid, "whose query is being canceled", "cancel superuser query")
    if other is not None:
        other.cancel()
    return other is not None


def _terminate(session: SqlSession, pid: int, timeout_ms: int = 0) -> bool:
    if timeout_ms < 0:
        raise UserError('"timeout" must not be negative', "22003")
    other = _found(session, pid, "whose process is being terminated", "terminate superuser process")
    if other is not None:
        other.end()
    return other is not None


def _found(session: SqlSession, pid: int, whose: str, verb: str) -> SqlSession | None:
    """The session with this number, if this one may do something about it: one of its role, or of a role
    that it is a member of; superusers any but the operator's, the operator any."""
    other = session.coordinator.sessions.get(pid)
    if other is None:
        session.notify(Notice("WARNING", f"PID {pid} is not a PostgreSQL backend process", "01000"))
    elif (other.internal and not session.internal) or (other.who.superuser and not session.who.superuser):
        raise UserError(f"must be a superuser to {verb}", "42501")
    elif not has(session.authority, session.who, Need("MEMBER", ("role", other.role_id))):
        raise UserError(f"must be a member of the role {whose} or member of pg_signal_backend", "42501")
    return other


_CALLS: dict[str, Callable[..., Any]] = {
    "set_config": _set_config,
    "pg_advisory_unlock_all": _unlock_all,
    "pg_cancel_backend": _cancel,
    "pg_terminate_backend": _terminate,
}

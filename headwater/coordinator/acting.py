"""What functions that do something do: set_config(), pg_cancel_backend(), pg_terminate_backend().

The query has computed their arguments; here each row's call is made, in the order of the rows, and its
answer takes the arguments' place.  If one fails, none has set anything.

Not here: finding the calls in a query (sql/select/passes/take_actions.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headwater.coordinator.api import Notice
from headwater.coordinator.sequence.variables import set_variable
from headwater.core.errors import UserError
from headwater.core.relation import Column, Relation
from headwater.formats.arrow import state_schema
from headwater.sql.select import Action

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession


def carried_out(
    session: SqlSession, actions: Sequence[Action], rows: pa.Table, columns: tuple[Column, ...]
) -> pa.Table:
    """The rows of the query as it was written."""
    kept = session.settings.keep()
    answers: dict[int, list[Any]] = {action.column: [] for action in actions}
    given = {
        action.column: list(zip(*(rows.column(i).to_pylist() for i in action.arguments), strict=True))
        for action in actions
    }
    try:
        for row in range(rows.num_rows):
            for action in actions:
                call = _CALLS[action.function]
                arguments = given[action.column][row]
                missing = any(argument is None for argument in arguments) and action.function != "set_config"
                answers[action.column].append(None if missing else call(session, *arguments))
    except UserError:
        session.settings.go_back(kept)
        raise
    if session.transaction is None:
        session.settings.end(True)  # what was set for the transaction was set for this statement
    schema = state_schema(Relation(columns))
    taken = {place for action in actions for place in action.arguments}
    others = iter([rows.column(place) for place in range(rows.num_columns) if place not in taken])
    made = [
        pa.array(answers[place], field.type) if place in answers else next(others)
        for place, field in enumerate(schema)
    ]
    return pa.Table.from_arrays(made, schema=schema)


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
    """The session with this number, if this one may do something about it: its user's, the operator any."""
    other = session.coordinator.sessions.get(pid)
    if other is None:
        session.notify(Notice("WARNING", f"PID {pid} is not a PostgreSQL backend process", "01000"))
    elif other.internal and not session.internal:
        raise UserError(f"must be a superuser to {verb}", "42501")
    elif other.user != session.user and not session.internal:
        raise UserError(f"must be a member of the role {whose} or member of pg_signal_backend", "42501")
    return other


_CALLS: dict[str, Callable[..., Any]] = {
    "set_config": _set_config,
    "pg_cancel_backend": _cancel,
    "pg_terminate_backend": _terminate,
}

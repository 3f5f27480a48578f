"""A session from its first byte to its last, as one generator of steps.

    greeting ─► open ─► [ message ─► steps ─► ReadyForQuery ]* ─► close

This is the one place where errors become messages, and where they fail the transaction:
wherever one comes from (a statement, a malformed message, a value that cannot be sent),
the block is aborted before the client is told.  A `UserError` is the user's; a
`ProtocolViolation` ends the conversation, because nobody knows where the next message
would begin; anything else is a bug of ours, which the client sees as XX000 with a
number that is in our diagnostics too, and the session goes on.

After an error in the extended protocol everything is skipped up to Sync.

Not here: sockets (server.py); what messages do (query.py, extended.py, copy.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

import structlog

from headwater.coordinator.api import Sessions
from headwater.core.clock import secret_number
from headwater.core.errors import TransientError, UserError, not_supported
from headwater.pgwire import extended, messages
from headwater.pgwire.codec import (
    Bind,
    Close,
    Describe,
    Execute,
    FlushOutput,
    Parse,
    Query,
    parse_message,
)
from headwater.pgwire.login import ANYBODY, Entrance, log_in
from headwater.pgwire.query import simple_query
from headwater.pgwire.receive import Room, check_read
from headwater.pgwire.startup import Cancel, greeting
from headwater.pgwire.steps import Disconnected, Flush, ProtocolViolation, Steps, Stopping, Write, call
from headwater.pgwire.wire import Wire

_LOG: Final = structlog.get_logger("pgwire")
_FATAL_SQLSTATES: Final = frozenset(("57P01", "57P02", "57P03", "25P03"))
"""Errors after which there is no session, whoever raises them."""
_DROPPED_KINDS: Final = frozenset((b"d", b"c", b"f"))
"""What is left of a COPY that has failed."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Door:
    """What a session needs to know to let its client in."""

    sessions: Sessions
    internal: bool
    client_address: str
    admitted: Callable[[], bool]  # is there room for one more; asked once, at the end of startup
    tell: Callable[[bytes], None]  # sends a message at once, between others and while a call is awaited
    end: Callable[[], None]  # ends the conversation as a stop of the server would
    entrance: Entrance = ANYBODY
    room: Room = field(default_factory=Room)  # for long messages


@dataclass(frozen=True, slots=True)
class Failure:
    """Something went wrong and the client has been told."""

    fatal: bool


def conversation(door: Door) -> Steps[None]:
    """All of one connection."""
    try:
        wire = yield from _guarded(_opened(door), "FATAL")
        if isinstance(wire, Wire):
            yield from _converse(wire)
    except Disconnected:
        return
    except Stopping:
        stopping = UserError("terminating connection due to administrator command", "57P01")
        yield Write(messages.error_response(stopping, "FATAL"))
    yield Flush()


def _guarded(steps: Steps[T], severity: str = "ERROR", wire: Wire | None = None) -> Steps[T | Failure]:
    """Take these steps; an error fails the transaction and becomes a message to the client."""
    try:
        return (yield from steps)
    except UserError as raised:
        error = raised
        if error.sqlstate in _FATAL_SQLSTATES:
            severity = "FATAL"
        if wire is not None:
            wire.session.told(error)
    except TransientError as failure:
        error = UserError(str(failure), "58030", hint=failure.hint)
    except ProtocolViolation as violation:
        error = UserError(str(violation), violation.sqlstate)
        severity = "FATAL"
    except Exception:
        reference = f"{secret_number(32):08x}"
        _LOG.exception("internal error", reference=reference)
        error = UserError(f"internal error, reference {reference}", "XX000", hint=_BUG_HINT)
    if wire is not None:
        wire.fail()
    yield Write(messages.error_response(error, severity))
    return Failure(severity == "FATAL")


_BUG_HINT: Final = "The server's log says more under this reference."


def _to_the_end() -> None:
    """What a client that leaves does to opening and closing: nothing, or a session would be lost."""


def _opened(door: Door) -> Steps[Wire | None]:
    """Let the client in; None if it came for something else."""
    opening, channel = yield from greeting(door.entrance.tls is not None)
    if isinstance(opening, Cancel):
        door.sessions.cancel(opening.backend_pid, opening.secret_key)
        return None
    yield from log_in(door.entrance, opening, channel, door.client_address)
    if not door.admitted():
        raise UserError("sorry, too many clients already", "53300")
    made = partial(
        door.sessions.open_session, opening.user, opening.settings, door.client_address, door.internal
    )
    session = yield from call(made, _to_the_end)
    session.listen(lambda notice: door.tell(messages.notice_response(notice)), door.end)
    return Wire(session, opening.user, door.client_address, door.room)


def _converse(wire: Wire) -> Steps[None]:
    try:
        welcomed = yield from _guarded(_welcome(wire), "FATAL")
        if not isinstance(welcomed, Failure):
            yield from _serve(wire)
    finally:
        # Whoever drives a session ends it by throwing, so steps can still be taken here.
        wire.close_portals()
        wire.inbox.close()
        yield from call(wire.session.close, _to_the_end)


def _welcome(wire: Wire) -> Steps[None]:
    session = wire.session
    yield Write(messages.AUTHENTICATION_OK)
    yield from wire.tell_settings()
    yield Write(messages.backend_key_data(session.backend_pid, session.secret_key))
    yield from wire.tell()
    yield Write(messages.ready_for_query(session.status))
    yield Flush()


def _serve(wire: Wire) -> Steps[None]:
    """Message after message until one is the last."""
    skipping = False  # a message of this pipeline has failed, the rest of it is not looked at
    ready = True  # the client has been told that it is its turn
    while True:
        received = yield from _guarded(
            wire.inbox.read_message(within_s=wire.session.patience_s() if ready else None), wire=wire
        )
        if isinstance(received, Failure):
            return
        ready = False
        kind, body = received
        if kind == b"X":
            return
        sync = kind == b"S" and not body
        if kind in _DROPPED_KINDS or (skipping and not sync):
            continue
        alone = kind in (b"Q", b"F")
        outcome: Failure | None = None
        if not sync:
            outcome = yield from _guarded(_message(wire, kind, body), wire=wire)
            wire.forget_undone()
        if isinstance(outcome, Failure):
            if outcome.fatal:
                return
            if not alone:
                skipping = True
                yield Flush()
                continue
        if sync or alone:
            failed = skipping or outcome is not None
            ended = yield from _guarded(_end(wire, finished=alone and not failed, failed=failed), wire=wire)
            if isinstance(ended, Failure) and ended.fatal:
                return
            skipping, ready = False, True
            yield Write(messages.ready_for_query(wire.session.status))
            yield Flush()


def _message(wire: Wire, kind: bytes, body: bytes) -> Steps[None]:
    """What one message asks for."""
    check_read(body)
    message = parse_message(kind, body)
    match message:
        case Query(text):
            yield from simple_query(wire, text)
        case Parse():
            yield from extended.parse(wire, message)
        case Bind():
            yield from extended.bind(wire, message)
        case Describe():
            yield from extended.describe(wire, message)
        case Execute():
            yield from extended.execute(wire, message)
        case Close():
            yield from extended.close(wire, message)
        case FlushOutput():
            yield Flush()
        case _:
            wire.session.check_usable(None)
            raise not_supported("function call outside of SQL")


def _end(wire: Wire, finished: bool, failed: bool) -> Steps[None]:
    """The end of a simple query, which may have finished its transaction itself, or of a pipeline."""
    try:
        if not finished:
            yield from wire.ask(partial(wire.session.finish, failed))
    finally:
        if wire.session.status == "I":
            wire.close_portals()
    yield from wire.tell()
    yield from wire.tell_settings()

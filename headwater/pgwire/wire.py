"""Wire: what the parts of one conversation share.

The coordinator's session and, beside it, what only the protocol knows: portals,
the unnamed statement, the settings the client was last told.

Not here: what each message does (query.py, extended.py, copy.py).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from headwater.coordinator.api import Notice, ParsedStatement, Prepared, Session
from headwater.core.errors import UserError
from headwater.pgwire import messages
from headwater.pgwire.portal import Portal, Waiting
from headwater.pgwire.receive import Inbox, Room
from headwater.pgwire.steps import Steps, Write, call

T = TypeVar("T")


class Wire:
    """One client's conversation."""

    __slots__ = ("_statuses", "client", "inbox", "portals", "session", "unnamed", "user", "waiting")

    def __init__(self, session: Session, user: str, client: str, room: Room) -> None:
        self.session = session
        self.user = user
        self.client = client
        self.portals: dict[str, Portal] = {}
        self.waiting = Waiting()
        self.unnamed: Prepared | None = None
        self.inbox = Inbox(room, user)
        self._statuses: dict[str, str] = {}

    def ask(self, made: Callable[[], Awaitable[T]]) -> Steps[T]:
        """Make a call to the coordinator; a client that leaves meanwhile cancels it."""
        return (yield from call(made, self.session.cancel))

    def tell(self, notices: list[Notice] | None = None) -> Steps[None]:
        """Send notices: those of a result, then those of the session."""
        for notice in (*(notices or ()), *self.session.take_notices()):
            yield Write(messages.notice_response(notice))

    def tell_settings(self) -> Steps[None]:
        """Send the settings that have changed since they were last sent."""
        statuses = self.session.parameter_statuses()
        if statuses == self._statuses:
            return
        for name, value in statuses.items():
            if self._statuses.get(name) != value:
                yield Write(messages.parameter_status(name, value))
        self._statuses = dict(statuses)

    def fail(self) -> None:
        """The one place where an error, whatever it was, fails the transaction and what it has begun."""
        mark = self.session.fail()
        for portal in self.portals.values():
            if portal.mark >= mark:
                portal.fail()

    def forget_undone(self) -> None:
        """Let go of the portals whose transaction is over or was taken back to before them."""
        since = self.session.take_undone()
        if since is not None:
            for name in [name for name, portal in self.portals.items() if portal.mark >= since]:
                self.portals.pop(name).close()

    def close_portals(self) -> None:
        """Let go of all portals."""
        for portal in self.portals.values():
            portal.close()
        self.portals.clear()


def move_position(error: UserError, parsed: ParsedStatement) -> None:
    """Count an error's position in the text that the statement came from."""
    if error.position > 0:
        error.position += parsed.offset

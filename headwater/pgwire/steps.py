"""Steps: all that a session may ask of the world.

A session is a generator that yields steps and is sent their outcome.  Whoever
drives it (server.py, a test) answers

    Read     with exactly so many bytes of the client's, or throws TimeoutError if they do not come in time
    Glance   with the bytes that the next Read would begin with, as far as they are here
    Write    with nothing; bytes may be held back
    Flush    with nothing, once all bytes written before are on their way
    Secure   with a `Channel`, once all bytes of both directions are encrypted
    Await    with what the call returned, or throws what it raised; bytes held
             back are sent first if the call has to wait

and ends it by throwing `Disconnected` or `Stopping`, never by closing it: a
session still has steps to do then.

Not here: sockets and the event loop (server.py).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Read:
    """Wants exactly `count` bytes from the client.  `idle`: between two messages.

    `beside` is waited for at the same time; what it raises ends the wait, and no byte is taken.
    With `within_s` the wait ends by a TimeoutError.
    """

    count: int
    idle: bool = False
    beside: Callable[[], Awaitable[None]] | None = None
    within_s: float | None = None


@dataclass(frozen=True, slots=True)
class Glance:
    """Wants to know what comes next, up to `count` bytes, without waiting for it."""

    count: int


@dataclass(frozen=True, slots=True)
class Write:
    """Has bytes for the client."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Flush:
    """Wants everything written so far to be sent."""


@dataclass(frozen=True, slots=True)
class Channel:
    """What is known of an encrypted connection.

    `binding` is the hash of our certificate, for a proof that is bound to it; `certified` the name in
    the client's, if it has sent one that a known authority has signed.
    """

    binding: bytes | None
    certified: str | None = None


@dataclass(frozen=True, slots=True)
class Secure:
    """Wants TLS from here on.  Nothing of the client's may be unread before it."""


@dataclass(frozen=True, slots=True)
class Await:
    """Wants a call made and waited for.

    When the client goes away meanwhile, `disconnected` is called and the wait goes
    on; without it the wait itself is cancelled.
    """

    call: Callable[[], Awaitable[Any]]
    disconnected: Callable[[], None] | None = None


Step: TypeAlias = Read | Glance | Write | Flush | Secure | Await
Steps: TypeAlias = Generator[Step, Any, T]


class Disconnected(BaseException):
    """The client has gone.  No `Exception`, so that nobody reports it to the client."""


class Stopping(BaseException):
    """The server is being stopped."""


class ProtocolViolation(Exception):
    """The client's bytes make no sense from here on: say so and hang up."""

    def __init__(self, message: str, sqlstate: str = "08P01") -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


def read(count: int, idle: bool = False) -> Steps[bytes]:
    """`Read` with its answer's type."""
    data: bytes = yield Read(count, idle)
    return data


def call(made: Callable[[], Awaitable[T]], disconnected: Callable[[], None] | None = None) -> Steps[T]:
    """`Await` with its answer's type."""
    outcome: T = yield Await(made, disconnected)
    return outcome

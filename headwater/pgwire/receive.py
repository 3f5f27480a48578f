"""Reads whole messages of the client's, and bounds what long ones take together.

    header ──room for so much?──► body, which takes its room until the next message is read
                └── no ──► dropped as it comes; whoever would work on it raises the error instead

Not here: what messages mean (codec.py).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from headwater.core.errors import UserError
from headwater.core.limits import (
    MESSAGE_LONG_BYTES,
    MESSAGES_BYTES_MAX,
    RECEIVE_BUFFER_BYTES_MAX,
    STATEMENT_BYTES_MAX,
)
from headwater.pgwire.codec import parse_header
from headwater.pgwire.steps import Read, Steps

_HEADER_BYTES: Final = 5


class Unread(bytes):
    """Stands for a body that was not kept."""

    error: UserError


def _unread(error: UserError) -> Unread:
    made = Unread()
    made.error = error
    return made


class Room:
    """What long messages of all connections may take together; one role gets half of it."""

    def __init__(self) -> None:
        self._taken: dict[Inbox, int] = {}

    def take(self, inbox: Inbox, size: int) -> UserError | None:
        """So many bytes from now on; why not, if there is no room."""
        held = sum(self._taken.values())
        own = sum(taken for other, taken in self._taken.items() if other.user == inbox.user)
        if own + size > MESSAGES_BYTES_MAX // 2:
            who = f'role "{inbox.user}"'
        elif held + size > MESSAGES_BYTES_MAX:
            who = "all clients"
        else:
            self._taken[inbox] = size
            return None
        return UserError(
            f"there is no room for a message of {size} bytes: long messages of {who} take all there is",
            "53200",
            hint="Try again later, or send the rows in smaller messages.",
        )

    def leave(self, inbox: Inbox) -> None:
        """What it had is free."""
        self._taken.pop(inbox, None)


class Inbox:
    """The client's messages, one after the other, and what of one is not read yet."""

    __slots__ = ("_left_bytes", "_room", "user")

    def __init__(self, room: Room, user: str) -> None:
        self.user = user
        self._room = room
        self._left_bytes = 0

    def read_message(
        self, beside: Callable[[], Awaitable[None]] | None = None, within_s: float | None = None
    ) -> Steps[tuple[bytes, bytes]]:
        """The kind and the body of the next message; `within_s` is how long an open transaction waits for it.

        A statement's text that is longer than any may be, and what there is no room for, is read and
        dropped, so that the conversation can go on after the error; see `check_read`.  So is the rest of a
        message that was no longer wanted when `beside` (see `Read`) ended the wait for it.
        """
        self.close()
        yield from self._drop()
        try:
            header: bytes = yield Read(_HEADER_BYTES, True, beside, within_s)
        except TimeoutError:
            raise UserError("terminating connection due to idle-in-transaction timeout", "25P03") from None
        kind, self._left_bytes = parse_header(header)
        refusal = self._refusal(kind)
        if refusal is not None:
            yield from self._drop()
            return kind, _unread(refusal)
        body: bytes = (yield Read(self._left_bytes, False, beside)) if self._left_bytes else b""
        self._left_bytes = 0
        return kind, body

    def _refusal(self, kind: bytes) -> UserError | None:
        if self._left_bytes > STATEMENT_BYTES_MAX and kind in (b"Q", b"P"):
            return UserError(f"statement is longer than {STATEMENT_BYTES_MAX} bytes", "54000")
        if self._left_bytes > MESSAGE_LONG_BYTES:
            return self._room.take(self, self._left_bytes)
        return None

    def _drop(self) -> Steps[None]:
        while self._left_bytes:
            dropped: bytes = yield Read(min(self._left_bytes, RECEIVE_BUFFER_BYTES_MAX))
            self._left_bytes -= len(dropped)

    def close(self) -> None:
        """The last message has been dealt with."""
        self._room.leave(self)


def check_read(body: bytes) -> None:
    """UserError if this is what is left of a message that was not kept."""
    if isinstance(body, Unread):
        raise body.error

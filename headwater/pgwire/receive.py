"""Reads whole messages of the client's.

Not here: what they mean (codec.py).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from headwater.core.errors import UserError
from headwater.core.limits import RECEIVE_BUFFER_BYTES_MAX, STATEMENT_BYTES_MAX
from headwater.pgwire.codec import parse_header
from headwater.pgwire.steps import Read, Steps

_HEADER_BYTES: Final = 5
_TOO_LONG: Final = b"\x00too long"
"""Stands for a body that was not kept; no text begins with a zero byte and goes on."""


class Inbox:
    """The client's messages, one after the other, and what of one is not read yet."""

    __slots__ = ("_left_bytes",)

    def __init__(self) -> None:
        self._left_bytes = 0

    def read_message(
        self, beside: Callable[[], Awaitable[None]] | None = None, within_s: float | None = None
    ) -> Steps[tuple[bytes, bytes]]:
        """The kind and the body of the next message; `within_s` is how long an open transaction waits for it.

        A statement's text that is longer than any may be is read and dropped, so that the
        conversation can go on after the error; see `check_length`.  So is the rest of a message that
        was no longer wanted when `beside` (see `Read`) ended the wait for it.
        """
        yield from self._drop()
        try:
            header: bytes = yield Read(_HEADER_BYTES, True, beside, within_s)
        except TimeoutError:
            raise UserError("terminating connection due to idle-in-transaction timeout", "25P03") from None
        kind, self._left_bytes = parse_header(header)
        if self._left_bytes > STATEMENT_BYTES_MAX and kind in (b"Q", b"P"):
            yield from self._drop()
            return kind, _TOO_LONG
        body: bytes = (yield Read(self._left_bytes, False, beside)) if self._left_bytes else b""
        self._left_bytes = 0
        return kind, body

    def _drop(self) -> Steps[None]:
        while self._left_bytes:
            dropped: bytes = yield Read(min(self._left_bytes, RECEIVE_BUFFER_BYTES_MAX))
            self._left_bytes -= len(dropped)


def check_length(body: bytes) -> None:
    """UserError if this is what is left of a statement that was too long."""
    if body is _TOO_LONG:
        raise UserError(f"statement is longer than {STATEMENT_BYTES_MAX} bytes", "54000")

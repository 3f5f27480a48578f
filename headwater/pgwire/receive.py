"""Reads whole messages of the client's.

Not here: what they mean (codec.py).
"""

from __future__ import annotations

from typing import Final

from headwater.core.errors import UserError
from headwater.core.limits import RECEIVE_BUFFER_BYTES_MAX, STATEMENT_BYTES_MAX
from headwater.pgwire.codec import parse_header
from headwater.pgwire.steps import Read, Steps

_HEADER_BYTES: Final = 5
_TOO_LONG: Final = b"\x00too long"
"""Stands for a body that was not kept; no text begins with a zero byte and goes on."""


def read_message(within_s: float | None = None) -> Steps[tuple[bytes, bytes]]:
    """The kind and the body of the next message; `within_s` is how long an open transaction waits for it.

    A statement's text that is longer than any may be is read and dropped, so that the
    conversation can go on after the error; see `check_length`.
    """
    try:
        header: bytes = yield Read(_HEADER_BYTES, True, within_s)
    except TimeoutError:
        raise UserError("terminating connection due to idle-in-transaction timeout", "25P03") from None
    kind, length = parse_header(header)
    if length > STATEMENT_BYTES_MAX and kind in (b"Q", b"P"):
        while length:
            dropped: bytes = yield Read(min(length, RECEIVE_BUFFER_BYTES_MAX))
            length -= len(dropped)
        return kind, _TOO_LONG
    body: bytes = (yield Read(length)) if length else b""
    return kind, body


def check_length(body: bytes) -> None:
    """UserError if this is what is left of a statement that was too long."""
    if body is _TOO_LONG:
        raise UserError(f"statement is longer than {STATEMENT_BYTES_MAX} bytes", "54000")

"""Telling a server that works from one that cannot be heard, when neither says anything.

It is asked, over a connection of its own, what the session does:

    no connection comes about           the server cannot be heard
    the session waits for us            what one of us said was lost on the way
    it works, or is not known there     more patience (a proxy between us may have numbers of its own)

Not here: what is asked (inspect.py, relay.py), and when a binary log is silent (stream.py).
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from pymysql.connections import Connection

from headwater.core.errors import TransientError
from headwater.sources.mysql.trouble import DRIVER_ERRORS
from headwater.sources.patience import AWAY, LOST

_WAITS: Final = "SELECT command = 'Sleep' FROM information_schema.processlist WHERE id = %s"


@dataclass(frozen=True, slots=True)
class Session:
    """One on which somebody waits; `aside` opens another to the same server."""

    upstream: Connection[Any]
    aside: Callable[[], Connection[Any]]

    def unheard(self) -> str | None:
        """Why nothing will come from it any more; None if something may."""
        try:
            aside = self.aside()
            try:
                with aside.cursor() as cursor:
                    cursor.execute(_WAITS, (self.upstream.thread_id(),))
                    row = cursor.fetchone()
            finally:
                aside._force_close()
        except (TransientError, *DRIVER_ERRORS) as error:
            return AWAY if "timed out" in str(error) else None  # None: somebody is there and says no
        return LOST if row is not None and row[0] else None

    def hang_up(self) -> None:
        """Whoever waits on it, in this process, is told that it has ended."""
        line = self.upstream._sock
        if line is not None:
            with suppress(OSError):
                # Of what TLS is spoken over, which does not wait for the other side.
                socket.socket.shutdown(line, socket.SHUT_RDWR)

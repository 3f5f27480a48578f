"""Telling a server that works from one that cannot be heard, when neither says anything.

A way that swallows packets, or a proxy that has lost one end, leaves a connection open on which nothing comes
any more.  TCP notices where packets are lost, and nobody where something on the way still answers for the
server.  To wait for long is no answer either: a question, a chunk or a large transaction may take its time,
and who hangs up on a server that works has to ask it the same again.  So after some silence it is asked about
that session, over a connection of its own:

    no connection comes about                    the server cannot be heard
    the session waits for us, as we do for it    what one of us said was lost on the way
    it works, or is not known there              more patience (a pooler between us has numbers of its own)

Not here: what is asked (inspect.py, snapshot.py), and when a stream is silent (reader.py).
"""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from typing import Any, Final

import psycopg
from psycopg.conninfo import make_conninfo

from headwater.core.limits import UPSTREAM_ASIDE_S_MAX, UPSTREAM_VALIDATE_S_MAX
from headwater.sources.patience import AWAY, LOST, Patience
from headwater.sources.postgres.trouble import AGAIN

# Of a walsender without work as well: it waits for its client or for the log to grow.
_WAITS: Final = (
    "SELECT wait_event_type IN ('Client', 'Activity') FROM pg_catalog.pg_stat_activity WHERE pid = %s"
)


@dataclass(frozen=True, slots=True)
class Session:
    """A session upstream, as somebody needs it who asks about it or hangs up on it."""

    conninfo: str
    pid: int  # 0 when not known
    sockets: Callable[[], Iterable[int]]

    @classmethod
    def of(cls, upstream: psycopg.Connection[Any]) -> Session:
        info = upstream.info
        text = make_conninfo(info.dsn, password=info.password)
        return cls(text, info.backend_pid, lambda: (upstream.fileno(),))

    def unheard(self) -> str | None:
        """Why nothing will come from it any more; None if something may."""
        text = make_conninfo(self.conninfo, connect_timeout=UPSTREAM_ASIDE_S_MAX, replication="false")
        late = threading.Event()
        try:
            with psycopg.connect(text, autocommit=True) as aside, _timed(aside, late):
                row = aside.execute(_WAITS, (self.pid,)).fetchone()
        except psycopg.errors.ConnectionTimeout:
            return AWAY
        except psycopg.Error:
            return AWAY if late.is_set() else None  # None: somebody is there and says no
        return LOST if row is not None and row[0] else None

    def hang_up(self) -> None:
        """Whoever waits on it, in this process, is told that it has ended."""
        for number in self.sockets():
            with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(number)) as line:
                line.shutdown(socket.SHUT_RDWR)


@contextmanager
def _timed(aside: psycopg.Connection[Any], late: threading.Event) -> Iterator[None]:
    """What is asked about a session is not waited for any longer than for a connection."""

    def hang_up() -> None:
        late.set()
        Session.of(aside).hang_up()

    timer = threading.Timer(UPSTREAM_ASIDE_S_MAX, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # or it might hang up on whatever gets the line's number once that is closed


def bounded(upstream: psycopg.Connection[Any]) -> Patience:
    """Questions that a server should answer soon, and must answer some time."""
    return listening(Session.of(upstream), UPSTREAM_VALIDATE_S_MAX)


def listening(session: Session, seconds_max: float = inf) -> Patience:
    """TransientError if nothing can come from a session any more, so that no thread waits for ever."""
    return Patience(session, "postgres", AGAIN, seconds_max)


def sockets_to(port: int) -> frozenset[int]:
    """Connections of this process to a port, of whatever machine: a driver may not tell which is its own."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            if not stat.S_ISSOCK(os.stat(f"/proc/self/fd/{name}").st_mode):
                continue
            with socket.socket(fileno=os.dup(int(name))) as line:
                if line.family in (socket.AF_INET, socket.AF_INET6) and line.getpeername()[1] == port:
                    found.add(int(name))
    return frozenset(found)

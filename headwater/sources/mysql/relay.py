"""Sessions of a snapshot, lent to tasks in other processes.

A server cannot hand a snapshot from one session to another, and the sessions that share one were opened
here, while a lock was held.  So tasks send their queries here, and what the server answers is passed on as it
comes, byte by byte and without a look at it: the task knows where the answer ends, and says so.

    task -> here    length:4 query, and `.` once the answer has come to its end
    here -> task    what the server sends

It listens on a socket in a folder that nobody else may enter.
"""

from __future__ import annotations

import queue
import select
import shutil
import socket
import struct
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pymysql
import structlog
from pymysql.constants import COMMAND

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.limits import (
    MYSQL_RELAY_BYTES,
    MYSQL_RELAY_CHECK_S,
    MYSQL_RELAY_WAIT_S_MAX,
    UPSTREAM_ANSWER_S_MAX,
)

log = structlog.get_logger("mysql")

LENGTH: Final = struct.Struct(">I")
DONE: Final = b"."


class Relay:
    """Lends sessions, one query at a time."""

    def __init__(self, sessions: list[Any], unheard: Callable[[Any], str | None]) -> None:
        """`unheard` says why nothing will come from a session any more."""
        self._unheard = unheard
        self._sessions = list(sessions)
        self._free: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for session in sessions:
            self._free.put(session)
        self._broken = 0
        self._closing = False
        self._folder = Path(tempfile.mkdtemp(prefix="headwater-"))
        self.address = str(self._folder / "relay")
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.address)
        self._listener.listen()
        self._listener.settimeout(MYSQL_RELAY_CHECK_S)
        threading.Thread(target=self._accept, name="snapshot-relay", daemon=True).start()

    @property
    def whole(self) -> bool:
        """Whether some of the sessions are still there."""
        return self._broken < len(self._sessions)

    def _accept(self) -> None:
        while not self._closing:
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), name="snapshot-query", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            while (length := _received(client, LENGTH.size)) is not None:
                query = _received(client, LENGTH.unpack(length)[0])
                if query is None or not self._answer(client, query):
                    return

    def _answer(self, client: socket.socket, query: bytes) -> bool:
        """Passes the answer on; whether the task may go on."""
        try:
            session = self._free.get(timeout=MYSQL_RELAY_WAIT_S_MAX)
        except queue.Empty:
            return False
        try:
            session._execute_command(COMMAND.COM_QUERY, query)
            whole = self._pass_on(session, client)
        except (OSError, pymysql.MySQLError):
            whole = False
        if whole:
            self._free.put(session)
        else:  # where its answer ends nobody knows
            self._broken += 1
            session._force_close()
        return whole

    def _pass_on(self, session: Any, client: socket.socket) -> bool:
        upstream: socket.socket = session._sock
        poll = select.poll()
        poll.register(upstream, select.POLLIN)
        poll.register(client, select.POLLIN)
        pending = getattr(upstream, "pending", lambda: 0)  # what TLS has deciphered already
        heard_s = SYSTEM_CLOCK.monotonic_s()
        while not self._closing:
            ready = {
                descriptor for descriptor, _ in poll.poll(0 if pending() else MYSQL_RELAY_CHECK_S * 1000)
            }
            if client.fileno() in ready:
                return client.recv(1) == DONE
            if upstream.fileno() in ready or pending():
                data = upstream.recv(MYSQL_RELAY_BYTES)
                if not data:
                    return False
                client.sendall(data)
            elif SYSTEM_CLOCK.monotonic_s() < heard_s + UPSTREAM_ANSWER_S_MAX:
                continue
            elif (why := self._unheard(session)) is not None and not poll.poll(MYSQL_RELAY_CHECK_S * 1000):
                log.warning("a session of a snapshot is given up", error=why)
                return False
            heard_s = SYSTEM_CLOCK.monotonic_s()
        return False

    def close(self) -> None:
        """Ends all sessions."""
        self._closing = True
        self._listener.close()
        for session in self._sessions:
            session._force_close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _received(client: socket.socket, count: int) -> bytes | None:
    """So many bytes; None: nothing more comes."""
    pieces = bytearray()
    while len(pieces) < count:
        data = client.recv(count - len(pieces))
        if not data:
            return None
        pieces += data
    return bytes(pieces)

"""Ports for servers under test: each is handed out once, to one process.

The system's own choice would do for a moment only.  It may name the same port again before the server
listens there, or give it to somebody's outgoing connection while a server that was killed is started anew.
"""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator
from functools import cache

FIRST = 10_000  # below those from which the system chooses
BLOCK = 500
BLOCKS = 40


def free_port() -> int:
    """A port nobody listens on; this process gets it again only after all its others."""
    _, ports = _claimed()
    for port in itertools.islice(ports, BLOCK):
        listener = _listener(port)
        if listener is not None:
            listener.close()
            return port
    raise AssertionError("somebody listens on every port of this process")


@cache
def _claimed() -> tuple[socket.socket, Iterator[int]]:
    """The ports of this process; it listens on the one before them for as long as it lives."""
    for start in range(FIRST, FIRST + BLOCK * BLOCKS, BLOCK):
        claim = _listener(start)
        if claim is not None:
            return claim, itertools.cycle(range(start + 1, start + BLOCK))
    raise AssertionError(f"{BLOCKS} processes have claimed ports already")


def _listener(port: int) -> socket.socket | None:
    listener = socket.socket()
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except OSError:
        listener.close()
        return None
    return listener

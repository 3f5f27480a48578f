"""A client of plain bytes."""

from __future__ import annotations

import socket
import struct

from tests.support.environment import Environment
from tests.support.server import eventually
from tests.support.wire import driver
from tests.support.wire.driver import Reply

WAIT_S_MAX = 30.0


class Plain:
    """A client that sends bytes, and can ask on another connection for being cancelled."""

    def __init__(self, environment: Environment) -> None:
        self._address = ("127.0.0.1", environment.port)
        self._environment = environment
        self._socket = socket.create_connection(self._address, timeout=WAIT_S_MAX)
        self._held = b""
        self._replies: list[Reply] = []
        self._socket.sendall(driver.startup(user="materialize"))
        self.pid, self._key = struct.unpack(
            ">II", next(body for kind, body in self.until_ready() if kind == "K")
        )

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def until(self, kind: str) -> list[Reply]:
        """All replies up to one of this kind; asked again after a timeout, it goes on."""
        while not self._replies or self._replies[-1][0] != kind:
            while len(self._held) < 5 or len(self._held) < 1 + int.from_bytes(self._held[1:5], "big"):
                data = self._socket.recv(65536)
                assert data, "the server has hung up"
                self._held += data
            end = 1 + int.from_bytes(self._held[1:5], "big")
            self._replies += driver.unpack(self._held[:end])
            self._held = self._held[end:]
        replies, self._replies = self._replies, []
        return replies

    def until_ready(self) -> list[Reply]:
        return self.until("Z")

    def cancel(self) -> None:
        with socket.create_connection(self._address, timeout=WAIT_S_MAX) as other:
            other.sendall(struct.pack(">IIII", 16, 80877102, self.pid, self._key))
            assert other.recv(1) == b""

    def heard(self) -> None:
        """Wait until the server has taken all that was sent: COPY says nothing on its own."""
        session = self._environment.coordinator.sessions[self.pid]
        eventually(lambda: session._running is not None)

    def close(self) -> None:
        self._socket.close()

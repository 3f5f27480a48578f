"""A way to a server that can be broken: a TCP proxy in threads of its own.

    proxy.cut()             every connection is closed now
    proxy.lead_to(port)     ... and new ones lead to another server
    proxy.refuse()          ... and new ones are refused, until `accept()`
    proxy.swallow()         connections stay open and new ones are taken, and what is sent on them is lost;
                            on those of after `pass_on()` it passes
    proxy.cut_within(text)  the next time the server sends this, half of it passes and the connection ends
    proxy.swallow_within(text)   ... and everything is swallowed from there on
    proxy.orphan()          clients that go are not told to the server, until `release()`

Not here: what is said over the connections.
"""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from types import TracebackType

CHUNK_BYTES = 65_536
_RESET = struct.pack("ii", 1, 0)


class Proxy:
    """From a port of its own to one of this machine."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._listener = _listen(0)
        self.port = int(self._listener.getsockname()[1])
        self._links: set[_Link] = set()
        self._lock = threading.Lock()
        self._marker = b""
        self.cut_count = 0
        self.swallowing = self._swallowing_there = False
        self.orphaning = False
        self._refusing = False
        self._serve()

    # What can happen

    def cut(self) -> None:
        with self._lock:
            links, self._links = self._links, set()
        for link in links:
            link.cut()

    def lead_to(self, port: int) -> None:
        """From now on another server is at the end of the way."""
        self._target_port = port
        self.cut()

    def refuse(self) -> None:
        self._refusing = True
        _close(self._listener)
        self.cut()

    def accept(self) -> None:
        self._refusing = False
        self._listener = _listen(self.port)
        self._serve()

    def swallow(self) -> None:
        self.swallowing = True
        with self._lock:
            for link in self._links:
                link.mute = True

    def pass_on(self) -> None:
        self.swallowing = self._swallowing_there = False

    def cut_within(self, text: str) -> None:
        self._marker = text.encode()

    def swallow_within(self, text: str) -> None:
        self._marker, self._swallowing_there = text.encode(), True

    def orphan(self) -> None:
        self.orphaning = True

    def release(self) -> None:
        self.orphaning = False

    def close(self) -> None:
        self.refuse()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Of the links

    def halved(self, before: bytes, data: bytes) -> bytes | None:
        """What may still pass of this when the marker is in it; None when it is not.

        `before` is the end of what has passed already.
        """
        with self._lock:
            found = (before + data).find(self._marker) if self._marker else -1
            if found < 0:
                return None
            end = found + len(self._marker) // 2 - len(before)
            self._marker = b""
            self.cut_count += 1
        return data[: max(end, 0)]

    def swallows_there(self) -> bool:
        """Whether everything is swallowed from the marker on, as it then is."""
        if self._swallowing_there:
            self.swallow()
        return self._swallowing_there

    @property
    def marker_bytes(self) -> int:
        return len(self._marker)

    def forget(self, link: _Link) -> None:
        with self._lock:
            self._links.discard(link)

    def _serve(self) -> None:
        threading.Thread(target=self._take, args=(self._listener,), name="proxy", daemon=True).start()

    def _take(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._target_port))
            except OSError:
                _reset(client)
                continue
            link = _Link(self, client, server)
            with self._lock:
                link.mute = self.swallowing
                self._links.add(link)
            link.start()
            if self._refusing:
                self.cut()


class _Link:
    """One connection, as two that are pumped into each other."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server
        self.mute = False

    def start(self) -> None:
        for pump in (self._up, self._down):
            threading.Thread(target=pump, name="proxy link", daemon=True).start()

    def cut(self) -> None:
        _reset(self._client)
        _reset(self._server)

    def _up(self) -> None:
        with suppress(OSError):
            while data := self._client.recv(CHUNK_BYTES):
                if not self.mute:
                    self._server.sendall(data)
        if not self.mute and not self._proxy.orphaning:
            self._end()

    def _down(self) -> None:
        before = b""
        with suppress(OSError):
            while data := self._server.recv(CHUNK_BYTES):
                if self.mute:
                    continue
                half = self._proxy.halved(before, data)
                if half is not None:
                    self._client.sendall(half)
                    if not self._proxy.swallows_there():
                        self._proxy.forget(self)
                        self.cut()
                        return
                    continue
                before = (before + data)[-self._proxy.marker_bytes :] if self._proxy.marker_bytes else b""
                with suppress(OSError):
                    self._client.sendall(data)
        self._end()

    def _end(self) -> None:
        """One side has closed: so does the other."""
        self._proxy.forget(self)
        _close(self._client)
        _close(self._server)


def _listen(port: int) -> socket.socket:
    return socket.create_server(("127.0.0.1", port))


def _close(sock: socket.socket) -> None:
    """Also for a thread that waits in it."""
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()


def _reset(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    _close(sock)

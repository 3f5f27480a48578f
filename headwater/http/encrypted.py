"""HTTP over TLS: takes connections for uvicorn, which would keep its first certificate for ever.

    first byte of a client      TLS required          TLS allowed
    22, a handshake             encrypted             encrypted
    anything else               told to use https     as it is

Each connection gets the certificate of that moment.  A client that says nothing is hung up on.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog

from headwater.core.crowd import to_leave
from headwater.core.limits import HTTP_CONNECTIONS_MAX, STARTUP_S_MAX
from headwater.core.seldom import Seldom
from headwater.tls import Tls

_LOG: Final = structlog.get_logger("http")
_HANDSHAKE: Final = b"\x16"
_ACCEPT_AGAIN_S: Final = 0.1
_USE_HTTPS: Final = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n"
    b"This server takes encrypted requests only: use https.\n"
)


@dataclass(frozen=True, slots=True, eq=False)
class _Handshake:
    """A connection of which it is not known yet whether it is encrypted."""

    host: str
    task: asyncio.Task[None]


class EncryptedListener:
    """Looks like a server of the event loop to uvicorn."""

    def __init__(self, listener: socket.socket, made: Callable[[], asyncio.Protocol], tls: Tls) -> None:
        self._listener = listener
        self._made = made
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._starting: dict[_Handshake, None] = {}  # the oldest first
        self._broken = Seldom()  # handshakes
        self._accepting = self._loop.create_task(self._accept())

    def close(self) -> None:
        """Take no more connections; those that are there go on."""
        for task in self._tasks():
            task.cancel()

    async def wait_closed(self) -> None:
        await asyncio.gather(*self._tasks(), return_exceptions=True)

    def _tasks(self) -> list[asyncio.Task[None]]:
        return [self._accepting, *(handshake.task for handshake in self._starting)]

    async def _accept(self) -> None:
        while True:
            try:
                connection, address = await self._loop.sock_accept(self._listener)
            except OSError as error:  # too many open files, for instance: others may end meanwhile
                _LOG.warning("could not accept", error=error.strerror or str(error))
                await asyncio.sleep(_ACCEPT_AGAIN_S)
                continue
            other = to_leave(self._starting) if len(self._starting) >= HTTP_CONNECTIONS_MAX else None
            if other is not None:
                self._starting.pop(other)
                other.task.cancel()
            host = str(address[0])
            handshake = _Handshake(host, self._loop.create_task(self._begin(connection, host)))
            self._starting[handshake] = None
            handshake.task.add_done_callback(partial(self._ended, handshake))

    def _ended(self, handshake: _Handshake, _: asyncio.Task[None]) -> None:
        self._starting.pop(handshake, None)

    async def _begin(self, connection: socket.socket, host: str) -> None:
        """Hand a connection on, encrypted or not."""
        connection.setblocking(False)
        taken = False
        try:
            async with asyncio.timeout(STARTUP_S_MAX):
                encrypted = await self._first_byte(connection) == _HANDSHAKE
                if not encrypted and self._tls.options.required:
                    await self._loop.sock_sendall(connection, _USE_HTTPS)
                    return
                context = self._tls.current.web if encrypted else None
                await self._loop.connect_accepted_socket(
                    self._made,
                    connection,
                    ssl=context,
                    ssl_handshake_timeout=STARTUP_S_MAX if context else None,
                )
                taken = True
        except OSError as error:  # the client's doing
            count = self._broken.due(host, self._loop.time())
            if count is not None:
                _LOG.info("could not encrypt", client=host, error=error.strerror or str(error), count=count)
        finally:
            if not taken:
                connection.close()

    async def _first_byte(self, connection: socket.socket) -> bytes:
        """What comes first, and stays there to be read."""
        readable: asyncio.Future[None] = self._loop.create_future()

        def found() -> None:
            if not readable.done():
                readable.set_result(None)

        self._loop.add_reader(connection, found)
        try:
            await readable
        finally:
            self._loop.remove_reader(connection)
        return connection.recv(1, socket.MSG_PEEK)

"""Drives sessions over sockets.

    socket ──data_received──► received ──Read──► conversation ──Write──► pending ──► socket
                                                     │
                                                   Await ──► coordinator

One connection is one task that takes the steps of one conversation.  Everything it
waits for can be interrupted: by the client's leaving, which is noticed even while the
coordinator computes, and by the server's being stopped.

    waiting in      interrupted by
    Read, Flush     the waiter is woken with the interruption
    Await           the step's `disconnected`, or else the wait is cancelled

Both directions are bounded: a socket is not read while there is plenty that nobody
has asked for, and a result is not computed further while its client does not read.

Not here: the protocol (session.py).  This is the only module of pgwire that knows of
an event loop.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

import structlog

from headwater.coordinator.api import Sessions
from headwater.core.crowd import to_leave
from headwater.core.errors import UserError
from headwater.core.limits import (
    CONNECTIONS_MAX,
    CONNECTIONS_STARTING_MAX,
    ENCODE_AT_ONCE_BYTES_MAX,
    OPERATOR_CONNECTIONS_MAX,
    RECEIVE_BUFFER_BYTES_MAX,
    SEND_BUFFER_BYTES,
    SHUTDOWN_S_MAX,
    STARTUP_S_MAX,
)
from headwater.core.seldom import Seldom
from headwater.pgwire.login import ANYBODY, Entrance
from headwater.pgwire.receive import Room
from headwater.pgwire.session import Door, conversation
from headwater.pgwire.steps import (
    Await,
    Channel,
    Disconnected,
    Flush,
    Glance,
    ProtocolViolation,
    Read,
    Secure,
    Step,
    Steps,
    Stopping,
    Write,
)

_LOG: Final = structlog.get_logger("pgwire")


class PgWireServer:
    """Listens, and holds the connections.

    `internal` marks sessions of the internal port; `entrance` is what clients must show to come in.
    `connection_count` is of now, `connections_total` since the start.
    """

    def __init__(
        self, sessions: Sessions, host: str, port: int, internal: bool, entrance: Entrance = ANYBODY
    ) -> None:
        self.sessions = sessions
        self.entrance = entrance
        self.room = Room()  # for long messages
        self.broken_handshakes = Seldom()
        self.host = host
        self.port = port
        self.internal = internal
        self.connections_total = 0
        self._connections: dict[_Connection, None] = {}  # the oldest first
        self._admitted_count = 0
        self._server: asyncio.Server | None = None

    @property
    def connection_count(self) -> int:
        """Sockets that are open now."""
        return len(self._connections)

    async def bind(self) -> None:
        """Take the address, of which `port` is then the actual one; nobody can connect yet."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Connection(self), self.host, self.port, start_serving=False
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def open(self) -> None:
        """Let clients in."""
        if self._server is not None:
            await self._server.start_serving()
            _LOG.info("listening", host=self.host, port=self.port, internal=self.internal)

    async def stop(self, grace_s: float = SHUTDOWN_S_MAX) -> None:
        """Stop listening, tell every client why, and hang up on who is not gone after `grace_s`."""
        if self._server is None:
            return
        self._server.close()
        ends = [connection.closed for connection in self._connections]
        for connection in tuple(self._connections):
            connection.interrupt(Stopping())
        if ends:
            await asyncio.wait(ends, timeout=grace_s)
        late = [connection.closed for connection in self._connections]
        for connection in tuple(self._connections):
            connection.abort()
        if late:
            await asyncio.wait(late, timeout=SHUTDOWN_S_MAX)
        await self._server.wait_closed()
        self._server = None

    def opened(self, connection: _Connection) -> bool:
        """Take a new socket in; False if there are so many that it is not even listened to.

        Who has not logged in makes room for others: the client that has most such sockets loses its oldest.
        """
        if len(self._connections) >= self._room() + CONNECTIONS_STARTING_MAX:
            other = to_leave(other for other in self._connections if other.starting)
            if other is None:
                return False
            other.abort()
        self._connections[connection] = None
        self.connections_total += 1
        return True

    def admit(self) -> bool:
        """Count one more session, if there is room."""
        if self._admitted_count >= self._room():
            return False
        self._admitted_count += 1
        return True

    def _room(self) -> int:
        return OPERATOR_CONNECTIONS_MAX if self.internal else CONNECTIONS_MAX

    def left(self, connection: _Connection, admitted: bool) -> None:
        """A connection is over."""
        self._connections.pop(connection, None)
        self._admitted_count -= admitted


class _Connection(asyncio.Protocol):
    """One client's socket and the conversation over it."""

    def __init__(self, server: PgWireServer) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._task: asyncio.Task[None] | None = None
        self._received = bytearray()
        self._wanted_bytes = 0
        self._reading = True
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._send_due = False
        self._writable = True
        self._waiter: asyncio.Future[None] | None = None
        self._awaited: Await | None = None
        self._interruption: BaseException | None = None
        self._cancelled = False
        self._delivered = False
        self._lost = False
        self._admitted = False
        self._encrypted = False
        self.host = ""
        self.starting = True  # nobody is let in yet
        self._timer: asyncio.TimerHandle | None = None  # for the startup, and for the goodbye
        self.closed: asyncio.Future[None] = self._loop.create_future()

    # What the transport tells us

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if not self._server.opened(self):
            self._transport.abort()
            return
        connected = transport.get_extra_info("socket")
        if connected is not None and connected.family != socket.AF_UNIX:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._transport.set_write_buffer_limits(high=4 * SEND_BUFFER_BYTES)
        self._timer = self._loop.call_later(STARTUP_S_MAX, self.interrupt, Disconnected())
        peer = transport.get_extra_info("peername")
        self.host = peer[0] if isinstance(peer, tuple) else "local"
        address = f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else "local"
        door = Door(
            self._server.sessions,
            self._server.internal,
            address,
            self._admit,
            self._tell,
            lambda: self.interrupt(Stopping()),
            self._server.entrance,
            self._server.room,
        )
        self._task = self._loop.create_task(self._drive(conversation(door)))
        self._task.add_done_callback(self._driven)

    def data_received(self, data: bytes) -> None:
        self._received += data
        held_bytes = len(self._received)
        if self._wanted_bytes and held_bytes >= self._wanted_bytes:
            self._wake()
        if held_bytes >= max(RECEIVE_BUFFER_BYTES_MAX, self._wanted_bytes):
            self._reading = False
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        self.interrupt(Disconnected())
        return not self._encrypted  # what was asked before may still be answered; TLS ends both ways

    def connection_lost(self, error: Exception | None) -> None:
        self._lost = True
        self.interrupt(Disconnected())
        self._wake()
        if self._task is None or self._task.done():
            self._over()

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._wake()

    # How others end it

    def interrupt(self, why: BaseException) -> None:
        """Make the conversation end, wherever it is; the first reason counts."""
        if self._interruption is None:
            self._interruption = why
        self._nudge()

    def abort(self) -> None:
        """Hang up without another word."""
        if self._task is not None:
            self._task.cancel()
        self._transport.abort()

    def _nudge(self) -> None:
        if self._delivered:
            return
        if self._waiter is not None:
            self._wake()
        elif self._awaited is not None:
            if self._awaited.disconnected is not None:
                self._awaited.disconnected()
            elif self._task is not None and not self._cancelled:
                self._cancelled = True  # once: what is cancelled may have something to put in order
                self._task.cancel()

    def _tell(self, data: bytes) -> None:
        """A message that belongs to no step; steps write whole messages, so it comes between two."""
        if not self._lost:
            self._pending.append(data)
            self._send()

    def _admit(self) -> bool:
        if self._timer is not None:
            self._timer.cancel()
        self._admitted = self._server.admit()
        self.starting = not self._admitted
        return self._admitted

    # The conversation

    async def _drive(self, steps: Steps[None]) -> None:
        answer: Any = None
        raised: BaseException | None = None
        while True:
            try:
                step = steps.send(answer) if raised is None else steps.throw(raised)
            except StopIteration:
                break
            answer = raised = None
            try:
                answer = await self._take(step)
            except BaseException as error:  # whatever it is, the conversation is to know of it
                raised = self._meant(error)
        self._send()

    async def _take(self, step: Step) -> Any:
        match step:
            case Read(count, idle, beside, within_s):
                if len(self._received) < count or self._interruption is not None:
                    async with asyncio.timeout(within_s):
                        await self._readable_beside(count, idle, beside)
                data = bytes(self._received[:count])
                del self._received[:count]
                if not self._reading and len(self._received) < RECEIVE_BUFFER_BYTES_MAX:
                    self._resume_reading()
                return data
            case Glance(count):
                return bytes(self._received[:count])
            case Write(data):
                self._pending.append(data)
                self._pending_bytes += len(data)
                if self._pending_bytes >= SEND_BUFFER_BYTES:
                    await self._drain()
                    # A client that reads as fast as we write must not keep all others waiting.
                    await asyncio.sleep(0)
                elif not self._send_due:
                    # Sent as soon as this task waits for anything, unless there is a Flush before.
                    self._send_due = True
                    self._loop.call_soon(self._send)
            case Flush():
                await self._drain()
                if self._received:  # nor must one that sends without waiting for answers
                    await asyncio.sleep(0)
            case Secure():
                return await self._call(Await(self._secure))
            case Await():
                return await self._call(step)
        return None

    async def _secure(self) -> Channel:
        """Encrypt.  Nothing is waited for until the loop stops reading: no byte is lost, or read as it is."""
        tls = self._server.entrance.tls
        if tls is None or self._received:
            raise ProtocolViolation("received unencrypted data after SSL request")
        identity = tls.current
        self._send()
        try:
            transport = await self._loop.start_tls(
                *(self._transport, self, identity.sql),
                server_side=True,
                ssl_handshake_timeout=STARTUP_S_MAX,
                ssl_shutdown_timeout=SHUTDOWN_S_MAX,
            )
        except BaseException as error:
            self._lost = True  # a connection that breaks before it is encrypted tells nobody else
            self._transport.abort()
            if isinstance(error, OSError | EOFError):  # the client's doing
                count = self._server.broken_handshakes.due(self.host, self._loop.time())
                if count is not None:
                    _LOG.info("could not encrypt", client=self.host, error=_tls_reason(error), count=count)
                raise Disconnected from error
            raise
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=4 * SEND_BUFFER_BYTES)
        self._encrypted = True
        return Channel(identity.binding, _certified(self._transport))

    async def _call(self, step: Await) -> Any:
        if self._interruption is not None and not self._delivered:
            if step.disconnected is None:
                raise self._interruption
            self._loop.call_soon(self._nudge)  # heard only if the call has to wait
        self._awaited = step
        try:
            return await step.call()
        finally:
            self._awaited = None

    async def _readable_beside(
        self, count: int, idle: bool, beside: Callable[[], Awaitable[None]] | None
    ) -> None:
        """Wait for so many bytes, or until what is beside raises."""
        if beside is None:
            await self._readable(count, idle)
            return
        watch = asyncio.ensure_future(beside())
        watch.add_done_callback(self._watched)
        try:
            await self._readable(count, idle, watch)
        finally:
            watch.cancel()

    def _watched(self, watch: asyncio.Future[None]) -> None:
        if not watch.cancelled():
            watch.exception()  # looked at, so that nobody complains when the bytes were faster
            self._wake()

    async def _readable(self, count: int, idle: bool, watch: asyncio.Future[None] | None = None) -> None:
        """Wait for so many bytes.  A server that stops does so between messages; a client that has
        gone may have left some that are complete."""
        while True:
            stopping = isinstance(self._interruption, Stopping) and idle
            if self._interruption is not None and (stopping or len(self._received) < count):
                raise self._interruption
            if len(self._received) >= count:
                return
            if watch is not None and watch.done():
                watch.result()
            self._wanted_bytes = count
            if not self._reading:
                self._resume_reading()
            await self._wait()
            self._wanted_bytes = 0

    async def _drain(self) -> None:
        """Send what is pending and wait until the client has read enough of it."""
        self._send()
        while not self._writable and not self._lost and not self._delivered:
            if self._interruption is not None:
                raise self._interruption
            await self._wait()

    def _send(self) -> None:
        self._send_due = False
        if self._pending:
            # What is large is not copied once more, which would keep everybody waiting.
            large = self._pending_bytes > ENCODE_AT_ONCE_BYTES_MAX
            pieces = self._pending if large else [b"".join(self._pending)]
            self._pending, self._pending_bytes = [], 0
            for data in pieces if not self._lost else ():
                self._transport.write(data)

    def _resume_reading(self) -> None:
        self._reading = True
        if not self._lost:
            self._transport.resume_reading()

    async def _wait(self) -> None:
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _meant(self, error: BaseException) -> BaseException:
        """A cancelled wait was cancelled by us: it means the interruption.  So does a cancelled statement
        if the session is to end: its client is told nothing but that."""
        if self._interruption is None or self._delivered:
            return error
        stopping = isinstance(self._interruption, Stopping)
        stopped = stopping and isinstance(error, UserError) and error.sqlstate == "57014"
        if isinstance(error, asyncio.CancelledError) or stopped:
            error = self._interruption
        self._delivered = error is self._interruption
        return error

    def _driven(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.error("session broke", exc_info=error)
        if self._timer is not None:
            self._timer.cancel()
        if self._lost:
            self._over()
        else:
            self._transport.close()
            self._timer = self._loop.call_later(SHUTDOWN_S_MAX, self._transport.abort)

    def _over(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if not self.closed.done():
            self._server.left(self, self._admitted)
            self.closed.set_result(None)


def _certified(transport: asyncio.BaseTransport) -> str | None:
    """The name in the client's certificate, if it sent one; a known authority has signed it."""
    certificate = transport.get_extra_info("ssl_object").getpeercert()
    subject = (certificate or {}).get("subject", ())
    names = [value for part in subject for name, value in part if name == "commonName"]
    return names[0] if len(names) == 1 else None


def _tls_reason(error: BaseException) -> str:
    reason = error.reason if isinstance(error, ssl.SSLError) else None
    return (reason or str(error) or type(error).__name__).lower().replace("_", " ")

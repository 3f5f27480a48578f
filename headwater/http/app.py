"""The HTTP application, and the task that serves it in the environment's loop.

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(serve(app, address, stop))
        ...
        stop.set()          # open requests may end, within a bound; then serve() returns

The server installs no signal handlers: signals belong to whoever owns the process.

Requests are read by httptools and frames by websockets, which say what is no HTTP; what either would keep in
memory for a client that never comes to an end has a bound here.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from headwater.coordinator.api import Sessions
from headwater.coordinator.webhooks import Webhooks
from headwater.core.errors import UserError
from headwater.core.limits import (
    HTTP_BODY_BYTES_MAX,
    HTTP_CONNECTIONS_MAX,
    HTTP_HEAD_BYTES_MAX,
    HTTP_HEAD_S_MAX,
    HTTP_SHUTDOWN_S_MAX,
    RECEIVE_BUFFER_BYTES_MAX,
)
from headwater.http import health, metrics
from headwater.http.access import Access
from headwater.http.encrypted import EncryptedListener
from headwater.http.health import Readiness
from headwater.http.sql import SqlRequests
from headwater.http.webhooks import WebhookRequests
from headwater.http.websocket import SqlConversations
from headwater.options import Address
from headwater.tls import Tls

INDEX = """\
Headwater: a SQL server that keeps tables in step with upstream systems.

  /api/livez     the process is alive
  /api/readyz    statements can be run
  /metrics       numbers for Prometheus

  /api/sql               POST {"query": "SELECT 1"} as JSON
  /api/experimental/sql  the same as a conversation, by a websocket
  /api/webhook/...       POST rows for tables FROM WEBHOOK

SQL is spoken on another port too, with psql or any PostgreSQL driver.
"""


def build_app(
    readiness: Readiness,
    objects: metrics.Objects = lambda: (),
    sessions: Sessions | None = None,
    access: Access | None = None,
    webhooks: Webhooks | None = None,
) -> ASGIApp:
    """The application.

    `readiness` says whether the environment can serve, and if not why; `objects` how sources and tables are;
    `sessions` makes sessions for those whom `access` lets in; `webhooks` takes rows from anybody.
    """

    async def index(_: Request) -> Response:
        return PlainTextResponse(INDEX)

    routes: list[BaseRoute] = [Route("/", index), *health.routes(readiness), *metrics.routes(objects)]
    if sessions is not None:
        allowed = access or Access()
        routes.append(Route("/api/sql", SqlRequests(sessions, allowed)))
        routes.append(WebSocketRoute("/api/experimental/sql", SqlConversations(sessions, allowed)))
    app = Starlette(routes=routes)
    return app if webhooks is None else WebhookRequests(app, webhooks)


async def serve(
    app: ASGIApp,
    address: Address,
    stop: asyncio.Event,
    started: Callable[[Address], None] = lambda _: None,
    tls: Tls | None = None,
) -> None:
    """Serve until `stop` is set or this task is cancelled; with `tls`, encrypted.

    `started` is told the real address (which differs if the port was 0) once
    connections are accepted.  A port in use is a UserError.
    """
    listener = _listen(address)
    server = _Server(_config(app), tls)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    stopping = asyncio.create_task(stop.wait())
    # The socket listens already: who connects before uvicorn has begun waits in the backlog.
    started(Address(address.host, listener.getsockname()[1]))
    try:
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        server.should_exit = True
        try:
            await serving
        finally:
            listener.close()


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address.host, address.port))
        listener.listen()
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise UserError(
            f'could not listen for HTTP on "{address}": {error.strerror or error}',
            "58000",
            hint="Choose another address with --http-address.",
        ) from error
    return listener


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        loop="none",
        http=_Requests,
        ws="websockets-sansio",
        ws_max_size=HTTP_BODY_BYTES_MAX,
        ws_per_message_deflate=False,  # a small frame could be a large message
        lifespan="off",
        log_config=None,
        log_level="error",  # who sends what is no request does not write our log
        access_log=False,
        server_header=False,
        limit_concurrency=HTTP_CONNECTIONS_MAX,
        timeout_graceful_shutdown=HTTP_SHUTDOWN_S_MAX,
    )


class _Requests(HttpToolsProtocol):
    """uvicorn's reader of requests, with bounds for what comes before a body: its size and its time."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head_bytes = 0  # of the request that is being read
        self._received_bytes = 0  # since its head began to come
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_came()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._head_timer is None and (self.cycle is None or self.cycle.response_complete):
            self._await_head()
        if self._head_timer is not None:
            self._received_bytes += len(data)
            if self._received_bytes > HTTP_HEAD_BYTES_MAX + RECEIVE_BUFFER_BYTES_MAX:
                self.transport.abort()  # one line without an end, which the parser keeps
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_bytes = 0

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._head_came()
        super().on_headers_complete()

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > HTTP_HEAD_BYTES_MAX:
            raise ValueError("the head of a request is too long")  # which the parser takes for a bad request

    def _await_head(self) -> None:
        self._received_bytes = 0
        self._head_timer = self.loop.call_later(HTTP_HEAD_S_MAX, self.transport.abort)

    def _head_came(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


class _Server(uvicorn.Server):
    """uvicorn, minus its signal handlers, with certificates that are renewed."""

    def __init__(self, config: uvicorn.Config, tls: Tls | None) -> None:
        super().__init__(config)
        self._tls = tls

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if self._tls is None:
            await super().startup(sockets)
            return
        await super().startup([])
        servers: list[Any] = self.servers
        servers += [EncryptedListener(listener, self._protocol, self._tls) for listener in sockets or ()]

    def _protocol(self) -> asyncio.Protocol:
        made: Any = self.config.http_protocol_class
        protocol: asyncio.Protocol = made(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

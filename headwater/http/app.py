"""The HTTP application, and the task that serves it in the environment's loop.

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(serve(app, address, stop))
        ...
        stop.set()          # open requests may end, within a bound; then serve() returns

The server installs no signal handlers: signals belong to whoever owns the process.

Not here: what a connection may make the server keep (connections.py).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp

from headwater.coordinator.api import Sessions
from headwater.coordinator.webhooks import Webhooks
from headwater.core.errors import UserError
from headwater.core.limits import (
    HTTP_BODY_BYTES_MAX,
    HTTP_CONNECTIONS_MAX,
    HTTP_SHUTDOWN_S_MAX,
)
from headwater.http import health, metrics
from headwater.http.access import Access
from headwater.http.connections import Connections, Conversations, Requests
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

    allowed = access or Access()
    routes: list[BaseRoute] = [
        Route("/", index),
        *health.routes(readiness),
        *metrics.routes(objects, allowed),
    ]
    if sessions is not None:
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
    connections = Connections()
    requests: Any = partial(Requests, connections=connections)
    conversations: Any = partial(Conversations, connections=connections)
    return uvicorn.Config(
        app,
        loop="none",
        http=requests,
        ws=conversations,
        ws_max_size=HTTP_BODY_BYTES_MAX,
        ws_per_message_deflate=False,  # a small frame could be a large message
        lifespan="off",
        log_config=None,
        log_level="error",  # who sends what is no request does not write our log
        access_log=False,
        proxy_headers=False,  # or a client on the machine says itself where it is, and guesses unslowed
        server_header=False,
        limit_concurrency=HTTP_CONNECTIONS_MAX + 1,  # which connections.py does not let come so far
        timeout_graceful_shutdown=HTTP_SHUTDOWN_S_MAX,
    )


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

"""The HTTP application, and the task that serves it in the environment's loop.

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(serve(app, address, stop))
        ...
        stop.set()          # open requests may end, within a bound; then serve() returns

The server installs no signal handlers: signals belong to whoever owns the process.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from headwater.core.errors import UserError
from headwater.core.limits import HTTP_CONNECTIONS_MAX, HTTP_SHUTDOWN_S_MAX
from headwater.http import health, metrics
from headwater.http.health import Readiness
from headwater.options import Address

INDEX = """\
Headwater: a SQL server that keeps tables in step with upstream systems.

  /api/livez     the process is alive
  /api/readyz    statements can be run
  /metrics       numbers for Prometheus

SQL is spoken on another port, with psql or any PostgreSQL driver.
"""


def build_app(readiness: Readiness, objects: metrics.Objects = lambda: ()) -> Starlette:
    """The application.

    `readiness` says whether the environment can serve, and if not why; `objects` how sources and tables are.
    """

    async def index(_: Request) -> Response:
        return PlainTextResponse(INDEX)

    return Starlette(routes=[Route("/", index), *health.routes(readiness), *metrics.routes(objects)])


async def serve(
    app: Starlette,
    address: Address,
    stop: asyncio.Event,
    started: Callable[[Address], None] = lambda _: None,
) -> None:
    """Serve until `stop` is set or this task is cancelled.

    `started` is told the real address (which differs if the port was 0) once
    connections are accepted.  A port in use is a UserError.
    """
    listener = _listen(address)
    server = _Server(_config(app))
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


def _config(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        loop="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=HTTP_CONNECTIONS_MAX,
        timeout_graceful_shutdown=HTTP_SHUTDOWN_S_MAX,
    )


class _Server(uvicorn.Server):
    """uvicorn, minus its signal handlers."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

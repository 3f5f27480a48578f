"""Health: does the process live, and can it serve?

    GET /api/livez    200 as long as the event loop turns
    GET /api/readyz   200 when statements can be run, 503 with the reason otherwise

A supervisor restarts on livez and routes on readyz; so livez asks nobody.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

Readiness = Callable[[], tuple[bool, str]]
"""(ready, why not); called for each request, so it must be cheap and must not block."""


def routes(readiness: Readiness) -> list[Route]:
    """The two routes."""

    async def livez(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        ready, reason = readiness()
        if ready:
            return PlainTextResponse("ready\n")
        return PlainTextResponse(f"{reason}\n", status_code=503)

    return [Route("/api/livez", livez), Route("/api/readyz", readyz)]

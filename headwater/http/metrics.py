"""Metrics: GET /metrics in Prometheus' text form.  What is counted stands in observe/metrics.py."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.observe.metrics import CONTENT_TYPE, exposition


def routes() -> list[Route]:
    """The one route."""

    async def metrics(_: Request) -> Response:
        return Response(exposition(), headers={"content-type": CONTENT_TYPE})

    return [Route("/metrics", metrics)]

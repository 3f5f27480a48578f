"""Metrics: GET /metrics in Prometheus' text form.  What is counted stands in observe/metrics.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.observe.metrics import CONTENT_TYPE, ObjectNumbers, exposition

Objects = Callable[[], Sequence[ObjectNumbers]]


def routes(objects: Objects) -> list[Route]:
    """The one route; `objects` says how sources and tables are now."""

    async def metrics(_: Request) -> Response:
        return Response(exposition(objects()), headers={"content-type": CONTENT_TYPE})

    return [Route("/metrics", metrics)]

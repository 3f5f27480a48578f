"""Metrics: GET /metrics in Prometheus' text form.  What is counted stands in observe/metrics.py.

They have the names of sources and tables in them.  So where passwords are asked for, they are for roles, and
for programs of this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from headwater.core.addresses import loopback
from headwater.core.errors import UserError
from headwater.http.access import Access, client_of
from headwater.observe.metrics import CONTENT_TYPE, ObjectNumbers, exposition

Objects = Callable[[], Sequence[ObjectNumbers]]


def routes(objects: Objects, access: Access) -> list[Route]:
    """The one route; `objects` says how sources and tables are now."""

    async def metrics(request: Request) -> Response:
        if not access.trusted and not (request.client and loopback(request.client.host)):
            try:
                await access.role(request.headers.raw, client_of(request.scope))
            except UserError as refused:
                asked = {"www-authenticate": 'Basic realm="headwater"'}
                return PlainTextResponse(f"{refused.message}\n", 401, asked)
        return Response(exposition(objects()), headers={"content-type": CONTENT_TYPE})

    return [Route("/metrics", metrics)]

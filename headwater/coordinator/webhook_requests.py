"""One request for a webhook, and what its client is told.

Not here: how requests become rows (webhooks.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from headwater.coordinator.webhook_rows import Headers
from headwater.persist.ledger import Taken


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client is told."""

    status: int
    text: str = ""


@dataclass(slots=True)
class Request:
    """One request, whose body is there."""

    item_id: str
    body: bytes
    headers: Headers
    answer: asyncio.Future[Answer]
    taken: Taken | None = None
    twin: Request | None = None  # one of the same batch with the same key, which is told the same


def tell(request: Request, answer: Answer) -> None:
    """The first answer counts."""
    if not request.answer.done():
        request.answer.set_result(answer)


def tell_all(requests: Iterable[Request], answer: Answer) -> None:
    """The same to all that were told nothing yet."""
    for request in requests:
        tell(request, answer)


def told(request: Request, unknown: Answer) -> Answer:
    """What a request was told; one whose client has gone was told nothing."""
    return unknown if request.answer.cancelled() else request.answer.result()

"""Requests for webhooks: POST /api/webhook/<database>/<schema>/<table>.

    200   the rows are durable
    400   the body is not of the format, or CHECK does not hold
    401   a header that has a column is sent more than once
    404   there is no such webhook
    405   not a POST
    408   the body did not come in time
    413   the body is too long
    422   an Idempotency-Key that was used for another body
    429   too many requests are in flight
    500   a defect of ours; 503: not now

Errors are a line of text.  Webhooks are for strangers: what they have to prove is in the table's CHECK.

This application is asked for every request of its kind before any other routing is done: a sender may send
thousands a second.

Not here: what becomes of them (coordinator/webhooks.py).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import lru_cache
from typing import Final
from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp, Receive, Scope, Send

from headwater.coordinator.webhook_requests import Answer
from headwater.coordinator.webhook_room import Arriving, Room
from headwater.coordinator.webhooks import Webhooks
from headwater.core.limits import (
    HTTP_BODY_BYTES_MAX,
    HTTP_BODY_S_MAX,
    WEBHOOK_PATH_BYTES_MAX,
    WEBHOOK_PATHS_MAX,
)
from headwater.http.statements import ClientGone
from headwater.observe import metrics

PREFIX: Final = b"/api/webhook/"
_PARTS: Final = 3
_TEXT: Final = (b"content-type", b"text/plain; charset=utf-8")
_CLOSE: Final = (b"connection", b"close")
_OK_HEADERS: Final = [(b"content-length", b"0")]
_TOO_LONG: Final = Answer(413, f"a body is longer than {HTTP_BODY_BYTES_MAX} bytes")
_TOO_SLOW: Final = Answer(408, f"the body did not come within {HTTP_BODY_S_MAX:.0f} s")
_TOO_MANY: Final = Answer(429, "too many bytes are in flight, try again later")
_NO_PATH: Final = Answer(
    404, "no object was found at the path: it is /api/webhook/<database>/<schema>/<table>"
)


class WebhookRequests:
    """The application for webhooks; everything else goes to the one inside."""

    def __init__(self, inside: ASGIApp, webhooks: Webhooks) -> None:
        self._inside = inside
        self._webhooks = webhooks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["raw_path"].startswith(PREFIX):
            await self._inside(scope, receive, send)
            return
        try:
            answer = await self._answer(scope, receive)
        except ClientGone:
            return
        metrics.webhook_answered(answer.status)
        await _send(send, answer)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        if scope["method"] != "POST":
            return Answer(405, "requests for webhooks are sent by POST")
        raw = scope["raw_path"]
        path = _path(raw) if len(raw) <= WEBHOOK_PATH_BYTES_MAX else None
        if path is None:
            return _NO_PATH
        return self._webhooks.refusal(path) or await self._taken(scope, receive, path)

    async def _taken(self, scope: Scope, receive: Receive, path: tuple[str, ...]) -> Answer:
        webhooks, room = self._webhooks, self._webhooks.room
        timeout = asyncio.timeout(HTTP_BODY_S_MAX)

        def push_out() -> None:
            with suppress(RuntimeError):  # its time is over anyway
                timeout.reschedule(asyncio.get_running_loop().time())

        body = Arriving((scope.get("client") or ("",))[0], push_out)
        room.begin(body)
        try:
            async with timeout:
                refusal = await _read(receive, room, body)
            return refusal or await webhooks.take(path, scope["headers"], bytes(body.data))
        except TimeoutError:
            return _TOO_MANY if body.pushed_out else _TOO_SLOW
        finally:
            room.end(body)


async def _read(receive: Receive, room: Room, body: Arriving) -> Answer | None:
    """All of a body; or why it is not taken."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        if body.pushed_out:  # in the moment in which the next piece came
            return _TOO_MANY
        if not room.add(body, message.get("body", b"")):
            return _TOO_MANY
        if body.size > HTTP_BODY_BYTES_MAX:
            return _TOO_LONG
        if not message.get("more_body", False):
            room.there(body)
            return None


@lru_cache(WEBHOOK_PATHS_MAX)
def _path(raw: bytes) -> tuple[str, ...] | None:
    parts = raw[len(PREFIX) :].split(b"/")
    if len(parts) != _PARTS or not all(parts):
        return None
    try:
        return tuple(unquote_to_bytes(part).decode() for part in parts)
    except UnicodeDecodeError:
        return None


async def _send(send: Send, answer: Answer) -> None:
    if answer.status == 200:
        await send({"type": "http.response.start", "status": 200, "headers": _OK_HEADERS})
        await send({"type": "http.response.body", "body": b""})
        return
    body = answer.text.encode() + b"\n"
    headers = [_TEXT, (b"content-length", str(len(body)).encode())]
    if answer.status in (405, 408, 413, 429):
        headers.append(_CLOSE)  # a body may still be on its way
    if answer.status in (429, 503):
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

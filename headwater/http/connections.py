"""Connections for HTTP: uvicorn's, with bounds for what a stranger may make the server keep.

    of a request      its head, in bytes and in time; requests that are sent before the last is answered
    of a websocket    what is sent before somebody has logged in; pieces of one message; pongs
    of an address     connections; when there are too many, strangers make room (core/crowd.py)

Requests are read by httptools and frames by websockets, which say what is no HTTP; what either would keep in
memory for a client that never comes to an end has a bound here.

A connection is a stranger's until the application says, by `letting_in`, that somebody has shown who they
are; a connection for requests is one again when its request has been answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, cast

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState
from websockets.frames import CloseCode

from headwater.core.crowd import to_leave
from headwater.core.limits import (
    HTTP_CONNECTIONS_MAX,
    HTTP_FIRST_MESSAGE_BYTES_MAX,
    HTTP_HEAD_BYTES_MAX,
    HTTP_HEAD_S_MAX,
    HTTP_PIECES_MAX,
    HTTP_PIPELINED_MAX,
    RECEIVE_BUFFER_BYTES_MAX,
)

_LET_IN: Final = "headwater.let_in"
_HEADER_BYTES: Final = len(": \r\n")


def letting_in(scope: Scope) -> Callable[[bool], None]:
    """Says whose the connection of a request is: somebody's who has logged in, or a stranger's again."""
    found: Callable[[bool], None] = scope.get("extensions", {}).get(_LET_IN, lambda _: None)
    return found


class Connections:
    """Those of one address, the oldest first."""

    def __init__(self) -> None:
        self._open: dict[Requests | Conversations, None] = {}

    def entered(self, connection: Requests | Conversations) -> bool:
        """Take one more in; False if there is no room, and no stranger either."""
        if len(self._open) >= HTTP_CONNECTIONS_MAX:
            other = to_leave(other for other in self._open if other.strange)
            if other is None:
                return False
            self.left(other)
            other.transport.abort()
        self._open[connection] = None
        return True

    def left(self, connection: Requests | Conversations) -> None:
        self._open.pop(connection, None)


class Requests(HttpToolsProtocol):
    """A connection for requests."""

    def __init__(self, *arguments: Any, connections: Connections, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._crowd = connections
        self.host = ""
        self.strange = True
        self._head_bytes = 0  # of the request that is being read
        self._received_bytes = 0  # since its head began to come
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.host = self.client[0] if self.client else ""
        if self._crowd.entered(self):
            self._await_head()
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._crowd.left(self)
        self._head_came()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        self._crowd.left(self)
        super().handle_websocket_upgrade()

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
        cast(dict[str, Any], self.scope)["extensions"] = {_LET_IN: self._let_in}

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + _HEADER_BYTES)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._head_came()
        if len(self.pipeline) >= HTTP_PIPELINED_MAX:
            self.transport.abort()
            raise ValueError("too many requests before the first is answered")
        super().on_headers_complete()

    def _let_in(self, trusted: bool) -> None:
        self.strange = not trusted

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


class Conversations(WebSocketsSansIOProtocol):
    """A connection for a websocket."""

    def __init__(self, *arguments: Any, connections: Connections, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._crowd = connections
        self.host = ""
        self.strange = True
        self._received_bytes = 0  # as long as it is a stranger's

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.host = self.client[0] if self.client else ""
        if not self._crowd.entered(self):
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._crowd.left(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.strange:
            self._received_bytes += len(data)
            if self._received_bytes > HTTP_HEAD_BYTES_MAX + HTTP_FIRST_MESSAGE_BYTES_MAX:
                self.transport.abort()
                return
        try:
            super().data_received(data)
        except InvalidState:  # frames after the one that closes
            self.transport.abort()

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        scope = getattr(self, "scope", None)  # there is none if the handshake was refused
        if scope is not None:
            scope["extensions"][_LET_IN] = self._let_in

    def handle_cont(self, event: Any) -> None:
        if len(self.frames) >= HTTP_PIECES_MAX:  # of which each may be next to nothing
            self.transport.abort()
            return
        super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        if self.curr_msg_data_type == "text":
            try:
                b"".join(self.frames).decode()
            except UnicodeDecodeError:  # of which uvicorn writes a traceback for each
                self.frames = []
                self.conn.send_close(CloseCode.INVALID_DATA)
                self.handle_parser_exception()
                return
        super().send_receive_event_to_app()

    def handle_ping(self) -> None:
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()  # no pong for who does not read

    def _let_in(self, trusted: bool) -> None:
        self.strange = not trusted

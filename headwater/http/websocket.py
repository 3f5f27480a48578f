"""SQL by a conversation: the websocket /api/experimental/sql.

    client   {"user": "...", "password": "...", "options": {...}}      once, first; all of them may be missing
    server   ParameterStatus*, BackendKeyData, ReadyForQuery
    client   {"query": ...} or {"queries": [...]}, as in a request (sql.py)
    server   for each statement CommandStarting, Rows, Row*, CommandComplete; or Error, after which the rest
             is not run; Notice at any time; then ParameterStatus of settings that have changed, and
             ReadyForQuery

Each message is {"type": ..., "payload": ...}.  The session lasts as long as the conversation: transactions,
cursors and settings go from one message to the next.  Rows of a SUBSCRIBE are sent when they come.  A client
that goes away cancels what runs; messages that it sends meanwhile wait, up to a bound.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from starlette.types import Message, Receive, Scope, Send

from headwater.coordinator.api import Notice, Session, Sessions
from headwater.core.errors import UserError
from headwater.core.limits import HTTP_BODY_BYTES_MAX, HTTP_FIRST_MESSAGE_S_MAX, HTTP_MESSAGES_AHEAD_MAX
from headwater.core.relation import Column
from headwater.http import statements
from headwater.http.access import Access, Headers, client_of, credentials, header
from headwater.http.connections import letting_in
from headwater.http.sql import asked_of, settings_of
from headwater.http.statements import ClientGone, description, error_form, notice_form

_POLICY: Final = 1008
"""The close code for a client that has broken a rule."""
_CLOSED_REASON_BYTES_MAX: Final = 120


class SqlConversations:
    """The application at /api/experimental/sql."""

    def __init__(self, sessions: Sessions, access: Access) -> None:
        self._sessions = sessions
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        headers = scope["headers"]
        try:
            self._access.check_origin(scope)
            credentials(header(headers, b"authorization"))
        except UserError:
            await send({"type": "websocket.close", "code": _POLICY})  # before it is accepted: 403
            return
        await send({"type": "websocket.accept"})
        inbox = _Inbox(receive)
        talk = _Talk(send)
        try:
            session = await self._opened(headers, scope, inbox)
            letting_in(scope)(True)
            try:
                await _conversation(session, inbox, talk)
            finally:
                await session.close()
        except ClientGone:
            pass
        except UserError as error:
            await talk.hang_up(error)
        finally:
            await inbox.close()
            await talk.close()

    async def _opened(self, headers: Headers, scope: Scope, inbox: _Inbox) -> Session:
        try:
            async with asyncio.timeout(HTTP_FIRST_MESSAGE_S_MAX):
                first = _object(await inbox.take())
        except TimeoutError:
            raise UserError("the first message did not come", "08P01") from None
        if not set(first) <= {"user", "password", "options"}:
            raise UserError(
                "the first message says who you are",
                "08P01",
                hint='Send {"user": "..."}, or {} for the default.',
            )
        try:
            options = settings_of(first.get("options", {}))
        except ValueError:
            raise UserError("options are not a JSON object of texts", "08P01") from None
        user, password = first.get("user"), first.get("password")
        if not all(value is None or isinstance(value, str) for value in (user, password)):
            raise UserError("user and password must be texts", "08P01")
        if user is None:
            user, password = credentials(header(headers, b"authorization"))
        client = client_of(scope)
        role = await self._access.identify(user, password, client)
        return await self._sessions.open_session(role, options, client, False)


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise UserError("a message is not a JSON object", "08P01")
    return value


async def _conversation(session: Session, inbox: _Inbox, talk: _Talk) -> None:
    conversation = asyncio.current_task()
    session.listen(talk.hear, lambda: _end(conversation))
    inbox.on_leaving(session.cancel)
    try:
        await talk.settings(session.parameter_statuses())
        await talk.say("BackendKeyData", {"conn_id": session.backend_pid, "secret_key": session.secret_key})
        await talk.notices(session.take_notices())
        while True:
            await talk.say("ReadyForQuery", session.status)
            text = await _next(session, inbox)
            asked = asked_of(_message(text))
            if asked is None:
                await talk.error(UserError('a message is {"query": ...} or {"queries": [...]}', "08P01"))
                continue
            await statements.run(session, asked, talk)
            if inbox.gone:
                raise ClientGone
            await talk.settings(session.parameter_statuses())
    except asyncio.CancelledError:  # the server stops, or this session is ended by somebody
        raise UserError("terminating connection due to administrator command", "57P01") from None


def _end(conversation: asyncio.Task[Any] | None) -> None:
    if conversation is not None:
        conversation.cancel()


def _message(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


async def _next(session: Session, inbox: _Inbox) -> str:
    try:
        async with asyncio.timeout(session.patience_s()):
            return await inbox.take()
    except TimeoutError:
        raise UserError("terminating connection due to idle-in-transaction timeout", "25P03") from None


class _Inbox:
    """Messages of the client, taken from it all the time, so that one that leaves is noticed."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._waiting: asyncio.Queue[str | None] = asyncio.Queue(HTTP_MESSAGES_AHEAD_MAX)
        self._waiting_size = 0  # of them, in characters
        self._leaving: Callable[[], None] = lambda: None
        self._broken: UserError | None = None
        self.gone = False
        self._reading = asyncio.create_task(self._read())

    def on_leaving(self, leaving: Callable[[], None]) -> None:
        """Called when the client leaves."""
        self._leaving = leaving

    async def take(self) -> str:
        """The next message; ClientGone after the last."""
        if self.gone and self._waiting.empty():
            raise self._broken or ClientGone()
        text = await self._waiting.get()
        if text is None:
            raise self._broken or ClientGone()
        self._waiting_size -= len(text)
        return text

    async def _read(self) -> None:
        while True:
            message: Message = await self._receive()
            if message["type"] == "websocket.disconnect":
                break
            text = message.get("text")
            if text is None:
                self._broken = UserError("messages are texts", "08P01")
                break
            self._waiting_size += len(text)
            if self._waiting.full() or self._waiting_size > HTTP_BODY_BYTES_MAX:
                self._broken = UserError(
                    f"more than {HTTP_MESSAGES_AHEAD_MAX} messages, or {HTTP_BODY_BYTES_MAX} characters of"
                    " them, wait for the one that runs",
                    "53400",
                )
                break
            self._waiting.put_nowait(text)
        self.gone = True
        self._leaving()
        while not self._waiting.empty():  # nobody wants the answers
            self._waiting.get_nowait()
        self._waiting.put_nowait(None)

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.wait([self._reading])


class _Talk:
    """Writes messages; one after the other, whoever they come from."""

    subscribes = True

    def __init__(self, send: Send) -> None:
        self._send = send
        self._turn = asyncio.Lock()
        self._heard: set[asyncio.Task[None]] = set()
        self._settings: dict[str, str] = {}

    def hear(self, notice: Notice) -> None:
        """A notice of what runs; it is sent at once."""
        task = asyncio.create_task(self.notices([notice]))
        self._heard.add(task)
        task.add_done_callback(self._was_heard)

    def _was_heard(self, task: asyncio.Task[None]) -> None:
        self._heard.discard(task)
        if not task.cancelled():
            task.exception()  # a client that has gone is noticed elsewhere

    async def say(self, kind: str, payload: Any) -> None:
        """One message."""
        await self._write([_dumped({"type": kind, "payload": payload})])

    async def settings(self, statuses: dict[str, str]) -> None:
        """Those that have changed since they were last told."""
        for name, value in statuses.items():
            if self._settings.get(name) != value:
                await self.say("ParameterStatus", {"name": name, "value": value})
        self._settings = dict(statuses)

    async def starting(self, has_rows: bool, endless: bool) -> None:
        await self.say("CommandStarting", {"has_rows": has_rows, "is_streaming": endless})

    async def columns(self, columns: Sequence[Column]) -> None:
        await self.say("Rows", description(columns))

    async def rows(self, lines: bytes) -> None:
        # The protocol has a message for each row.
        await self._write([f'{{"type":"Row","payload":{row}}}' for row in lines.decode().split("\n")[:-1]])

    async def complete(self, tag: str) -> None:
        await self.say("CommandComplete", tag)

    async def notices(self, notices: Sequence[Notice]) -> None:
        for notice in notices:
            await self.say("Notice", notice_form(notice))

    async def error(self, error: UserError) -> None:
        await self.say("Error", error_form(error))

    async def hang_up(self, error: UserError) -> None:
        """The last message of a conversation that cannot go on, and the end."""
        reason = error.message.encode()[:_CLOSED_REASON_BYTES_MAX].decode(errors="ignore")
        try:
            await self.error(error)
            await self._send({"type": "websocket.close", "code": _POLICY, "reason": reason})
        except (ClientGone, OSError, RuntimeError):
            pass  # gone already

    async def close(self) -> None:
        for task in self._heard:
            task.cancel()

    async def _write(self, texts: Sequence[str]) -> None:
        async with self._turn:
            try:
                for text in texts:
                    await self._send({"type": "websocket.send", "text": text})
            except (OSError, RuntimeError):  # after a close nothing can be sent
                raise ClientGone from None
        # A client that reads as fast as we write must not keep all others waiting.
        await asyncio.sleep(0)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace").decode()

"""SQL by requests: POST /api/sql.

    {"query": "SELECT 1; SELECT 2"}
    {"queries": [{"query": "SELECT $1::int + 1", "params": ["41"]}]}

    {"results": [{"desc": {"columns": [...]}, "rows": [["1"]], "tag": "SELECT 1", "notices": []},
                 {"ok": "INSERT 0 1", "notices": []},
                 {"error": {"message", "code", "detail", "hint", "position"}, "notices": []}]}

Each request has a session of its own and is one transaction.  Settings for it may be given as
`?options={...}`.  The answer is written while the statements run; its status is 200 from then on, whatever
they do.  An error that is met among the rows stands beside those that were sent.  A client that goes away
cancels what runs.

Not here: how statements run (statements.py), who may (access.py).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Sequence
from typing import Any, Final
from urllib.parse import parse_qs

from starlette.types import Message, Receive, Scope, Send

from headwater.coordinator.api import Notice, Session, Sessions
from headwater.core.errors import UserError
from headwater.core.limits import HTTP_BODY_BYTES_MAX, HTTP_BODY_S_MAX, SEND_BUFFER_BYTES
from headwater.core.relation import Column
from headwater.http import statements
from headwater.http.access import Access, Headers, client_of, header
from headwater.http.connections import letting_in
from headwater.http.statements import Asked, ClientGone, description, error_form, notice_form

_JSON: Final = (b"content-type", b"application/json")
_THROWN_AWAY_BYTES_MAX: Final = 4 * HTTP_BODY_BYTES_MAX
_STATUSES: Final = {"28000": 403, "28P01": 401, "53300": 503, "57P03": 503}


class Refused(Exception):
    """A request that is answered with a status instead of results."""

    def __init__(self, status: int, error: UserError) -> None:
        self.status = status
        self.error = error


class SqlRequests:
    """The application at /api/sql."""

    def __init__(self, sessions: Sessions, access: Access) -> None:
        self._sessions = sessions
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            session, asked = await self._opened(scope, receive)
        except Refused as refused:
            await _refuse(send, refused)
            return
        except ClientGone:
            return
        answer = _Answer(send)
        session.listen(answer.hear, session.cancel)
        let_in = letting_in(scope)
        let_in(True)
        try:
            await _beside_client(session, answer, _answered(session, asked, answer), receive)
        finally:
            let_in(False)
            await session.close()

    async def _opened(self, scope: Scope, receive: Receive) -> tuple[Session, list[Asked]]:
        headers = scope["headers"]
        if scope["method"] != "POST":
            raise Refused(405, UserError("statements are sent by POST", "08P01"))
        try:
            self._access.check_origin(scope)
            _check_type(headers)
            client = client_of(scope)
            user = await self._access.role(headers, client)  # strangers' bodies are kept by nobody
            async with asyncio.timeout(HTTP_BODY_S_MAX):
                body = await body_of(headers, receive)
            asked = _asked(body)
            options = _options(scope["query_string"])
            session = await self._sessions.open_session(user, options, client, False)
        except TimeoutError:
            raise Refused(408, UserError("the request did not come in time", "08P01")) from None
        except UserError as error:
            raise Refused(_STATUSES.get(error.sqlstate, 400), error) from error
        return session, asked


def _check_type(headers: Headers) -> None:
    """A form of a page can send text without being asked for leave, but not JSON."""
    kind = (header(headers, b"content-type") or "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(
            415,
            UserError(
                "a request must be JSON", "08P01", hint="Send the header Content-Type: application/json."
            ),
        )


async def body_of(headers: Headers, receive: Receive) -> bytes:
    """The whole body, up to the limit.

    Some more is taken and thrown away: a client that is answered while it sends may not hear the answer.
    """
    size = int(header(headers, b"content-length") or 0)  # the parser has seen to it that it is a number
    body = bytearray()
    received, more = 0, size <= _THROWN_AWAY_BYTES_MAX
    while more:
        message: Message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        piece = message.get("body", b"")
        received += len(piece)
        if received <= HTTP_BODY_BYTES_MAX:
            body += piece
        more = message.get("more_body", False) and received <= _THROWN_AWAY_BYTES_MAX
    if max(size, received) > HTTP_BODY_BYTES_MAX:
        raise Refused(413, UserError(f"a request is longer than {HTTP_BODY_BYTES_MAX} bytes", "54000"))
    return bytes(body)


def _options(query: bytes) -> dict[str, str]:
    """The session's settings, from `?options={...}`."""
    try:
        given = parse_qs(query.decode("ascii"), max_num_fields=16).get("options", ["{}"])
        return settings_of(json.loads(given[-1]))
    except (ValueError, RecursionError):
        raise UserError("options are not a JSON object of texts", "08P01") from None


def settings_of(options: Any) -> dict[str, str]:
    """Settings for a session out of JSON; ValueError if they are none."""
    if not isinstance(options, dict) or not all(isinstance(value, str) for value in options.values()):
        raise ValueError(options)
    return options


def _asked(body: bytes) -> list[Asked]:
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, json.JSONDecodeError) else "it is not readable"
        raise Refused(400, UserError(f"the request is not JSON: {reason}", "08P01")) from None
    asked = asked_of(request)
    if asked is None:
        raise Refused(
            422,
            UserError(
                'a request is {"query": text} or {"queries": [{"query": text, "params": [text or null]}]}',
                "08P01",
            ),
        )
    return asked


def asked_of(request: Any) -> list[Asked] | None:
    """What a request asks for; None if it is of another form."""
    if not isinstance(request, dict):
        return None
    if set(request) == {"query"}:
        return [Asked(request["query"])] if _is_text(request["query"]) else None
    if set(request) != {"queries"} or not isinstance(request["queries"], list):
        return None
    made = []
    for query in request["queries"]:
        if (
            not isinstance(query, dict)
            or not set(query) <= {"query", "params"}
            or not _is_text(query.get("query"))
        ):
            return None
        parameters = query.get("params", [])
        if not isinstance(parameters, list) or not all(p is None or _is_text(p) for p in parameters):
            return None
        made.append(Asked(query["query"], tuple(parameters)))
    return made


def _is_text(value: Any) -> bool:
    """Surrogates that have no partner are no characters."""
    return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)


async def _refuse(send: Send, refused: Refused) -> None:
    body = json.dumps({"error": error_form(refused.error)}).encode() + b"\n"
    headers = [_JSON, (b"content-length", str(len(body)).encode())]
    if refused.status == 401:
        headers.append((b"www-authenticate", b'Basic realm="headwater"'))
    if refused.status in (405, 408, 413):
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _answered(session: Session, asked: Sequence[Asked], answer: _Answer) -> None:
    await statements.run(session, asked, answer)
    if session.status != "I":
        await answer.notices([_LEFT_OPEN])
    await answer.end()


_LEFT_OPEN: Final = Notice(
    "WARNING", "the transaction was not committed and is rolled back", "25001", hint="End it with COMMIT."
)


async def _beside_client(
    session: Session, answer: _Answer, work: Coroutine[Any, Any, None], receive: Receive
) -> None:
    """Answer; if the client leaves meanwhile, what runs is cancelled."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            answer.gone = True
            session.cancel()
        await working
    except ClientGone:
        pass
    finally:
        leaving.cancel()
        working.cancel()
        await asyncio.wait({working, leaving})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class _Answer:
    """Writes `{"results": [...]}`, a piece at a time."""

    subscribes = False

    def __init__(self, send: Send) -> None:
        self._send = send
        self._pending: list[bytes] = [b'{"results":[']
        self._pending_bytes = 0
        self._begun = False  # the status has been sent
        self._entry_count = 0
        self._open = False  # an entry with rows is being written
        self._row_count = 0  # in this entry
        self._notices: list[Notice] = []
        self.gone = False  # nobody takes it

    def hear(self, notice: Notice) -> None:
        """A notice of what runs; it stands with the statement."""
        self._notices.append(notice)

    async def starting(self, has_rows: bool, endless: bool) -> None:
        if self.gone:
            raise ClientGone

    async def columns(self, columns: Sequence[Column]) -> None:
        self._open, self._row_count = True, 0
        await self._write(self._next() + b'{"desc":' + _dumped(description(columns)) + b',"rows":[')

    async def rows(self, lines: bytes) -> None:
        if not lines:
            return
        comma = b"," if self._row_count else b""
        self._row_count += 1
        await self._write(comma + lines[:-1].replace(b"\n", b","))

    async def complete(self, tag: str) -> None:
        if self._open:
            await self._write(b'],"tag":' + _dumped(tag) + b"," + self._told() + b"}")
        else:
            await self._write(self._next() + b'{"ok":' + _dumped(tag) + b"," + self._told() + b"}")
        self._open = False

    async def notices(self, notices: Sequence[Notice]) -> None:
        self._notices += notices

    async def error(self, error: UserError) -> None:
        before = b"]," if self._open else self._next() + b"{"
        await self._write(before + b'"error":' + _dumped(error_form(error)) + b"," + self._told() + b"}")
        self._open = False

    async def end(self) -> None:
        """All of it is written."""
        if self._notices:  # that came after the last statement
            await self._write(self._next() + b'{"ok":"ROLLBACK",' + self._told() + b"}")
        self._pending.append(b"]}\n")
        await self._flush(more=False)

    def _next(self) -> bytes:
        self._entry_count += 1
        return b"," if self._entry_count > 1 else b""

    def _told(self) -> bytes:
        notices, self._notices = self._notices, []
        return b'"notices":' + _dumped([notice_form(notice) for notice in notices])

    async def _write(self, data: bytes) -> None:
        self._pending.append(data)
        self._pending_bytes += len(data)
        if self._pending_bytes >= SEND_BUFFER_BYTES:
            await self._flush(more=True)

    async def _flush(self, more: bool) -> None:
        body = b"".join(self._pending)
        self._pending, self._pending_bytes = [], 0
        if self.gone:
            raise ClientGone
        try:
            if not self._begun:
                headers = [_JSON] if more else [_JSON, (b"content-length", str(len(body)).encode())]
                await self._send({"type": "http.response.start", "status": 200, "headers": headers})
                self._begun = True
            await self._send({"type": "http.response.body", "body": body, "more_body": more})
        except OSError:
            raise ClientGone from None
        # A client that reads as fast as we write must not keep all others waiting.
        await asyncio.sleep(0)


def _dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

"""Clients that have not logged in: they keep nobody out, and the server keeps next to nothing for them.

Method: an environment in this process, and clients that send what a friendly one would not.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from headwater.core.errors import UserError
from headwater.core.limits import HTTP_FIRST_MESSAGE_BYTES_MAX, HTTP_PIECES_MAX, HTTP_PIPELINED_MAX
from headwater.http import connections, encrypted
from headwater.http.access import Access
from headwater.http.app import build_app, serve
from headwater.options import Address, TlsOptions
from headwater.tls import Tls
from tests.support.certificates import Authority
from tests.support.http import JSON, Served, serving
from tests.support.websocket import UPGRADE, frame

ROOM = 20
GET = b"GET /api/livez HTTP/1.1\r\nhost: localhost\r\n\r\n"
LAST = b"GET /api/livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (connections, encrypted):
        monkeypatch.setattr(module, "HTTP_CONNECTIONS_MAX", ROOM)


def run(data_dir: Path, told: Callable[[Served], Awaitable[None]]) -> None:
    async def story() -> None:
        async with serving(data_dir) as served:
            await asyncio.wait_for(told(served), 60)

    asyncio.run(story())


async def connected(served: Served) -> Connection:
    return await asyncio.open_connection(served.address.host, served.address.port)


async def upgraded(served: Served) -> Connection:
    reader, writer = await connected(served)
    writer.write(UPGRADE)
    assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
    return reader, writer


async def ended(reader: asyncio.StreamReader) -> bytes:
    """What comes until the server hangs up."""
    try:
        return await asyncio.wait_for(reader.read(), 30)
    except ConnectionError:
        return b""


async def said(reader: asyncio.StreamReader, word: bytes) -> None:
    await asyncio.wait_for(reader.readuntil(word), 30)


@pytest.mark.usefixtures("little_room")
def test_who_says_nothing_makes_room(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        talking = await upgraded(served)
        talking[1].write(frame(b"{}"))
        await said(talking[0], b"ReadyForQuery")
        silent = [await connected(served) for _ in range(ROOM)] + [
            await upgraded(served) for _ in range(ROOM)
        ]
        assert (await served.ask("/api/livez", method="GET")).status == 200
        for reader, _ in silent[:ROOM]:
            assert await ended(reader) == b""
        talking[1].write(frame(b'{"query": "SELECT 41 + 1"}'))
        await said(talking[0], b'["42"]')
        for _, writer in (talking, *silent):
            writer.close()

    run(tmp_path, told)


@pytest.mark.usefixtures("little_room")
def test_handshakes_without_an_end_make_room(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "authority")
    signed = authority.sign("localhost", ("localhost",))
    for name, text in (("ca", authority.certificate), ("crt", signed.certificate), ("key", signed.key)):
        (tmp_path / name).write_text(text)
    context = ssl.create_default_context(cafile=tmp_path / "ca")

    async def story() -> None:
        stop = asyncio.Event()
        address: asyncio.Future[Address] = asyncio.get_running_loop().create_future()
        tls = Tls(TlsOptions(tmp_path / "crt", tmp_path / "key"))
        app = build_app(lambda: (True, ""))
        task = asyncio.create_task(serve(app, Address("127.0.0.1", 0), stop, address.set_result, tls))
        connect = partial(asyncio.open_connection, "127.0.0.1", (await address).port)
        held = [await connect() for _ in range(2 * ROOM)]
        for _, writer in held:
            writer.write(b"\x16\x03\x01")
        reader, writer = await connect(ssl=context, server_hostname="localhost")
        writer.write(LAST)
        assert (await ended(reader)).endswith(b"ok\n")
        for reader, _ in held[:ROOM]:
            assert await ended(reader) == b""
        for _, writer in held:
            writer.close()
        stop.set()
        await asyncio.wait_for(task, 20)

    asyncio.run(story())


def test_nobody_says_themselves_where_they_are(tmp_path: Path) -> None:
    seen = []

    async def identify(user: str | None, password: str | None, address: str) -> str:
        seen.append(address)
        raise UserError("no", "28P01")

    async def story() -> None:
        async with serving(tmp_path, Access(identify, False)) as served:
            forged = {**JSON, "x-forwarded-for": "198.51.100.7", "forwarded": "for=198.51.100.7"}
            assert (await served.ask("/api/sql", b'{"query": "SELECT 1"}', forged)).status == 401

    asyncio.run(story())
    (address,) = seen
    assert address.startswith("127.0.0.1:")


def test_nothing_large_is_kept_before_a_login(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        reader, writer = await upgraded(served)
        writer.write(frame(b" " * (4 * HTTP_FIRST_MESSAGE_BYTES_MAX)))
        assert await ended(reader) == b""
        reader, writer = await upgraded(served)
        writer.write(frame(b"{}"))
        await said(reader, b"ReadyForQuery")
        text = "x" * (8 * HTTP_FIRST_MESSAGE_BYTES_MAX)
        writer.write(frame(json.dumps({"query": f"SELECT length('{text}')"}).encode()))
        await said(reader, f'["{len(text)}"]'.encode())
        writer.close()

    run(tmp_path, told)


def test_a_message_has_so_many_pieces_at_most(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        reader, writer = await upgraded(served)
        writer.write(frame(b"{}"))
        await said(reader, b"ReadyForQuery")
        writer.write(frame(b'{"query": "SELECT 1', final=False) + frame(b"", 0, final=False) * 100)
        writer.write(frame(b'0"}', 0))
        await said(reader, b'["10"]')
        await said(reader, b'"payload":"I"}')
        writer.write(frame(b"", final=False) + frame(b"", 0, final=False) * HTTP_PIECES_MAX)
        assert await ended(reader) == b""

    run(tmp_path, told)


def test_requests_that_nobody_takes_the_answers_of_are_few(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        reader, writer = await connected(served)
        writer.write(GET * (HTTP_PIPELINED_MAX - 2) + LAST)
        assert (await ended(reader)).count(b"ok\n") == HTTP_PIPELINED_MAX - 1
        reader, writer = await connected(served)
        writer.write(GET * 5 * HTTP_PIPELINED_MAX)
        assert (await ended(reader)).count(b"ok\n") < HTTP_PIPELINED_MAX
        assert (await served.ask("/api/livez", method="GET")).status == 200

    run(tmp_path, told)


class Written(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.data = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.data += data

    def close(self) -> None:
        pass

    def is_closing(self) -> bool:
        return False


def test_who_does_not_read_gets_no_pongs() -> None:
    async def accepting(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await receive()

    async def story() -> None:
        config, transport = uvicorn.Config(accepting, lifespan="off", log_config=None), Written()
        config.load()
        made = connections.Conversations(config, ServerState(), {}, connections=connections.Connections())
        made.connection_made(transport)
        made.data_received(UPGRADE)
        while b" 101 " not in transport.data:
            await asyncio.sleep(0)
        made.pause_writing()
        made.data_received(frame(b"first", 9))
        made.resume_writing()
        made.data_received(frame(b"second", 9))
        assert b"first" not in transport.data
        assert b"second" in transport.data
        made.connection_lost(None)

    asyncio.run(story())

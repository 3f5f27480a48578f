"""What webhooks reach: requests a second, and how long one waits for its 200.

Method: a real server, and senders with connections that they keep, in a process of their own on the same
machine.  Each connection sends the next request when the last one is answered.  In the end the rows are
counted: no more and no fewer than answers of 200.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import multiprocessing
import time
from collections.abc import Iterator

import pytest
import uvloop

from tests.bench.figures import Figures
from tests.support.server import HeadwaterServer

CONNECTIONS = 128
LAST_S = 10.0
REACH = 5_000
WHAT = {
    "plain": "of bytes",
    "documents": "of JSON",
    "signed": "of JSON with a signature that is checked",
}
BODY = json.dumps({"id": 1, "kind": "order", "note": "x" * 960}).encode()


@pytest.fixture(scope="module")
def figures() -> Iterator[Figures]:
    made = Figures("Webhooks")
    yield made
    made.write()


class _Sender(asyncio.Protocol):
    """One connection."""

    def __init__(self, request: bytes, waits_s: list[float]) -> None:
        self._request = request
        self._waits_s = waits_s
        self._begun_s = 0.0
        self._transport: asyncio.Transport
        self.stopping = False
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self._next()

    def _next(self) -> None:
        self._begun_s = time.monotonic()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        assert data.startswith(b"HTTP/1.1 200"), data
        self._waits_s.append(time.monotonic() - self._begun_s)
        if self.stopping:
            self._transport.close()
            self.over.set_result(None)
        else:
            self._next()


def _send(port: int, table: str, headers: str, told: multiprocessing.Queue[list[float]]) -> None:
    request = (
        f"POST /api/webhook/materialize/public/{table} HTTP/1.1\r\nhost: x\r\n"
        f"content-type: application/json\r\n{headers}content-length: {len(BODY)}\r\n\r\n"
    ).encode() + BODY

    async def run() -> list[float]:
        waits_s: list[float] = []
        loop = asyncio.get_running_loop()
        senders = [
            (await loop.create_connection(lambda: _Sender(request, waits_s), "127.0.0.1", port))[1]
            for _ in range(CONNECTIONS)
        ]
        await asyncio.sleep(LAST_S)
        for sender in senders:
            sender.stopping = True
        await asyncio.gather(*(sender.over for sender in senders))
        return waits_s

    told.put(uvloop.run(run()))  # so that the senders leave the server as much of the cores as they can


def _measured(server: HeadwaterServer, table: str, headers: str = "") -> tuple[float, float, float]:
    """Requests a second, and the median and the 99th of 100 waits in ms."""
    told: multiprocessing.Queue[list[float]] = multiprocessing.get_context("fork").Queue()
    process = multiprocessing.get_context("fork").Process(
        target=_send, args=(server.http_port, table, headers, told)
    )
    process.start()
    waits_s = sorted(told.get(timeout=LAST_S + 60))
    process.join()
    ((count,),) = server.query(f"SELECT count(*) FROM {table}")
    assert count == len(waits_s), "a row for each 200, and no other"
    middle, last = waits_s[len(waits_s) // 2], waits_s[len(waits_s) * 99 // 100]
    return len(waits_s) / LAST_S, middle * 1000, last * 1000


def test_requests_of_one_kilobyte(tmp_path_factory: pytest.TempPathFactory, figures: Figures) -> None:
    server = HeadwaterServer(tmp_path_factory.mktemp("webhooks") / "data").start()
    try:
        signature = hmac.new(b"s", BODY, hashlib.sha256).hexdigest()
        server.query("CREATE SECRET s AS 's'")
        server.query("CREATE TABLE plain FROM WEBHOOK BODY FORMAT BYTES")
        server.query("CREATE TABLE documents FROM WEBHOOK BODY FORMAT JSON")
        server.query(
            "CREATE TABLE signed FROM WEBHOOK BODY FORMAT JSON"
            " CHECK (WITH (BODY BYTES, HEADERS, SECRET s BYTES)"
            " constant_time_eq(decode(headers->'x-signature', 'hex'), hmac(body, s, 'sha256')))"
        )
        for table, headers in (("plain", ""), ("documents", ""), ("signed", f"x-signature: {signature}\r\n")):
            rate, middle_ms, last_ms = _measured(server, table, headers)
            what = f"requests of 1 kB for a table {WHAT[table]}, {CONNECTIONS} connections"
            figures.add(what, f"{rate:,.0f} a second", f"{REACH:,}", rate >= REACH)
            waits = f"{middle_ms:.0f} ms, {last_ms:.0f} ms"
            figures.add("their answers: the median, and 99 of 100", waits, "200 ms", last_ms <= 200)
    finally:
        server.stop()

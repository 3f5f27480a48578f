"""HTTP as bytes: an environment in this process that serves it, and requests by hand, so that nothing is
interpreted for a test."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.coordinator.coordinator import Coordinator
from headwater.http.access import Access
from headwater.http.app import build_app, serve
from headwater.options import Address
from tests.support.environment import ended, without_cluster

JSON = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Served:
    """An environment without a cluster, and where it listens."""

    coordinator: Coordinator
    address: Address

    async def ask(
        self, path: str, body: bytes = b"", headers: Mapping[str, str] = JSON, method: str = "POST"
    ) -> Answer:
        """One request on a connection of its own."""
        reader, writer = await asyncio.open_connection(self.address.host, self.address.port)
        try:
            writer.write(request(method, path, body, {"connection": "close", **headers}))
            return parsed(await asyncio.wait_for(reader.read(), 30))
        finally:
            writer.close()

    async def sql(self, query: Any, headers: Mapping[str, str] = JSON, path: str = "/api/sql") -> list[Any]:
        """The results of a text, or of several queries."""
        asked = {"query": query} if isinstance(query, str) else {"queries": query}
        answer = await self.ask(path, json.dumps(asked).encode(), headers)
        assert answer.status == 200, answer
        results: list[Any] = answer.json()["results"]
        return results

    async def rows(self, query: str) -> list[Any]:
        """The rows of one statement, which does not fail."""
        (result,) = await self.sql(query)
        assert "error" not in result, result
        rows: list[Any] = result.get("rows", result.get("ok"))
        return rows


def request(method: str, path: str, body: bytes, headers: Mapping[str, str]) -> bytes:
    """A request as it is sent."""
    lines = [f"{method} {path} HTTP/1.1", "host: localhost", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if "host" in headers:
        lines.remove("host: localhost")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def parsed(data: bytes) -> Answer:
    """An answer out of all that came until the connection was closed."""
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    if headers.get("transfer-encoding") == "chunked":
        body = _unchunked(body)
    return Answer(int(lines[0].split()[1]), headers, body)


def _unchunked(body: bytes) -> bytes:
    whole = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        length = int(size, 16)
        whole, body = whole + body[:length], body[length + 2 :]
        if not length:
            return whole
    raise AssertionError("the answer was cut off")


@asynccontextmanager
async def serving(data_dir: Path, access: Access | None = None) -> AsyncIterator[Served]:
    """An environment that answers by HTTP."""
    coordinator = without_cluster(data_dir)
    stop = asyncio.Event()
    address: asyncio.Future[Address] = asyncio.get_running_loop().create_future()
    app = build_app(lambda: (True, ""), sessions=coordinator, access=access, webhooks=coordinator.webhooks)
    coordinator.start()
    task = asyncio.create_task(serve(app, Address("127.0.0.1", 0), stop, address.set_result))
    try:
        yield Served(coordinator, await address)
    finally:
        stop.set()
        await asyncio.wait_for(task, 10)
        await ended(coordinator)

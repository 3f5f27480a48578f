"""HTTP: health, readiness and metrics over a real socket; the server stops when told.

Method: serve in an event loop of the test's own on a free port and ask with a
plain HTTP/1.1 request, so that nothing of the answer is interpreted for us.
"""

from __future__ import annotations

import asyncio
import base64
import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from headwater.core.errors import UserError
from headwater.http.access import Access
from headwater.http.app import build_app, serve
from headwater.http.health import Readiness
from headwater.observe.metrics import ObjectNumbers
from headwater.options import Address

ANY_PORT = Address("127.0.0.1", 0)


async def get(address: Address, path: str) -> tuple[int, str]:
    reader, writer = await asyncio.open_connection(address.host, address.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return int(head.split()[1]), body.decode()


def while_serving(
    readiness: Readiness,
    test: Callable[[Address], Awaitable[None]],
    objects: Callable[[], Sequence[ObjectNumbers]] = lambda: (),
) -> None:
    async def run() -> None:
        stop = asyncio.Event()
        address: asyncio.Future[Address] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(serve(build_app(readiness, objects), ANY_PORT, stop, address.set_result))
        await test(await address)
        stop.set()
        await asyncio.wait_for(task, timeout=5)
        with pytest.raises(ConnectionRefusedError):
            await get(await address, "/")

    asyncio.run(run())


def test_readyz_follows_the_environment_while_livez_does_not() -> None:
    answers = iter([(False, "the catalog is being opened"), (True, "")])

    async def test(address: Address) -> None:
        assert await get(address, "/api/livez") == (200, "ok\n")
        assert await get(address, "/api/readyz") == (503, "the catalog is being opened\n")
        assert await get(address, "/api/readyz") == (200, "ready\n")

    while_serving(lambda: next(answers), test)


def test_metrics_are_served_in_text_form() -> None:
    table = ObjectNumbers("u3", "materialize.public.t", "table", "materialize.public.s", "failed", False, 2.5)
    answers = iter([[table], []])

    async def test(address: Address) -> None:
        status, body = await get(address, "/metrics")
        assert status == 200
        labels = 'id="u3",name="materialize.public.t",source="materialize.public.s"'
        assert f'headwater_lag_seconds{{{labels},type="table"}} 2.5' in body
        assert f'headwater_hydrated{{{labels},type="table"}} 0.0' in body
        assert f'headwater_status{{{labels},status="failed",type="table"}} 1.0' in body
        assert "u3" not in (await get(address, "/metrics"))[1], "what was dropped is exposed no longer"

    while_serving(lambda: (True, ""), test, lambda: next(answers))


@pytest.mark.parametrize(
    ("trusted", "host", "login", "status"),
    [
        (False, "203.0.113.7", None, 401),
        (False, "203.0.113.7", "me:wrong", 401),
        (False, "203.0.113.7", "me:right", 200),
        (False, "127.0.0.1", None, 200),
        (False, "::1", None, 200),
        (True, "203.0.113.7", None, 200),
    ],
)
def test_metrics_are_for_roles_and_for_this_machine_where_passwords_are_asked_for(
    trusted: bool, host: str, login: str | None, status: int
) -> None:
    async def identify(user: str | None, password: str | None, address: str) -> str:
        if password != "right":
            raise UserError("password authentication failed", "28P01")
        return str(user)

    told: list[Any] = []

    async def send(message: Any) -> None:
        told.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    basic = [] if login is None else [(b"authorization", b"Basic " + base64.b64encode(login.encode()))]
    asked = {"type": "http", "method": "GET", "path": "/metrics", "headers": basic, "client": (host, 5)}
    app = build_app(lambda: (True, ""), access=Access(identify, trusted))

    async def run() -> None:
        await app({**asked, "query_string": b"", "root_path": ""}, receive, send)

    asyncio.run(run())
    assert told[0]["status"] == status
    assert (b"headwater_" in told[1]["body"]) == (status == 200)


def test_the_index_names_the_other_pages_and_the_rest_does_not_exist() -> None:
    async def test(address: Address) -> None:
        status, body = await get(address, "/")
        assert status == 200
        assert "/api/readyz" in body
        assert (await get(address, "/nothing"))[0] == 404

    while_serving(lambda: (True, ""), test)


def test_a_port_in_use_is_an_error_that_says_which() -> None:
    async def test(address: Address) -> None:
        with pytest.raises(UserError, match=f"could not listen for HTTP on .*{address.port}") as raised:
            await serve(build_app(lambda: (True, "")), address, asyncio.Event())
        assert raised.value.hint is not None

    while_serving(lambda: (True, ""), test)


def test_cancelling_the_task_stops_the_server() -> None:
    async def run() -> None:
        address: asyncio.Future[Address] = asyncio.get_running_loop().create_future()
        app = build_app(lambda: (True, ""))
        task = asyncio.create_task(serve(app, ANY_PORT, asyncio.Event(), address.set_result))
        assert (await get(await address, "/api/livez"))[0] == 200
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, timeout=5)
        with pytest.raises(ConnectionRefusedError):
            await get(await address, "/api/livez")

    asyncio.run(run())


def test_signals_stay_with_the_owner_of_the_process() -> None:
    before = signal.getsignal(signal.SIGTERM)

    async def test(address: Address) -> None:
        await get(address, "/")
        assert signal.getsignal(signal.SIGTERM) == before

    while_serving(lambda: (True, ""), test)

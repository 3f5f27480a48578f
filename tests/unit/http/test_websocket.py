"""The websocket /api/experimental/sql: a conversation, with a real client over a real socket.

Method: an environment in this process, spoken to with the `websockets` package.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from headwater.client import Columns, Done, HttpClient, Row
from headwater.client_output import run_script
from headwater.core.errors import UserError
from headwater.core.limits import HTTP_BODY_BYTES_MAX, HTTP_MESSAGES_AHEAD_MAX
from headwater.options import SQL_ADDRESS
from tests.support.http import JSON, Served, serving


class Talk:
    """A client."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def say(self, message: Any) -> None:
        await self.socket.send(json.dumps(message))

    async def hear(self) -> tuple[str, Any]:
        message = json.loads(await asyncio.wait_for(self.socket.recv(), 30))
        return message["type"], message["payload"]

    async def answer(self) -> list[tuple[str, Any]]:
        """Everything up to ReadyForQuery."""
        heard = [await self.hear()]
        while heard[-1][0] != "ReadyForQuery":
            heard.append(await self.hear())
        return heard

    async def run(self, query: str) -> list[tuple[str, Any]]:
        await self.say({"query": query})
        return await self.answer()


async def flooded(talk: Talk, count: int, size: int) -> None:
    for _ in range(count):
        await talk.say({"query": "SELECT 1" + " " * size})
    while True:
        await talk.hear()


def story(data_dir: Path, told: Callable[[Served], Awaitable[None]]) -> None:
    async def run() -> None:
        async with serving(data_dir) as served:
            await asyncio.wait_for(told(served), 60)

    asyncio.run(run())


def open_(served: Served, **options: Any) -> connect:
    return connect(f"ws://{served.address}/api/experimental/sql", proxy=None, compression=None, **options)


async def entered(socket: ClientConnection, first: Any = None) -> Talk:
    talk = Talk(socket)
    await talk.say(first or {})
    heard = await talk.answer()
    assert heard[-2][0] == "BackendKeyData"
    assert heard[-1] == ("ReadyForQuery", "I")
    assert {"name": "client_encoding", "value": "UTF8"} in [payload for kind, payload in heard]
    return talk


def test_statements_are_answered_message_by_message(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        async with open_(served) as socket:
            talk = await entered(socket, {"options": {"application_name": "page"}})
            assert await talk.run("SELECT 1 AS a, 'x' AS b UNION SELECT 2, NULL ORDER BY a") == [
                ("CommandStarting", {"has_rows": True, "is_streaming": False}),
                (
                    "Rows",
                    {
                        "columns": [
                            {"name": "a", "type_oid": 23, "type_len": 4, "type_mod": -1},
                            {"name": "b", "type_oid": 25, "type_len": -1, "type_mod": -1},
                        ]
                    },
                ),
                ("Row", ["1", "x"]),
                ("Row", ["2", None]),
                ("CommandComplete", "SELECT 2"),
                ("ReadyForQuery", "I"),
            ]
            heard = await talk.run("CREATE TABLE t (a int); SELECT nothing")
            assert [kind for kind, _ in heard] == [
                "CommandStarting",
                "CommandComplete",
                "Error",
                "ReadyForQuery",
            ]
            assert heard[2][1]["code"] == "42703"
            assert heard[2][1]["position"] == 32
            assert [kind for kind, _ in await talk.run("SHOW application_name")][2:4] == [
                "Row",
                "CommandComplete",
            ]
            await talk.say({"queries": [{"query": "SELECT $1", "params": ["y"]}]})
            assert ("Row", ["y"]) in await talk.answer()
            assert (await talk.run(""))[0] == ("ReadyForQuery", "I")

    story(tmp_path, told)


def test_the_session_lasts_as_long_as_the_conversation(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        async with open_(served) as socket:
            talk = await entered(socket)
            await talk.run("CREATE TABLE t (a int)")
            assert (await talk.run("BEGIN"))[-1] == ("ReadyForQuery", "T")
            await talk.run("INSERT INTO t VALUES (1)")
            assert await served.rows("SELECT * FROM t") == []
            assert (await talk.run("nonsense"))[-1] == ("ReadyForQuery", "E")
            assert (await talk.run("ROLLBACK"))[-1] == ("ReadyForQuery", "I")
            heard = await talk.run("SET application_name = 'other'")
            assert ("ParameterStatus", {"name": "application_name", "value": "other"}) in heard
            await talk.run("BEGIN")
            await talk.run("INSERT INTO t VALUES (2)")
            await talk.run("COMMIT")
            assert await served.rows("SELECT * FROM t") == [["2"]]
        while served.coordinator.sessions:
            await asyncio.sleep(0.01)

    story(tmp_path, told)


def test_a_subscription_is_streamed_and_ends_with_its_client(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        await served.sql("CREATE TABLE t (a int)")
        await served.sql("INSERT INTO t VALUES (1)")
        socket = await open_(served)
        talk = await entered(socket)
        await talk.say({"query": "SUBSCRIBE t"})
        assert await talk.hear() == ("CommandStarting", {"has_rows": True, "is_streaming": True})
        kind, description = await talk.hear()
        assert [c["name"] for c in description["columns"]] == [
            "mz_timestamp",
            "mz_diff",
            "a",
        ]
        assert kind == "Rows"
        kind, row = await talk.hear()
        assert row[1:] == ["1", "1"]
        await served.sql("DELETE FROM t")
        kind, row = await talk.hear()
        assert (kind, row[1:]) == ("Row", ["-1", "1"])
        assert served.coordinator.subscriptions
        socket.transport.abort()
        while served.coordinator.subscriptions or served.coordinator.sessions:
            await asyncio.sleep(0.01)

    story(tmp_path, told)


def test_a_client_that_leaves_cancels_what_runs_and_what_waits(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        await served.sql("CREATE TABLE t (a int)")
        socket = await open_(served)
        talk = await entered(socket)
        await talk.say(
            {"query": "SELECT count(*) FROM generate_series(1, 3000000000); INSERT INTO t VALUES (1)"}
        )
        assert (await talk.hear())[0] == "CommandStarting"
        await talk.say({"query": "INSERT INTO t VALUES (2)"})
        socket.transport.abort()
        while served.coordinator.sessions:
            await asyncio.sleep(0.01)
        assert await served.rows("SELECT count(*) FROM t") == [["0"]]

    story(tmp_path, told)


def test_pages_of_others_do_not_get_in(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        for origin, expected in (("http://elsewhere.example", 403), ("null", 403)):
            with pytest.raises(InvalidStatus) as refused:
                await open_(served, origin=origin)
            assert refused.value.response.status_code == expected
        async with open_(served, origin=f"http://{served.address}") as socket:
            await entered(socket)

    story(tmp_path, told)


@pytest.mark.parametrize("first", ["{", "[]", '{"token": "x"}', '{"options": 1}', '{"user": 1}'])
def test_who_does_not_say_who_they_are_is_hung_up_on(tmp_path: Path, first: str) -> None:
    async def told(served: Served) -> None:
        async with open_(served) as socket:
            await socket.send(first)
            kind, payload = await Talk(socket).hear()
            assert kind == "Error"
            assert payload["code"] in ("08P01", "28000")
            with pytest.raises(ConnectionClosed):
                await Talk(socket).hear()

    story(tmp_path, told)


@pytest.mark.parametrize(("count", "size"), [(HTTP_MESSAGES_AHEAD_MAX + 2, 0), (4, HTTP_BODY_BYTES_MAX // 2)])
def test_messages_that_are_none_are_answered_and_too_many_end_it(
    tmp_path: Path, count: int, size: int
) -> None:
    async def told(served: Served) -> None:
        async with open_(served) as socket:
            talk = await entered(socket)
            for message in ("{", "1", '{"query": 1}', '{"query": "\\ud800"}', "[" * 100_000):
                await socket.send(message)
                heard = await talk.answer()
                assert [kind for kind, _ in heard] == ["Error", "ReadyForQuery"], heard
            await talk.say({"query": "SELECT count(*) FROM generate_series(1, 3000000000)"})
            assert (await talk.hear())[0] == "CommandStarting"
            with pytest.raises(ConnectionClosed):
                await asyncio.wait_for(flooded(talk, count, size), 20)
        while served.coordinator.sessions:
            await asyncio.sleep(0.01)

    story(tmp_path, told)


def test_our_own_client_speaks_it(tmp_path: Path) -> None:
    def spoken(url: str) -> None:
        with HttpClient(url) as client:
            assert list(client.run("SELECT 1 AS a, NULL, true, ARRAY['x']")) == [
                Columns(("a", "?column?", "?column?", "array")),
                Row(("1", None, "t", '["x"]')),
                Done("SELECT 1"),
            ]
            with pytest.raises(UserError, match="nothing") as refused:
                list(client.run("SELECT nothing"))
            assert (refused.value.sqlstate, refused.value.position) == ("42703", 8)
            assert list(client.run("CREATE TABLE t (a int)")) == [Done("CREATE TABLE")]
            assert list(client.run("SELECT count(*) FROM t"))[1] == Row(("0",))
        with pytest.raises(UserError, match="not of the form"):
            HttpClient("localhost:1")

    async def told(served: Served) -> None:
        await asyncio.to_thread(spoken, f"http://materialize@{served.address}")
        await asyncio.to_thread(
            run_script, "SELECT 1", SQL_ADDRESS, "materialize", "materialize", f"http://{served.address}"
        )

    story(tmp_path, told)


def test_who_was_refused_what_is_written_down(tmp_path: Path) -> None:
    async def told(served: Served) -> None:
        await served.sql("CREATE USER ann")
        with capture_logs() as lines:
            async with open_(served) as socket:
                talk = await entered(socket, {"user": "ann"})
                assert (await talk.run("CREATE DATABASE anns"))[-2][1]["code"] == "42501"
            ann = {**JSON, "authorization": f"Basic {base64.b64encode(b'ann:').decode()}"}
            assert (await served.sql("CREATE ROLE other", ann))[0]["error"]["code"] == "42501"
        refused = [line for line in lines if line["event"] == "statement refused"]
        assert [(line["user"], line["client"][:10]) for line in refused] == [("ann", "127.0.0.1:")] * 2
        assert all("SYSTEM" in line["error"] for line in refused)

    story(tmp_path, told)

"""Webhooks: nobody who sends much, slowly or what takes long keeps others out.

Method: an environment in this process, asked over real sockets with requests written by hand.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from headwater.catalog.updates import SetSystemVariable
from tests.support.http import Served
from tests.unit.http.posting import PATH, made, sent, story

ENDLESS = "(SELECT count(*) FROM generate_series(1, 1000000000000)) > length(body)"


def test_a_condition_that_takes_long_keeps_no_other_table_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conditions = "headwater.coordinator.webhook_conditions"
    endless = "/api/webhook/materialize/public/endless"

    async def told(served: Served) -> None:
        await made(served, "CREATE TABLE w FROM WEBHOOK BODY FORMAT TEXT")
        check = f"CHECK (WITH (BODY) body = 'a' OR {ENDLESS})"
        await made(served, f"CREATE TABLE endless FROM WEBHOOK BODY FORMAT TEXT {check}")
        monkeypatch.setattr(f"{conditions}.WEBHOOK_CHECK_S_MAX", 120.0)
        long = [asyncio.create_task(sent(served, b"b", endless)) for _ in range(5)]
        while not served.coordinator.webhooks._under_way:
            await asyncio.sleep(0.01)
        for _ in range(3):
            assert (await sent(served, b"a")).status == 200
        assert not any(one.done() for one in long)
        for one in long:
            one.cancel()

    async def later(served: Served) -> None:
        for name, value in (("CHECK_S_MAX", 0.5), ("CHECK_S_MIN", 0.01)):
            monkeypatch.setattr(f"{conditions}.WEBHOOK_{name}", value)
        monkeypatch.setattr("headwater.coordinator.webhooks.WEBHOOK_SLOW_S", 0.1)
        assert (await sent(served, b"b", endless)).status == 503
        monkeypatch.setattr(f"{conditions}.WEBHOOK_CHECK_S_MAX", 120.0)
        limit = SetSystemVariable("webhook_concurrent_request_limit", "4")
        served.coordinator.catalog.transact([], [limit])
        long = [asyncio.create_task(sent(served, b"b", endless)) for _ in range(4)]
        done, waiting = await asyncio.wait(long, return_when=asyncio.FIRST_COMPLETED)
        while len(done) < 2:
            more, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            done |= more
        assert {one.result().status for one in done} == {429}, "a slow table gets half of the places"
        assert (await sent(served, b"a")).status == 200
        assert {one.done() for one in waiting} == {False}
        for one in waiting:
            one.cancel()

    story(tmp_path, told)
    story(tmp_path, later)


async def begun(
    served: Served, come: bytes, length: int
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A request whose body does not come to its end."""
    reader, writer = await asyncio.open_connection(served.address.host, served.address.port)
    writer.write(f"POST {PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n".encode() + come)
    await writer.drain()
    return reader, writer


def test_bodies_that_do_not_come_to_an_end_keep_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than there are places for requests in flight, and more bytes than there is room for."""
    monkeypatch.setattr("headwater.coordinator.webhook_room.WEBHOOK_BYTES_MAX", 1_000_000)

    async def told(served: Served) -> None:
        await made(served, "CREATE TABLE w FROM WEBHOOK BODY FORMAT TEXT")
        limit = SetSystemVariable("webhook_concurrent_request_limit", "20")
        served.coordinator.catalog.transact([], [limit])
        slow = [await begun(served, b"x", 9) for _ in range(40)]
        assert (await sent(served, b"a")).status == 200
        large = [await begun(served, b"x" * 60_000, 70_000) for _ in range(20)]
        assert (await sent(served, b"b" * 100_000)).status == 200
        assert (await large[0][0].readline()).split()[1] == b"429", "the oldest had to make room"
        last = large[-1]
        last[1].write(b"x" * 10_000)
        assert (await last[0].readline()).split()[1] == b"200", "and the newest may go on"
        for _, writer in (*slow, *large):
            writer.close()
        assert await served.rows("SELECT length(body) FROM w ORDER BY 1") == [["1"], ["70000"], ["100000"]]

    story(tmp_path, told)


def test_a_body_that_comes_slowly_takes_a_place_for_so_long_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.http.webhooks.HTTP_BODY_S_MAX", 0.2)
    monkeypatch.setattr("headwater.http.sql.HTTP_BODY_S_MAX", 0.2)

    async def told(served: Served) -> None:
        await made(served, "CREATE TABLE w FROM WEBHOOK BODY FORMAT TEXT")
        for path in (PATH, "/api/sql"):
            reader, writer = await asyncio.open_connection(served.address.host, served.address.port)
            head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            writer.write(f"{head}content-length: 9\r\n\r\nabc".encode())
            assert (await reader.readline()).split()[1] == b"408"
            writer.close()
        assert served.coordinator.webhooks._in_flight == 0
        reader, writer = await asyncio.open_connection(served.address.host, served.address.port)
        writer.write(f"POST {PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nabc".encode())
        await writer.drain()
        writer.write(b"def")
        await writer.drain()
        writer.write(b"ghi")
        assert (await reader.readline()).split()[1] == b"200"
        writer.close()
        assert await served.rows("SELECT body FROM w") == [["abcdefghi"]]

    story(tmp_path, told)

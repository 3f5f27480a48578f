"""Bytes that are no requests, heads that are none, bodies that are no JSON, frames that are none.

Goal: nothing breaks, nothing grows, and nobody writes our log.

Method: good requests and conversations, mutated by a seeded generator, sent to an environment in this
process.  Whatever comes back is an answer or the end of the connection; no task fails, nothing is told as an
error of ours, no session and no request is left over, and the server answers as before.  HEADWATER_MUTATIONS
says how many of each kind, as for logins and handshakes (tests/unit/pgwire/test_login_fuzz.py).
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.http import JSON, Served, request, serving
from tests.support.mutations import MUTATION_COUNT
from tests.support.websocket import UPGRADE, frame

TOGETHER = 20
MEMORY_BYTES_MAX = 64 * 1024 * 1024

QUERY = json.dumps({"queries": [{"query": "SELECT $1::text || 'é'", "params": ["x"]}, {"query": "SELECT 1"}]})
SQL = request(
    "POST", "/api/sql?options=%7B%7D", QUERY.encode(), {**JSON, "authorization": "Basic bWF0ZXJpYWxpemU6eA=="}
)
PUSHED = request(
    "POST", "/api/webhook/materialize/public/w", b'{"a": [1, "x"]}\n{}', {"x-id": "1", "idempotency-key": "k"}
)
CHUNKED = (
    b"POST /api/sql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
    b'14\r\n{"query": "SELECT 1"\r\n1\r\n}\r\n0\r\n\r\n'
)
PIECES = (
    *(b"", b"\0", b"\r\n", b"\r\n\r\n", b":", b" ", b"\xff\xfe", b"99999999999999999999", b"-1", b"chunked"),
    *(
        b"a" * 70_000,
        b"[" * 5_000,
        b'{"a":' * 2_000,
        b"\\ud800",
        b"\xf0\x9f",
        b"Infinity",
        b"1e999999",
        b"'",
        b'"',
    ),
    *(
        b"transfer-encoding: chunked\r\n",
        b"content-length: 5\r\n",
        b"upgrade: h2c\r\n",
        b"%00",
        b"%ff",
        b"../",
    ),
)


FRAMES = (
    frame(b'{"query": "SELECT 1; SELECT 2"}'),
    frame(b'{"queries": [{"query": "SELECT $1", "params": ["x"]}]}'),
    frame(b'{"query": ', final=False) + frame(b'""', 0, final=False) + frame(b"}", 0),
    frame(b"here?", 9),
    frame(b"\x03\xe8bye", 8),
)
FRAMES_OF_ONE = 10  # at most, of which some are as they should be


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The same with a few places that are wrong."""
    made = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(made) + 1)
        match chance.randrange(5):
            case 0:
                made[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del made[at : at + chance.randint(1, 30)]
            case 2:
                made[at:at] = chance.choice(PIECES)
            case 3:
                piece = made[at : at + chance.randint(1, 60)]
                made[at:at] = piece
            case _:
                del made[at:]
    return bytes(made)


def with_body(start: bytes, chance: random.Random) -> bytes:
    """A request that is right, with a body that is not."""
    head, _, body = start.partition(b"\r\n\r\n")
    body = mutated(body, chance)
    lines = [line for line in head.split(b"\r\n") if not line.startswith(b"content-length")]
    return b"\r\n".join([*lines, b"content-length: %d" % len(body)]) + b"\r\n\r\n" + body


def with_head(start: bytes, chance: random.Random) -> bytes:
    """A body that is right, with another head before it."""
    head, end, body = start.partition(b"\r\n\r\n")
    return mutated(head, chance) + end + body


def frames(chance: random.Random) -> list[bytes]:
    """A conversation, in which some frames are not what they should be."""
    count = chance.randint(1, FRAMES_OF_ONE)
    whole = chance.choice(FRAMES)
    return [mutated(chance.choice(FRAMES), chance) if chance.random() < 0.5 else whole for _ in range(count)]


KINDS: dict[str, Callable[[random.Random], bytes | list[bytes]]] = {
    "requests": lambda chance: mutated(chance.choice((SQL, CHUNKED, PUSHED)), chance),
    "headers": lambda chance: with_head(chance.choice((SQL, PUSHED, UPGRADE)), chance),
    "JSON": lambda chance: with_body(chance.choice((SQL, PUSHED)), chance),
    "frames": frames,
}


async def exchange(served: Served, data: bytes | list[bytes]) -> bytes:
    """What is answered to a request, or to the frames of a conversation."""
    reader, writer = await asyncio.open_connection(served.address.host, served.address.port)
    try:
        if isinstance(data, list):
            writer.write(UPGRADE)
            assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
            writer.write(frame(b"{}"))
            await reader.readuntil(b"ReadyForQuery")
            data = b"".join(data)
        writer.write(data)
        writer.write_eof()
        return await asyncio.wait_for(reader.read(), 60)
    except OSError:
        return b""
    finally:
        writer.close()


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_wrong_breaks_nothing(tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    make, chance = KINDS[kind], random.Random(kind)
    failed: list[Any] = []

    async def told(served: Served) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: failed.append(context))
        await served.sql("CREATE TABLE w FROM WEBHOOK BODY FORMAT JSON INCLUDE HEADERS")
        count, before, answered = 0, 0, 0
        while count < MUTATION_COUNT:
            sent = [make(chance) for _ in range(TOGETHER)]
            count += sum(len(one) if isinstance(one, list) else 1 for one in sent)
            for data, answer in zip(
                sent, await asyncio.gather(*(exchange(served, d) for d in sent)), strict=True
            ):
                assert b"XX000" not in answer, data
                assert not answer.startswith(b"HTTP/1.1 500"), data
                answered += bool(answer)
            if not before and count > MUTATION_COUNT // 2:
                before = resident_bytes()
        assert answered > 0
        assert resident_bytes() - before < MEMORY_BYTES_MAX
        assert await served.rows("SELECT 1") == [["1"]]
        webhooks = served.coordinator.webhooks
        while served.coordinator.sessions or webhooks._in_flight:  # of clients that have just gone
            await asyncio.sleep(0.01)
        assert (webhooks._in_flight, webhooks.room._held_bytes, webhooks._waiting) == (0, 0, [])

    caplog.set_level(logging.ERROR)
    run_story(tmp_path, told)
    assert not failed
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def run_story(data_dir: Path, told: Callable[[Served], Awaitable[None]]) -> None:
    async def run() -> None:
        async with serving(data_dir) as served:
            await told(served)

    asyncio.run(run())

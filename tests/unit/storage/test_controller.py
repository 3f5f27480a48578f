"""The connection to a cluster: everything is stated again, no row is answered twice, a refusal is final.

Method: a real Controller against a cluster that is a few lines of asyncio on a Unix
socket, so that the test decides what it answers and when it hangs up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from headwater.core import protocol
from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import UserError
from headwater.options import UnixAddress
from headwater.storage.controller import Controller

WAIT_S_MAX = 10.0
ROWS = pa.record_batch({"n": [1, 2]})
Serve = Callable[["Conversation"], Awaitable[None]]


class NoSupervisor:
    """The cluster is this test's."""

    running = False
    adopted_pid: int | None = None

    async def ensure(self) -> None:
        return None

    def healthy(self) -> None:
        return None

    def why_ended(self) -> str | None:
        return None

    async def stop(self, told: bool) -> None:
        return None


class Conversation:
    """The cluster's end of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def hear(self, kind: type[Any]) -> Any:
        """The next command of a kind; others are passed over."""
        while True:
            lengths = await self._reader.readexactly(protocol.LENGTHS_BYTES)
            header_bytes, payload_bytes = protocol.decode_lengths(lengths)
            message = protocol.decode_header(await self._reader.readexactly(header_bytes))
            await self._reader.readexactly(payload_bytes)
            if isinstance(message, kind):
                return message

    async def say(self, message: Any, payload: bytes = b"") -> None:
        self._writer.write(protocol.encode(message, payload))
        await self._writer.drain()

    async def say_bytes(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def welcome(self) -> None:
        await self.hear(protocol.Hello)
        await self.say(protocol.Welcome(protocol.PROTOCOL_VERSION, 1))
        await self.hear(protocol.InitializationComplete)

    async def rows(self, peek: protocol.Peek) -> None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, ROWS.schema) as stream:
            stream.write_batch(ROWS)
        await self.say(protocol.PeekRows(peek.peek_id), sink.getvalue().to_pybytes())

    def hang_up(self) -> None:
        self._writer.close()


def run(tmp_path: Path, lives: list[Serve], work: Callable[[Controller], Awaitable[None]]) -> None:
    """Run `work` against a cluster whose first connection is served by the first of `lives`, and so on."""

    async def main() -> None:
        path = tmp_path / "c.sock"

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await lives.pop(0)(Conversation(reader, writer))
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_unix_server(serve, path)
        controller = Controller(NoSupervisor(), UnixAddress(path), 1, lambda: 0, SYSTEM_CLOCK)  # type: ignore[arg-type]
        controller.start()
        try:
            await asyncio.wait_for(work(controller), WAIT_S_MAX)
        finally:
            await controller.stop()
            server.close()

    asyncio.run(main())


def peek() -> protocol.Peek:
    return protocol.Peek("p1", "SELECT 1", {}, {}, "reads")


async def answers_and_dies(cluster: Conversation) -> None:
    await cluster.welcome()
    await cluster.rows(await cluster.hear(protocol.Peek))
    cluster.hang_up()


async def answers(cluster: Conversation) -> None:
    await cluster.welcome()
    asked = await cluster.hear(protocol.Peek)
    await cluster.rows(asked)
    await cluster.say(protocol.PeekDone(asked.peek_id))
    await cluster.hear(protocol.Shutdown)


async def waits(cluster: Conversation) -> None:
    await cluster.welcome()
    await cluster.hear(protocol.Shutdown)


async def refuses(cluster: Conversation) -> None:
    await cluster.hear(protocol.Hello)
    await cluster.say(protocol.Refused(2))
    await cluster.hear(protocol.Shutdown)


def test_rows_that_nobody_has_taken_are_answered_once_after_a_reconnect(tmp_path: Path) -> None:
    async def work(controller: Controller) -> None:
        pending = controller.start_peek(peek())
        got = []
        while True:
            # Let the first life end before anything is taken.
            await controller.wait_for(lambda: not lives)
            answer = await pending.answers.get()
            if answer is None:
                break
            got.append(answer)
        assert got == [ROWS]

    lives: list[Serve] = [answers_and_dies, answers]
    run(tmp_path, lives, work)


def test_a_result_of_which_rows_were_taken_fails_instead_of_repeating_them(tmp_path: Path) -> None:
    async def work(controller: Controller) -> None:
        pending = controller.start_peek(peek())
        assert await pending.answers.get() == ROWS
        told = await pending.answers.get()
        assert isinstance(told, UserError)
        assert told.sqlstate == "58000"
        assert "restarted" in told.message

    run(tmp_path, [answers_and_dies, waits], work)


async def dies_of_it(cluster: Conversation) -> None:
    await cluster.welcome()
    await cluster.hear(protocol.Peek)
    cluster.hang_up()


def test_a_query_that_ends_the_cluster_is_not_sent_for_ever(tmp_path: Path) -> None:
    async def work(controller: Controller) -> None:
        told = await controller.start_peek(peek()).answers.get()
        assert isinstance(told, UserError)
        assert told.message == "the cluster has ended 2 times while it ran this statement"
        assert "spark.driver.memory" in str(told.hint)

    run(tmp_path, [dies_of_it, dies_of_it, waits], work)


def test_only_clusters_that_had_a_query_count(tmp_path: Path) -> None:
    attempts: list[int] = []

    async def answers_at_last(cluster: Conversation) -> None:
        await cluster.welcome()
        asked = await cluster.hear(protocol.Peek)
        attempts.append(asked.attempt)
        await cluster.say(protocol.PeekFile(asked.peek_id, "a file", 1))
        await cluster.say(protocol.PeekDone(asked.peek_id))
        await cluster.hear(protocol.Shutdown)

    async def work(controller: Controller) -> None:
        assert not controller.connected
        pending = controller.start_peek(peek())
        assert await pending.answers.get() == protocol.PeekFile("p1", "a file", 1)
        assert await pending.answers.get() is None
        assert attempts == [2]

    run(tmp_path, [dies_of_it, answers_at_last], work)


def test_a_refused_environment_says_that_it_is_fenced_and_does_not_try_again(tmp_path: Path) -> None:
    async def work(controller: Controller) -> None:
        await controller.fenced.wait()
        assert not controller.connected

    lives: list[Serve] = [refuses]
    run(tmp_path, lives, work)
    assert not lives


def ingestion(paused: bool) -> protocol.RunIngestion:
    return protocol.RunIngestion("u1", "load-generator", {}, 1_000, [], "u1", paused)


async def starts_and_pauses(cluster: Conversation) -> None:
    await cluster.welcome()
    await cluster.say(protocol.Status("u1", "starting", None, None, 1))
    await cluster.say(protocol.Status("u1", "paused", None, None, 2))
    await cluster.hear(protocol.RunIngestion)
    await cluster.say(protocol.Status("u1", "running", None, None, 3))
    await cluster.hear(protocol.Shutdown)


def test_a_paused_source_is_not_called_starting_before_it_is_resumed(tmp_path: Path) -> None:
    async def work(controller: Controller) -> None:
        controller.run_ingestion(ingestion(paused=True))
        await controller.wait_for(lambda: "u1" in controller.health.statuses)
        assert controller.health.history["u1"][0].shown.status == "paused"
        controller.run_ingestion(ingestion(paused=False))
        assert controller.health.statuses["u1"].status == "starting"
        await controller.wait_for(lambda: controller.health.statuses["u1"].status == "running")
        told = [entry.shown.status for entry in controller.health.history["u1"]]
        assert told == ["paused", "starting", "running"]

    run(tmp_path, [starts_and_pauses], work)


async def says_something_first(cluster: Conversation) -> None:
    await cluster.hear(protocol.Hello)
    await cluster.say(protocol.Frontiers({"u1": 5}, []))
    await cluster.hear(protocol.Shutdown)


def test_a_cluster_that_does_not_begin_with_a_welcome_is_greeted_again(tmp_path: Path) -> None:
    async def work(controller: Controller) -> None:
        await controller.wait_for(lambda: controller.connected)
        assert controller.uppers == {}

    run(tmp_path, [says_something_first, waits], work)


async def says_what_nobody_understands(cluster: Conversation) -> None:
    await cluster.hear(protocol.Hello)
    await cluster.say_bytes((3).to_bytes(4, "big") + bytes(protocol.LENGTHS_BYTES - 4) + b"{{{")
    await cluster.hear(protocol.Shutdown)


def test_a_cluster_that_cannot_be_understood_is_greeted_again(tmp_path: Path) -> None:
    async def work(controller: Controller) -> None:
        await controller.wait_for(lambda: controller.connected)

    run(tmp_path, [says_what_nobody_understands, waits], work)

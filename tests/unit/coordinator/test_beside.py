"""Work beside the event loop: at once, in a thread, cancelled there; and patience with another process.

Method: an environment without a cluster, work that counts its threads, and a second connection to the
metadata database that keeps its turn.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from headwater.coordinator.beside import Beside, at_once
from headwater.core import pace
from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import UserError
from headwater.core.limits import PLANS_CONCURRENT_MAX
from tests.support.metadata import another_writes
from tests.unit.coordinator.environment import Environment, in_environment

LONG = "SELECT count(*) FROM (VALUES " + ", ".join(f"({i})" for i in range(60_000)) + ") v"


def _endless() -> None:
    while True:
        pace.step()


def test_short_work_is_done_at_once_and_long_work_is_not() -> None:
    assert at_once(threading.get_ident) == (threading.get_ident(),)
    assert at_once(_endless) is None


def test_long_work_begins_anew_in_a_thread() -> None:
    threads: list[int] = []

    def work() -> str:
        threads.append(threading.get_ident())
        pace.stride()
        return "made"

    async def story() -> None:
        beside = Beside()
        assert await beside.run(work) == "made"
        beside.close()

    asyncio.run(story())
    assert len(threads) == 2
    assert threads[0] == threading.get_ident() != threads[1]


def test_work_that_is_cancelled_ends_before_whoever_waits_goes_on() -> None:
    begun, ended = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        try:
            _endless()
        finally:
            ended.set()

    async def story() -> None:
        beside = Beside()
        waiting = asyncio.create_task(beside.in_thread(work))
        while not begun.is_set():
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.sleep(0)
        waiting.cancel()  # a second time changes nothing
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert ended.is_set()
        beside.close()

    asyncio.run(story())


def test_work_that_is_cancelled_before_it_begins_is_taken_back() -> None:
    async def story() -> None:
        beside = Beside()
        working = [asyncio.create_task(beside.in_thread(_endless)) for _ in range(PLANS_CONCURRENT_MAX)]
        queued = asyncio.create_task(beside.in_thread(_endless))
        await asyncio.sleep(0)
        for task in (queued, *working):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        beside.close()

    asyncio.run(story())


def test_planning_is_cancelled_and_the_session_goes_on(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        client = await env.client()
        running = asyncio.create_task(client.run(LONG))
        while client.session._running is None:
            await asyncio.sleep(0)
        client.session.cancel()
        client.session.cancel()
        with pytest.raises(UserError) as raised:
            await running
        assert raised.value.sqlstate == "57014"
        assert await client.value("SELECT 7") == 7
        assert await client.value(LONG) == 60_000

    in_environment(tmp_path, story)


def test_a_plan_is_made_again_when_the_catalog_has_changed(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        client, other = await env.client(), await env.client()
        await client.run("CREATE VIEW v AS SELECT 1 AS x")
        planned: list[int] = []

        def plan() -> int:
            planned.append(client.session.state.version)
            pace.stride()
            return planned[-1]

        waiting = asyncio.create_task(client.session.planned(plan))
        await asyncio.sleep(0)
        await other.run("CREATE VIEW w AS SELECT 2 AS x")
        assert await waiting == client.session.state.version

    in_environment(tmp_path, story)


def test_ddl_waits_for_another_process_without_holding_the_loop(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        client, other = await env.client(), await env.client()
        with another_writes(tmp_path):
            waiting = asyncio.create_task(client.run("CREATE VIEW v AS SELECT 1 AS x"))
            longest_s = 0.0
            for _ in range(20):
                begin_s = SYSTEM_CLOCK.monotonic_s()
                assert await other.value("SELECT 7") == 7
                longest_s = max(longest_s, SYSTEM_CLOCK.monotonic_s() - begin_s)
            assert not waiting.done()
            assert longest_s < 5.0  # it was up to 30 s
        assert await waiting == [("CREATE VIEW",)]
        assert await client.value("SELECT x FROM v") == 1

    in_environment(tmp_path, story)


def test_ddl_that_waits_for_another_process_can_be_cancelled(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        client = await env.client()
        with another_writes(tmp_path):
            waiting = asyncio.create_task(client.run("CREATE VIEW v AS SELECT 1 AS x"))
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(waiting), 0.2)
            client.session.cancel()
            with pytest.raises(UserError) as raised:
                await waiting
            assert raised.value.sqlstate == "57014"
        await client.run("CREATE VIEW v AS SELECT 2 AS x")
        assert await client.value("SELECT x FROM v") == 2

    in_environment(tmp_path, story)


def test_a_statement_prepared_long_ago_has_all_its_time_to_be_planned_again(
    tmp_path: Path,
) -> None:
    async def story(env: Environment) -> None:
        client, other = await env.client(statement_timeout="60s"), await env.client()
        (parsed,) = await client.session.parse(LONG)
        prepared = await client.session.prepare(parsed)
        await other.run("CREATE VIEW v AS SELECT 1 AS x")
        client.session.query_started_at_ms = 0
        again = await client.session.current(prepared)
        assert again.basis != prepared.basis

    in_environment(tmp_path, story)

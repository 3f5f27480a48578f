"""Reads that wait for positions of upstreams: for as long as they must, and nobody with them.

Method: an environment without a cluster, with load generators, whose position follows the clock; the bindings
that a cluster would make are appended by hand.  How a question is shared is tested on its own.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headwater.coordinator.recency import SharedQuestions
from headwater.core.errors import DefiniteError, TransientError, UserError
from headwater.core.frontier import Frontier, OffsetFrontier
from headwater.core.protocol import Status
from tests.unit.coordinator.environment import Environment, in_environment, refused, until

SOURCE = (
    "CREATE SOURCE c FROM LOAD GENERATOR COUNTER (AS OF 9, TICK INTERVAL '1h')",
    "CREATE TABLE ticks FROM SOURCE c (REFERENCE counter)",
    "CREATE VIEW v AS SELECT counter FROM ticks",
)
RECENT = {"real_time_recency": "on", "real_time_recency_timeout": "30 s"}
LATE = {"real_time_recency": "on", "real_time_recency_timeout": "100 ms"}


async def _bind(env: Environment, source_id: str, offset: int | None) -> int:
    """What a tick does that has read so far; its timestamp."""
    writer = env.ledger.open_writer(source_id)
    ts = max(
        env.coordinator.clock.now_ms(), writer.ts + 1, env.coordinator.controller.uppers.get(source_id, 0)
    )
    env.ledger.append(source_id, writer, ts, offset, {})
    await env.reach(source_id, ts + 1)
    return ts


async def _go_on(env: Environment, *source_ids: str) -> None:
    """Time passes for these, and nothing else."""
    for id_ in source_ids:
        await env.reach(id_, max(env.coordinator.clock.now_ms(), env.coordinator.oracle.floor) + 1000)


def _waiting(env: Environment) -> int:
    """How many wait for something to move."""
    return len(vars(env.coordinator.controller._changed)["_waiters"])


async def _made(env: Environment) -> str:
    client = await env.client()
    for text in SOURCE:
        await client.run(text)
    return env.follow("ticks", {"counter": pa.array([7])})


def test_a_read_waits_for_where_the_upstream_is_and_is_not_before_that(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        source_id = await _made(env)
        recent, other = await env.client(**RECENT), await env.client()
        await _bind(env, source_id, 9)
        waiting = asyncio.create_task(recent.run("SELECT mz_now()::text::int8, counter FROM v"))
        for _ in range(5):
            await asyncio.sleep(0.02)
            assert await other.run("SELECT counter FROM v") == [(7,)], "nobody else waits"
            await _go_on(env, source_id)
        assert not waiting.done()
        ts = await _bind(env, source_id, 10)
        ((at, value),) = await waiting
        assert (at >= ts, value) == (True, 7)
        assert await recent.run("SELECT counter FROM v AS OF AT LEAST 0") == [(7,)]
        await recent.run("CREATE TABLE kept (n bigint)")
        await _go_on(env, source_id)
        await recent.run("INSERT INTO kept SELECT counter FROM v")
        await _bind(env, source_id, None)  # at its end there is nothing left to wait for
        assert await recent.run("SELECT counter FROM v") == [(7,)]

    in_environment(tmp_path, story)


def test_the_first_read_of_a_transaction_waits_and_the_others_are_where_it_was(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        source_id = await _made(env)
        client = await env.client(**LATE)
        await client.run("BEGIN")
        await refused(client, "SELECT counter FROM ticks", "57014")
        await client.run("ROLLBACK")
        await _bind(env, source_id, 10)
        await client.run("BEGIN")
        at = await client.value("SELECT mz_now()::text FROM ticks")
        await _bind(env, source_id, 12)
        assert await client.value("SELECT mz_now()::text FROM ticks AS OF AT LEAST POSITION 10") == at
        await refused(client, "SELECT counter FROM ticks AS OF AT LEAST POSITION 11", "25000")

    in_environment(tmp_path, story)


def test_who_waits_in_vain_is_told_why(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        source_id = await _made(env)
        client = await env.client(**LATE)
        told = await refused(client, "SELECT counter FROM v", "57014")
        assert told.message == (
            "timed out before ingesting the source's visible frontier when real-time-recency query issued"
        )
        assert told.detail is not None
        assert 'Source "materialize.public.c" has not been read yet' in told.detail
        await _bind(env, source_id, 8)
        env.coordinator.controller.health.hear_status(
            Status(source_id, "stalled", "generator: no", "Wait.", 1)
        )
        told = await refused(client, "SELECT counter FROM v", "57014")
        assert told.detail == (
            'Source "materialize.public.c" has been read to 8, and the query waits for 10.'
            " It is stalled: generator: no."
        )
        assert (told.hint or "").startswith("Wait. SET real_time_recency_timeout to wait longer")
        await client.run("ALTER CLUSTER quickstart SET (REPLICATION FACTOR 0)")
        told = await refused(client, "SUBSCRIBE v", "57014")
        assert 'It is paused: cluster "quickstart" has no replicas.' in (told.detail or "")
        assert (told.hint or "").startswith("ALTER CLUSTER quickstart SET (REPLICATION FACTOR 1)")

    in_environment(tmp_path, story)


def test_an_upstream_that_does_not_answer_is_asked_again_until_the_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(env: Environment) -> None:
        source_id = await _made(env)
        await _bind(env, source_id, 10)
        asked: list[str] = []

        async def position(id_: str) -> Frontier:
            asked.append(id_)
            if len(asked) < 3:
                raise TransientError("postgres: could not connect", "Start it.")
            return OffsetFrontier(10)

        monkeypatch.setattr(env.coordinator.recency, "_questions", SharedQuestions(position))
        told = await refused(await env.client(**LATE), "SELECT counter FROM v", "57014")
        assert "could not be asked how far it is: postgres: could not connect." in (told.detail or "")
        assert (told.hint or "").startswith("Start it.")
        assert await (await env.client(**RECENT)).run("SELECT counter FROM v") == [(7,)]
        assert asked == [source_id] * 3

    in_environment(tmp_path, story)


def test_a_source_that_goes_or_ends_is_not_waited_for(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        source_id = await _made(env)
        others = _waiting(env)
        waiting = asyncio.create_task((await env.client(**RECENT)).run("SELECT counter FROM v"))
        failing = asyncio.create_task((await env.client(**RECENT)).run("SELECT counter FROM ticks"))
        await until(lambda: _waiting(env) == others + 2)
        error = DefiniteError("", "8", "it is broken")
        env.ledger.poison(env.id_of("ticks"), env.coordinator.clock.now_ms(), error)
        await _go_on(env, source_id)
        with pytest.raises(Exception, match="it is broken"):
            await failing
        with pytest.raises(Exception, match="it is broken"):
            await waiting
        await (await env.client()).run("CREATE SOURCE d FROM LOAD GENERATOR COUNTER (TICK INTERVAL '1h')")
        others = _waiting(env)
        gone = asyncio.create_task((await env.client(**RECENT)).run("SELECT * FROM d"))
        await until(lambda: _waiting(env) == others + 1)
        await (await env.client()).run("DROP SOURCE d")
        with pytest.raises(Exception, match=r'"materialize\.public\.d" dropped before ingesting data'):
            await gone

    in_environment(tmp_path, story)


def test_positions_are_of_one_source_or_say_of_which(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        source_id = await _made(env)
        client = await env.client(real_time_recency_timeout="100 ms")
        await client.run("CREATE SOURCE d FROM LOAD GENERATOR COUNTER (TICK INTERVAL '1h')")
        await client.run("CREATE TABLE other FROM SOURCE d (REFERENCE counter)")
        env.follow("other", {"counter": pa.array([8])})
        await _bind(env, source_id, 10)
        await _bind(env, env.id_of("d"), 1)
        await _go_on(env, source_id)
        ts = await _bind(env, source_id, 20)
        await _bind(env, env.id_of("d"), 2)
        text = "SELECT mz_now()::text::int8 FROM v AS OF AT LEAST POSITION"
        for positions in ("10", "'20'", "'3' OF c, POSITION 1 OF d"):
            assert await client.run(f"{text} {positions}") == [(ts,)]
        told = await refused(client, "SELECT counter FROM v AS OF AT LEAST POSITION 21", "57014")
        assert "AS OF AT LEAST" in told.message
        both = "SELECT v.counter FROM v, other AS OF AT LEAST"
        told = await refused(client, f"{both} POSITION 1", "42601")
        assert told.detail == "It reads materialize.public.c, materialize.public.d."
        await _go_on(env, source_id, env.id_of("d"))
        assert await client.run(f"{both} POSITION 1 OF d") == [(7,)]
        for text, sqlstate in (
            ("SELECT 1 AS OF AT LEAST POSITION 1", "42601"),
            ("SELECT counter FROM v AS OF AT LEAST POSITION 1 OF c, POSITION 2 OF c", "42601"),
            ("SELECT counter FROM v AS OF AT LEAST POSITION '0/1' OF c", "22023"),
            ("SELECT counter FROM v AS OF POSITION 1", "42601"),
        ):
            await refused(client, text, sqlstate)
        with pytest.raises(UserError, match="ticks is a table not a source"):
            await client.run("SELECT counter FROM v AS OF AT LEAST POSITION 1 OF ticks")

    in_environment(tmp_path, story)


def test_a_timestamp_has_a_position_if_it_is_known(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        source_id, client = await _made(env), await env.client()
        first = await _bind(env, source_id, 10)
        await env.reach(source_id, first + 100)
        second = await _bind(env, source_id, None)
        for ts, position in (
            *((first - 1, None), (first, "10"), (first + 99, "10")),
            *((second, "end"), (second + 1, None)),
        ):
            for given in (ts, f"'{ts}'", f"{ts}::mz_timestamp"):
                assert await client.run(f"SELECT mz_upstream_position('c', {given})") == [(position,)]
        assert await client.run("SELECT mz_upstream_position(NULL, 1)") == [(None,)]
        assert await client.run("SELECT counter FROM v AS OF AT LEAST POSITION 'end'") == [(7,)]
        for text, sqlstate in (
            ("SELECT mz_upstream_position('c', mz_now())", "0A000"),
            ("SELECT mz_upstream_position('c', counter) FROM ticks", "0A000"),
            ("SELECT mz_upstream_position('c', 'now')", "0A000"),
        ):
            await refused(client, text, sqlstate)
        for name, message in (("ticks", "ticks is a table not a source"), ("none", "unknown catalog item")):
            with pytest.raises(UserError, match=message):
                await client.run(f"SELECT mz_upstream_position('{name}', 1)")

    in_environment(tmp_path, story)


def test_a_question_is_shared_by_those_who_came_before_it_was_asked() -> None:
    async def story() -> None:
        gates = [asyncio.Event() for _ in range(3)]
        begun: list[int] = []

        async def ask(id_: str) -> Frontier:
            number = len(begun)
            begun.append(number)
            await gates[number].wait()
            if number == 1:
                raise TransientError("no")
            return OffsetFrontier(number)

        questions = SharedQuestions(ask)

        def come() -> asyncio.Task[Any]:
            return asyncio.create_task(questions.answer("u1"))

        first = come()
        await until(lambda: begun == [0])
        later = [come(), come(), come()]
        await asyncio.sleep(0)
        later[0].cancel()  # who gives up takes nobody with him
        gates[0].set()
        assert await first == OffsetFrontier(0)
        await until(lambda: begun == [0, 1])
        last = come()
        gates[1].set()
        for waiting in later[1:]:
            with pytest.raises(TransientError):
                await waiting
        gates[2].set()
        assert await last == OffsetFrontier(2)
        assert begun == [0, 1, 2]
        assert not questions._running
        assert not questions._next

    asyncio.run(story())

"""Advisory locks: who gets one, who waits, and what ends a lock or a wait.

Method: the locks by themselves against a list of who may have what, and sessions in an environment without
a cluster.  A wait is seen in pg_locks before what is to end it happens.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from headwater.coordinator.advisory import AdvisoryLocks, Lock
from headwater.core.errors import UserError
from headwater.core.limits import ADVISORY_LOCKS_MAX
from tests.unit.coordinator.environment import Client, Environment, in_environment, refused

KEY = ("materialize", 0, 1, 1)
A, B, C = (Lock(pid, KEY, exclusive=True) for pid in (1, 2, 3))
SHARED_A, SHARED_B, SHARED_C = (Lock(pid, KEY, exclusive=False) for pid in (1, 2, 3))
WAITING = "SELECT pid FROM pg_locks WHERE NOT granted ORDER BY pid"


@pytest.mark.parametrize(
    ("held", "wanted", "granted"),
    [
        ((), A, True),
        ((A,), A, True),
        ((A,), B, False),
        ((A,), SHARED_A, True),
        ((A,), SHARED_B, False),
        ((SHARED_A,), SHARED_B, True),
        ((SHARED_A,), B, False),
        ((SHARED_A, SHARED_B), A, False),
        ((A,), Lock(2, ("other", 0, 1, 1), exclusive=True), True),
        ((A,), Lock(2, ("materialize", 0, 1, 2), exclusive=True), True),
    ],
)
def test_a_lock_is_to_be_had_unless_another_session_is_in_its_way(
    held: tuple[Lock, ...], wanted: Lock, granted: bool
) -> None:
    locks = AdvisoryLocks()
    for lock in held:
        assert locks.take_now(lock)
    assert locks.take_now(wanted) == granted


def test_a_lock_is_held_until_it_was_let_go_as_often_as_it_was_taken() -> None:
    locks = AdvisoryLocks()
    assert locks.take_now(A)
    assert locks.take_now(A)
    assert locks.release(A)
    assert not locks.take_now(B)
    assert locks.release(A)
    assert not locks.release(A)
    assert locks.take_now(B)


def test_those_who_wait_are_served_in_turn_and_nobody_slips_in() -> None:
    async def main() -> None:
        locks, order = AdvisoryLocks(), []

        async def take(lock: Lock) -> None:
            await locks.take(lock, None)
            order.append(lock)

        await take(SHARED_A)
        tasks = [asyncio.create_task(take(B)), asyncio.create_task(take(SHARED_C))]
        await asyncio.sleep(0)
        assert not locks.take_now(SHARED_C), "it would pass one who came before"
        assert locks.take_now(SHARED_A), "who holds it does not queue"
        locks.end(1)
        await tasks[0]
        assert order == [SHARED_A, B]
        locks.end(2)
        await tasks[1]
        assert order == [SHARED_A, B, SHARED_C]
        assert list(locks.shown()) == [(SHARED_C, True)]

    asyncio.run(main())


def test_a_wait_that_is_given_up_leaves_nothing_also_at_the_moment_of_its_end() -> None:
    async def main() -> None:
        locks = AdvisoryLocks()
        locks.take_now(A)
        waits = [asyncio.create_task(locks.take(lock, None)) for lock in (B, SHARED_C)]
        await asyncio.sleep(0)
        waits[0].cancel()
        await asyncio.wait(waits[:1])
        assert list(locks.shown()) == [(A, True), (SHARED_C, False)]
        locks.release(A)
        waits[1].cancel()
        await asyncio.wait(waits)
        assert list(locks.shown()) == []
        locks.take_now(A)
        with pytest.raises(UserError) as told:
            await locks.take(B, 0.01)
        assert told.value.sqlstate == "55P03"
        assert list(locks.shown()) == [(A, True)]

    asyncio.run(main())


def test_sessions_that_would_wait_for_each_other_are_told() -> None:
    async def main() -> None:
        locks, other = AdvisoryLocks(), ("materialize", 0, 2, 1)
        locks.take_now(A)
        locks.take_now(Lock(2, other, exclusive=True))
        waits = asyncio.create_task(locks.take(Lock(1, other, exclusive=True), None))
        await asyncio.sleep(0)
        with pytest.raises(UserError) as told:
            await locks.take(B, None)
        assert told.value.sqlstate == "40P01"
        locks.end(2)
        await waits
        shared = AdvisoryLocks()
        shared.take_now(SHARED_A)
        shared.take_now(SHARED_B)
        waits = asyncio.create_task(shared.take(A, None))
        await asyncio.sleep(0)
        with pytest.raises(UserError) as told:
            await shared.take(B, None)
        assert told.value.sqlstate == "40P01"
        shared.end(2)
        await waits

    asyncio.run(main())


def test_there_are_only_so_many() -> None:
    locks = AdvisoryLocks()
    for number in range(ADVISORY_LOCKS_MAX):
        locks.take_now(Lock(1, ("materialize", 0, number, 1), exclusive=True))
    with pytest.raises(UserError) as told:
        locks.take_now(Lock(1, ("materialize", 1, 0, 1), exclusive=True))
    assert told.value.sqlstate == "53200"
    locks.release_session(1)
    assert locks.take_now(B)


async def waits(one: Client, other: Client, call: str) -> asyncio.Task[list[tuple[Any, ...]]]:
    """Has `other` wait for what it calls."""
    task = asyncio.create_task(other.run(f"SELECT {call}"))
    while await one.run(WAITING) != [(other.session.backend_pid,)]:
        assert not task.done()
    return task


def test_sessions_lock_as_in_postgresql(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        one, two = await env.client(), await env.client()
        assert await one.run("SELECT pg_advisory_lock(-1), 5") == [("", 5)]
        assert await one.value("SELECT pg_advisory_lock_shared(1, -2)") == ""
        shown = "SELECT classid, objid, objsubid, mode, granted FROM pg_locks ORDER BY objsubid"
        assert await one.run(shown) == [
            (4294967295, 4294967295, 1, "ExclusiveLock", True),
            (1, 4294967294, 2, "ShareLock", True),
        ]
        assert await two.run("SELECT pg_try_advisory_lock(-1), pg_try_advisory_lock_shared(1, -2)") == [
            (False, True)
        ]
        waiting = await waits(one, two, "pg_advisory_lock(-1)")
        assert await one.value("SELECT pg_advisory_unlock(-1)")
        assert await waiting == [("",)]
        assert not await one.value("SELECT pg_advisory_unlock(-1)")
        (warning,) = one.session.take_notices()
        assert (warning.severity, warning.message) == (
            "WARNING",
            "you don't own a lock of type ExclusiveLock",
        )
        waiting = await waits(two, one, "pg_advisory_lock(-1)")
        await two.close()
        assert await waiting == [("",)]
        assert await one.value("SELECT pg_advisory_lock(NULL)") is None
        await one.run("DISCARD ALL")
        assert await one.run(shown) == []

    in_environment(tmp_path, story)


def test_a_wait_is_ended_by_a_timeout_or_a_cancel(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        one, two = await env.client(), await env.client()
        await one.run("SELECT pg_advisory_lock(1)")
        await two.run("SET statement_timeout = 50")
        await refused(two, "SELECT pg_advisory_lock(1)", "57014")
        await two.run("SET statement_timeout = 0")
        await two.run("SET lock_timeout = 50")
        await refused(two, "SELECT pg_advisory_lock(1)", "55P03")
        await two.run("SET lock_timeout = 0")
        waiting = await waits(one, two, "pg_advisory_lock(1)")
        two.session.cancel()
        with pytest.raises(UserError, match="user request"):
            await waiting
        assert await one.value("SELECT count(*) FROM pg_locks") == 1

    in_environment(tmp_path, story)


def test_locks_of_a_transaction_end_with_it(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        one, two = await env.client(), await env.client()
        held = "SELECT objid FROM pg_locks ORDER BY objid"
        await one.run("SELECT pg_advisory_xact_lock(1)")
        assert await two.run(held) == [], "the statement was its transaction"
        for end in ("COMMIT", "ROLLBACK"):
            await one.run("BEGIN")
            await one.run("SELECT pg_advisory_xact_lock(1), pg_try_advisory_xact_lock_shared(2)")
            assert await two.run(held) == [(1,), (2,)]
            assert not await one.value("SELECT pg_advisory_unlock(1)"), "it is the transaction's"
            await one.run(end)
            assert await two.run(held) == []
        await one.run("BEGIN")
        await one.run("SELECT pg_advisory_xact_lock(1), pg_advisory_lock(5)")
        await one.run("SAVEPOINT s")
        await one.run("SELECT pg_advisory_xact_lock(2)")
        await one.run("ROLLBACK TO s")
        assert await two.run(held) == [(1,), (5,)]
        await one.run("RELEASE s")
        with pytest.raises(UserError, match="division by zero"):
            await one.run("SELECT 1 / 0")
        one.session.fail()
        assert await two.run(held) == [(5,)]
        await one.run("ROLLBACK")

    in_environment(tmp_path, story)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 WHERE pg_try_advisory_lock(1)",
        "SELECT pg_try_advisory_lock(1) AND true",
        "SELECT 1 FROM (SELECT pg_advisory_lock(1)) AS unused",
        "WITH unused AS (SELECT pg_try_advisory_lock(1) IS NULL) SELECT count(*) FROM unused",
        "SELECT EXISTS (SELECT pg_advisory_lock(1))",
        "INSERT INTO t SELECT pg_try_advisory_lock(1)",
        "INSERT INTO t VALUES (pg_try_advisory_lock(1))",
    ],
)
def test_where_a_lock_cannot_be_taken_the_function_is_named(tmp_path: Path, query: str) -> None:
    async def story(env: Environment) -> None:
        client = await env.client()
        await client.run("CREATE TABLE t (a bool)")
        told = await refused(client, query, "0A000")
        assert "advisory_lock" in told.message
        assert await client.run("SELECT * FROM pg_locks") == []

    in_environment(tmp_path, story)

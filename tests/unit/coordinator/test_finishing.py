"""A statement that ends with an error has written nothing, and one that has written something ends well.

Method: sessions of an environment without a cluster, in which appends and what follows them take
longer than the statement may, or fail.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from headwater.core.errors import TransientError, UserError
from tests.unit.coordinator.environment import Client, Environment, in_environment

WRITES = (
    ("INSERT INTO t VALUES (5) RETURNING a + 1", [(6,)]),
    ("INSERT INTO t SELECT 5 FROM t WHERE a = 1 RETURNING a", [(5,)]),
    ("EXECUTE p", [(5,)]),
    ("UPDATE t SET a = 5 WHERE a = 1", [("UPDATE 1",)]),
    ("DELETE FROM t WHERE a = 1", [("DELETE 1",)]),
    ("COMMIT", [("COMMIT",)]),
)


async def with_table(env: Environment) -> Client:
    client = await env.client()
    await client.run("CREATE TABLE t (a int)")
    await client.run("INSERT INTO t VALUES (1)")
    await client.run("PREPARE p AS INSERT INTO t VALUES (5) RETURNING a")
    return client


class Gate:
    """Holds a thread until it is opened."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.open = threading.Event()

    def __call__(self) -> None:
        self.reached.set()
        assert self.open.wait(30)


async def reached(gate: Gate) -> None:
    assert await asyncio.to_thread(gate.reached.wait, 30)


@pytest.mark.parametrize("point", ["before", "after"])
@pytest.mark.parametrize(("text", "told"), WRITES)
def test_once_the_append_has_begun_nothing_ends_the_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: list[tuple[Any, ...]], point: str
) -> None:
    async def story(env: Environment) -> None:
        client, other = await with_table(env), await env.client()
        if text == "COMMIT":
            await client.run("BEGIN")
            await client.run("UPDATE t SET a = 5")
        gate, write = Gate(), env.coordinator.tables._write

        def slow(*arguments: Any) -> Any:
            if point == "before":
                gate()
            written = write(*arguments)
            if point == "after":
                gate()
            return written

        monkeypatch.setattr(env.coordinator.tables, "_write", slow)
        running = asyncio.create_task(client.run(text))
        await reached(gate)
        client.session.cancel()
        await asyncio.sleep(0)
        client.session.cancel()
        gate.open.set()
        assert await running == told
        monkeypatch.setattr(env.coordinator.tables, "_write", write)
        expected = {"DELETE": [], "UPDATE": [(5,)], "COMMIT": [(5,)]}.get(text.split()[0], [(1,), (5,)])
        assert await other.run("SELECT a FROM t ORDER BY a") == expected
        assert await client.run("SELECT 1") == [(1,)], "the next statement is not meant"

    in_environment(tmp_path, story)


def test_what_comes_after_the_append_or_commit_does_not_end_the_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(env: Environment) -> None:
        client = await with_table(env)
        notify = env.coordinator.controller.notify

        async def disturbed() -> None:
            client.session.cancel()
            await asyncio.sleep(0)
            await notify()

        monkeypatch.setattr(env.coordinator.controller, "notify", disturbed)
        assert await client.run("INSERT INTO t VALUES (2) RETURNING a") == [(2,)]
        assert await client.run("CREATE TABLE u (a int)") == [("CREATE TABLE",)]
        await client.run("BEGIN")
        await client.run("CREATE TABLE v (a int)")
        assert await client.run("COMMIT") == [("COMMIT",)]
        assert await client.run("SELECT (SELECT count(*) FROM u), (SELECT count(*) FROM v)") == [(0, 0)]

    in_environment(tmp_path, story)


def test_several_statements_that_are_cancelled_before_their_commit_have_written_nothing(
    tmp_path: Path,
) -> None:
    async def story(env: Environment) -> None:
        client, other = await with_table(env), await env.client()
        session = client.session
        session.begin_implicit()
        for parsed in await session.parse("INSERT INTO t VALUES (2); INSERT INTO t VALUES (3)"):
            await session.execute(await session.prepare(parsed))
        async with env.coordinator.tables.keep(frozenset((env.id_of("t"),))):
            ending = asyncio.create_task(session.finish(failed=False))
            await asyncio.sleep(0.05)
            session.cancel()
            with pytest.raises(UserError, match="user request"):
                await ending
        assert session.transaction is None
        assert await other.run("SELECT a FROM t") == [(1,)]

    in_environment(tmp_path, story)


@pytest.mark.parametrize("durable", [True, False])
def test_an_append_whose_answer_got_lost_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durable: bool
) -> None:
    async def story(env: Environment) -> None:
        client = await with_table(env)
        append = env.ledger.append

        def broken(*arguments: Any, **named: Any) -> Any:
            monkeypatch.setattr(env.ledger, "append", append)
            if durable:
                append(*arguments, **named)
            raise TransientError("the disk is full")

        monkeypatch.setattr(env.ledger, "append", broken)
        if durable:
            assert await client.run("INSERT INTO t VALUES (2) RETURNING a") == [(2,)]
        else:
            with pytest.raises(UserError, match="disk is full") as told:
                await client.run("INSERT INTO t VALUES (2) RETURNING a")
            assert told.value.sqlstate == "58030"
        assert await client.value("SELECT count(*) FROM t") == 1 + durable
        assert await client.run("UPDATE t SET a = a + 10") == [(f"UPDATE {1 + durable}",)]

    in_environment(tmp_path, story)


@pytest.mark.parametrize("durable", [True, False])
def test_an_append_of_which_nothing_is_known_is_told_so_and_settled_before_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durable: bool
) -> None:
    async def story(env: Environment) -> None:
        client, other = await with_table(env), await env.client()
        append, open_writer = env.ledger.append, env.ledger.open_writer
        tables = env.coordinator.tables

        def broken(*arguments: Any, **named: Any) -> Any:
            if durable:
                append(*arguments, **named)
            raise TransientError("the disk is full")

        def unknown(*_: Any) -> Any:
            raise TransientError("the disk is still full")

        await other.run("BEGIN")
        await other.run("UPDATE t SET a = 7")
        before = tables.last_ts
        monkeypatch.setattr(env.ledger, "append", broken)
        monkeypatch.setattr(env.ledger, "open_writer", unknown)
        with pytest.raises(UserError, match="not known whether") as told:
            await client.run("INSERT INTO t VALUES (2)")
        assert told.value.sqlstate == "08007"
        with pytest.raises(UserError, match="still full"):
            await client.run("INSERT INTO t VALUES (3)")
        monkeypatch.setattr(env.ledger, "append", append)
        monkeypatch.setattr(env.ledger, "open_writer", open_writer)
        if durable:
            with pytest.raises(UserError, match="concurrent update"):
                await other.run("COMMIT")
        else:
            await other.run("COMMIT")
        item = env.catalog.state.items[env.id_of("t")]
        written: list[int] = []
        append_rows = tables.append

        async def noted(*arguments: Any) -> int:
            written.append(await append_rows(*arguments))
            return written[-1]

        monkeypatch.setattr(tables, "append", noted)
        await client.run("INSERT INTO t VALUES (4)")
        files = env.ledger.change_files(item.id, before, 2**60)
        assert written == [files[-1].ts] == [tables.last_ts], "the timestamp it was told is its own"
        expected = [(1,), (2,), (4,)] if durable else [(4,), (7,)]
        assert await client.run("SELECT a FROM t ORDER BY a") == expected

    in_environment(tmp_path, story)


def test_a_change_of_the_catalog_that_cannot_be_followed_at_once_is_followed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(env: Environment) -> None:
        client = await with_table(env)
        join = env.ledger.join

        def broken(*arguments: Any, **named: Any) -> Any:
            raise TransientError("the disk is full")

        monkeypatch.setattr(env.ledger, "join", broken)
        assert await client.run("CREATE TABLE u (a int)") == [("CREATE TABLE",)]
        with pytest.raises(UserError, match="disk is full"):
            await client.run("INSERT INTO u VALUES (1)")
        monkeypatch.setattr(env.ledger, "join", join)
        await client.run("INSERT INTO u VALUES (1)")
        assert await client.run("SELECT a FROM u") == [(1,)]

    in_environment(tmp_path, story)

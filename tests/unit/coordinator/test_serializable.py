"""Transactions that write are as if each had run alone, at the timestamp of its append.

Method: sessions of an environment without a cluster, over real files.  At the end a random history: every
committed transaction is run again by the plainest model, in the order of timestamps, and must
have been told what the model says.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headwater.coordinator.read import PreparedRead
from headwater.core.errors import UserError
from tests.unit.coordinator.environment import Client, Environment, in_environment, refused

SOURCE = (
    "CREATE SOURCE c FROM LOAD GENERATOR COUNTER",
    "CREATE TABLE ticks FROM SOURCE c (REFERENCE counter)",
)


def test_a_fold_does_not_hide_that_a_table_was_changed(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        one, other = await env.client(), await env.client()
        await one.run("CREATE TABLE t (a int, v int)")
        await one.run("INSERT INTO t VALUES (1, 0)")
        await one.run("BEGIN")
        await one.run("UPDATE t SET v = 100")
        for _ in range(3):
            await other.run("UPDATE t SET v = v + 1")
        env.fold("t")
        assert env.coordinator.holds.since(env.id_of("t")) < env.coordinator.tables.last_ts, (
            "what it read is held"
        )
        told = await refused(one, "COMMIT")
        assert '"t"' in told.message
        assert await one.run("SELECT * FROM t") == [(1, 3)]
        await one.run("DELETE FROM t")
        env.fold("t")
        assert env.ledger.change_files(env.id_of("t"), 0, 2**60) == [], "after the block nothing is held"

    in_environment(tmp_path, story)


def test_numbers_taken_by_insert_select_are_distinct_however_many_take_one(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        one = await env.client()
        await one.run("CREATE TABLE s (id int)")
        await one.run("INSERT INTO s VALUES (0)")
        clients = [await env.client() for _ in range(50)]
        taken = await asyncio.gather(
            *(client.value("INSERT INTO s SELECT max(id) + 1 FROM s RETURNING id") for client in clients)
        )
        assert sorted(taken) == list(range(1, 51))
        assert await one.run("SELECT count(*), count(DISTINCT id), max(id) FROM s") == [(51, 51, 50)]
        await asyncio.gather(*(client.run("UPDATE s SET id = id + 1") for client in clients[:20]))
        assert await one.run("SELECT min(id), max(id) FROM s") == [(20, 70)]

    in_environment(tmp_path, story)


READS = (
    ("UPDATE a SET v = (SELECT sum(v) FROM b)", "UPDATE b SET v = (SELECT sum(v) FROM a)"),
    (
        "INSERT INTO a SELECT max(v) + 1 FROM b",
        "DELETE FROM b WHERE EXISTS (SELECT 1 FROM all_of_it WHERE v > 0)",
    ),
    ("DELETE FROM a USING b WHERE a.v = b.v", "EXECUTE from_a"),
)


@pytest.mark.parametrize("texts", READS)
def test_of_two_blocks_that_read_what_the_other_writes_one_commits(
    tmp_path: Path, texts: tuple[str, str]
) -> None:
    async def story(env: Environment) -> None:
        one, other = await env.client(), await env.client()
        await one.run("CREATE TABLE a (v int)")
        await one.run("CREATE TABLE b (v int)")
        await one.run("CREATE VIEW all_of_it AS SELECT v FROM a UNION ALL SELECT v FROM b")
        await other.run("PREPARE from_a AS INSERT INTO b SELECT v + 1 FROM a")
        await one.run("INSERT INTO a VALUES (1), (2)")
        await one.run("INSERT INTO b VALUES (1)")
        for client, text in zip((one, other), texts, strict=True):
            await client.run("BEGIN")
            await client.run(text)
        assert await one.value("COMMIT") == "COMMIT"
        await refused(other, "COMMIT")
        assert other.session.status == "I"

    in_environment(tmp_path, story)


def test_what_was_read_before_a_rollback_to_a_savepoint_counts(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        one, other = await env.client(), await env.client()
        await one.run("CREATE TABLE a (v int)")
        await one.run("CREATE TABLE b (v int)")
        reads = (
            "SELECT count(*) FROM a",
            "COPY (SELECT count(*) FROM a) TO STDOUT",
            "DECLARE c CURSOR FOR SELECT v FROM a",
        )
        for changed in (True, False):
            for text in reads:
                for step in ("BEGIN", "SAVEPOINT s", text, "ROLLBACK TO s", "INSERT INTO b VALUES (1)"):
                    await one.run(step)
                if changed:
                    await other.run("INSERT INTO a VALUES (1)")
                    await refused(one, "COMMIT")
                else:
                    assert await one.value("COMMIT") == "COMMIT"
        assert await one.value("SELECT count(*) FROM b") == 3

    in_environment(tmp_path, story)


def test_a_transaction_that_only_reads_or_whose_tables_others_leave_alone_is_not_refused(
    tmp_path: Path,
) -> None:
    async def story(env: Environment) -> None:
        one, other = await env.client(), await env.client()
        for name in "abc":
            await one.run(f"CREATE TABLE {name} (v int)")
            await one.run(f"INSERT INTO {name} VALUES (1)")
        await one.run("BEGIN")
        await one.run("SELECT * FROM a")
        await other.run("UPDATE a SET v = 2")
        assert await one.value("COMMIT") == "COMMIT"
        await one.run("BEGIN")
        await one.run("UPDATE a SET v = (SELECT v FROM b)")
        await other.run("UPDATE c SET v = 2")
        assert await one.value("COMMIT") == "COMMIT"
        await one.run("BEGIN")
        await one.run("INSERT INTO a VALUES (5)")
        await other.run("INSERT INTO a VALUES (6)")
        assert await one.value("COMMIT") == "COMMIT"
        await one.run("BEGIN")
        await one.run("UPDATE a SET v = (SELECT v FROM b)")
        await other.run("DROP TABLE b")
        await refused(one, "COMMIT")

    in_environment(tmp_path, story)


def test_who_waits_for_a_source_keeps_nobody_from_writing(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        one, other = await env.client(), await env.client()
        await one.run("CREATE TABLE t (v bigint)")
        for text in SOURCE:
            await one.run(text)
        source_id = env.follow("ticks", {"counter": pa.array([7])})
        await other.run("INSERT INTO t VALUES (1)")  # later than what the source has reached
        texts = (
            "UPDATE t SET v = (SELECT max(counter) FROM ticks)",
            "DELETE FROM t USING ticks WHERE v = counter + 1",
        )
        waiting = [asyncio.create_task((await env.client()).run(text)) for text in texts]
        for _ in range(5):
            await asyncio.sleep(0.02)
            await other.run("UPDATE t SET v = v + 1")
            await other.run("INSERT INTO t VALUES (8)")
        assert not any(task.done() for task in waiting)
        # The source goes on, slowly, while others write all the time: everybody gets through.
        writing = asyncio.create_task(_write_all_the_time(other))
        moving = asyncio.create_task(_move(env, source_id))
        await asyncio.gather(*waiting)
        for task in (writing, moving):
            task.cancel()
        assert await one.run("SELECT DISTINCT v FROM t WHERE v < 8 AND v <> 2") == [(7,)]

    in_environment(tmp_path, story)


async def _write_all_the_time(client: Client) -> None:
    while True:
        await client.run("INSERT INTO t VALUES (2)")


async def _move(env: Environment, source_id: str) -> None:
    while True:
        await asyncio.sleep(0.1)
        await env.reach(source_id, env.coordinator.clock.now_ms())


def test_two_that_write_what_the_other_reads_do_not_wait_for_each_other(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        one, other = await env.client(), await env.client()
        for name in ("a", "b"):
            await one.run(f"CREATE TABLE {name} (v int)")
            await one.run(f"INSERT INTO {name} VALUES (1)")
        texts = ("INSERT INTO a SELECT sum(v) + 10 FROM b", "INSERT INTO b SELECT sum(v) + 10 FROM a")
        async with env.coordinator.tables.keep(frozenset((env.id_of("a"), env.id_of("b")))):
            # Both find the tables kept, so both will keep what they need themselves.
            waiting = [asyncio.create_task(c.run(t)) for c, t in zip((one, other), texts, strict=True)]
            done, _ = await asyncio.wait(waiting, timeout=0.5)
            assert not done
        async with asyncio.timeout(20):
            await asyncio.gather(*waiting)
        found = await one.run("SELECT (SELECT sum(v) FROM a), (SELECT sum(v) FROM b)")
        assert found in ([(12, 23)], [(23, 12)])

    in_environment(tmp_path, story)


def test_who_is_cancelled_while_waiting_has_written_nothing_and_keeps_nothing(tmp_path: Path) -> None:
    async def story(env: Environment) -> None:
        one, other = await env.client(statement_timeout="200ms"), await env.client()
        await other.run("CREATE TABLE t (v bigint)")
        for text in SOURCE:
            await other.run(text)
        env.follow("ticks", {"counter": pa.array([7])})
        await other.run("INSERT INTO t VALUES (1)")
        async with env.coordinator.tables.keep(frozenset((env.id_of("t"),))):
            for text in (
                "INSERT INTO t VALUES (2)",
                "UPDATE t SET v = 2",
                "INSERT INTO t SELECT counter FROM ticks, t",
            ):
                await refused(one, text, "57014")
            await one.run("BEGIN")
            await one.run("INSERT INTO t VALUES (3)")
            await refused(one, "COMMIT", "57014")
            assert one.session.status == "I"
        await other.run("UPDATE t SET v = v + 1")
        assert await other.run("SELECT v FROM t") == [(2,)]

    in_environment(tmp_path, story)


# A random history

TABLES = ("a", "b", "c")
State = dict[str, Counter[tuple[int, int]]]  # rows are (transaction, v)


@dataclass(frozen=True, slots=True)
class Done:
    """A committed transaction: what it did, what it was told, and when."""

    number: int
    kind: str
    target: str
    read: tuple[str, ...]
    told: Any
    began: int
    ended: int


async def _transaction(
    client: Client, chance: random.Random, number: int, clock: Iterator[int]
) -> Done | None:
    """One that writes rows with its number, or only reads; None if it was refused."""
    kind = chance.choice(("insert", "update", "delete", "read"))
    target, block = chance.choice(TABLES), chance.random() < 0.5
    read = tuple(sorted(chance.sample(TABLES, chance.choice((1, 2)))))
    total = " + ".join(f"(SELECT coalesce(sum(v), 0) + count(*) FROM {name})" for name in read)
    text = {
        "insert": f"INSERT INTO {target} SELECT {number}, ({total}) % 1000 RETURNING v",
        "update": f"UPDATE {target} SET n = {number}, v = (v + ({total})) % 1000 WHERE v % 2 = 0",
        "delete": f"DELETE FROM {target} WHERE v % 3 = ({total}) % 3",
        "read": f"SELECT ({total}) % 1000",
    }[kind]
    began = next(clock)
    try:
        if block:
            await client.run("BEGIN")
        told = await client.run(text)
        if block:
            await client.run("COMMIT")
    except UserError as error:
        if error.sqlstate != "40001" or not block:  # a statement that is alone is computed again
            raise
        if client.session.status != "I":
            await client.run("ROLLBACK")
        return None
    return Done(number, kind, target, read, told, began, next(clock))


def _expected(state: State, done: Done) -> Any:
    """Run it on the model; what it is told."""
    total = sum(sum(v for _, v in state[name].elements()) + state[name].total() for name in done.read)
    rows = state[done.target]
    if done.kind == "read":
        return [(total % 1000,)]
    if done.kind == "insert":
        rows[done.number, total % 1000] += 1
        return [(total % 1000,)]
    if done.kind == "update":
        gone = [row for row in rows.elements() if row[1] % 2 == 0]
        come = [(done.number, (v + total) % 1000) for _, v in gone]
    else:
        gone, come = [row for row in rows.elements() if row[1] % 3 == total % 3], []
    rows.subtract(gone)
    rows.update(come)
    return [(f"{done.kind.upper()} {len(gone)}",)]


NUMBER: ContextVar[int] = ContextVar("NUMBER", default=0)
"""Of the transaction that runs; tasks that it starts inherit it."""


def _note_timestamps(env: Environment) -> tuple[dict[int, int], dict[int, int]]:
    """By number of a transaction: the timestamps of its last read and of its append."""
    reads: dict[int, int] = {}
    appends: dict[int, int] = {}
    prepare, append = env.coordinator.reads.prepare, env.coordinator.tables.append

    async def prepared(*arguments: Any, **named: Any) -> PreparedRead:
        read = await prepare(*arguments, **named)
        if read.inputs.tables:
            reads[NUMBER.get()] = read.ts
        return read

    async def appended(*arguments: Any, **named: Any) -> int:
        appends[NUMBER.get()] = ts = await append(*arguments, **named)
        return ts

    env.coordinator.reads.prepare = prepared  # type: ignore[method-assign]
    env.coordinator.tables.append = appended  # type: ignore[method-assign]
    return reads, appends


@pytest.mark.parametrize("seed", range(2))
def test_a_random_history_is_what_its_transactions_do_one_after_the_other(tmp_path: Path, seed: int) -> None:
    history: list[Done] = []
    found: State = {}
    reads: dict[int, int] = {}
    appends: dict[int, int] = {}

    async def story(env: Environment) -> None:
        nonlocal reads, appends
        first = await env.client()
        for name in TABLES:
            await first.run(f"CREATE TABLE {name} (n int, v int)")
            await first.run(f"INSERT INTO {name} VALUES (0, 1), (0, 2), (0, 2)")
        reads, appends = _note_timestamps(env)
        clock, numbers = itertools.count(1), itertools.count(1)

        async def work(client: Client, chance: random.Random) -> None:
            for _ in range(12):
                NUMBER.set(next(numbers))
                done = await _transaction(client, chance, NUMBER.get(), clock)
                history.extend(() if done is None else (done,))
                if chance.random() < 0.2:
                    env.fold(chance.choice(TABLES))

        clients = [await env.client() for _ in range(6)]
        await asyncio.gather(*(work(c, random.Random(f"{seed} {i}")) for i, c in enumerate(clients)))
        for name in TABLES:
            found[name] = Counter(await first.run(f"SELECT n, v FROM {name}"))

    in_environment(tmp_path, story)
    placed = {done.number: _place(done, reads, appends) for done in history}
    state: State = {name: Counter([(0, 1), (0, 2), (0, 2)]) for name in TABLES}
    for done in sorted(history, key=lambda done: placed[done.number]):
        assert done.told == _expected(state, done), (seed, done)
    assert {name: +rows for name, rows in state.items()} == found
    for done in history:
        earlier = [placed[other.number] for other in history if other.ended < done.began]
        assert placed[done.number] >= max(earlier, default=(0, False)), "nobody goes back in time"
    kinds = Counter(done.kind for done in history)
    assert len(kinds) == 4, f"too few of each kind: {kinds}"


def _place(done: Done, reads: dict[int, int], appends: dict[int, int]) -> tuple[int, bool]:
    """In the order of timestamps; who only reads at a timestamp sees what was written there."""
    ts = appends.get(done.number)
    return (reads[done.number], True) if ts is None else (ts, False)

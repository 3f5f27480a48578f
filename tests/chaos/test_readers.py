"""Folds, forgetting, sweeps and drops beside slow readers: nobody ever misses a file.

Method: a reader takes a few rows and stops, with its portal, cursor or transaction open;
then enough is written to fold the table, history is let go, the table is dropped.  The
reader goes on and must get exactly the rows of its timestamp.  Files of its plan are
there as long as it reads, and gone soon after it has ended.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import asyncpg
import psycopg
import pytest

from tests.support.clients import Follower
from tests.support.files import rows_about, states_of
from tests.support.server import HeadwaterServer, eventually

ROWS = 30_000
WRITES_FOR_A_FOLD = 40
FOLD_S_MAX = 120.0


def id_of(server: HeadwaterServer, name: str) -> str:
    """The id of a table or source."""
    return str(server.query(f"SELECT id FROM mz_objects WHERE name = '{name}' AND id LIKE 'u%'")[0][0])


def create_big(server: HeadwaterServer, name: str) -> str:
    """A plain table of ROWS rows in several files; returns its id."""
    server.query(f"CREATE TABLE {name} (n bigint, padding text)")
    for start in range(0, ROWS, ROWS // 5):
        server.query(
            f"INSERT INTO {name} SELECT n, repeat('x', 100) FROM"
            f" generate_series({start}, {start + ROWS // 5 - 1}) AS g (n)"
        )
    return id_of(server, name)


def make_fold(server: HeadwaterServer, name: str, id_: str) -> int:
    """Write until the table has been folded; returns the new state's timestamp."""
    before = states_of(server.data_dir, id_)[-1]
    with server.connect() as connection:
        for number in range(WRITES_FOR_A_FOLD):
            connection.execute(f"INSERT INTO {name} VALUES ({ROWS + number}, 'later')".encode())
        connection.execute(f"DELETE FROM {name} WHERE n >= {ROWS} OR n < 1000".encode())
        # A fold waits until the tail is a fair share of the state.
        connection.execute(f"UPDATE {name} SET padding = 'changed' WHERE n % 10 = 0".encode())
    eventually(lambda: states_of(server.data_dir, id_)[-1] > before, within_s=FOLD_S_MAX)
    return states_of(server.data_dir, id_)[-1]


def files_of(server: HeadwaterServer, id_: str) -> set[str]:
    return {file.name for file in server.data_dir.glob(f"tables/{id_}/*/*.parquet")}


async def read_slowly(server: HeadwaterServer, name: str, id_: str) -> list[int]:
    """Through a portal, a few rows at a time; everything is done to the table in between."""
    connection = await asyncpg.connect(
        host="127.0.0.1", port=server.sql_port, user="materialize", database="materialize"
    )
    try:
        async with connection.transaction():
            cursor = await connection.cursor(f"SELECT n FROM {name}")
            got = [row[0] for row in await cursor.fetch(10)]
            planned = files_of(server, id_)
            as_of = await asyncio.to_thread(make_fold, server, name, id_)
            got += [row[0] for row in await cursor.fetch(10)]
            await asyncio.to_thread(server.query, f"DROP TABLE {name}")
            # The drop waits: nothing of the plan has gone, although a later state was there.
            got += [row[0] for row in await cursor.fetch(10)]
            assert planned <= files_of(server, id_)
            assert states_of(server.data_dir, id_)[-1] == as_of
            got += [row[0] for row in await cursor.fetch(ROWS)]
            return got
    finally:
        await connection.close()


def test_a_slow_portal_keeps_its_files_through_folds_and_a_drop(busy_server: HeadwaterServer) -> None:
    id_ = create_big(busy_server, "portal_read")
    got = asyncio.run(read_slowly(busy_server, "portal_read", id_))
    assert sorted(got) == list(range(ROWS))
    eventually(lambda: rows_about(busy_server.data_dir, id_) == 0, within_s=FOLD_S_MAX)
    eventually(lambda: not (busy_server.data_dir / "tables" / id_).exists(), within_s=FOLD_S_MAX)


def test_a_transaction_and_its_cursor_keep_their_timestamp(
    busy_server: HeadwaterServer,
) -> None:
    id_ = create_big(busy_server, "transaction_read")
    with busy_server.connect() as reader:
        reader.execute("BEGIN")
        first = reader.execute("SELECT count(*), sum(n) FROM transaction_read").fetchall()
        reader.execute("DECLARE c CURSOR FOR SELECT n FROM transaction_read")
        some = reader.execute("FETCH 5 c").fetchall()
        old = states_of(busy_server.data_dir, id_)
        for _ in range(2):
            make_fold(busy_server, "transaction_read", id_)
        assert reader.execute("SELECT count(*), sum(n) FROM transaction_read").fetchall() == first
        rest = reader.execute("FETCH ALL c").fetchall()
        assert sorted(row[0] for row in some + rest) == list(range(ROWS))
        assert set(old) & set(states_of(busy_server.data_dir, id_)), "a state went under the transaction"
        reader.execute("COMMIT")

    def forgotten() -> bool:
        busy_server.query("SELECT mz_now()")  # moves the present on, which plain tables do only when asked
        return len(states_of(busy_server.data_dir, id_)) == 1

    # Nobody reads any more: only the newest state stays, with its one file and the tail after it.
    eventually(forgotten, within_s=FOLD_S_MAX)
    assert busy_server.query("SELECT count(*) FROM transaction_read") == [(ROWS - 1_000,)]
    busy_server.query("DROP TABLE transaction_read")


def test_a_subscription_outlives_folds_and_ends_when_its_table_is_dropped(
    busy_server: HeadwaterServer,
) -> None:
    id_ = create_big(busy_server, "followed")
    follower = Follower(busy_server, "followed")
    follower.start()
    make_fold(busy_server, "followed", id_)
    last = busy_server.query("SELECT mz_now()::text FROM followed LIMIT 1")[0][0]
    eventually(lambda: follower.complete > int(last), within_s=FOLD_S_MAX)
    rows = follower.rows_at(int(last))
    assert {row[0] for row in rows} == set(range(1_000, ROWS))
    busy_server.query("DROP TABLE followed")
    eventually(lambda: rows_about(busy_server.data_dir, id_) == 0, within_s=FOLD_S_MAX)
    with pytest.raises(psycopg.errors.UndefinedObject, match="was dropped"):
        follower.stop()


def shown(server: HeadwaterServer, id_: str) -> list[tuple[str, Any]]:
    """Relations of mz_internal and mz_catalog that still show an id."""
    asked = (
        ("mz_internal.mz_source_statuses", "id"),
        ("mz_internal.mz_hydration_statuses", "object_id"),
        ("mz_internal.mz_frontiers", "object_id"),
        ("mz_internal.mz_source_statistics", "id"),
        ("mz_tables", "id"),
        ("mz_sources", "id"),
    )
    return [
        (relation, rows)
        for relation, column in asked
        if (rows := server.query(f"SELECT * FROM {relation} WHERE {column} = '{id_}'"))
    ]


def test_a_source_dropped_in_the_middle_of_a_backfill_leaves_nothing(busy_server: HeadwaterServer) -> None:
    server = busy_server
    server.query(
        "CREATE SOURCE vast FROM LOAD GENERATOR KEY VALUE (KEYS 3000000, SNAPSHOT ROUNDS 1, VALUE SIZE 16,"
        " SEED 3, PARTITIONS 10, BATCH SIZE 1000, TRANSACTIONAL SNAPSHOT true, TICK INTERVAL '100ms')"
    )
    server.query("CREATE TABLE vast_table FROM SOURCE vast (REFERENCE key_value)")
    ids = [id_of(server, "vast"), id_of(server, "vast_table")]
    folder = server.data_dir / "tables" / ids[1]
    eventually(lambda: any(folder.glob("state/*.parquet")), within_s=FOLD_S_MAX)
    server.query("DROP SOURCE vast CASCADE")
    for id_ in ids:
        eventually(lambda id_=id_: rows_about(server.data_dir, id_) == 0, within_s=FOLD_S_MAX)  # type: ignore[misc]
        eventually(lambda id_=id_: not shown(server, id_), within_s=FOLD_S_MAX)  # type: ignore[misc]
    eventually(lambda: not folder.exists(), within_s=FOLD_S_MAX)


def follow(server: HeadwaterServer, query: str, as_of: int, up_to: int) -> Counter[tuple[Any, ...]]:
    """All changes of a query in a range, as (timestamp, diff, row...)."""
    with server.connect() as session:
        sql = f"SUBSCRIBE ({query}) AS OF {as_of} UP TO {up_to}"
        return Counter(tuple(map(int, row)) for row in session.cursor().stream(sql.encode()))


def test_a_subscriber_that_does_not_read_is_ended_unless_it_still_has_the_snapshot(
    busy_server: HeadwaterServer,
) -> None:
    server = busy_server
    server.query("CREATE TABLE flood (n int, padding text)")
    server.query("INSERT INTO flood VALUES (-1, ''), (-2, '')")
    reads = Follower(server, "flood", remembers=False)
    reads.start()
    with server.connect() as follows, server.connect() as begins:
        for session, count in ((follows, "ALL"), (begins, "1")):
            session.execute("BEGIN")
            session.execute("DECLARE c CURSOR FOR SUBSCRIBE flood")
            session.execute(f"FETCH {count} c".encode())
        for start in (0, 50, 100, 150):  # each more than a third of what may wait; the first is on its way
            server.query(
                "INSERT INTO flood SELECT n, repeat('x', 1000000)"
                f" FROM generate_series({start}, {start + 49}) AS g (n)"
            )
        eventually(lambda: reads.rows.total() == 202)
        reads.stop()
        on_its_way = follows.execute("FETCH 60 c WITH (timeout = '60s')").fetchall()
        assert sorted(row[2] for row in on_its_way) == list(range(50))
        with pytest.raises(psycopg.errors.OutOfMemory, match="fell behind") as told:
            follows.execute("FETCH 60 c WITH (timeout = '60s')")
        assert "public.flood" in (told.value.diag.message_detail or "")
        assert "AS OF t - 1" in (told.value.diag.message_hint or "")
        rows: list[Any] = []
        while len(rows) < 201:  # it returns some megabytes at a time
            some = begins.execute("FETCH 201 c WITH (timeout = '60s')").fetchall()
            assert some
            rows += some
        assert sorted(row[2] for row in rows[1:]) == list(range(200))
    server.query("DROP TABLE flood")


def test_a_query_with_more_rows_than_can_be_compared_is_refused_when_it_changes(
    busy_server: HeadwaterServer,
) -> None:
    server = busy_server
    server.query("CREATE TABLE vast_query (n int)")
    server.query("INSERT INTO vast_query SELECT * FROM generate_series(1, 300)")
    with server.connect() as session:
        session.execute("BEGIN")
        session.execute(
            "DECLARE c CURSOR FOR SUBSCRIBE (SELECT n, repeat('x', 1000000) FROM vast_query)"
            " WITH (SNAPSHOT = false)"
        )
        session.execute("FETCH ALL c WITH (timeout = '0s')")
        server.query("INSERT INTO vast_query VALUES (0)")
        with pytest.raises(psycopg.errors.OutOfMemory, match="too large to be followed"):
            session.execute("FETCH 1 c WITH (timeout = '60s')")
    server.query("DROP TABLE vast_query")


def test_a_subscription_comes_to_its_end_while_nobody_writes(busy_server: HeadwaterServer) -> None:
    server = busy_server
    server.query("CREATE TABLE resting (n int) WITH (RETAIN HISTORY FOR '1h')")
    eventually(server.connected_cluster_pid)  # whose reports would wake the hub
    follower = Follower(server, "resting")  # its hub rests when the next subscription joins it
    follower.start()
    began = eventually(lambda: follower.complete)
    server.query("INSERT INTO resting VALUES (1)")
    eventually(lambda: follower.rows)
    for ahead_ms in (0, 1_500):
        now = int(server.query("SELECT mz_now()::text FROM resting")[0][0])
        with server.connect() as session:
            session.execute("SET statement_timeout = '30s'")
            sql = f"SUBSCRIBE resting AS OF {began} UP TO {now + ahead_ms}"
            assert [row[1:] for row in session.execute(sql.encode()).fetchall()] == [(1, 1)]
    follower.stop()
    server.query("DROP TABLE resting")


def test_subscriptions_of_one_query_agree_whenever_they_begin(busy_server: HeadwaterServer) -> None:
    """A late one catches up by itself while the others go on; it must not disturb what they compute."""
    server = busy_server
    query = "SELECT n % 3 AS r, count(*) AS c FROM shared GROUP BY n % 3"
    server.query("CREATE TABLE shared (n int) WITH (RETAIN HISTORY FOR '1h')")
    began = int(server.query("SELECT mz_now()::text FROM mz_tables LIMIT 1")[0][0])
    end = began + 3_600_000
    heard: list[tuple[int, ...]] = []
    with server.connect() as session:
        stream = session.cursor().stream(
            f"SUBSCRIBE ({query}) WITH (PROGRESS) AS OF {began} UP TO {end}".encode()
        )
        reader = threading.Thread(target=_collect, args=(stream, heard), daemon=True)
        reader.start()
        for number in range(60):
            server.query(f"INSERT INTO shared VALUES ({number})")
            if number % 20 == 10:
                until = int(server.query("SELECT mz_now()::text FROM shared LIMIT 1")[0][0])
                late = follow(server, query, began, until)
                assert (
                    sum(diff * count for (_, diff, _, count), n in late.items() for _ in range(n))
                    == number + 1
                )
        server.query("INSERT INTO shared VALUES (0)")
        eventually(lambda: sum(diff * count for _, diff, _, count in heard) == 61)
        again = follow(server, query, began, max(ts for ts, *_ in heard) + 1)
        assert again == Counter(heard)
        session.cancel()
        reader.join(FOLD_S_MAX)
    server.query("DROP TABLE shared")


def _collect(stream: Iterator[Any], heard: list[tuple[int, ...]]) -> None:
    try:
        for row in stream:
            if not row[1]:
                heard.append((int(row[0]), int(row[2]), int(row[3]), int(row[4])))
    except psycopg.errors.QueryCanceled:
        return

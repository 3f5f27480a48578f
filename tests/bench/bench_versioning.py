"""What many tables on one source cost: making and dropping one, a thousand of them, one more beside others.

Method: a real PostgreSQL and a real server.  A table is watched through SUBSCRIBE all the time, so that
whatever holds up its source shows as rows that come late.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.bench.figures import Figures, cpu_seconds
from tests.bench.freshness import Load, Watch, run
from tests.support.postgres import PostgresServer, running
from tests.support.server import HeadwaterServer, eventually

UPSTREAM_TABLES = 1_000
ROUNDS = 50
WITHIN_S = 300.0
WATCH_S = 40.0


@pytest.fixture(scope="module")
def figures() -> Iterator[Figures]:
    made = Figures("Many tables")
    yield made
    made.write()


@pytest.fixture(scope="module")
def upstream() -> Iterator[PostgresServer]:
    with running() as server, psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute("CREATE TABLE events (id bigserial PRIMARY KEY, n int4, at timestamptz)")
        for number in range(UPSTREAM_TABLES):
            connection.execute(f"CREATE TABLE t{number} (id int PRIMARY KEY, name text)".encode())
            connection.execute(f"INSERT INTO t{number} SELECT n, 'x' FROM generate_series(1, 10) n".encode())
        connection.execute(
            "CREATE TABLE big AS SELECT g AS id, md5(g::text) AS a FROM generate_series(1, 1000000) g"
        )
        connection.execute("ALTER TABLE big ADD PRIMARY KEY (id)")
        connection.execute("CREATE PUBLICATION p FOR ALL TABLES")
        yield server


@pytest.fixture
def bench(upstream: PostgresServer, tmp_path: Path) -> Iterator[HeadwaterServer]:
    made = HeadwaterServer(tmp_path / "data", spark_master="local[*]").start()
    run(
        made,
        f"CREATE CONNECTION pg TO POSTGRES (HOST '127.0.0.1', PORT {upstream.port}, DATABASE 'postgres',"
        " USER 'postgres')",
        "CREATE SOURCE s FROM POSTGRES CONNECTION pg (PUBLICATION 'p')",
        "CREATE TABLE events FROM SOURCE s (REFERENCE events)",
    )
    yield made
    made.stop()


def create_tables(server: HeadwaterServer, count: int) -> None:
    """In one transaction."""
    statements = [f"CREATE TABLE t{n} FROM SOURCE s (REFERENCE t{n})" for n in range(count)]
    run(server, "BEGIN", *statements, "COMMIT")
    eventually(lambda: hydrated(server) > count, within_s=WITHIN_S)


def hydrated(server: HeadwaterServer) -> int:
    ((count,),) = server.query("SELECT count(*) FROM mz_internal.mz_hydration_statuses WHERE hydrated")
    return int(count)


def p99(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)]


def test_one_of_two_hundred(
    upstream: PostgresServer, bench: HeadwaterServer, figures: Figures, tmp_path: Path
) -> None:
    create_tables(bench, 200)
    Load(upstream, 50, 15, tmp_path).wait()  # a server that has just started is slow for some seconds
    created, readable, dropped = [], [], []
    quiet = Watch(bench, "events")
    quiet.start()
    Load(upstream, 50, WATCH_S, tmp_path).wait()
    before = quiet.stop()
    watch = Watch(bench, "events")
    watch.start()
    load = Load(upstream, 50, 2 * WATCH_S, tmp_path)
    with bench.connect() as session:
        for number in range(ROUNDS):
            began = time.monotonic()
            session.execute(f"CREATE TABLE extra FROM SOURCE s (REFERENCE t{300 + number})".encode())
            created.append(time.monotonic() - began)
            session.execute(b"SELECT count(*) FROM extra")
            readable.append(time.monotonic() - began)
            began = time.monotonic()
            session.execute(b"DROP TABLE extra")
            dropped.append(time.monotonic() - began)
    load.wait()
    _, during = watch.stop()
    figures.add(
        "200 tables on a source: creating one more, p99 (until it is readable)",
        f"{p99(created):.2f} s ({p99(readable):.2f} s)",
        "1 s",
        p99(created) <= 1,
    )
    figures.add("dropping one of them, p99", f"{p99(dropped):.2f} s", "1 s", p99(dropped) <= 1)
    figures.add(
        "freshness of another table meanwhile, p99, beside that of before",
        f"{during:.2f} s; before {before[1]:.2f} s",
        "at most one interval (1 s) more",
        during <= before[1] + 1,
    )


def test_a_thousand(bench: HeadwaterServer, figures: Figures) -> None:
    began = time.monotonic()
    create_tables(bench, UPSTREAM_TABLES)
    made_s = time.monotonic() - began
    assert bench.process is not None
    time.sleep(15)  # nothing shows that the work of creating them has died down
    began, used = time.monotonic(), cpu_seconds(bench.process.pid)
    time.sleep(30)  # what is measured is what is used in this time
    share = (cpu_seconds(bench.process.pid) - used) / (time.monotonic() - began) * 100
    figures.add(
        "1,000 tables on one source, made in one transaction, until all are readable",
        f"{made_s:.0f} s",
        "no promise",
        True,
    )
    figures.add("1,000 idle tables: CPU of one core", f"{share:.0f} %", "25 %", share <= 25)
    bench.kill_environment()
    bench.kill_cluster()
    began = time.monotonic()
    bench.start()
    eventually(
        lambda: (
            bench.query("SELECT status FROM mz_internal.mz_source_statuses WHERE name = 's'")
            == [("running",)]
        ),
        within_s=WITHIN_S,
    )
    assert bench.query("SELECT count(*) FROM t999") == [(10,)]
    seconds = time.monotonic() - began
    figures.add(
        "1,000 tables: start after kill -9 of everything, until the source runs and tables answer",
        f"{seconds:.0f} s",
        "60 s",
        seconds <= 60,
    )


def test_one_beside_twenty(
    upstream: PostgresServer, bench: HeadwaterServer, figures: Figures, tmp_path: Path
) -> None:
    names = [f"events{number}" for number in range(20)]
    run(
        bench,
        "BEGIN",
        *(f"CREATE TABLE {name} FROM SOURCE s (REFERENCE events)" for name in names),
        "COMMIT",
    )
    eventually(lambda: hydrated(bench) > 20, within_s=WITHIN_S)
    Load(upstream, 200, 15, tmp_path).wait()  # a server that has just started is slow for some seconds
    ages = []
    for statement in (None, "CREATE TABLE big FROM SOURCE s (REFERENCE big)"):
        watches = [Watch(bench, name) for name in ("events", *names[:4])]
        for watch in watches:
            watch.start()
        load = Load(upstream, 200, WATCH_S, tmp_path)
        if statement is not None:
            run(bench, statement)
        load.wait()
        ages.append(max(watch.stop()[1] for watch in watches))
    figures.add(
        "20 tables stream 200 changes/s each, one of 1,000,000 rows is added: p99 freshness against before",
        f"{ages[1] / ages[0]:.1f} times ({ages[1]:.2f} s)",
        "1.5 times",
        ages[1] <= 1.5 * ages[0],
    )

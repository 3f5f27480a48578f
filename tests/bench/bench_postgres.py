"""What PostgreSQL sources reach, beside what the upstream's own tools do on the same machine.

Method: a real PostgreSQL and a real server.  Freshness is the time from a row's clock_timestamp()
upstream to its arrival through SUBSCRIBE: a row that arrives there can be read.
"""

from __future__ import annotations

import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
import pytest

from tests.bench.figures import Figures, memory_bytes
from tests.bench.freshness import Load, Watch, run
from tests.support.postgres import BINARIES, PostgresServer
from tests.support.server import HeadwaterServer, eventually

SNAPSHOT_ROWS = 5_000_000
BACKLOG_CHANGES = 1_000_000
WITHIN_S = 900.0
WATCH_S = 30.0
CONNECT = (
    "CREATE CONNECTION pg TO POSTGRES (HOST '127.0.0.1', PORT {port}, DATABASE 'postgres', USER 'postgres')"
)
SOURCE = "CREATE SOURCE s FROM POSTGRES CONNECTION pg (PUBLICATION 'p')"


@pytest.fixture(scope="module")
def figures() -> Iterator[Figures]:
    made = Figures("PostgreSQL")
    yield made
    made.write()


@pytest.fixture(scope="module")
def upstream() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            for statement in (
                "ALTER SYSTEM SET max_wal_size = '8GB'",
                "SELECT pg_reload_conf()",
                "CREATE TABLE big (id int8 PRIMARY KEY, a text, b text, n int8, at timestamptz)",
                "INSERT INTO big SELECT g, md5(g::text), md5((g + 1)::text), g * 7, now()"
                f" FROM generate_series(1, {SNAPSHOT_ROWS}) AS g",
                "VACUUM ANALYZE big",
                "CREATE TABLE log (id bigserial PRIMARY KEY, a text, n int8)",
                "CREATE TABLE events (id bigserial PRIMARY KEY, n int4, at timestamptz)",
                "CREATE PUBLICATION p FOR ALL TABLES",
            ):
                connection.execute(statement)
        yield server


@pytest.fixture(scope="module")
def bench(upstream: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadwaterServer]:
    made = HeadwaterServer(tmp_path_factory.mktemp("bench") / "data", spark_master="local[*]").start()
    run(
        made,
        CONNECT.format(port=upstream.port),
        SOURCE,
        "CREATE SOURCE quick FROM POSTGRES CONNECTION pg (PUBLICATION 'p') WITH (TIMESTAMP INTERVAL '100ms')",
        "CREATE TABLE log FROM SOURCE s (REFERENCE log)",
        "CREATE TABLE events FROM SOURCE s (REFERENCE events)",
        "CREATE TABLE quick_events FROM SOURCE quick (REFERENCE events)",
    )
    # A server that has just started is slow for some seconds: see the first snapshot.
    for table in ("log", "events", "quick_events"):
        eventually(lambda: count_of(made, table) == 0, within_s=60)  # noqa: B023
    yield made
    made.stop()


def count_of(server: HeadwaterServer, table: str) -> int:
    return int(server.query(f"SELECT count(*) FROM {table}")[0][0])


def copied_s(upstream: PostgresServer) -> float:
    """How long PostgreSQL itself takes to put the table into a file."""
    target = upstream.directory / "copied"
    with psycopg.connect(upstream.dsn(), autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        os.sync()  # what was written before is not to be waited for
        began = time.monotonic()
        connection.execute(f"COPY big TO '{target}'".encode())
        took_s = time.monotonic() - began
    target.unlink()
    return took_s


def snapshot_s(server: HeadwaterServer) -> float:
    """How long it takes until the table can be read here."""
    began = time.monotonic()
    run(server, "CREATE TABLE big FROM SOURCE s (REFERENCE big)")
    eventually(lambda: count_of(server, "big") == SNAPSHOT_ROWS, within_s=WITHIN_S)
    return time.monotonic() - began


def ready(server: HeadwaterServer) -> bool:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.http_port}/api/readyz", timeout=5) as answer:
        return bool(answer.status == 200)


def test_first_snapshot(upstream: PostgresServer, tmp_path: Path, figures: Figures) -> None:
    """Of servers that have just started and done nothing."""
    theirs_s, ours_s = [], []
    for number in range(3):
        theirs_s.append(copied_s(upstream))
        server = HeadwaterServer(tmp_path / str(number), spark_master="local[*]").start()
        try:
            eventually(lambda: ready(server), within_s=60)  # noqa: B023
            run(server, CONNECT.format(port=upstream.port), SOURCE)
            ours_s.append(snapshot_s(server))
            run(server, "DROP SOURCE s CASCADE")
        finally:
            server.stop()
    told(figures, "first snapshot of a server that has just started,", theirs_s, ours_s)


def test_snapshot(upstream: PostgresServer, bench: HeadwaterServer, figures: Figures) -> None:
    theirs_s, ours_s = [], []
    for _ in range(3):
        theirs_s.append(copied_s(upstream))
        ours_s.append(snapshot_s(bench))
        run(bench, "DROP TABLE big")
    told(figures, "snapshot", theirs_s, ours_s)


def told(figures: Figures, what: str, theirs_s: list[float], ours_s: list[float]) -> None:
    """Both in the middle of their tries."""
    share = median(theirs_s) / median(ours_s)
    figures.add(
        f"{what} of {SNAPSHOT_ROWS:,} rows to readable, as a share of COPY TO a file, medians of three",
        f"{share:.2f} ({SNAPSHOT_ROWS / median(ours_s):,.0f} rows/s; COPY {median(theirs_s):.1f} s)",
        "0.5",
        share >= 0.5,
    )


def test_backlog(upstream: PostgresServer, bench: HeadwaterServer, figures: Figures) -> None:
    run(bench, "ALTER CLUSTER quickstart SET (REPLICATION FACTOR 0)")
    with psycopg.connect(upstream.dsn(), autocommit=True) as connection:
        connection.execute("SELECT pg_create_logical_replication_slot('beside', 'pgoutput')")
        for _ in range(BACKLOG_CHANGES // 1_000):
            connection.execute(
                "INSERT INTO log (a, n) SELECT md5(g::text), g FROM generate_series(1, 1000) AS g"
            )
        row = connection.execute("SELECT pg_current_wal_lsn()::text").fetchone()
        assert row is not None
    began = time.monotonic()
    subprocess.run(
        [
            *(str(BINARIES / "pg_recvlogical"), "-d", upstream.dsn(), "--slot", "beside", "--start"),
            *("-o", "proto_version=1", "-o", "publication_names=p"),
            *("--endpos", row[0], "-f", "/dev/null"),
        ],
        check=True,
    )
    theirs_s = time.monotonic() - began
    began = time.monotonic()
    run(bench, "ALTER CLUSTER quickstart SET (REPLICATION FACTOR 1)")
    eventually(lambda: count_of(bench, "log") == BACKLOG_CHANGES, within_s=WITHIN_S, every_s=0.2)
    ours_s = time.monotonic() - began
    share = theirs_s / ours_s
    figures.add(
        f"backlog of {BACKLOG_CHANGES:,} changes to readable, as a share of pg_recvlogical",
        f"{share:.2f} ({BACKLOG_CHANGES / ours_s:,.0f} changes/s; pg_recvlogical {theirs_s:.1f} s)",
        "0.4",
        share >= 0.4,
    )


def watched(
    upstream: PostgresServer, bench: HeadwaterServer, table: str, tps: int, folder: Path, during: Any = None
) -> tuple[float, float]:
    watch = Watch(bench, table)
    watch.start()
    load = Load(upstream, tps, WATCH_S, folder)
    if during is not None:
        during()
    load.wait()
    return watch.stop()


def test_freshness(
    upstream: PostgresServer, bench: HeadwaterServer, figures: Figures, tmp_path: Path
) -> None:
    p50, p99 = watched(upstream, bench, "events", 1_000, tmp_path)
    figures.add(
        "pgbench at 1,000 tps, 1 s interval: freshness p50 / p99",
        f"{p50:.2f} / {p99:.2f} s",
        "1.2 / 2.5 s",
        p50 <= 1.2 and p99 <= 2.5,
    )
    before = watched(upstream, bench, "quick_events", 200, tmp_path)
    figures.add(
        "200 transactions/s, 100 ms interval: freshness p50 / p99",
        f"{before[0]:.2f} / {before[1]:.2f} s",
        "0.4 / 1 s",
        before[0] <= 0.4 and before[1] <= 1,
    )
    memory_gib = 0.0

    def add_table() -> None:
        nonlocal memory_gib
        run(bench, "CREATE TABLE big_again FROM SOURCE quick (REFERENCE big)")
        deadline = time.monotonic() + WATCH_S - 5
        process = bench.process
        while time.monotonic() < deadline and process is not None:
            memory_gib = max(memory_gib, memory_bytes(process.pid) / 2**30)
            time.sleep(1)  # how often is looked

    during = watched(upstream, bench, "quick_events", 200, tmp_path, add_table)
    eventually(lambda: count_of(bench, "big_again") == SNAPSHOT_ROWS, within_s=WITHIN_S)
    figures.add(
        f"the same while a table of {SNAPSHOT_ROWS:,} rows is added: p99 against before",
        f"{during[1] / before[1]:.1f} times ({during[1]:.2f} s)",
        "2 times",
        during[1] <= 2 * before[1],
    )
    figures.add(
        "memory of all processes under these loads", f"{memory_gib:.1f} GiB", "6 GiB", memory_gib <= 6
    )

"""What MySQL and MariaDB sources reach, beside what the upstream's own client does on the same machine.

Method: real servers of both.  A snapshot is measured beside `mysql --batch --quick`, which writes the same
rows to a file.  A backlog is what a server has logged while nobody read it; it is measured until it can be
read here, beside mysql-replication, which hands out the rows of a part of the same log.  Freshness is the
time from a row's NOW(6) upstream to its arrival through SUBSCRIBE.  All times are by the clock on the wall.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.row_event import WriteRowsEvent

from tests.bench.figures import Figures
from tests.bench.freshness import Watch, run
from tests.support.mysql import FLAVOURS, MYSQL_ROOT, MysqlServer, running
from tests.support.mysql_log import SERVER_ID, executed
from tests.support.server import HeadwaterServer, eventually

SNAPSHOT_ROWS = 2_000_000
BACKLOG_CHANGES, BACKLOG_STATEMENTS = 1_000_000, 945
BACKLOG_AT_ONCE, BACKLOG_ALONE = 1_000, 52
SINGLE_CHANGES = 300_000
BESIDE_CHANGES = 100_000
READERS = "SELECT count(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"
WITHIN_S = 600.0
WATCH_S = 20.0
TEXT = "LEFT(SHA2({}, 256), 32)"  # newer MySQLs have no MD5
TITLES = {"mysql": "MySQL 9", "mariadb": "MariaDB 10.11"}


@pytest.fixture(scope="module")
def figures() -> Iterator[Figures]:
    made = Figures("MySQL and MariaDB")
    yield made
    made.write()


@pytest.fixture(scope="module", params=FLAVOURS)
def upstream(request: pytest.FixtureRequest) -> Iterator[MysqlServer]:
    with running(request.param, "--innodb-buffer-pool-size=1G") as server:
        server.run(
            "CREATE DATABASE shop",
            "CREATE TABLE shop.big (id BIGINT PRIMARY KEY, a VARCHAR(32), b VARCHAR(32), n BIGINT,"
            " at TIMESTAMP(6) NOT NULL)",
            "CREATE TABLE shop.events (id BIGINT AUTO_INCREMENT PRIMARY KEY, n INT,"
            " at TIMESTAMP(6) NOT NULL)",
            "CREATE TABLE shop.log (id BIGINT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(32), n INT)",
            f"INSERT INTO shop.big VALUES (1, {TEXT.format(1)}, {TEXT.format(2)}, 7, NOW(6))",
        )
        rows = 1
        while rows < SNAPSHOT_ROWS:
            more = min(rows, SNAPSHOT_ROWS - rows, 100_000)
            server.run(
                f"INSERT INTO shop.big SELECT id + {rows}, {TEXT.format(f'id + {rows}')},"
                f" {TEXT.format(f'id + {rows + 1}')}, (id + {rows}) * 7, NOW(6)"
                f" FROM shop.big WHERE id <= {more}"
            )
            rows += more
        server.run("ANALYZE TABLE shop.big")
        yield server


@pytest.fixture(scope="module")
def bench(upstream: MysqlServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadwaterServer]:
    made = HeadwaterServer(tmp_path_factory.mktemp("bench") / "data", spark_master="local[*]").start()
    run(
        made,
        f"CREATE CONNECTION my TO MYSQL (HOST '127.0.0.1', PORT {upstream.port}, USER 'root')",
        "CREATE SOURCE s FROM MYSQL CONNECTION my",
        "CREATE SOURCE quick FROM MYSQL CONNECTION my WITH (TIMESTAMP INTERVAL '100ms')",
        "CREATE TABLE log FROM SOURCE s (REFERENCE log)",
        "CREATE TABLE events FROM SOURCE s (REFERENCE events)",
        "CREATE TABLE quick_events FROM SOURCE quick (REFERENCE events)",
    )
    for table in ("log", "events", "quick_events"):
        eventually(lambda: count_of(made, table) == 0, within_s=60)  # noqa: B023
    yield made
    made.stop()


def count_of(server: HeadwaterServer, table: str) -> int:
    return int(server.query(f"SELECT count(*) FROM {table}")[0][0])


def printed_s(upstream: MysqlServer) -> float:
    """How long the upstream's own client takes to put the table into a file."""
    target = upstream.directory / "printed"
    client = ("chroot", str(MYSQL_ROOT.resolve()), "mysql") if upstream.flavour == "mysql" else ("mariadb",)
    os.sync()  # what was written before is not to be waited for
    began = time.monotonic()
    with target.open("wb") as file:
        subprocess.run(
            [
                *(*client, "--no-defaults", "--batch", "--quick", "--protocol=tcp", "--host=127.0.0.1"),
                *(f"--port={upstream.port}", "--user=root", "--execute=SELECT * FROM shop.big"),
            ],
            check=True,
            stdout=file,
        )
    took_s = time.monotonic() - began
    target.unlink()
    return took_s


def snapshot_s(server: HeadwaterServer) -> float:
    """How long it takes until the table can be read here."""
    began = time.monotonic()
    run(server, "CREATE TABLE big FROM SOURCE s (REFERENCE big)")
    eventually(lambda: count_of(server, "big") == SNAPSHOT_ROWS, within_s=WITHIN_S)
    return time.monotonic() - began


def test_snapshot(upstream: MysqlServer, bench: HeadwaterServer, figures: Figures) -> None:
    theirs_s, ours_s = [], []
    for _ in range(3):
        theirs_s.append(printed_s(upstream))
        ours_s.append(snapshot_s(bench))
        run(bench, "DROP TABLE big")
    per_second, share = SNAPSHOT_ROWS / median(ours_s), median(theirs_s) / median(ours_s)
    figures.add(
        f"{TITLES[upstream.flavour]}: snapshot of {SNAPSHOT_ROWS:,} rows to readable, medians of three;"
        " and as a share of mysql -B to a file",
        f"{per_second:,.0f} rows/s; {share:.2f} (mysql -B {median(theirs_s):.1f} s)",
        "300,000 rows/s; 0.5",
        per_second >= 300_000 and share >= 0.5,
    )


def logged(upstream: MysqlServer) -> None:
    """Statements that insert many rows, and between them rows that are alone in their transactions."""
    many = "INSERT INTO log (a, n) SELECT a, n FROM big LIMIT {}"
    with upstream.connect(database="shop") as session, session.cursor() as cursor:
        rows = 0
        for _ in range(BACKLOG_STATEMENTS):
            rows += cursor.execute(many.format(BACKLOG_AT_ONCE))
            for number in range(BACKLOG_ALONE):
                rows += cursor.execute(
                    "INSERT INTO log (a, n) VALUES ('alone in its transaction', %s)", number
                )
        rows += cursor.execute(many.format(BACKLOG_CHANGES - rows))
        assert rows == BACKLOG_CHANGES


def logged_alone(upstream: MysqlServer) -> None:
    """Rows, each of which is alone in its transaction."""
    upstream.run(
        "USE shop",
        "CREATE PROCEDURE log_rows(wanted INT) BEGIN DECLARE number INT DEFAULT 0; WHILE number < wanted DO"
        " INSERT INTO log (a, n) VALUES ('alone in its transaction', number); SET number = number + 1;"
        " END WHILE; END",
    )
    with upstream.connect(database="shop", read_timeout=WITHIN_S) as session, session.cursor() as cursor:
        cursor.execute(f"CALL log_rows({SINGLE_CHANGES})")


def by_replication(upstream: MysqlServer, after: Any) -> float:
    """How many changes mysql-replication hands out in a second."""
    reader = BinLogStreamReader(
        connection_settings={"host": "127.0.0.1", "port": upstream.port, "user": "root", "passwd": ""},
        server_id=SERVER_ID + 1,
        only_events=[WriteRowsEvent],
        only_tables=["log"],
        resume_stream=True,
        auto_position=str(after),
        is_mariadb=upstream.flavour == "mariadb",
    )
    found, began = 0, time.monotonic()
    for event in reader:
        found += len(event.rows)
        if found >= BESIDE_CHANGES:
            break
    took_s = time.monotonic() - began
    reader.close()
    assert found >= BESIDE_CHANGES
    return found / took_s


@pytest.mark.parametrize(
    ("what", "changes", "fill"),
    [
        ("changes", BACKLOG_CHANGES, logged),
        ("transactions of one row", SINGLE_CHANGES, logged_alone),
    ],
    ids=["mixed", "single"],
)
def test_backlog(
    upstream: MysqlServer,
    bench: HeadwaterServer,
    figures: Figures,
    what: str,
    changes: int,
    fill: Callable[[MysqlServer], None],
) -> None:
    run(bench, "ALTER CLUSTER quickstart SET (REPLICATION FACTOR 0)")
    eventually(lambda: upstream.run(READERS) == [(0,)], within_s=60)
    [(before,)] = upstream.run("SELECT count(*) FROM shop.log")
    after = executed(upstream)
    fill(upstream)
    theirs = by_replication(upstream, after)
    began = time.monotonic()
    run(bench, "ALTER CLUSTER quickstart SET (REPLICATION FACTOR 1)")
    eventually(lambda: count_of(bench, "log") == before + changes, within_s=WITHIN_S, every_s=0.2)
    ours = changes / (time.monotonic() - began)
    figures.add(
        f"{TITLES[upstream.flavour]}: backlog of {changes:,} {what}, from the start of a cluster to"
        " readable, beside mysql-replication",
        f"{ours:,.0f} changes/s; {ours / theirs:.1f} times (mysql-replication {theirs:,.0f})",
        "60,000; 3 times",
        ours >= 60_000 and ours >= 3 * theirs,
    )


def watched(
    upstream: MysqlServer,
    bench: HeadwaterServer,
    table: str,
    per_second: int,
    during: Callable[[], object] = lambda: None,
) -> tuple[float, float]:
    watch = Watch(bench, table)
    watch.start()
    load = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.mysql_load", str(upstream.port), str(per_second), str(WATCH_S)],
        cwd=Path(__file__).parents[2],
    )
    during()
    assert load.wait() == 0
    return watch.stop()


def test_freshness(upstream: MysqlServer, bench: HeadwaterServer, figures: Figures) -> None:
    title = TITLES[upstream.flavour]
    p50, p99 = watched(upstream, bench, "events", 1_000)
    figures.add(
        f"{title}: 1,000 transactions/s, 1 s interval: freshness p50 / p99",
        f"{p50:.2f} / {p99:.2f} s",
        "1.2 / 2.5 s",
        p50 <= 1.2 and p99 <= 2.5,
    )
    before = watched(upstream, bench, "quick_events", 200)
    figures.add(
        f"{title}: 200 transactions/s, 100 ms interval: freshness p50 / p99",
        f"{before[0]:.2f} / {before[1]:.2f} s",
        "0.4 / 1 s",
        before[0] <= 0.4 and before[1] <= 1,
    )
    add = "CREATE TABLE big_again FROM SOURCE quick (REFERENCE big)"
    during = watched(upstream, bench, "quick_events", 200, lambda: run(bench, add))
    eventually(lambda: count_of(bench, "big_again") == SNAPSHOT_ROWS, within_s=WITHIN_S)
    figures.add(
        f"{title}: the same while a table of {SNAPSHOT_ROWS:,} rows is added: p99 against before",
        f"{during[1] / before[1]:.1f} times ({during[1]:.2f} s)",
        "2 times",
        during[1] <= 2 * before[1],
    )

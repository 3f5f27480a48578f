"""What the engine reaches on load generators.

Goal: the figures that were promised, measured on this machine in one run.
Method: a real server; each figure is taken through SQL or from the server's own metrics.
"""

from __future__ import annotations

import re
import time
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest

from tests.bench.figures import Figures, cpu_seconds, median, memory_bytes, p95, timed
from tests.support.server import HeadwaterServer, eventually


@pytest.fixture(scope="module")
def figures() -> Iterator[Figures]:
    made = Figures("Load generators")
    yield made
    made.write()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[HeadwaterServer]:
    made = HeadwaterServer(tmp_path / "data", spark_master="local[*]").start()
    eventually(lambda: _ready(made), within_s=60)
    yield made
    made.stop()


def _ready(server: HeadwaterServer) -> bool:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.http_port}/api/readyz") as answer:
        return bool(answer.status == 200)


def _run(server: HeadwaterServer, *statements: str) -> None:
    with server.connect() as connection:
        for statement in statements:
            connection.execute(statement.encode())


def _tick_seconds(server: HeadwaterServer, seconds: float) -> list[float]:
    """The durations of all ticks with work in the next while, as the server counts them."""
    found: dict[tuple[str, int], float] = {}
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.http_port}/metrics") as answer:
            text = answer.read().decode()
        counts = dict(re.findall(r'headwater_ticks_total\{source="(u\d+)"\} ([\d.e+]+)', text))
        sums = dict(re.findall(r'headwater_tick_seconds_sum\{source="(u\d+)"\} ([\d.e+-]+)', text))
        for source, count in counts.items():
            found[source, int(float(count))] = float(sums[source])
        time.sleep(0.2)  # how often is looked; ticks come every second
    ticks = []
    for (source, count), total in found.items():
        before = found.get((source, count - 1))
        if before is not None:
            ticks.append(total - before)
    return ticks


def test_small_ticks(bench: HeadwaterServer, figures: Figures) -> None:
    """1,000 rows a second into four tables: MARKETING's four busy ones at 1,000 offsets a second."""
    _run(
        bench,
        "CREATE SOURCE m FROM LOAD GENERATOR MARKETING (TICK INTERVAL '1ms')",
        *(
            f"CREATE TABLE {name} FROM SOURCE m (REFERENCE {name})"
            for name in ("impressions", "clicks", "leads", "coupons")
        ),
    )
    eventually(lambda: bench.query("SELECT count(*) FROM impressions")[0][0] > 0, within_s=60)
    _tick_seconds(bench, 10)
    ticks = _tick_seconds(bench, 40)
    figures.add(
        "tick of about 1,000 rows into 4 tables, median / p95",
        f"{median(ticks):.2f} / {p95(ticks):.2f} s",
        "0.35 / 0.6 s",
        median(ticks) <= 0.35 and p95(ticks) <= 0.6,
    )


def test_bulk(bench: HeadwaterServer, figures: Figures) -> None:
    """Rows a second from generator to readable, over a backlog that is always there."""
    _run(
        bench,
        "CREATE SOURCE pairs FROM LOAD GENERATOR KEY VALUE (KEYS 1000000, SNAPSHOT ROUNDS 1, VALUE SIZE 20,"
        " SEED 1, PARTITIONS 10, BATCH SIZE 10000, TICK INTERVAL '200ms')",
        "CREATE TABLE kv FROM SOURCE pairs",
    )
    eventually(lambda: bench.query("SELECT count(*) FROM kv")[0][0] == 1_000_000, within_s=120)
    begin, start_rows = time.monotonic(), _committed(bench, "kv")
    time.sleep(30)  # what is measured is what comes in this time
    rate = (_committed(bench, "kv") - start_rows) / (time.monotonic() - begin)
    figures.add("KEY VALUE rows/s end to end", f"{rate:,.0f}", "150,000", rate >= 150_000)


def _committed(server: HeadwaterServer, table: str) -> int:
    return int(
        server.query(
            "SELECT updates_committed FROM mz_internal.mz_source_statistics s JOIN mz_tables t ON s.id = t.id"
            f" WHERE t.name = '{table}'"
        )[0][0]
    )


def test_reads(bench: HeadwaterServer, figures: Figures) -> None:
    """Statements on an open connection, and reads of a million rows with and without a tail."""
    _run(
        bench,
        "CREATE SOURCE pairs FROM LOAD GENERATOR KEY VALUE (KEYS 1000000, SNAPSHOT ROUNDS 1, VALUE SIZE 20,"
        " SEED 1, PARTITIONS 10, BATCH SIZE 100, TICK INTERVAL '1s')",
        "CREATE TABLE kv FROM SOURCE pairs",
        "CREATE SOURCE still_pairs FROM LOAD GENERATOR KEY VALUE (KEYS 1000000, SNAPSHOT ROUNDS 1,"
        " VALUE SIZE 20, SEED 1, PARTITIONS 10, BATCH SIZE 10000)",
        "CREATE TABLE folded FROM SOURCE still_pairs",
    )
    for table in ("kv", "folded"):
        eventually(partial(_holds_a_million, bench, table), within_s=120)
    with bench.connect() as connection:
        one = median(timed(lambda: connection.execute("SELECT 1").fetchall(), 200, 20)) * 1000
        system = median(
            timed(
                lambda: connection.execute(
                    "SELECT o.name, o.type, s.name FROM mz_objects o JOIN mz_schemas s ON o.schema_id = s.id"
                    " WHERE o.id LIKE 'u%'"
                ).fetchall(),
                50,
            )
        )
        system *= 1000
        figures.add(
            "`SELECT 1` / system query, median",
            f"{one:.1f} / {system:.1f} ms",
            "3 / 30 ms",
            one <= 3 and system <= 30,
        )
        _reads(connection, figures, "kv", "in process, unfolded tail", (0.040, 0.100), "40 / 100 ms")
        connection.execute("SET read_engine = spark")
        _reads(connection, figures, "folded", "on Spark, folded", (0.25, 0.5), "0.25 / 0.5 s")


def _holds_a_million(server: HeadwaterServer, table: str) -> bool:
    return bool(server.query(f"SELECT count(*) FROM {table}")[0][0] == 1_000_000)


def _reads(
    connection: psycopg.Connection[tuple[object, ...]],
    figures: Figures,
    table: str,
    where: str,
    reach: tuple[float, float],
    text: str,
) -> None:
    point_sql = f"SELECT * FROM {table} WHERE partition = 3 AND key = 777".encode()
    whole_sql = f"SELECT count(*), max(key) FROM {table}".encode()
    point = median(timed(lambda: connection.execute(point_sql).fetchall(), 25, 10))
    whole = median(timed(lambda: connection.execute(whole_sql).fetchall(), 25, 10))
    figures.add(
        f"point / aggregate over 1,000,000 rows, {where}, median",
        f"{point * 1000:.0f} / {whole * 1000:.0f} ms",
        text,
        point <= reach[0] and whole <= reach[1],
    )


def test_eight_sources(bench: HeadwaterServer, figures: Figures) -> None:
    """Eight busy sources with ticks of a second."""
    for number in range(8):
        _run(
            bench,
            f"CREATE SOURCE a{number} FROM LOAD GENERATOR AUCTION (TICK INTERVAL '10ms')",
            f"CREATE TABLE bids{number} FROM SOURCE a{number} (REFERENCE bids)",
            f"CREATE TABLE auctions{number} FROM SOURCE a{number} (REFERENCE auctions)",
        )
    eventually(
        lambda: all(bench.query(f"SELECT count(*) > 100 FROM bids{n}")[0][0] for n in range(8)), within_s=120
    )
    _tick_seconds(bench, 10)
    ticks = _tick_seconds(bench, 40)
    memory_gib = _memory_gib(bench)
    figures.add(
        "8 sources with 1 s ticks: p95 tick; memory of all processes",
        f"{p95(ticks):.2f} s; {memory_gib:.1f} GiB",
        "0.8 s; 4 GiB",
        p95(ticks) <= 0.8 and memory_gib <= 4,
    )


def _pids(server: HeadwaterServer) -> list[int]:
    return [pid for pid in (server.process.pid if server.process else None, server.cluster_pid()) if pid]


def _memory_gib(server: HeadwaterServer) -> float:
    """The cluster is a child of the server, so the server's tree is everything."""
    return memory_bytes(_pids(server)[0]) / 2**30


def test_restart(bench: HeadwaterServer, figures: Figures) -> None:
    """From the start of the server after kill -9 of everything to a newer row."""
    _run(
        bench,
        "CREATE SOURCE c FROM LOAD GENERATOR COUNTER (TICK INTERVAL '100ms')",
        "CREATE TABLE counter FROM SOURCE c",
    )
    last = eventually(lambda: bench.query("SELECT max(counter) FROM counter")[0][0], within_s=60)
    bench.kill_environment()
    bench.kill_cluster()
    begin = time.monotonic()
    bench.start()
    eventually(lambda: bench.query("SELECT max(counter) FROM counter")[0][0] > last, within_s=120)
    seconds = time.monotonic() - begin
    figures.add(
        "restart to first tick after kill -9 of everything", f"{seconds:.0f} s", "30 s", seconds <= 30
    )


def test_idle(bench: HeadwaterServer, figures: Figures) -> None:
    """Ten sources whose upstreams have nothing new."""
    for number in range(10):
        _run(
            bench,
            f"CREATE SOURCE idle{number} FROM LOAD GENERATOR COUNTER (TICK INTERVAL '1 day')",
            f"CREATE TABLE idle_counter{number} FROM SOURCE idle{number}",
        )
    eventually(
        lambda: all(bench.query(f"SELECT count(*) FROM idle_counter{n}")[0][0] for n in range(10)),
        within_s=120,
    )
    time.sleep(10)  # nothing shows that the work of creating them has died down
    root = _pids(bench)[0]
    begin, used = time.monotonic(), cpu_seconds(root)
    time.sleep(30)  # what is measured is what is used in this time
    share = (cpu_seconds(root) - used) / (time.monotonic() - begin) * 100
    figures.add("idle server, 10 idle sources: CPU of one core", f"{share:.1f} %", "10 %", share <= 10)

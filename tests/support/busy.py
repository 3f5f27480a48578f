"""Eight busy sources for as long as wanted, watched: nothing may grow that has no reason to.

    source    ticks by itself; one reader asks for its table again and again, one SUBSCRIBE follows it
    sample    memory of every process, files, size of the ledger, latency of reads, lag of the followers

`Busy.run` samples for a while; `Growth.check` compares the last third with the middle
third (the first is warming up).  Tables of auctions and clicks do grow, as they must;
their files are packed, so the count of files stays level all the same.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import psycopg

from headwater.metadata.database import metadata_path
from tests.support.clients import Client, Follower
from tests.support.expected import Fed, check_equals_upstream, fed
from tests.support.server import HeadwaterServer, descendants, eventually

HYDRATE_S_MAX = 300.0
KEY_VALUE = (
    "KEY VALUE (KEYS {keys}, SNAPSHOT ROUNDS 1, VALUE SIZE 32, SEED 1, PARTITIONS 4, BATCH SIZE 25,"
    " TRANSACTIONAL SNAPSHOT {transactional}, TICK INTERVAL '{tick}')"
)
SOURCES = {
    "kv_small": (KEY_VALUE.format(keys=1_000, transactional="true", tick="50ms"), "key_value"),
    "kv_large": (KEY_VALUE.format(keys=50_000, transactional="false", tick="100ms"), "key_value"),
    "auction": ("AUCTION (TICK INTERVAL '100ms')", "bids"),
    "marketing": ("MARKETING (TICK INTERVAL '100ms')", "impressions"),
    "tpch": ("TPCH (SCALE FACTOR 0.001, TICK INTERVAL '100ms')", "lineitem"),
    "counter": ("COUNTER (TICK INTERVAL '5ms', MAX CARDINALITY 1000)", "counter"),
    "clock": ("CLOCK (TICK INTERVAL '100ms')", "clock"),
    "leads": ("MARKETING (TICK INTERVAL '200ms')", "leads"),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """What was measured at one moment."""

    environment_mb: float
    cluster_mb: float
    driver_mb: float
    workers_mb: float
    files: float
    ledger_kb: float
    read_ms: float
    lag_ms: float


@dataclass(frozen=True, slots=True)
class Bound:
    """The last third may be at most `factor` times the middle third, plus `slack`."""

    factor: float
    slack: float


@dataclass(frozen=True, slots=True)
class Growth:
    """How much each measure may grow."""

    environment_mb: Bound
    cluster_mb: Bound
    driver_mb: Bound
    workers_mb: Bound
    files: Bound
    ledger_kb: Bound
    read_ms: Bound
    lag_ms: Bound

    def check(self, samples: Sequence[Sample]) -> list[str]:
        """A line for each measure that grew too much."""
        third = len(samples) // 3
        middle, last = samples[third : 2 * third], samples[2 * third :]
        grown = []
        for measure in fields(Sample):
            name = measure.name
            bound: Bound = getattr(self, name)
            before = statistics.mean(getattr(sample, name) for sample in middle)
            after = statistics.mean(getattr(sample, name) for sample in last)
            if after > before * bound.factor + bound.slack:
                grown.append(f"{name} grew from {before:.1f} to {after:.1f}")
        return grown


class Reader(Client):
    """Asks for a table's size again and again; keeps how long the newest answers took."""

    def __init__(self, server: HeadwaterServer, table: str) -> None:
        super().__init__(server)
        self._table = table
        self.latencies_ms: list[float] = []

    def _work(self, connection: psycopg.Connection[Any]) -> None:
        while not self._stopping.wait(0.25):
            began = time.monotonic()
            connection.execute(f"SELECT count(*) FROM {self._table}".encode()).fetchall()
            self.latencies_ms.append((time.monotonic() - began) * 1_000)


class Busy:
    """The sources with their readers and followers."""

    def __init__(self, server: HeadwaterServer) -> None:
        self.server = server
        self.tables = {source: f"{source}_{reference}" for source, (_, reference) in SOURCES.items()}
        self.readers = [Reader(server, table) for table in self.tables.values()]
        self.followers = {table: Follower(server, table, remembers=False) for table in self.tables.values()}
        self.fed: list[Fed] = []

    def create(self) -> None:
        with self.server.connect() as connection:
            for source, (generator, reference) in SOURCES.items():
                connection.execute(f"CREATE SOURCE {source} FROM LOAD GENERATOR {generator}".encode())
                connection.execute(
                    f"CREATE TABLE {self.tables[source]} FROM SOURCE {source} (REFERENCE {reference})"
                    " WITH (RETAIN HISTORY FOR '1m')".encode()
                )
        self.fed = [fed(self.server.data_dir, table) for table in self.tables.values()]
        eventually(self.check_tables, within_s=HYDRATE_S_MAX)
        for client in (*self.readers, *self.followers.values()):
            client.start()

    def check_tables(self) -> dict[str, int]:
        with self.server.connect() as connection:
            return check_equals_upstream(connection, self.fed)

    def run(self, seconds: float, samples: int, show: Callable[[str], None]) -> list[Sample]:
        """Let it run and take that many samples, evenly."""
        taken: list[Sample] = []
        began = time.monotonic()
        while len(taken) < samples:
            eventually(
                lambda: time.monotonic() >= began + seconds * (len(taken) + 1) / samples,
                within_s=seconds,
                every_s=0.2,
            )
            for client in (*self.readers, *self.followers.values()):
                client.check_alive()
            taken.append(self.sample())
            show(f"{time.monotonic() - began:7.0f} s  {line(taken[-1])}")
        return taken

    def sample(self) -> Sample:
        latencies = [latency for reader in self.readers for latency in reader.latencies_ms[-20:]]
        for reader in self.readers:
            del reader.latencies_ms[:-20]
        now_ms = time.time() * 1_000
        lags = [now_ms - follower.complete for follower in self.followers.values() if follower.complete]
        ledger = metadata_path(self.server.data_dir)
        environment = self.server.process.pid if self.server.process is not None else 0
        cluster = self.server.cluster_pid() or 0
        below = descendants(cluster)
        drivers = [pid for pid in below if program(pid) == "java"]
        return Sample(
            resident_mb([environment]),
            resident_mb([cluster]),
            resident_mb(drivers),
            resident_mb([pid for pid in below if pid not in drivers]),
            sum(1 for file in (self.server.data_dir / "tables").rglob("*") if file.is_file()),
            sum(file.stat().st_size for file in ledger.parent.glob(f"{ledger.name}*")) / 1_024,
            statistics.median(latencies) if latencies else 0.0,
            statistics.mean(lags) if lags else 0.0,
        )

    def finish(self) -> None:
        """Every follower's sum is its table, every table is its upstream."""
        for reader in self.readers:
            reader.stop()
        self.check_tables()
        for follower in self.followers.values():
            follower.stop()
        with self.server.connect() as connection:
            for table, follower in self.followers.items():
                follower.check_rows(connection)
                assert follower.reconnects == 0, f"the subscription of {table} broke"


def program(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def resident_mb(pids: Sequence[int]) -> float:
    """Memory of these processes, shared pages counted by their share."""
    total_kb = 0
    for pid in pids:
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        total_kb += next((int(row.split()[1]) for row in rollup.splitlines() if row.startswith("Pss:")), 0)
    return total_kb / 1_024


def line(sample: Sample) -> str:
    return "  ".join(f"{measure.name} {getattr(sample, measure.name):.0f}" for measure in fields(Sample))

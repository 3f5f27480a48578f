"""Kill -9 at random moments, thirty times: nothing lost, nothing twice, no timestamp changed.

Method: three sources (a keyed, a counted and an appended table), one client that
writes a plain table, and a SUBSCRIBE on each of the four tables.  A seeded schedule
kills the environment, the cluster or both.  The next kill comes after a few more
acknowledged writes, wherever the other process happens to be: ticking, folding,
backfilling, starting Spark.  Half of the cluster's deaths wait until it has ticked
again, the rest meet it while it starts.

What must hold is not compared with another run but computed: a generator's rows at
the frontier that its source shows (`tests/support/expected.py`), what the writer was
told (`tests/support/clients.py`), and what the ledger names (`tests/support/files.py`).
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from random import Random
from typing import Literal

import pytest

from headwater.core.clock import seeded
from tests.support.clients import Follower, PlainWriter
from tests.support.expected import Fed, check_equals_upstream, fed
from tests.support.files import check_files
from tests.support.server import HeadwaterServer, alive, eventually

SETTLE_S_MAX = 240.0
SOURCES = (
    "CREATE SOURCE kv FROM LOAD GENERATOR KEY VALUE (KEYS 200, SNAPSHOT ROUNDS 1,"
    " TRANSACTIONAL SNAPSHOT true, VALUE SIZE 8, SEED 7, PARTITIONS 2, BATCH SIZE 10, TICK INTERVAL '50ms')"
    " WITH (TIMESTAMP INTERVAL '300ms')",
    "CREATE SOURCE counter FROM LOAD GENERATOR COUNTER (TICK INTERVAL '20ms', MAX CARDINALITY 100)"
    " WITH (TIMESTAMP INTERVAL '300ms')",
    "CREATE SOURCE auction FROM LOAD GENERATOR AUCTION (TICK INTERVAL '100ms')"
    " WITH (TIMESTAMP INTERVAL '300ms')",
)
TABLES = {"pairs": ("kv", "key_value"), "numbers": ("counter", "counter"), "bids": ("auction", "bids")}
HISTORY = "WITH (RETAIN HISTORY FOR '1h')"


@dataclass(frozen=True)
class Kill:
    """One entry of the schedule."""

    whom: Literal["environment", "cluster", "both"]
    after_writes: int
    after_ticks: bool  # wait until the cluster has ticked again


def schedule(random: Random) -> list[Kill]:
    """18 + 8 + 4 kills in a random order; every second death of the cluster comes after ticks."""
    order: list[Literal["environment", "cluster", "both"]] = (
        ["environment"] * 18 + ["cluster"] * 8 + ["both"] * 4  # type: ignore[assignment]
    )
    random.shuffle(order)
    kills, deaths = [], 0
    for whom in order:
        deaths += whom != "environment"
        kills.append(Kill(whom, random.randrange(1, 12), whom != "environment" and deaths % 2 == 1))
    return kills


class World:
    """The server with its load."""

    def __init__(self, server: HeadwaterServer, seed: int) -> None:
        self.server = server
        self.writer = PlainWriter(server, "book", seed)
        self.followers = [Follower(server, name) for name in (*TABLES, "book")]
        self.tables: list[Fed] = []
        self._offsets: dict[str, int] = {}

    def create(self) -> None:
        with self.server.connect() as connection:
            for source in SOURCES:
                connection.execute(source.encode())
            for table, (source, reference) in TABLES.items():
                sql = f"CREATE TABLE {table} FROM SOURCE {source} (REFERENCE {reference}) {HISTORY}"
                connection.execute(sql.encode())
            connection.execute(f"CREATE TABLE book (id bigint, value bigint) {HISTORY}".encode())
        self.tables = [fed(self.server.data_dir, table) for table in TABLES]
        for client in (self.writer, *self.followers):
            client.start()

    def check_now(self) -> dict[str, int]:
        """Without waiting for the cluster: whatever can be read now is right."""
        with self.server.connect() as connection:
            connection.execute("SET transaction_isolation = 'serializable'")
            return check_equals_upstream(connection, self.tables)

    def wait_writes(self, count: int) -> None:
        wanted = self.writer.acknowledged + count

        def wrote() -> bool:
            for client in (self.writer, *self.followers):
                client.check_alive()
            return self.writer.acknowledged >= wanted

        eventually(wrote, within_s=SETTLE_S_MAX)

    def wait_ticks(self) -> None:
        """Until every source has gone beyond where it was last seen."""

        def ticked() -> bool:
            offsets = self.check_now()
            return all(offset > self._offsets.get(source, -1) for source, offset in offsets.items())

        eventually(ticked, within_s=SETTLE_S_MAX)
        self._offsets = self.check_now()

    def kill(self, kill: Kill) -> None:
        self.wait_writes(kill.after_writes)
        if kill.after_ticks:
            self.wait_ticks()
        if kill.whom in ("environment", "both"):
            self.server.kill_environment()
        if kill.whom in ("cluster", "both"):
            pid = self.server.cluster_pid()
            if pid is not None:
                os.kill(pid, 9)
                eventually(lambda: not alive(pid))
        if self.server.process is None:
            self.server.start()

    def finish(self) -> None:
        """Let everything catch up, then check all promises."""
        self.wait_writes(3)
        self.wait_ticks()
        with self.server.connect() as connection:
            check_equals_upstream(connection, self.tables)
            newest = int(connection.execute("SELECT mz_now()::text").fetchall()[0][0])
        self.writer.stop()
        for follower in self.followers:
            eventually(lambda f=follower: f.complete > newest, within_s=SETTLE_S_MAX)  # type: ignore[misc]
            follower.stop()
        with self.server.connect() as connection:
            self.writer.check(connection)
            for follower in self.followers:
                stamps = sorted({ts for ts, _, _ in follower.changes})
                at = [*stamps[:: max(1, len(stamps) // 4)], follower.complete - 1]
                follower.check_history(connection, at)


@pytest.mark.timeout(900)
def test_after_thirty_kills_every_table_is_what_it_must_be(own_server: HeadwaterServer) -> None:
    seed = int(os.environ.get("HEADWATER_CHAOS_SEED") or secrets.randbelow(1_000_000))
    print(f"seed {seed}: HEADWATER_CHAOS_SEED={seed} repeats the schedule")
    world = World(own_server.start(), seed)
    world.create()
    world.wait_ticks()
    for number, kill in enumerate(schedule(seeded(seed))):
        world.kill(kill)
        if number % 5 == 4:
            eventually(world.check_now)
    world.finish()
    assert world.writer.doubts > 0, "no write was ever cut off: the kills came too late"
    told = "SELECT count(*) FROM mz_internal.mz_source_status_history GROUP BY source_id"
    assert min(count for (count,) in own_server.query(told)) > 5, "the history of statuses began anew"
    own_server.stop()
    check_files(own_server.data_dir)

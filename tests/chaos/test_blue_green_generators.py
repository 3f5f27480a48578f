"""Two tables on one reference of a generator take each other's place: nobody sees a gap.

Method: watchers read the table by its name and the progress of its source in one transaction, again and
again.  A generator is arithmetic, so the rows that an answer must have are computed here from that
progress (`tests/support/expected.py`), for whichever of the two shapes the answer has.  So an answer that
is late, early, doubled, short or of two tables is found.  Meanwhile the tables change places, also while
the cluster is away, and the old one is dropped.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import groupby
from typing import Any

import psycopg
import pytest

from tests.support.clients import Follower
from tests.support.expected import Fed, fed, plain
from tests.support.files import rows_about
from tests.support.repeated import Repeated, wait_turns
from tests.support.server import HeadwaterServer, eventually

SETTLE_S_MAX = 240.0
HANG_S_MAX = 20.0
Shape = tuple[str, ...]
OLD: Shape = ("key", "partition", "value")
NEW: Shape = ("k", "part", "v", "written_at")
SOURCE = (
    "CREATE SOURCE {name} {cluster} FROM LOAD GENERATOR KEY VALUE (KEYS 200, SNAPSHOT ROUNDS 1,"
    " TRANSACTIONAL SNAPSHOT true, VALUE SIZE 8, SEED 7, PARTITIONS 2, BATCH SIZE 10, TICK INTERVAL '50ms')"
    " WITH (TIMESTAMP INTERVAL '200ms')"
)


class Watch(Repeated):
    """Compares what a name stands for with what its source has made."""

    pace_s = 0.05

    def __init__(self, server: HeadwaterServer, name: str, source: str, versions: dict[Shape, Fed]):
        super().__init__(server.connect())
        self.connection.execute("SET statement_timeout = '240s'")
        self._name = name
        self._source = source
        self._versions = versions  # by the names of their columns
        self._offset = -1
        self.shapes: list[Shape] = []

    def turn(self) -> None:
        with self.connection.transaction():
            answer = psycopg.ClientCursor(self.connection).execute(f"SELECT * FROM {self._name}".encode())
            rows = Counter(plain(row) for row in answer.fetchall())
            shape = tuple(column.name for column in answer.description or ())
            progress = self.connection.execute(f"SELECT * FROM {self._source}".encode()).fetchall()
        offset = int(progress[0][0])
        assert offset >= self._offset, f"back to {offset} from {self._offset}"
        assert rows == self._versions[shape].rows_at(offset), f"{shape} at {offset}"
        self._offset = offset
        self.shapes.append(shape)

    def steps(self) -> list[Shape]:
        return [shape for shape, _ in groupby(self.shapes)]


@contextmanager
def two_versions(server: HeadwaterServer, name: str) -> Iterator[list[Watch]]:
    """A table and the one that is to take its place, watched since before there was the second."""
    server.query(SOURCE.format(name=f"{name}_source", cluster=""))
    server.query(f"CREATE TABLE {name} FROM SOURCE {name}_source (REFERENCE key_value)")
    server.query(f"SELECT count(*) FROM {name}")
    versions: dict[Shape, Fed] = {OLD: fed(server.data_dir, name)}
    try:
        with ExitStack() as stack:
            watchers = [Watch(server, name, f"{name}_source", versions) for _ in range(2)]
            for watcher in watchers:
                stack.enter_context(watcher)
            wait_turns(watchers)
            server.query(
                f"CREATE TABLE {name}_next (k, part, v, written_at) FROM SOURCE {name}_source"
                " (REFERENCE key_value) INCLUDE OFFSET"
            )
            versions[NEW] = fed(server.data_dir, f"{name}_next")
            server.query(f"SELECT count(*) FROM {name}_next")
            yield watchers
            wait_turns(watchers)
    finally:
        server.query(f"DROP SOURCE {name}_source CASCADE")
    for watcher in watchers:
        assert watcher.steps() == [OLD, NEW]


def id_of(server: HeadwaterServer, name: str, schema: str = "public") -> str:
    rows = server.query(
        "SELECT o.id FROM mz_objects o JOIN mz_schemas s ON s.id = o.schema_id"
        f" WHERE o.name = '{name}' AND s.name = '{schema}'"
    )
    return str(rows[0][0])


def check_gone(server: HeadwaterServer, id_: str) -> None:
    eventually(lambda: rows_about(server.data_dir, id_) == 0, within_s=SETTLE_S_MAX)
    eventually(lambda: not (server.data_dir / "tables" / id_).exists(), within_s=SETTLE_S_MAX)


@pytest.mark.timeout(900)
def test_a_table_with_other_columns_takes_the_place_of_another(busy_server: HeadwaterServer) -> None:
    server = busy_server
    with two_versions(server, "pairs") as watchers:
        old, new = id_of(server, "pairs"), id_of(server, "pairs_next")
        with server.connect() as session:
            for text in ("BEGIN", "ALTER TABLE pairs SWAP WITH pairs_next", "COMMIT"):
                session.execute(text.encode())
        assert (id_of(server, "pairs"), id_of(server, "pairs_next")) == (new, old)
        server.query("DROP TABLE pairs_next")
        wait_turns(watchers)
        check_gone(server, old)
        assert id_of(server, "pairs") == new


@pytest.mark.timeout(900)
def test_names_change_places_while_the_cluster_is_away(busy_server: HeadwaterServer) -> None:
    server = busy_server
    with two_versions(server, "away") as watchers:
        old = id_of(server, "away")
        server.kill_cluster()
        server.query("ALTER TABLE away SWAP WITH away_next")
        server.query("DROP TABLE away_next")
        wait_turns(watchers)
        check_gone(server, old)


@pytest.mark.timeout(600)
def test_a_star_needs_no_second_try(busy_server: HeadwaterServer) -> None:
    """Who prepares nothing has no plan that could be too old."""
    server = busy_server
    server.query("CREATE TABLE star (a int)")
    server.query("CREATE TABLE star_next (a int, b int)")
    try:
        with ExitStack() as stack:
            readers = [stack.enter_context(Star(server)) for _ in range(4)]
            with server.connect() as session:
                for _ in range(500):
                    session.execute("ALTER TABLE star SWAP WITH star_next")
            wait_turns(readers)
    finally:
        server.query("DROP TABLE star, star_next")


class Star(Repeated):
    """All columns of a table, with the simple protocol."""

    def __init__(self, server: HeadwaterServer) -> None:
        super().__init__(server.connect())

    def turn(self) -> None:
        psycopg.ClientCursor(self.connection).execute(b"SELECT * FROM star").fetchall()


@pytest.mark.timeout(600)
def test_a_read_that_waits_goes_on_with_the_table_that_took_the_place(busy_server: HeadwaterServer) -> None:
    """As documented: swap, then drop.  Paused, so that a read after a write has to wait."""
    server = busy_server
    server.query("CREATE CLUSTER pausing (SIZE 'local')")
    server.query(SOURCE.format(name="waits_source", cluster="IN CLUSTER pausing"))
    server.query("CREATE TABLE waits_plain (n int)")
    answers: list[Any] = []

    def read() -> None:
        try:
            answers.append(server.query("SELECT count(*) FROM waits"))
        except psycopg.Error as error:
            answers.append(error)

    reader = threading.Thread(target=read, daemon=True)
    try:
        for name in ("waits", "waits_next"):
            server.query(f"CREATE TABLE {name} FROM SOURCE waits_source (REFERENCE key_value)")
            server.query(f"SELECT count(*) FROM {name}")
        server.query("ALTER CLUSTER pausing SET (REPLICATION FACTOR 0)")
        status = "SELECT status FROM mz_internal.mz_source_statuses WHERE name = 'waits_source'"
        eventually(lambda: server.query(status) == [("paused",)], within_s=SETTLE_S_MAX)
        server.query("INSERT INTO waits_plain VALUES (1)")
        reader.start()
        active = (
            "SELECT 1 FROM pg_stat_activity WHERE query = 'SELECT count(*) FROM waits' AND state = 'active'"
        )
        eventually(lambda: server.query(active), within_s=SETTLE_S_MAX)
        server.query("ALTER TABLE waits SWAP WITH waits_next")
        server.query("DROP TABLE waits_next")
        server.query("ALTER CLUSTER pausing SET (REPLICATION FACTOR 1)")
        reader.join(SETTLE_S_MAX)
        for answer in answers:
            if isinstance(answer, psycopg.Error):
                raise answer
        assert answers == [[(200,)]]
    finally:
        server.query("DROP CLUSTER pausing CASCADE")
        server.query("DROP TABLE waits_plain")


@pytest.mark.timeout(600)
def test_a_subscription_goes_by_the_name_of_its_schema_until_that_is_dropped(
    busy_server: HeadwaterServer,
) -> None:
    """Through a swap of schemas and the drop that is its last step."""
    server = busy_server
    for colour in ("blue", "green"):
        server.query(f"CREATE SCHEMA sub_{colour}")
        server.query(f"CREATE TABLE sub_{colour}.t (n int)")
    old = id_of(server, "t", "sub_blue")
    follower = Follower(server, "sub_blue.t")
    follower.start()
    try:
        eventually(lambda: follower.complete, within_s=SETTLE_S_MAX)
        server.query("ALTER SCHEMA sub_blue SWAP WITH sub_green")
        server.query("DROP SCHEMA sub_green CASCADE")
        eventually(lambda: rows_about(server.data_dir, old) == 0, within_s=HANG_S_MAX)
        server.query("INSERT INTO sub_blue.t VALUES (7)")
        eventually(lambda: follower.rows[(7,)] == 1, within_s=SETTLE_S_MAX)
        server.query("DROP SCHEMA sub_blue CASCADE")
        eventually(lambda: not follower.alive, within_s=HANG_S_MAX)
        with pytest.raises(psycopg.errors.UndefinedObject, match="was dropped"):
            follower.check_alive()
    finally:
        with suppress(psycopg.errors.UndefinedObject):
            follower.stop()
        server.query("DROP SCHEMA IF EXISTS sub_blue CASCADE")


class Dated(Repeated):
    """What a view gives, and the timestamp at which it does."""

    def __init__(self, server: HeadwaterServer) -> None:
        super().__init__(server.connect())
        self.seen: list[tuple[int, list[tuple[Any, ...]]]] = []

    def turn(self) -> None:
        rows = self.connection.execute("SELECT mz_now()::text, era, n FROM eras").fetchall()
        self.seen.append((int(rows[0][0]), [row[1:] for row in rows]))


@pytest.mark.timeout(600)
def test_readers_and_followers_agree_on_the_timestamp_of_every_swap(busy_server: HeadwaterServer) -> None:
    """The two that are swapped differ in every row.  Each is what is read up to one timestamp, and told."""
    server = busy_server
    server.query(
        "CREATE SOURCE era_source FROM LOAD GENERATOR COUNTER (TICK INTERVAL '50ms')"
        " WITH (TIMESTAMP INTERVAL '200ms')"
    )
    server.query("CREATE TABLE era_rows FROM SOURCE era_source (REFERENCE counter)")
    server.query("SELECT count(*) FROM era_rows")
    for name in ("era", "era_next"):
        server.query(f"CREATE VIEW {name} AS SELECT '{name}' AS era FROM era_rows")
    server.query("CREATE VIEW eras AS SELECT era, count(*) AS n FROM era GROUP BY era")
    follower = Follower(server, "eras")
    follower.start()
    try:
        eventually(lambda: follower.complete, within_s=SETTLE_S_MAX)
        with ExitStack() as stack:
            readers = [stack.enter_context(Dated(server)) for _ in range(3)]
            wait_turns(readers)
            for number in range(15):
                for _ in range(1 if number % 3 else 3):  # of three within a tick two are over unseen
                    server.query("ALTER VIEW era SWAP WITH era_next")
                wait_turns(readers, count=1)
            wait_turns(readers)
        last = max(ts for reader in readers for ts, _ in reader.seen)
        eventually(lambda: follower.complete > last, within_s=SETTLE_S_MAX)
    finally:
        follower.stop()
        server.query("DROP SOURCE era_source CASCADE")
    times, told = [], []
    rows: Counter[tuple[Any, ...]] = Counter()
    for ts, changes in groupby(sorted(follower.changes, key=lambda c: c[0]), key=lambda c: c[0]):
        for _, diff, row in changes:
            rows[row] += diff
        times.append(ts)
        told.append(list((+rows).elements()))
    assert {row[0] for state in told for row in state} == {"era", "era_next"}
    for reader in readers:
        for ts, seen in reader.seen:
            assert seen == told[bisect_right(times, ts) - 1], f"at {ts}"

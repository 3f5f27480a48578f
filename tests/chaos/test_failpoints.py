"""Every failpoint once: the process ends there, and the system is right again without help.

Method: one server with one source whose three disciplines of table run all the time,
and a folder through which a failpoint is armed at run time, for one death.  For each
failpoint a statement or a few make the process pass it; then the process is gone, the
cluster is restarted by its supervisor (the environment by the test, as an init system
would), and the tables must equal their upstream and hold every acknowledged row.

Statements that were cut off by the death are asked about afterwards: what they were to
do has happened wholly or not at all, and which of the two follows from the failpoint.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import psycopg
import pytest

from headwater.observe.failpoints import FAILPOINTS
from tests.support.dying import DyingServer
from tests.support.expected import Fed, check_equals_upstream, fed
from tests.support.files import check_files
from tests.support.server import eventually

DIE_S_MAX = 120.0
RECOVER_S_MAX = 240.0
INSERTS_FOR_A_FOLD = 40
# Generators lose nothing, so that they never begin anew: tests/postgres/test_slots.py has the two.  Nobody
# sends requests here: test_webhooks_killed.py.
MET = sorted(n for n in FAILPOINTS if not n.endswith("_restart") and not n.startswith("webhooks."))


@dataclass
class World:
    """The server all failpoints share, and what must be in it."""

    server: DyingServer
    rows: set[int] = field(default_factory=set)
    tables: dict[str, Fed] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def run(self, sql: str) -> bool:
        """One statement; False when the environment died under it, or met trouble with the disk."""
        try:
            self.server.query(sql)
        except psycopg.OperationalError as error:
            if error.sqlstate not in (None, "58030"):
                raise
            return False
        return True

    def insert(self) -> bool:
        number = next(self.numbers)
        done = self.run(f"INSERT INTO book VALUES ({number})")
        if done:
            self.rows.add(number)
        return done

    def create_fed(self, name: str, source: str, reference: str) -> bool:
        done = self.run(f"CREATE TABLE {name} FROM SOURCE {source} (REFERENCE {reference})")
        if done:
            self.tables[name] = fed(self.server.data_dir, name)
        return done

    def revive(self) -> None:
        """Start the environment again if it has died; the cluster comes by itself."""
        process = self.server.process
        if process is not None and process.poll() is not None:
            self.server.process = None
            self.server.start()

    def check(self, beyond: dict[str, int] | None = None) -> dict[str, int]:
        """Everything is right, and every source has progressed further than `beyond`."""
        with self.server.connect() as connection:
            connection.execute("SET statement_timeout = '20s'")
            offsets = check_equals_upstream(connection, list(self.tables.values()))
            found = {row[0] for row in connection.execute("SELECT n FROM book").fetchall()}
        assert found == self.rows, f"missing {self.rows - found}, too many {found - self.rows}"
        for source, offset in (beyond or {}).items():
            assert offsets[source] > offset, f"{source} does not go on from {offset}"
        return offsets

    def tidy(self) -> bool:
        """Whether every folder is of a table that exists: a drop that was cut off is finished."""
        tables = {row[0] for row in self.server.query("SELECT id FROM mz_tables WHERE id LIKE 'u%'")}
        folders = {folder.name for folder in self.server.data_dir.glob("tables/*")}
        return folders <= tables


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    server = DyingServer(tmp_path_factory.mktemp("failpoints"))
    made = World(server)
    try:
        server.start()
        options = "WITH (TIMESTAMP INTERVAL '100ms')"
        server.query(f"CREATE SOURCE counter FROM LOAD GENERATOR COUNTER (MAX CARDINALITY 50) {options}")
        server.query(
            "CREATE SOURCE kv FROM LOAD GENERATOR KEY VALUE (KEYS 100, SNAPSHOT ROUNDS 1, VALUE SIZE 8,"
            " SEED 1, PARTITIONS 2, BATCH SIZE 5, TRANSACTIONAL SNAPSHOT true, TICK INTERVAL '50ms')"
            f" {options}"
        )
        server.query("CREATE TABLE book (n bigint)")
        made.create_fed("numbers", "counter", "counter")
        made.create_fed("pairs", "kv", "key_value")
        eventually(made.check, within_s=RECOVER_S_MAX)
        yield made
        server.stop()
        check_files(server.data_dir)
    finally:
        server.stop()


# What makes a process pass a failpoint.


def tick(world: World) -> None:
    """Sources tick by themselves."""


def write(world: World) -> None:
    world.insert()


def fold(world: World) -> None:
    """A tail long enough to be folded."""
    for _ in range(INSERTS_FOR_A_FOLD):
        world.insert()


def create(world: World) -> None:
    world.create_fed(f"more_{next(world.numbers)}", "kv", "key_value")


def create_and_drop(world: World) -> None:
    name = f"brief_{next(world.numbers)}"
    world.run(f"CREATE TABLE {name} FROM SOURCE counter (REFERENCE counter)")
    world.run(f"DROP TABLE {name}")


CAUSES: dict[str, Callable[[World], None]] = {
    "catalog": create,
    "ledger": write,
    "ingestion.before_join": create,
    "ingestion.after_join": create,
    "ingestion.before_files": tick,
    "ingestion.before_append": tick,
    "ingestion.after_append": tick,
    "backfill": create,
    "fold": fold,
    "retention": create_and_drop,
    "tables": write,
}


def cause_of(name: str) -> Callable[[World], None]:
    return CAUSES.get(name) or CAUSES[name.partition(".")[0]]


def settle_doubt(world: World, name: str, before: dict[str, Fed]) -> bool:
    """What a statement that was cut off was to do has happened or not; learn which."""
    world.revive()
    tables = {row[0] for row in world.server.query("SELECT name FROM mz_tables WHERE id LIKE 'u%'")}
    for table in tables - set(world.tables) - {"book"}:
        if table.startswith("more_"):
            assert name != "catalog.before_commit", "a transaction that was not durable is there"
            world.tables[table] = fed(world.server.data_dir, table)
    if name == "catalog.after_commit":
        assert set(world.tables) > set(before), "a durable transaction is lost"
    found = {row[0] for row in world.server.query("SELECT n FROM book")}
    more = found - world.rows
    assert len(more) <= 1, f"one statement was cut off, {len(more)} rows are more"
    if name == "tables.before_append":
        assert not more, "a write that was not durable is there"
    if name == "tables.after_append":
        assert more, "a durable write is lost"
    world.rows |= more
    return True


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", MET)
def test_a_death_at_any_failpoint_leaves_everything_right(world: World, name: str) -> None:
    before, offsets = dict(world.tables), world.check()
    armed = world.server.arm(name)
    cause_of(name)(world)
    eventually(lambda: not armed.exists(), within_s=DIE_S_MAX)
    eventually(lambda: settle_doubt(world, name, before), within_s=RECOVER_S_MAX)
    eventually(lambda: world.check(offsets), within_s=RECOVER_S_MAX)
    eventually(world.tidy, within_s=RECOVER_S_MAX)


# An error at a failpoint, as a full disk or a lost executor would raise it: no process ends.
RAISED = sorted(set(MET) - {"catalog.before_commit", "catalog.after_commit", "tables.after_append"})


@pytest.mark.timeout(900)
def test_an_error_at_every_failpoint_is_overcome_without_a_restart(world: World) -> None:
    before, offsets = dict(world.tables), world.check()
    pid = eventually(world.server.cluster_pid, within_s=RECOVER_S_MAX)
    for name in RAISED:
        world.server.arm(name, "error")

    def caused() -> bool:
        left = [name for name in RAISED if (world.server.armed / name).exists()]
        for cause in dict.fromkeys(map(cause_of, left)):
            cause(world)
            settle_doubt(world, "any", before)
        return not left

    eventually(caused, within_s=RECOVER_S_MAX)
    eventually(lambda: world.check(offsets), within_s=RECOVER_S_MAX)
    assert world.server.cluster_pid() == pid
    assert world.insert(), "a write after the errors does not work"


def test_a_write_that_is_becoming_durable_is_not_cancelled_any_more(world: World) -> None:
    world.server.arm("tables.before_append", "sleep(1500)")
    with world.server.connect() as session:
        session.execute("SET statement_timeout = '300ms'")
        number = next(world.numbers)
        session.execute(f"INSERT INTO book VALUES ({number})".encode())
        world.rows.add(number)
    assert world.insert()
    world.check()

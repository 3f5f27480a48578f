"""Everything at once, by a seed: writers, schema changes, tables that come and go, cuts and kills.

    Triples     transactions that write x, y and z alike; the numbers of their rows have no gap
    Churn       transactions of all kinds over a keyed, a keyless and a partitioned table
    Episode     goes on for so many seconds, doing something to someone again and again

At the end everything is whole again, and then must hold:

    VERIFY TABLE says `equal` of every table
    x, y and z had the same changes at the same timestamps, in the order of their commits
    nobody who read them together ever saw them differ
    the upstream has one slot, and none once the source is dropped
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import psycopg

from headwater.core.clock import SYSTEM_CLOCK, seeded
from tests.support.clients import Follower
from tests.support.faulty import RESUME_S_MAX, Faulty, check_running, faulty, waiting_for_a_standby
from tests.support.following import Following
from tests.support.postgres import PostgresServer
from tests.support.server import HeadwaterServer, alive, eventually

TRIPLE = ("x", "y", "z")
CHURNED = ("keyed", "free", "parts")
SCHEMA = (
    *(f"CREATE TABLE {name} (k int8 PRIMARY KEY, n int8)" for name in TRIPLE),
    "CREATE TABLE keyed (id int PRIMARY KEY, n int, long text, tag text)",
    "ALTER TABLE keyed ALTER long SET STORAGE EXTERNAL",
    "CREATE TABLE free (id int, n int, tag text,"
    " f float8 DEFAULT ('{NaN,-0,0}'::float8[])[1 + floor(random() * 3)])",
    "ALTER TABLE free REPLICA IDENTITY FULL",
    "CREATE TABLE parts (id int PRIMARY KEY, n int, tag text) PARTITION BY RANGE (id)",
    "CREATE TABLE parts0 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (1000)",
    "CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (1000) TO (100000)",
    "INSERT INTO keyed SELECT g, 0, repeat(md5(g::text), 100), g::text FROM generate_series(1, 2000) AS g",
    "INSERT INTO free SELECT g % 500, g FROM generate_series(1, 2000) AS g",
    "INSERT INTO parts SELECT g, g FROM generate_series(1, 2000) AS g",
)
EXCHANGED = "ALTER TABLE free RENAME id TO x; ALTER TABLE free RENAME n TO id; ALTER TABLE free RENAME x TO n"
PUBLISHED = "ALTER PUBLICATION p SET (publish_via_partition_root = true)"
IDS = 4_000
LOADED = (
    "INSERT INTO free SELECT g, 1 FROM generate_series(1, 50) AS g",
    "ALTER TABLE free SET LOGGED",
    "COMMIT",
)
TABLES_MAX = 8
READ_TOGETHER = "SELECT " + ", ".join(f"(SELECT (count(*), sum(k), sum(n)) FROM {name})" for name in TRIPLE)


class Upstream(threading.Thread, ABC):
    """A session upstream that is opened again whenever it breaks."""

    def __init__(self, database: Faulty, seed: int) -> None:
        super().__init__(daemon=True)
        self._dsn = database.server.dsn(database.name)
        self.random = seeded(seed)
        self.stopping = threading.Event()
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.stopping.wait(0.05):
                try:
                    with psycopg.connect(self._dsn) as connection:
                        self.work(connection)
                except psycopg.OperationalError:
                    continue  # the server went, or a deadlock: the next turn begins anew
        except BaseException as error:
            self.failure = error

    def stop(self) -> None:
        self.stopping.set()
        self.join()
        assert self.failure is None, self.failure

    @abstractmethod
    def work(self, connection: psycopg.Connection[Any]) -> None:
        """Until `stopping` or an error."""


class Triples(Upstream):
    """Row after row into x, y and z, and each changes the one before."""

    def work(self, connection: psycopg.Connection[Any]) -> None:
        row = connection.execute("SELECT coalesce(max(k), 0) FROM x").fetchone()
        assert row is not None
        number = row[0]
        while not self.stopping.wait(0.005):
            number += 1
            for name in self.random.sample(TRIPLE, 3):
                connection.execute(f"INSERT INTO {name} VALUES (%s, 0)".encode(), (number,))
                connection.execute(f"UPDATE {name} SET n = k WHERE k = %s".encode(), (number - 1,))
            connection.commit()


class Churn(Upstream):
    """Whatever a transaction may do."""

    def work(self, connection: psycopg.Connection[Any]) -> None:
        while not self.stopping.wait(0.01):
            for _ in range(self.random.randrange(1, 12)):
                self._change(connection)
            chance = self.random.random()
            if chance < 0.1:
                connection.rollback()
            else:
                connection.commit()

    def _change(self, connection: psycopg.Connection[Any]) -> None:
        kind = self.random.choice(_KINDS)
        if self.random.random() < 0.1:
            with connection.transaction(force_rollback=self.random.random() < 0.5):
                connection.execute(kind.encode(), self._values())
        else:
            connection.execute(kind.encode(), self._values())

    def _values(self) -> dict[str, int]:
        id_ = self.random.randrange(IDS)
        return {"id": id_, "to": id_ + self.random.randrange(1, 40), "n": self.random.randrange(1000)}


_RARE = (
    "TRUNCATE keyed",
    "TRUNCATE free, parts",
    "INSERT INTO keyed SELECT g, %(n)s, repeat(md5(g::text), 100) FROM generate_series(1, 3000) AS g"
    " ON CONFLICT (id) DO UPDATE SET n = excluded.n",
    "INSERT INTO free SELECT g, %(n)s FROM generate_series(1, 3000) AS g",
)
_OFTEN = (
    "INSERT INTO keyed VALUES (%(id)s, %(n)s, repeat('long', 999), 'new') ON CONFLICT (id) DO NOTHING",
    "INSERT INTO keyed VALUES (%(id)s, %(n)s) ON CONFLICT (id) DO UPDATE SET tag = 'again'",
    "UPDATE keyed SET n = n + 1 WHERE id BETWEEN %(id)s AND %(to)s",
    "UPDATE keyed SET long = repeat('other', 999) WHERE id = %(id)s",
    "UPDATE keyed SET id = -id, long = NULL"
    " WHERE id = %(id)s AND NOT EXISTS (SELECT 1 FROM keyed WHERE id = -%(id)s)",
    "DELETE FROM keyed WHERE id BETWEEN %(id)s AND %(to)s",
    "INSERT INTO free VALUES (%(id)s, %(n)s)",
    "INSERT INTO free VALUES (%(id)s, %(n)s), (%(id)s, %(n)s)",
    "UPDATE free SET n = n + 1 WHERE id BETWEEN %(id)s AND %(to)s",
    "UPDATE free SET f = -f WHERE id BETWEEN %(id)s AND %(to)s",
    "DELETE FROM free WHERE id = %(id)s",
    "INSERT INTO parts VALUES (%(id)s, %(n)s) ON CONFLICT (id) DO UPDATE SET n = excluded.n",
    "UPDATE parts SET id = -id WHERE id = %(id)s AND NOT EXISTS (SELECT 1 FROM parts WHERE id = -%(id)s)",
    "DELETE FROM parts WHERE id BETWEEN %(id)s AND %(to)s",
)
_KINDS = _OFTEN * 60 + _RARE


class Episode:
    """One seed's way."""

    def __init__(
        self, server: HeadwaterServer, database: Faulty, seed: int, say: Callable[[str], None]
    ) -> None:
        self._server = server
        self._database = database
        # What was answered must be there when the server has been killed, or this test knows other columns.
        name = database.name
        database.run("SET synchronous_commit = on", f"ALTER DATABASE {name} SET synchronous_commit = on")
        self._random = seeded(seed)
        self._say = say
        self._here = Following(server, database)
        self._tables: dict[str, str] = {}  # name here -> reference
        self._names = 0
        self._added: list[str] = []  # columns that `keyed` has got
        self._columns = 0
        self._partitions = 0  # how many `parts` has got
        self._widened: dict[str, str] = {}  # tables that get a column
        self._writers: list[Upstream] = [Triples(database, seed), Churn(database, seed + 1)]
        self._followers = [Follower(server, f"{self._here.schema}.{name}") for name in TRIPLE]

    def run(self, seconds: float) -> None:
        """All of it."""
        self._begin()
        deadline = SYSTEM_CLOCK.monotonic_s() + seconds
        while SYSTEM_CLOCK.monotonic_s() < deadline:
            action = self._random.choice(_ACTIONS)
            self._say(action.__name__)
            action(self, self._random)
            self._check()
        self._end()

    def _begin(self) -> None:
        self._here.create_source()
        for name in TRIPLE:
            self._here.create_table(name, options="RETAIN HISTORY FOR '1h'")
        for name in CHURNED:
            self._create(name)
        for writer in self._writers:
            writer.start()
        for follower in self._followers:
            follower.start()

    def _session(self) -> Following:
        if self._here.session.closed:
            self._here.session = self._here.connect()
        return self._here

    def _create(self, reference: str, options: str = "") -> None:
        self._names += 1
        name = f"{reference}_{self._names}"
        self._session().create_table(name, reference, options)
        self._tables[name] = reference

    def _check(self) -> None:
        """Whatever can be read now shows whole transactions."""
        for writer in self._writers:
            assert writer.failure is None, writer.failure
        for follower in self._followers:
            follower.check_alive()
        with self._server.connect() as session:
            session.execute(f"SET search_path = {self._here.schema}; SET statement_timeout = '1s'".encode())
            try:
                (found,) = session.execute(READ_TOGETHER.encode()).fetchall()
            except psycopg.errors.QueryCanceled:
                return  # not readable at this moment
            assert len(set(found)) == 1, f"x, y and z differ: {found}"

    # What may happen

    def add_table(self, random: Random) -> None:
        if len(self._tables) < TABLES_MAX:
            reference = random.choice(CHURNED)
            self._create(
                reference, random.choice(("", "EXCLUDE COLUMNS (n)")) if reference == "keyed" else ""
            )

    def drop_table(self, random: Random) -> None:
        if len(self._tables) > 3:
            name = random.choice(sorted(self._tables))
            del self._tables[name]
            self._widened.pop(name, None)
            self._session().run(f"DROP TABLE {name}")

    def swap_tables(self, random: Random) -> None:
        if len(self._tables) < 2:
            return
        one, other = random.sample(sorted(self._tables), 2)
        self._wait_widened()
        self._session().run(f"ALTER TABLE {one} SWAP WITH {other}")
        self._tables[one], self._tables[other] = self._tables[other], self._tables[one]

    def add_column(self, random: Random) -> None:
        self._columns += 1
        self._added.append(f"more{self._columns}")
        self._database.run(f"ALTER TABLE keyed ADD COLUMN {self._added[-1]} int DEFAULT 7")

    def drop_column(self, random: Random) -> None:
        if not self._added:
            return
        column = self._added.pop(random.randrange(len(self._added)))
        self._wait_widened()
        self._database.run(f"ALTER TABLE keyed DROP COLUMN {column}")
        here = self._session()
        for name in [name for name, reference in self._tables.items() if reference == "keyed"]:
            if column in self._columns_of(name):
                assert "has been altered" in here.error_of(name)
                here.run(f"DROP TABLE {name}")
                del self._tables[name]

    def widen_table(self, random: Random) -> None:
        """By a column that it did not take; in a block, so that other things happen while it is filled."""
        here = self._session()
        keyed = {name for name, reference in self._tables.items() if reference == "keyed"}
        if not self._added or not keyed - self._widened.keys():
            return
        name = random.choice(sorted(keyed - self._widened.keys()))
        column = random.choice(self._added)
        if column not in self._columns_of(name):
            here.run("BEGIN", f"ALTER TABLE {name} ADD COLUMN {column}", "COMMIT")
            self._widened[name] = column

    def write_anew(self, random: Random) -> None:
        """What is harmless, and looks like what is not."""
        table = random.choice(("keyed", "free", "parts0", "parts1"))
        self._database.run(random.choice((f"VACUUM FULL {table}", f"GRANT SELECT ON {table} TO PUBLIC")))

    def unlog_a_while(self, random: Random) -> None:
        """Changes that no stream has: whoever follows the table must read it again."""
        self._wait_widened()
        here = self._session()
        keyed = [name for name, reference in self._tables.items() if reference == "keyed"]
        for name in keyed:
            eventually(lambda: here.rows(f"SELECT count(*) FROM {name}"), within_s=RESUME_S_MAX)  # noqa: B023
        self._database.run(
            "ALTER TABLE keyed SET UNLOGGED",
            "BEGIN; LOCK TABLE keyed; UPDATE keyed SET n = -1 WHERE id % 2 = 0; COMMIT",
            "ALTER TABLE keyed SET LOGGED",
        )
        for name in keyed:
            here.read_again(name, "UNLOGGED")

    def _columns_of(self, name: str) -> set[str]:
        return {row[0] for row in self._session().rows(f"SELECT name FROM (SHOW COLUMNS FROM {name})")}

    def _wait_widened(self) -> None:
        """Write it again until it is done: it is refused while it is under way, and fails of a TRUNCATE."""
        for name, column in self._widened.items():
            eventually(lambda: self._widen(name, column), within_s=RESUME_S_MAX)  # noqa: B023
        self._widened.clear()

    def _widen(self, name: str, column: str) -> bool:
        self._session().run(f"ALTER TABLE {name} ADD COLUMN IF NOT EXISTS {column}")
        return True

    def add_partition(self, random: Random) -> None:
        """As one that is made with the table, or attached with nothing in it."""
        name, bounds, first = self._another_partition()
        if random.random() < 0.5:
            self._database.run(f"CREATE TABLE {name} PARTITION OF parts {bounds}")
            self._database.run(f"INSERT INTO parts VALUES ({first}, 1) ON CONFLICT DO NOTHING")
        else:
            self._database.run(f"CREATE TABLE {name} (LIKE parts INCLUDING ALL)")
            self._database.run(f"ALTER TABLE parts ATTACH PARTITION {name} {bounds}")

    def _another_partition(self) -> tuple[str, str, int]:
        self._partitions += 1
        first = 100_000 + self._partitions
        return f"parts_{self._partitions}", f"FOR VALUES FROM ({first}) TO ({first + 1})", first

    def switch_identity(self, random: Random) -> None:
        self._database.run(f"ALTER TABLE keyed REPLICA IDENTITY {random.choice(('FULL', 'DEFAULT'))}")

    def change_unsaid(self, random: Random) -> None:
        """Something that the stream does not tell of: the reference's tables are read again."""
        name, bounds, first = self._another_partition()
        attach = [
            f"CREATE TABLE {name} (LIKE parts INCLUDING ALL)",
            f"INSERT INTO {name} VALUES ({first}, 1)",
            f"ALTER TABLE parts ATTACH PARTITION {name} {bounds}",
        ]
        detach = f"ALTER TABLE parts DETACH PARTITION {name}"
        reference, statements = random.choice(
            (
                ("parts", ["TRUNCATE parts1"]),
                (
                    "parts",
                    ["BEGIN; TRUNCATE parts; INSERT INTO parts VALUES (1, 1); TRUNCATE parts0; COMMIT"],
                ),
                ("parts", attach),
                ("parts", [*attach, f"UPDATE parts SET n = 2 WHERE id = {first}", detach]),
                ("parts", [f"CREATE TABLE {name} PARTITION OF parts {bounds}", detach]),
                ("free", ["ALTER TABLE free ALTER n TYPE int USING n + 1"]),
                ("free", ["BEGIN; TRUNCATE free; ALTER TABLE free SET UNLOGGED", *LOADED]),
                (
                    "free",
                    [f"BEGIN; {EXCHANGED}; INSERT INTO free (id, n) VALUES (7, 8); {EXCHANGED}; COMMIT"],
                ),
            )
        )
        self._database.run(*statements)
        if random.random() < 0.5:
            for table in [table for table, of in self._tables.items() if of == reference]:
                self._check_equal(table)

    def _check_equal(self, table: str) -> None:
        found = eventually(lambda: self._session().rows(f"VERIFY TABLE {table}"), within_s=RESUME_S_MAX)
        assert [row[0] for row in found] == ["equal"], (table, found[:5])

    def write_a_while(self, random: Random) -> None:
        self._writers[0].stopping.wait(random.random() * 2)

    def cut(self, random: Random) -> None:
        self._database.proxy.cut()

    def cut_within_a_message(self, random: Random) -> None:
        self._database.proxy.cut_within("again")

    def refuse_a_while(self, random: Random) -> None:
        self._database.proxy.refuse()
        self.write_a_while(random)
        self._database.proxy.accept()

    def let_commits_wait(self, random: Random) -> None:
        """For a standby that is not there: they are in the log and do not show, while a table is made."""
        with waiting_for_a_standby(self._database):
            self.write_a_while(random)
            try:
                self.add_table(random)
            except psycopg.errors.IoError as error:
                # A TRUNCATE whose commit waits keeps its lock: nobody can look at the table.
                if "statement timeout" not in str(error):
                    raise
            self.write_a_while(random)

    def restart_upstream(self, random: Random) -> None:
        if random.random() < 0.5:
            self._database.server.restart()
        else:
            self._database.server.kill()
            self._database.server.resume()
        self._database.again()

    def kill_cluster(self, random: Random) -> None:
        pid = self._server.cluster_pid()
        if pid is not None:
            os.kill(pid, 9)
            eventually(lambda: not alive(pid))

    def kill_environment(self, random: Random) -> None:
        self._server.kill_environment()
        if random.random() < 0.3:
            self.kill_cluster(random)
        self._server.start()
        self._here.session.close()

    # What must hold

    def _end(self) -> None:
        for writer in self._writers:
            writer.stop()
        here = self._session()
        self._wait_widened()
        for name in (*TRIPLE, *self._tables):
            check_running(here, name)
        newest = eventually(lambda: here.value("SELECT mz_now()::text::int8 FROM x LIMIT 1"))
        here.follows("x")
        for name in (*TRIPLE, *self._tables):
            self._check_equal(name)
        newest = max(newest, here.value("SELECT mz_now()::text::int8 FROM x LIMIT 1"))
        for follower in self._followers:
            eventually(lambda: follower.complete > newest, within_s=RESUME_S_MAX)  # noqa: B023
            follower.stop()
        self._check_histories()
        assert len(here.slots()) == 1
        here.close()

    def _check_histories(self) -> None:
        """The same changes at the same timestamps, and rows in the order of their commits."""
        began = max(follower.began_at for follower in self._followers)
        until = min(follower.complete for follower in self._followers)
        first, *others = (
            Counter(change for change in follower.changes if began < change[0] < until)
            for follower in self._followers
        )
        for other in others:
            assert first == other, (list((first - other).items())[:5], list((other - first).items())[:5])
        rows = self._followers[0].rows_at(began)
        numbers = sorted(row[0] for row in rows)
        seen = set(numbers)
        for ts in sorted({change[0] for change in first}):
            new = sorted({row[0] for at, diff, row in first if at == ts and diff > 0} - seen)
            numbers += new
            seen.update(new)
        assert numbers == list(range(1, len(numbers) + 1)), "rows did not come in the order of their commits"
        there = self._database.value("SELECT count(*) FROM x")
        assert len(numbers) == there, f"{len(numbers)} of {there} rows came"


_ACTIONS: tuple[Callable[[Episode, Random], None], ...] = (
    *(Episode.write_a_while,) * 4,
    *(Episode.add_table,) * 3,
    *(Episode.drop_table,) * 2,
    *(Episode.cut,) * 2,
    Episode.swap_tables,
    *(Episode.add_column,) * 2,
    Episode.drop_column,
    Episode.write_anew,
    Episode.unlog_a_while,
    *(Episode.widen_table,) * 2,
    *(Episode.add_partition,) * 2,
    Episode.switch_identity,
    Episode.change_unsaid,
    Episode.cut_within_a_message,
    Episode.refuse_a_while,
    *(Episode.let_commits_wait,) * 2,
    Episode.restart_upstream,
    Episode.kill_cluster,
    Episode.kill_environment,
)


def live_through(server: HeadwaterServer, postgres: PostgresServer, seed: int, seconds: float) -> None:
    """One episode; on a failure its seed is told."""
    with faulty(postgres, *SCHEMA) as database:
        database.run(PUBLISHED)
        try:
            Episode(server, database, seed, lambda text: print(f"seed {seed}: {text}")).run(seconds)
        except BaseException as error:
            error.add_note(f"with seed {seed}; the server's log ends with:\n{server.log_tail(60)}")
            raise

"""Everything at once, by a seed: writers, schema changes, tables that come and go, cuts and kills.

    Triples     transactions that write x, y and z alike
    Churn       transactions of all kinds over a keyed and a keyless table
    Episode     goes on for so many seconds, doing something to someone again and again

At the end everything is whole again, and then must hold:

    VERIFY TABLE says `equal` of every table
    nobody who read x, y and z together ever saw them differ
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from random import Random
from typing import Any

import psycopg
import pymysql

from headwater.core.clock import SYSTEM_CLOCK, seeded
from tests.mysql.database import Database
from tests.mysql.following import Following
from tests.support.mysql import MysqlServer
from tests.support.proxy import Proxy
from tests.support.server import HeadwaterServer, alive, eventually

RESUME_S_MAX = 120.0
TRIPLE = ("x", "y", "z")
CHURNED = ("keyed", "free")
NUMBERS = "WITH RECURSIVE g (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < {}) SELECT {} FROM g"
SCHEMA = (
    *(f"CREATE TABLE {name} (k bigint PRIMARY KEY, n bigint)" for name in TRIPLE),
    "CREATE TABLE keyed (id int PRIMARY KEY, n int, long_text text, tag varchar(20))",
    "CREATE TABLE free (id int, n int, tag varchar(20), f double)",
    "INSERT INTO keyed " + NUMBERS.format(900, "n, 0, REPEAT(HEX(n * 7919), 150), n"),
    "INSERT INTO free " + NUMBERS.format(900, "n % 300, n, NULL, n / 7"),
)
IDS = 2_000
TABLES_MAX = 6
READ_TOGETHER = "SELECT " + ", ".join(f"(SELECT (count(*), sum(k), sum(n)) FROM {name})" for name in TRIPLE)


class Far(Database):
    """A database that sources reach over a way that can be broken."""

    def __init__(self, server: MysqlServer) -> None:
        self.proxy = Proxy(server.port)
        super().__init__(server)

    @property
    def connection(self) -> str:
        return super().connection.replace(f"PORT {self.server.port}", f"PORT {self.proxy.port}")

    def again(self) -> None:
        """A new session, after the server has been away."""
        self.session = self.server.connect()
        self.session.select_db(self.name)


class Upstream(threading.Thread, ABC):
    """A session upstream that is opened again whenever it breaks."""

    def __init__(self, database: Far, seed: int) -> None:
        super().__init__(daemon=True)
        self._database = database
        self.random = seeded(seed)
        self.stopping = threading.Event()
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.stopping.wait(0.05):
                try:
                    session = self._database.server.connect()
                    session.autocommit(False)
                    session.select_db(self._database.name)
                    with session.cursor() as cursor:
                        self.work(session, cursor)
                except (pymysql.Error, OSError):
                    continue  # the server went, or a deadlock: the next turn begins anew
        except BaseException as error:
            self.failure = error

    def stop(self) -> None:
        self.stopping.set()
        self.join()
        assert self.failure is None, self.failure

    @abstractmethod
    def work(self, session: Any, cursor: Any) -> None:
        """Until `stopping` or an error."""


class Triples(Upstream):
    """Row after row into x, y and z, and each changes the one before."""

    def work(self, session: Any, cursor: Any) -> None:
        cursor.execute("SELECT COALESCE(MAX(k), 0) FROM x")
        [(number,)] = cursor.fetchall()
        while not self.stopping.wait(0.01):
            number += 1
            for name in self.random.sample(TRIPLE, 3):
                cursor.execute(f"INSERT INTO {name} VALUES (%s, 0)", (number,))
                cursor.execute(f"UPDATE {name} SET n = k WHERE k = %s", (number - 1,))
            session.commit()


class Churn(Upstream):
    """Whatever a transaction may do."""

    def work(self, session: Any, cursor: Any) -> None:
        while not self.stopping.wait(0.02):
            for _ in range(self.random.randrange(1, 8)):
                cursor.execute(self.random.choice(_KINDS), self._values())
            if self.random.random() < 0.1:
                session.rollback()
            else:
                session.commit()

    def _values(self) -> dict[str, int]:
        id_ = self.random.randrange(IDS)
        return {"id": id_, "to": id_ + self.random.randrange(1, 30), "n": self.random.randrange(1000)}


_RARE = (
    "TRUNCATE keyed",
    "TRUNCATE free",
    "REPLACE INTO keyed (id, n, long_text) " + NUMBERS.format(900, "n, %(n)s, REPEAT(HEX(n * 7919), 150)"),
    "INSERT INTO free (id, n) " + NUMBERS.format(900, "n, %(n)s"),
)
_OFTEN = (
    "INSERT IGNORE INTO keyed (id, n, long_text, tag) VALUES (%(id)s, %(n)s, REPEAT('long', 999), 'new')",
    "INSERT INTO keyed (id, n) VALUES (%(id)s, %(n)s) ON DUPLICATE KEY UPDATE tag = 'again'",
    "REPLACE INTO keyed (id, n) VALUES (%(id)s, %(n)s)",
    "UPDATE keyed SET n = n + 1 WHERE id BETWEEN %(id)s AND %(to)s",
    "UPDATE IGNORE keyed SET id = -id, long_text = NULL WHERE id = %(id)s",
    "DELETE FROM keyed WHERE id BETWEEN %(id)s AND %(to)s",
    "INSERT INTO free (id, n) VALUES (%(id)s, %(n)s), (%(id)s, %(n)s)",
    "UPDATE free SET n = n + 1, f = -f WHERE id BETWEEN %(id)s AND %(to)s",
    "UPDATE free SET tag = 'x' WHERE id = %(id)s LIMIT 1",
    "DELETE FROM free WHERE id = %(id)s LIMIT 1",
)
_KINDS = _OFTEN * 60 + _RARE


class Episode:
    """One seed's way."""

    def __init__(self, server: HeadwaterServer, database: Far, seed: int, say: Callable[[str], None]) -> None:
        self._server = server
        self._database = database
        self._random = seeded(seed)
        self._say = say
        self._here = Following(server, database)
        self._tables: dict[str, str] = {}  # name here -> reference
        self._names = 0
        self._added: list[str] = []  # columns that `keyed` has got
        self._columns = 0
        self._writers: list[Upstream] = [Triples(database, seed), Churn(database, seed + 1)]

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
            self._here.create_table(name)
        for name in CHURNED:
            self._create(name)
        for writer in self._writers:
            writer.start()

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
            options = random.choice(("", "EXCLUDE COLUMNS (n)")) if reference == "keyed" else ""
            self._create(reference, options)

    def drop_table(self, random: Random) -> None:
        if len(self._tables) > 3:
            name = random.choice(sorted(self._tables))
            del self._tables[name]
            self._session().run(f"DROP TABLE {name}")

    def add_column(self, random: Random) -> None:
        self._columns += 1
        column = f"more{self._columns}"
        place = random.choice(("", " FIRST", " AFTER id"))
        self._alter(f"ALTER TABLE keyed ADD COLUMN {column} int DEFAULT 7{place}")
        self._added.append(column)

    def drop_column(self, random: Random) -> None:
        """One that no table takes."""
        taken = {
            row[0]
            for name, reference in self._tables.items()
            if reference == "keyed"
            for row in self._session().rows(f"SELECT name FROM (SHOW COLUMNS FROM {name})")
        }
        free = [column for column in self._added if column not in taken]
        if free:
            self._alter(f"ALTER TABLE keyed DROP COLUMN {free[0]}")
            self._added.remove(free[0])

    def move_column(self, random: Random) -> None:
        self._alter(
            random.choice(("ALTER TABLE free MODIFY n int FIRST", "ALTER TABLE free MODIFY n int AFTER id"))
        )

    def rebuild(self, random: Random) -> None:
        self._alter(f"ALTER TABLE {random.choice(CHURNED)} FORCE")

    def take_the_place(self, random: Random) -> None:
        """As tools do that change a schema while it is in use; rows that come meanwhile may be lost."""
        self._alter("DROP TABLE IF EXISTS _free_old", "CREATE TABLE _free_new LIKE free")
        self._alter(
            "INSERT INTO _free_new SELECT * FROM free",
            "RENAME TABLE free TO _free_old, _free_new TO free",
        )

    def _alter(self, *statements: str) -> None:
        """Writers may be in the way."""

        def done(statement: str) -> bool:
            try:
                self._database.run(statement)
            except pymysql.MySQLError as error:
                return error.args[0] not in (1205, 1213)
            return True

        for statement in statements:
            eventually(lambda: done(statement), within_s=RESUME_S_MAX)  # noqa: B023

    def write_a_while(self, random: Random) -> None:
        self._writers[0].stopping.wait(random.random() * 2)

    def cut(self, random: Random) -> None:
        self._database.proxy.cut()

    def refuse_a_while(self, random: Random) -> None:
        self._database.proxy.refuse()
        self.write_a_while(random)
        self._database.proxy.accept()

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
        here.follows("x")
        for name in (*TRIPLE, *self._tables):
            found = eventually(lambda: here.rows(f"VERIFY TABLE {name}"), within_s=RESUME_S_MAX)  # noqa: B023
            assert [row[0] for row in found] == ["equal"], (name, found[:5])
        here.close()


_ACTIONS: tuple[Callable[[Episode, Random], None], ...] = (
    *(Episode.write_a_while,) * 4,
    *(Episode.add_table,) * 3,
    *(Episode.drop_table,) * 2,
    *(Episode.cut,) * 2,
    *(Episode.add_column,) * 2,
    Episode.drop_column,
    Episode.move_column,
    Episode.rebuild,
    Episode.take_the_place,
    Episode.refuse_a_while,
    Episode.restart_upstream,
    Episode.kill_cluster,
    Episode.kill_environment,
)


def live_through(server: HeadwaterServer, upstream: MysqlServer, seed: int, seconds: float) -> None:
    """One episode; on a failure its seed is told."""
    database = Far(upstream)
    database.run(*SCHEMA)
    try:
        Episode(server, database, seed, lambda text: print(f"seed {seed}: {text}")).run(seconds)
    except BaseException as error:
        error.add_note(f"with seed {seed}; the server's log ends with:\n{server.log_tail(60)}")
        raise
    database.close()
    database.proxy.close()

"""An upstream to which things happen, and writers that live through them."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg

from headwater.core.clock import unique_name
from tests.support.database import Database
from tests.support.following import Following
from tests.support.postgres import PostgresServer
from tests.support.proxy import Proxy
from tests.support.server import HeadwaterServer, eventually

NOTICE_S_MAX = 60.0
AT_ONCE_S_MAX = 10.0
RESUME_S_MAX = 120.0
PAIR = tuple(f"CREATE TABLE {name} (id int PRIMARY KEY, n int, tag text)" for name in "ab")


class Faulty(Database):
    """A database that sources reach over a way that can be broken; the test has another one."""

    def __init__(self, server: PostgresServer, name: str) -> None:
        super().__init__(server, name)
        self.proxy = Proxy(server.port)

    def connection_sql(self, name: str, user: str = "postgres") -> str:
        return super().connection_sql(name, user).replace(str(self.server.port), str(self.proxy.port))

    def direct_sql(self, name: str) -> str:
        """CREATE CONNECTION beside the way that can be broken."""
        return super().connection_sql(name)

    def again(self) -> None:
        """A new session of the test's own, after the server has been away."""
        self.connection.close()
        self.connection = psycopg.connect(self.server.dsn(self.name), autocommit=True)

    def walsender(self) -> int | None:
        """Who sends to the one slot of this database."""
        pid: int | None = self.value("SELECT max(active_pid) FROM pg_replication_slots WHERE " + _HERE)
        return pid

    def drop_slots(self) -> None:
        """Nobody may be using them."""
        query = f"SELECT count(pg_drop_replication_slot(slot_name)) FROM pg_replication_slots WHERE {_HERE}"
        assert eventually(lambda: self.value(query)) == 1


_HERE = "database = current_database()"


@contextmanager
def faulty(server: PostgresServer, *statements: str) -> Iterator[Faulty]:
    """A new database with these statements run in it and everything published."""
    name = f"d{unique_name()[:12]}"
    with psycopg.connect(server.dsn(), autocommit=True) as session:
        session.execute(f"CREATE DATABASE {name}".encode())
    made = Faulty(server, name)
    try:
        made.run(*statements, "CREATE PUBLICATION p FOR ALL TABLES")
        yield made
    finally:
        made.connection.close()
        made.proxy.close()
        with psycopg.connect(server.dsn(), autocommit=True) as session:
            session.execute(
                "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
                " WHERE database = %s AND NOT active",
                (name,),
            )
            session.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


class Writer(threading.Thread):
    """Transactions over two tables until told to stop; one that is cut off is not asked about."""

    def __init__(self, database: Database, tables: Sequence[str] = ("a", "b")) -> None:
        super().__init__(daemon=True)
        self._dsn = database.server.dsn(database.name)
        self._tables = tables
        self._stopping = threading.Event()
        self._numbers = count(1)
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._stopping.wait(0.02):
                self._write()
        except BaseException as error:
            self.failure = error

    def _write(self) -> None:
        try:
            with psycopg.connect(self._dsn) as connection:
                for number in self._numbers:
                    if self._stopping.wait(0.005):
                        return
                    for table in self._tables:
                        connection.execute(f"INSERT INTO {table} VALUES (%s, 0)".encode(), (number,))
                        connection.execute(
                            f"UPDATE {table} SET n = n + 1 WHERE id = %s".encode(), (number // 2,)
                        )
                        connection.execute(f"DELETE FROM {table} WHERE id = %s".encode(), (number - 300,))
                    connection.commit()
        except psycopg.OperationalError:
            return  # the server went; the next turn looks for it again

    def __enter__(self) -> Writer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self.join()
        assert self.failure is None, self.failure


@contextmanager
def waiting_for_a_standby(database: Database) -> Iterator[Callable[[], None]]:
    """Commits that want to, wait for a standby that is not there; until what is given is called."""

    def go_on() -> None:
        database.run("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")

    database.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()")
    try:
        yield go_on
    finally:
        go_on()


@contextmanager
def committing(database: Database, *statements: str) -> Iterator[None]:
    """A transaction whose commit waits for a standby, in a session of its own."""
    with psycopg.connect(database.server.dsn(database.name), autocommit=True) as session:
        session.execute("SET synchronous_commit = on")
        text = "; ".join(statements).encode()
        thread = threading.Thread(target=session.execute, args=(text,), daemon=True)
        thread.start()
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        eventually(lambda: database.value(waits))
        yield
        thread.join(NOTICE_S_MAX)
        assert not thread.is_alive()


def check_stalled(
    here: Following, name: str, *texts: str, within_s: float = NOTICE_S_MAX, as_word: str = "stalled"
) -> str:
    """Wait until it stands still because of one of these, and says what could be done; its error."""

    def stalled() -> str:
        word, error, hints = here.status_of(name)
        assert word == as_word, (word, error)
        assert error is not None
        assert error.startswith("postgres: "), error
        assert any(text in error for text in texts), error
        assert hints, error
        return error

    return eventually(stalled, within_s=within_s)


def check_failed(here: Following, name: str, *texts: str) -> str:
    """Wait until a table has ended for good because of one of these; its error."""
    return check_stalled(here, name, *texts, as_word="failed")


def check_running(here: Following, name: str) -> None:
    """Wait until it runs, without an error."""

    def running() -> bool:
        word, error, _ = here.status_of(name)
        assert (word, error) == ("running", None)
        return True

    eventually(running, within_s=RESUME_S_MAX)


def check_newest(here: Following, table: str = "a") -> None:
    """Wait until what has been written upstream by now is here."""
    newest = here.database.value(f"SELECT coalesce(max(id), 0) FROM {table}")
    eventually(lambda: here.value(f"SELECT max(id) >= {newest} FROM {table}"), within_s=RESUME_S_MAX)


@contextmanager
def source(server: HeadwaterServer, database: Faulty, *tables: str) -> Iterator[Following]:
    here = Following(server, database)
    try:
        here.create_source()
        for table in tables:
            here.create_table(table)
        for table in tables:
            here.follows(table)
        yield here
    finally:
        here.close()


def count_beside(server: HeadwaterServer) -> int:
    """How far a source is that has nothing to do with the upstream."""
    return int(server.query("SELECT count(*) FROM counter")[0][0])


def check_beside_goes_on(server: HeadwaterServer) -> None:
    before = count_beside(server)
    eventually(lambda: count_beside(server) > before)


def quickly(here: Following, *texts: str) -> None:
    """Statements that must not wait for anybody."""
    for text in texts:
        started_s = time.monotonic()
        here.run(text)
        assert time.monotonic() - started_s < AT_ONCE_S_MAX, text


def peak_bytes(pid: int) -> int:
    """The most memory a process has had since `clear_refs` was written to."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024

"""An upstream that was made again from a dump: its tables have other numbers, their columns and keys too.

Method: a dump of the database is restored, changed, into another server, to which the source is led from then
on.  What the tables here show is compared with it; who has another form than before ends.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import psycopg
import pytest

from tests.support.faulty import Faulty, check_failed, faulty, source
from tests.support.following import Following
from tests.support.postgres import BINARIES, PostgresServer
from tests.support.server import HeadwaterServer, eventually

TABLES = (
    "CREATE TYPE mood AS ENUM ('bad', 'good')",
    "CREATE TABLE moved (gone int, id int, felt mood, note text, PRIMARY KEY (id))",
    "ALTER TABLE moved DROP COLUMN gone",  # so that a restored table has other numbers of columns
    "INSERT INTO moved SELECT g, 'good', 'before' FROM generate_series(1, 100) AS g",
    "CREATE TABLE bag (gone int, n float8, t text)",
    "ALTER TABLE bag REPLICA IDENTITY FULL",
    "ALTER TABLE bag DROP COLUMN gone",
    "INSERT INTO bag SELECT g % 3, 'x' FROM generate_series(1, 9) AS g",
    "CREATE TABLE reshaped (id int PRIMARY KEY, n int)",
    "CREATE TABLE keyless (id int PRIMARY KEY, n int)",
    "CREATE TABLE forgotten (id int PRIMARY KEY)",
)
NAMES = ("moved", "bag", "reshaped", "keyless", "forgotten")
ANOTHER = "the connection leads to another database system"


@pytest.fixture(scope="module")
def server(breakable_server: HeadwaterServer) -> HeadwaterServer:
    return breakable_server


@pytest.fixture
def database(breakable_postgres: PostgresServer) -> Iterator[Faulty]:
    with faulty(breakable_postgres, *TABLES) as made:
        yield made


def restored(database: Faulty, other: PostgresServer) -> None:
    """The database as a dump has it, in another server."""
    with psycopg.connect(other.dsn(), autocommit=True) as session:
        session.execute(f"CREATE DATABASE {database.name}".encode())
    dump = subprocess.run(
        [str(BINARIES / "pg_dump"), "--no-subscriptions", database.server.dsn(database.name)],
        capture_output=True,
        check=True,
    )
    # A table before all others, so that no number there is by chance what it is here.
    made = subprocess.run(
        ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", other.dsn(database.name)],
        input=b"CREATE TABLE before_all (id int PRIMARY KEY);" + dump.stdout,
        capture_output=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr.decode()


def check_same(here: Following, session: psycopg.Connection[tuple[object, ...]], table: str) -> None:
    query = f"SELECT * FROM {table} ORDER BY 1, 2".encode()
    eventually(lambda: here.rows(query.decode()) == session.execute(query).fetchall(), within_s=60)


def test_tables_of_a_server_that_was_restored_from_a_dump_are_brought_up_to_date(
    server: HeadwaterServer, database: Faulty
) -> None:
    with PostgresServer() as other, source(server, database, *NAMES) as here:
        here.run("CREATE VIEW v AS SELECT count(*) AS n FROM moved")
        for table in NAMES:
            here.follows(table)
        before = here.value("SELECT mz_now()::text FROM moved LIMIT 1")
        ids = here.rows("SELECT id FROM mz_tables ORDER BY id")
        restored(database, other)
        with psycopg.connect(other.dsn(database.name), autocommit=True) as session:
            for statement in (
                "DELETE FROM moved WHERE id > 90",
                "UPDATE moved SET note = 'after' WHERE id < 10",
                "ALTER TABLE reshaped ALTER n TYPE bigint",
                "ALTER TABLE keyless DROP CONSTRAINT keyless_pkey",
                "DROP TABLE forgotten",
            ):
                session.execute(statement.encode())
            database.proxy.lead_to(other.port)
            database.proxy.cut()
            check_failed(here, "src", ANOTHER)
            notices: list[str] = []
            here.session.add_notice_handler(lambda notice: notices.append(str(notice.message_primary)))
            here.run("ALTER SOURCE src RESYNC")
            for table in ("moved", "bag"):
                check_same(here, session, table)
                assert any(f'.{table}" follows the upstream table that is called' in n for n in notices)
            # Changes are those of the restored table, by its key and its texts.
            session.execute("INSERT INTO moved VALUES (1000, 'bad', 'new')")
            session.execute("UPDATE moved SET id = -id, felt = 'bad' WHERE id = 5")
            session.execute("DELETE FROM bag WHERE n = 1")
            for table in ("moved", "bag"):
                check_same(here, session, table)
                assert here.rows(f"VERIFY TABLE {table}")[0][0] == "equal"
            assert here.value("SELECT n FROM v") == 91
            assert here.value(f"SELECT count(*) FROM moved AS OF {before}") == 100
            check_failed(here, "reshaped", "column n has type bigint instead of integer")
            check_failed(here, "keyless", "its key (id) was dropped")
            check_failed(here, "forgotten", "table was dropped")
        assert here.rows("SELECT id FROM mz_tables ORDER BY id") == ids
        here.run("DROP SOURCE src CASCADE")
        database.proxy.lead_to(database.server.port)


def test_a_table_that_was_created_again_is_followed_once_its_source_begins_anew(
    server: HeadwaterServer, database: Faulty
) -> None:
    with source(server, database, "moved", "bag") as here:
        here.follows("moved")
        database.run("DROP TABLE moved", "CREATE TABLE moved (note text, felt mood, id int PRIMARY KEY)")
        database.run("INSERT INTO moved VALUES ('again', 'good', 7)")
        check_failed(here, "moved", "table was dropped")
        here.run("ALTER SOURCE src RESYNC")
        assert here.rows("SELECT id, felt, note FROM moved") == [(7, "good", "again")]
        database.run("UPDATE moved SET note = 'followed'")
        eventually(lambda: here.rows("SELECT id, felt, note FROM moved") == [(7, "good", "followed")])
        assert here.status_of("bag")[0] == "running"

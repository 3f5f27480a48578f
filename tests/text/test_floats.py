"""NaN and -0 in tables: read and written as in PostgreSQL, before a fold and after it, on both engines.

Method: the same statements go to the shared server and to a real PostgreSQL, and so do the questions.
Values are asked for as text, so that -0 is not taken for 0.  A table is folded once it has had enough
writes; its state is looked for in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.support.files import states_of
from tests.support.postgres import available, running
from tests.support.server import HeadwaterServer, eventually

pytestmark = pytest.mark.skipif(not available(), reason="this machine has no PostgreSQL 15")

SCHEMA = "floats_tests"
FOLDED_AFTER = 35
TABLES = (
    "CREATE TABLE nn (f float8, g real)",
    "CREATE TABLE zeros (f float8, g real, _net int, _count int, col int)",
)
BEGINNING = (
    "INSERT INTO nn VALUES (1, 1), (2, 2), ('NaN', 'NaN'), ('NaN', 1)",
    "INSERT INTO zeros VALUES (0, 0), ('-0', '-0'), (0, '-0'), (7, 7)",
)
CHANGES = (
    "DELETE FROM nn WHERE f = 'NaN' AND g = 1",
    "UPDATE nn SET g = 5 WHERE f > 100",
    "UPDATE zeros SET f = -f WHERE g = 0",
    "DELETE FROM zeros WHERE g::text = '0'",
    "INSERT INTO zeros VALUES ('-0', 3), (0, 3)",
    "DELETE FROM zeros WHERE f::text = '-0' AND g = 3",
)
QUESTIONS = (
    "SELECT f::text, g::text FROM nn",
    "SELECT f::text, g::text FROM zeros",
    "SELECT f::text FROM nn WHERE f = 'NaN'",
    "SELECT f::text FROM nn WHERE f <> 'NaN'",
    "SELECT f::text FROM nn WHERE f > 100",
    "SELECT f::text FROM nn WHERE f IN (1, 'NaN')",
    "SELECT f::text FROM nn WHERE g = 'NaN'",
    "SELECT max(f)::text, min(f)::text, max(g)::text FROM nn",
    "SELECT count(DISTINCT f), count(DISTINCT g), count(*) FROM zeros",
    "SELECT count(*) FROM zeros WHERE f = 0 AND g >= 0",
    "SELECT count(*) FROM (SELECT DISTINCT f FROM zeros) t",
)


@pytest.fixture
def upstream() -> Iterator[psycopg.Connection]:
    with running() as server, psycopg.connect(server.dsn(), autocommit=True) as connection:
        yield connection


@pytest.fixture
def connection(server: HeadwaterServer) -> Iterator[psycopg.Connection]:
    with server.connect() as made:
        made.execute(f"CREATE SCHEMA {SCHEMA}".encode())
        made.execute(f"SET search_path = {SCHEMA}".encode())
        made.execute("SET statement_timeout = '60s'")
        yield made
        made.execute("RESET read_engine")
        made.execute(f"DROP SCHEMA {SCHEMA} CASCADE".encode())


def ask(connection: psycopg.Connection) -> dict[str, list[tuple[object, ...]]]:
    return {query: sorted(connection.execute(query.encode()).fetchall(), key=repr) for query in QUESTIONS}


def compare(connection: psycopg.Connection, upstream: psycopg.Connection) -> None:
    expected = ask(upstream)
    for engine in ("duckdb", "spark"):
        connection.execute(f"SET read_engine = {engine}".encode())
        assert ask(connection) == expected, engine
    connection.execute("RESET read_engine")


@pytest.mark.timeout(300)
def test_floats_are_found_and_changed_as_in_postgresql(
    server: HeadwaterServer, connection: psycopg.Connection, upstream: psycopg.Connection
) -> None:
    def run(*statements: str) -> None:
        for statement in statements:
            done = {each.execute(statement.encode()).statusmessage for each in (connection, upstream)}
            assert len(done) == 1, f"{statement}: {done}"

    run(*TABLES, *BEGINNING)
    compare(connection, upstream)
    run(*CHANGES)
    compare(connection, upstream)
    for number in range(FOLDED_AFTER):
        run(f"INSERT INTO nn VALUES ({number}, 0)", f"INSERT INTO zeros VALUES ({number}, 9)")
    ids = connection.execute(
        "SELECT t.id FROM mz_tables t JOIN mz_schemas s ON s.id = t.schema_id WHERE s.name = %s", (SCHEMA,)
    ).fetchall()
    assert len(ids) == len(TABLES)
    for (id_,) in ids:
        eventually(lambda id_=id_: states_of(server.data_dir, id_), within_s=90)  # type: ignore[misc]
    compare(connection, upstream)
    run(
        "DELETE FROM nn WHERE f = 'NaN'",
        "DELETE FROM zeros WHERE f = 0 AND g <> 9",
        "UPDATE zeros SET f = -f WHERE f = 0",
    )
    compare(connection, upstream)

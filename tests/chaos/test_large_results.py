"""Results on Spark that are too many rows for a message: all of them, in order, and nothing stays behind.

Method: the same query on both engines, over a table whose rows are some megabytes.  Where they
wait for a client that is slow is looked at in the data directory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from headwater.core.limits import FOLD_TAIL_FILES_MAX
from tests.support.server import HeadwaterServer, eventually

ROWS = 60_000
WIDE_ROWS = 120
WIDE_ROWS_AT_ONCE = 30
WIDE_CHARACTERS = 8_000_000
FOLD_S_MAX = 120.0
QUERY = "SELECT n, repeat('x', 100) AS s, n % 7 = 0 AS b FROM large ORDER BY n % 1000, n DESC"


@pytest.fixture
def session(busy_server: HeadwaterServer) -> Iterator[psycopg.Connection]:
    with busy_server.connect() as connection:
        connection.execute("CREATE TABLE large (n int)")
        connection.execute(f"INSERT INTO large SELECT * FROM generate_series(1, {ROWS})")
        connection.execute("SET statement_timeout = '240s'")
        connection.execute("SET read_engine = spark")
        yield connection
        connection.rollback()
        connection.execute("DROP TABLE large")


def kept(server: HeadwaterServer) -> list[str]:
    """Files of results that lie in the data directory."""
    folder = server.data_dir / "scratch" / "results"
    return [str(path) for path in folder.rglob("*") if path.is_file()]


@pytest.mark.timeout(600)
def test_rows_are_those_of_the_other_engine_and_in_order(
    busy_server: HeadwaterServer, session: psycopg.Connection
) -> None:
    found = session.execute(QUERY).fetchall()
    session.execute("SET read_engine = duckdb")
    assert found == session.execute(QUERY).fetchall()
    assert len(found) == ROWS
    eventually(lambda: not kept(busy_server))


@pytest.mark.timeout(600)
def test_rows_of_megabytes_are_read_folded_and_read_again(busy_server: HeadwaterServer) -> None:
    """1 GB of texts, of which a vector of DuckDB or a batch of Spark by number of rows would have all."""
    texts = f"SELECT g, repeat(chr(97 + g % 26), {WIDE_CHARACTERS})"
    with busy_server.connect() as session:
        session.execute("CREATE TABLE wide (i int, t text)")
        ((id_,),) = session.execute("SELECT id FROM mz_tables WHERE name = 'wide'").fetchall()
        for start in range(0, WIDE_ROWS, WIDE_ROWS_AT_ONCE):  # a function makes 256 MiB at a time
            numbers = f"generate_series({start + 1}, {start + WIDE_ROWS_AT_ONCE})"
            session.execute(f"INSERT INTO wide {texts} FROM {numbers} AS g")
        for engine in ("duckdb", "spark"):
            session.execute(f"SET read_engine = {engine}")
            with session.cursor().copy("COPY (SELECT t FROM wide) TO STDOUT") as copy:
                assert sum(len(data) - 1 for data in copy) == WIDE_ROWS * WIDE_CHARACTERS, engine
        for number in range(FOLD_TAIL_FILES_MAX):
            session.execute("INSERT INTO wide VALUES (%s, '')", (number,))
        folder = busy_server.data_dir / "tables" / id_ / "state"
        eventually(lambda: any(folder.glob("*.parquet")), within_s=FOLD_S_MAX)
        session.execute("SET read_engine = duckdb")
        found = session.execute("SELECT count(*), sum(length(t)) FROM wide").fetchall()
        assert found == [(WIDE_ROWS + FOLD_TAIL_FILES_MAX, WIDE_ROWS * WIDE_CHARACTERS)]
        session.execute("DROP TABLE wide")


def first_rows(session: psycopg.Connection) -> list[Any]:
    """Of a cursor that stays open, in a transaction that does."""
    session.execute("BEGIN")
    session.execute(f"DECLARE c CURSOR FOR {QUERY}")
    return session.execute("FETCH 10 c").fetchall()


@pytest.mark.timeout(600)
def test_a_client_that_leaves_early_leaves_nothing_behind(
    busy_server: HeadwaterServer, session: psycopg.Connection
) -> None:
    assert len(first_rows(session)) == 10
    assert kept(busy_server)
    session.execute("ROLLBACK")
    eventually(lambda: not kept(busy_server))


@pytest.mark.timeout(600)
def test_a_client_reads_on_when_the_cluster_has_gone(
    busy_server: HeadwaterServer, session: psycopg.Connection
) -> None:
    found = first_rows(session)
    busy_server.kill_cluster()
    found += session.execute(f"FETCH {ROWS} c").fetchall()
    session.execute("COMMIT")
    session.execute("SET read_engine = duckdb")
    assert found == session.execute(QUERY).fetchall()
    eventually(lambda: not kept(busy_server))


@pytest.mark.timeout(600)
def test_what_a_server_that_was_killed_has_left_is_removed(busy_server: HeadwaterServer) -> None:
    left = busy_server.data_dir / "scratch" / "results" / "p0.1" / "0.arrow"
    left.parent.mkdir(parents=True, exist_ok=True)
    left.write_bytes(b"rows")
    busy_server.kill_environment()
    busy_server.start()
    assert not left.exists()

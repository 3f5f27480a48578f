"""ALTER TABLE .. ADD COLUMN over a real upstream: filled for all rows, without a gap for anybody.

Method: writers go on upstream and readers, views and a subscription go on here while columns are
added; processes are killed in the middle of it.  Afterwards VERIFY TABLE compares every row with the
upstream, and nothing that read the table before has seen an error, a gap or another shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.database import Database
from tests.support.dying import DyingServer
from tests.support.repeated import Reader, Writer
from tests.support.server import HeadwaterServer, eventually

ROWS = 20_000


@pytest.fixture
def upstream(database: Database) -> Database:
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, name text NOT NULL)",
        f"INSERT INTO t SELECT n, 'row ' || n FROM generate_series(1, {ROWS}) n",
        "CREATE TABLE k (a int, b text)",
        "ALTER TABLE k REPLICA IDENTITY FULL",
        "INSERT INTO k SELECT n % 10, 'x' FROM generate_series(1, 100) n",
        "CREATE PUBLICATION p FOR ALL TABLES",
    )
    return database


class Changing(Writer):
    """Changes rows of `t`: some go and as many come, some change their keys; there are always as many.

    The first 2,000 keep their keys.
    """

    pace_s = 0.02

    def turn(self) -> None:
        n = self.turns + 1
        with self.connection.transaction():
            self.connection.execute("UPDATE t SET name = 'changed ' || %s WHERE id %% 97 = %s", (n, n % 97))
            self.connection.execute(
                "WITH gone AS (DELETE FROM t WHERE id > 2000 AND id %% 1009 = %s RETURNING id)"
                " INSERT INTO t (id, name) SELECT id + 1000000, 'new' FROM gone",
                (n % 1009,),
            )
            self.connection.execute(
                "UPDATE t SET id = -id WHERE abs(id) > 2000 AND abs(id) %% 1013 = %s", (n % 1013,)
            )


class Client:
    """A session in a schema of its own, with tables `t` and `k` of a source `s`."""

    def __init__(self, server: HeadwaterServer, database: Database) -> None:
        self.schema = database.name
        self.session = server.connect()
        self.run(
            f"CREATE SCHEMA {self.schema}",
            f"SET search_path = {self.schema}",
            database.connection_sql("pg"),
            "CREATE SOURCE s FROM POSTGRES CONNECTION pg (PUBLICATION 'p')",
            "CREATE TABLE t FROM SOURCE s (REFERENCE t)",
            "CREATE TABLE k FROM SOURCE s (REFERENCE k)",
        )
        assert self.rows("SELECT count(*) FROM t") == [(ROWS,)]

    def run(self, *texts: str) -> None:
        for text in texts:
            self.session.execute(text.encode())

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        return self.session.execute(text.encode()).fetchall()

    def columns(self, table: str) -> list[str]:
        return [row[0] for row in self.rows(f"SHOW COLUMNS FROM {table}")]

    def refused(self, text: str) -> str:
        with pytest.raises(psycopg.Error) as error:
            self.session.execute(text.encode())
        return str(error.value.diag.message_primary)

    def equal(self, table: str) -> None:
        assert [row[0] for row in self.rows(f"VERIFY TABLE {table}")] == ["equal"]


@pytest.fixture
def client(server: HeadwaterServer, upstream: Database) -> Iterator[Client]:
    made = Client(server, upstream)
    yield made
    made.session.close()
    server.query(f"DROP SCHEMA {made.schema} CASCADE")


def test_a_column_is_filled_for_all_rows_while_everything_goes_on(
    client: Client, upstream: Database, server: HeadwaterServer
) -> None:
    client.run(
        "CREATE VIEW star AS SELECT * FROM t",
        "CREATE VIEW joined AS SELECT x.*, y.name AS again FROM t x JOIN t y USING (id)",
        "CREATE VIEW named AS SELECT id, upper(name) AS loud FROM t",
    )
    table_id = client.rows("SELECT id FROM mz_tables WHERE name = 't' AND source_id IS NOT NULL")
    with (
        server.connect() as subscriber,
        Changing(upstream),
        Reader(server, client.schema, "SELECT * FROM star") as star,
        Reader(server, client.schema, "SELECT id, name FROM t") as plain,
    ):
        subscriber.execute(f"SET search_path = {client.schema}".encode())
        subscriber.execute(b"BEGIN")
        subscriber.execute(b"DECLARE c CURSOR FOR SUBSCRIBE t WITH (SNAPSHOT = false)")
        upstream.run("ALTER TABLE t ADD COLUMN c int DEFAULT 7", "ALTER TABLE t ADD COLUMN d text")
        upstream.run("UPDATE t SET c = id, d = 'd' || id WHERE id % 2 = 0")
        client.run("ALTER TABLE t ADD COLUMN c FROM UPSTREAM, ADD COLUMN d")
        assert client.rows("SELECT count(*) FROM t WHERE c IS NULL") == [(0,)]
        upstream.run("UPDATE t SET c = -1 WHERE id = 1008")
        eventually(lambda: client.rows("SELECT c, d FROM t WHERE id = 1008") == [(-1, "d1008")])
        rows = subscriber.execute(b"FETCH 10000 c WITH (timeout = '2s')").fetchall()
    # The subscription went on with the shape it began with, beyond the moment of the change.
    assert rows
    assert {len(row) for row in rows} == {4}
    eventually(lambda: client.rows("SELECT count(*) FROM t WHERE c = -1") == [(1,)])
    client.equal("t")
    assert set(star.shapes) == {("id", "name")}
    assert set(star.counts) == {ROWS}
    assert set(plain.counts) == {ROWS}
    assert client.rows("SELECT * FROM named WHERE id = 1008") == client.rows(
        "SELECT id, upper(name) FROM t WHERE id = 1008"
    )
    assert client.columns("joined") == ["id", "name", "again"]
    assert client.columns("t") == ["id", "name", "c", "d"]
    assert client.rows("SELECT id FROM mz_tables WHERE name = 't' AND source_id IS NOT NULL") == table_id
    # What was replaced leaves nothing behind.
    eventually(lambda: not list(server.data_dir.rglob(f"{table_id[0][0]}/*")), within_s=60)


def test_rows_without_a_key_are_read_anew(client: Client, upstream: Database) -> None:
    ((before,),) = client.rows("SELECT mz_now() FROM k LIMIT 1")
    upstream.run("ALTER TABLE k ADD COLUMN c int DEFAULT 3", "INSERT INTO k VALUES (1, 'y', 4)")
    # That has a later timestamp, and the table is read anew at that or at one still later.
    eventually(lambda: client.rows("SELECT count(*) FROM k") == [(101,)])
    client.run("ALTER TABLE k ADD COLUMN IF NOT EXISTS a, ADD COLUMN c")
    assert client.rows("SELECT c, count(*) FROM k GROUP BY c ORDER BY c") == [(3, 100), (4, 1)]
    client.equal("k")
    refused = client.refused(f"SELECT * FROM k AS OF {before}")
    assert refused == "could not find a valid timestamp for the query"


def test_what_cannot_be_added_leaves_the_table_as_it_is(client: Client, upstream: Database) -> None:
    upstream.run(
        "ALTER TABLE t ADD COLUMN far timestamp DEFAULT '294276-12-31'",
        "CREATE TYPE pair AS (x int, y int)",
        "ALTER TABLE t ADD COLUMN odd pair DEFAULT ROW(1, 2)",
    )
    assert "out of range" in client.refused("ALTER TABLE t ADD COLUMN far")
    assert client.refused("ALTER TABLE t ADD COLUMN nope").startswith('column "nope" does not exist in')
    assert client.refused("ALTER TABLE t ADD COLUMN name") == 'column "name" of relation "t" already exists'
    assert client.refused("ALTER TABLE t ADD COLUMN odd") == (
        "POSTGRES source validation: referenced tables use unsupported types"
    )
    assert client.refused("ALTER TABLE t ADD COLUMN odd int") == (
        "ALTER TABLE ... ADD COLUMN with a type not yet supported"
    )
    client.run("CREATE TABLE plain (a int)")
    assert "not fed by a source" in client.refused("ALTER TABLE plain ADD COLUMN b")
    assert client.columns("t") == ["id", "name"]
    client.run("ALTER TABLE t ADD COLUMN odd FROM UPSTREAM WITH (TEXT COLUMNS (odd))")
    assert client.rows("SELECT DISTINCT odd FROM t") == [("(1,2)",)]
    assert "TEXT COLUMNS = (odd)" in client.rows("SHOW CREATE TABLE t")[0][1]
    upstream.run("INSERT INTO t VALUES (0, 'zero', '2020-01-01', ROW(3, 4))")
    eventually(lambda: client.rows("SELECT odd FROM t WHERE id = 0") == [("(3,4)",)])
    client.equal("t")
    upstream.run(
        "BEGIN",
        "ALTER TABLE k RENAME TO k_old",
        "CREATE TABLE k (a int, b text, c int)",
        "ALTER TABLE k REPLICA IDENTITY FULL",
        "COMMIT",
    )
    assert "what has the name of" in client.refused("ALTER TABLE k ADD COLUMN c")


def check_progress(server: DyingServer, client: Client, upstream: Database) -> None:
    """While a column is filled, it is shown how far that is, and a second one has to wait."""
    progress = (
        "SELECT s.snapshot_records_known, s.snapshot_records_staged FROM mz_internal.mz_source_statistics s"
        " JOIN mz_tables t ON t.id = s.id WHERE t.name = 't'"
    )
    upstream.run("ALTER TABLE t ADD COLUMN early int")
    waits = server.arm("backfill.before_hydrate", "1*sleep(5000)")
    client.run("BEGIN", "ALTER TABLE t ADD COLUMN early", "COMMIT")
    eventually(lambda: not waits.exists())
    # The cluster tells it now and then; meanwhile it waits.
    eventually(lambda: [tuple(map(int, row)) for row in client.rows(progress)] == [(ROWS, ROWS)])
    assert "are being added" in client.refused("ALTER TABLE t ADD COLUMN early")
    eventually(lambda: "early" in client.columns("t"))


def test_a_death_in_the_middle_does_not_matter(tmp_path: Path, upstream: Database) -> None:
    server = DyingServer(tmp_path)
    server.start()
    try:
        client = Client(server, upstream)
        check_progress(server, client, upstream)
        with Changing(upstream):
            for number, name in enumerate(
                (
                    "ingestion.after_join",
                    "backfill.before_chunk",
                    "backfill.before_hydrate",
                    "backfill.after_hydrate",
                )
            ):
                upstream.run(f"ALTER TABLE t ADD COLUMN c{number} int DEFAULT {number}")
                armed = server.arm(name, "1*exit")
                client.run(f"ALTER TABLE t ADD COLUMN c{number}")
                assert not armed.exists()  # whoever dies of one takes it away
                assert client.rows(f"SELECT count(*) FROM t WHERE c{number} IS NULL") == [(0,)]
            upstream.run("ALTER TABLE t ADD COLUMN last text DEFAULT 'last'")
            client.run("BEGIN", "ALTER TABLE t ADD COLUMN last", "COMMIT")
            server.kill_environment()
            server.kill_cluster()
            server.start()
            client.session = server.connect()
            client.run(f"SET search_path = {client.schema}")

            eventually(lambda: "last" in client.columns("t"), within_s=120)
        client.equal("t")
    finally:
        server.stop()

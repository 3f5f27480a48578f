"""Legacy sources over MySQL and MariaDB, and the migration from them.

Method: subsources are created, added and dropped while writers go on; refusals are compared with their
detail.  A server whose log has no names of columns feeds a legacy source by places.  Then a server with a
legacy source is started again with the migration switched on, and what could be read before is compared with
what can be read after.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mysql.database import Database
from tests.mysql.following import Following
from tests.support.mysql import MysqlServer
from tests.support.server import HeadwaterServer, eventually

PREFIX = "MYSQL source validation: "
TABLES = (
    "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(10) NOT NULL, e ENUM('good', 'bad'))",
    "CREATE TABLE u (id INT PRIMARY KEY, x TEXT, y TEXT)",
    "CREATE TABLE w (id INT PRIMARY KEY)",
    "INSERT INTO t VALUES (1, 'one', 'good')",
    "INSERT INTO u VALUES (1, 'x', 'y')",
    "INSERT INTO w VALUES (1), (2), (3)",
)


@pytest.fixture
def client(server: HeadwaterServer, database: Database) -> Iterator[Following]:
    database.run(*TABLES)
    made = Following(server, database)
    yield made
    made.close()


def test_subsources_come_and_go_while_the_others_run(client: Following, database: Database) -> None:
    full, here = f"materialize.{client.schema}", database.name
    client.run(
        f"CREATE SOURCE s FROM MYSQL CONNECTION my (TEXT COLUMNS ({here}.t.e), IGNORE COLUMNS (u.y))"
        f" FOR TABLES ({here}.t AS first, u)"
    )
    assert client.listed() == {"s", "s_progress", "first", "u"}
    assert client.rows("SELECT id, name, e FROM first") == [(1, "one", "good")]
    assert client.rows("SELECT * FROM u") == [(1, "x")]
    assert client.rows("SELECT count(*) > 0 FROM s_progress") == [(True,)]

    client.run("ALTER SOURCE s ADD SUBSOURCE w")
    database.run("INSERT INTO w VALUES (4)", "UPDATE t SET name = 'two', e = 'bad' WHERE id = 1")
    eventually(lambda: client.rows("SELECT count(*) FROM w") == [(4,)])
    eventually(lambda: client.rows("SELECT name, e FROM first") == [("two", "bad")])
    assert client.rows("SHOW CREATE SOURCE s")[0][1] == (
        f"CREATE SOURCE {full}.s\nIN CLUSTER quickstart\nFROM MYSQL CONNECTION {full}.my"
        f" (TEXT COLUMNS = ({here}.t.e), EXCLUDE COLUMNS = ({here}.u.y))\n"
        f"FOR TABLES ({here}.t AS {full}.first, {here}.u AS {full}.u, {here}.w AS {full}.w)\n"
        f"EXPOSE PROGRESS AS {full}.s_progress;"
    )
    client.run("ALTER SOURCE s DROP SUBSOURCE w", "CREATE TABLE w2 FROM SOURCE s (REFERENCE w)")
    database.run("INSERT INTO w VALUES (5)")
    eventually(lambda: client.rows("SELECT count(*) FROM w2") == [(5,)])
    client.run("DROP SOURCE s CASCADE")
    assert client.listed() == set()


def test_all_tables_of_the_server_or_of_a_database_may_be_taken(
    client: Following, database: Database
) -> None:
    create = "CREATE SOURCE s FROM MYSQL CONNECTION my (TEXT COLUMNS (t.e))"
    for outputs in ("FOR ALL TABLES", f"FOR SCHEMAS ({database.name})"):
        client.run(f"{create} {outputs}")
        assert client.listed() == {"s", "s_progress", "t", "u", "w"}
        assert client.rows("SELECT count(*) FROM w") == [(3,)]
        client.run("DROP SOURCE s CASCADE")


def test_what_cannot_be_is_refused_and_leaves_nothing(client: Following, database: Database) -> None:
    create, here = "CREATE SOURCE s FROM MYSQL CONNECTION my", database.name
    for text, (message, detail) in {
        f"{create} FOR TABLES (nope)": ("reference to nope not found in source", None),
        f"{create} FOR SCHEMAS (nope)": (
            'no tables found in referenced schemas: "nope"',
            'missing schemas: "nope"',
        ),
        f"{create} FOR TABLES (u AS a, u AS b)": (
            "multiple subsources refer to table u",
            "subsources referencing table: a, b",
        ),
        f"{create} (TEXT COLUMNS ({here}.t.e)) FOR TABLES (u)": (
            f"{PREFIX}TEXT COLUMNS refers to table not currently being added",
            f"the following columns are referenced but not added: {here}.t.e",
        ),
        f"{create} (TEXT COLUMNS (t.e), EXCLUDE COLUMNS (t.e)) FOR TABLES (t)": (
            f'{PREFIX}duplicated column name references in table {here}.t: ["e"]',
            None,
        ),
        f"{create} FOR TABLES (t)": (
            f"{PREFIX}referenced tables use unsupported types",
            "the following columns contain unsupported types:\n'enum('good','bad')' for e.t",
        ),
    }.items():
        assert client.refusal(text)[:2] == (message, detail), text
    assert client.listed() == set()


def test_a_log_without_names_feeds_a_legacy_source_by_places(
    client: Following, database: Database, without_names: None
) -> None:
    client.run(
        "CREATE SOURCE s FROM MYSQL CONNECTION my (TEXT COLUMNS (t.e), EXCLUDE COLUMNS (t.name))"
        " FOR TABLES (t, u) WITH (TIMESTAMP INTERVAL '100ms')"
    )
    database.run(
        "INSERT INTO t VALUES (2, 'two', 'bad')",
        "ALTER TABLE t ADD COLUMN later INT UNSIGNED",
        "INSERT INTO t VALUES (3, 'three', 'good', 4294967295)",
        "DELETE FROM t WHERE id = 1",
    )
    eventually(lambda: client.rows("SELECT * FROM t ORDER BY id") == [(2, "bad"), (3, "good")])
    database.run("ALTER TABLE t ADD COLUMN before_all INT FIRST", "INSERT INTO u VALUES (2, 'z', 'z')")
    eventually(lambda: client.rows("SELECT count(*) FROM u") == [(2,)])
    assert "incompatible schema change: column id in table t" in client.error_of("t")


QUERIES = (
    "SELECT * FROM first ORDER BY id",
    "SELECT count(*) FROM w",
    "SELECT * FROM joined",
    "SHOW CREATE VIEW joined",
)


def test_the_migration_keeps_what_could_be_read(mortal_server: HeadwaterServer, mysql: MysqlServer) -> None:
    server, database = mortal_server, Database(mysql)
    database.run(*TABLES)
    here = Following(server, database)
    try:
        here.run(
            "CREATE SOURCE s FROM MYSQL CONNECTION my (TEXT COLUMNS (t.e))"
            f" FOR TABLES ({database.name}.t AS first, u, w) WITH (RETAIN HISTORY FOR '1h')",
            "CREATE VIEW joined AS SELECT f.name, f.e, u.x FROM first f JOIN u USING (id)",
        )
        before = [here.rows(text) for text in QUERIES]
        names = here.names()
        server.operate("ALTER SYSTEM SET force_source_table_syntax = on")
        server.kill_environment()
        server.kill_cluster()
        database.run("INSERT INTO w VALUES (4)")
        server.start()
        here.session = here.connect()
        assert here.names() == names
        eventually(lambda: here.rows("SELECT count(*) FROM w") == [(4,)], within_s=120)
        database.run("DELETE FROM w WHERE id = 4")
        eventually(lambda: here.rows("SELECT count(*) FROM w") == [(3,)], within_s=120)
        assert [here.rows(text) for text in QUERIES] == before
        assert "TEXT COLUMNS = (e)" in here.rows("SHOW CREATE TABLE first")[0][1]
        assert "FOR TABLE" not in here.rows("SHOW CREATE SOURCE s")[0][1]
    finally:
        server.operate("ALTER SYSTEM SET force_source_table_syntax = off")
        here.close()
        database.close()

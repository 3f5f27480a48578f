"""Legacy sources over a real upstream, and the migration from them.

Method: subsources are created, added and dropped while writers go on; every refusal is
compared with its detail.  Then a server with every legacy shape, views on top, is started
again with the migration switched on, killed in the middle of it, and everything that could be
seen before is compared with what can be seen after.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from headwater.observe.failpoints import VARIABLE
from tests.support.database import Database
from tests.support.following import Following
from tests.support.server import HeadwaterServer, eventually

PREFIX = "POSTGRES source validation: "


@pytest.fixture
def upstream(database: Database) -> Database:
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, name text NOT NULL, e xml)",
        "CREATE TABLE u (id int PRIMARY KEY, x text, y text)",
        "CREATE TABLE w (id int PRIMARY KEY)",
        "CREATE SCHEMA other",
        "CREATE TABLE other.t (id int PRIMARY KEY, n int)",
        "INSERT INTO t VALUES (1, 'one', 'good')",
        "INSERT INTO u VALUES (1, 'x', 'y')",
        "INSERT INTO w SELECT generate_series(1, 100)",
        "INSERT INTO other.t VALUES (1, 10)",
        "CREATE PUBLICATION p FOR ALL TABLES",
    )
    return database


@pytest.fixture
def client(server: HeadwaterServer, upstream: Database) -> Iterator[Following]:
    made = Following(server, upstream)
    yield made
    made.close()


def slots(upstream: Database) -> int:
    count: int = upstream.value(
        "SELECT count(*) FROM pg_replication_slots WHERE database = current_database() AND NOT temporary"
    )
    return count


def test_subsources_come_and_go_while_the_others_run(client: Following, upstream: Database) -> None:
    full = f"materialize.{client.schema}"
    client.run(
        "CREATE SOURCE s FROM POSTGRES CONNECTION pg (PUBLICATION 'p', TEXT COLUMNS (public.t.e))"
        " FOR TABLES (public.t AS first, u)"
    )
    assert client.listed() == {"s", "s_progress", "first", "u"}
    assert client.rows("SELECT id, name, e FROM first") == [(1, "one", "good")]
    assert client.rows("SELECT x FROM u") == [("x",)]
    assert client.rows("SELECT lsn > 0 FROM s_progress") == [(True,)]

    client.run("ALTER SOURCE s ADD SUBSOURCE w, other.t AS second WITH (EXCLUDE COLUMNS (other.t.n))")
    upstream.run("INSERT INTO w VALUES (101)", "UPDATE t SET name = 'two' WHERE id = 1")
    eventually(lambda: client.rows("SELECT count(*) FROM w") == [(101,)])
    eventually(lambda: client.rows("SELECT name FROM first") == [("two",)])
    assert client.rows("SELECT * FROM second") == [(1,)]
    assert client.rows("SHOW CREATE SOURCE s")[0][1] == (
        f"CREATE SOURCE {full}.s\nIN CLUSTER quickstart\nFROM POSTGRES CONNECTION {full}.pg"
        f" (PUBLICATION = 'p', TEXT COLUMNS = ({upstream.name}.public.t.e),"
        f" EXCLUDE COLUMNS = ({upstream.name}.other.t.n))\n"
        f"FOR TABLES ({upstream.name}.public.t AS {full}.first, {upstream.name}.public.u AS {full}.u,"
        f" {upstream.name}.public.w AS {full}.w, {upstream.name}.other.t AS {full}.second)\n"
        f"EXPOSE PROGRESS AS {full}.s_progress;"
    )
    fed = client.rows(
        "SELECT o.name, t.schema_name, t.table_name FROM mz_internal.mz_postgres_source_tables t"
        f" JOIN mz_objects o ON o.id = t.id JOIN mz_schemas s ON s.id = o.schema_id"
        f" WHERE s.name = '{client.schema}' ORDER BY 1"
    )
    assert fed == [
        ("first", "public", "t"),
        ("second", "other", "t"),
        ("u", "public", "u"),
        ("w", "public", "w"),
    ]

    client.run("ALTER SOURCE s DROP SUBSOURCE second", "DROP SOURCE u")
    upstream.run("INSERT INTO w VALUES (102)")
    eventually(lambda: client.rows("SELECT count(*) FROM w") == [(102,)])
    assert client.listed("SHOW SUBSOURCES ON s") == {"s_progress", "first", "w"}
    client.run("CREATE TABLE w2 FROM SOURCE s (REFERENCE w)")
    eventually(lambda: client.rows("SELECT count(*) FROM w2") == [(102,)])
    assert slots(upstream) == 1
    client.run("DROP SOURCE s CASCADE")
    assert client.listed() == set()
    eventually(lambda: slots(upstream) == 0)


def refusals(here: str) -> dict[str, tuple[str, str | None]]:
    """Statements that cannot be carried out, with message and detail."""
    create = "CREATE SOURCE s FROM POSTGRES CONNECTION pg (PUBLICATION 'p'"
    return {
        f"{create}) FOR TABLES (nope)": ("reference to nope not found in source", None),
        f"{create}) FOR TABLES (t)": (
            "reference t is ambiguous, consider specifying an additional layer of qualification",
            None,
        ),
        f"{create}) FOR SCHEMAS (public, nope)": (
            'no tables found in referenced schemas: "nope"',
            'missing schemas: "nope"',
        ),
        f"{create}) FOR ALL TABLES": (
            "multiple subsources would be named t",
            f"referenced tables with duplicate name: {here}.other.t, {here}.public.t",
        ),
        f"{create}) FOR TABLES (u AS a, u AS b)": (
            "multiple subsources refer to table u",
            "subsources referencing table: a, b",
        ),
        f"{create}, TEXT COLUMNS (e)) FOR TABLES (public.t)": (
            "invalid TEXT COLUMNS option value: column name 'e' must have at least a table qualification",
            None,
        ),
        f"{create}, TEXT COLUMNS (u.nope)) FOR TABLES (u)": (
            'invalid TEXT COLUMNS option value: column "u.nope" does not exist',
            None,
        ),
        f"{create}, TEXT COLUMNS (public.t.e)) FOR TABLES (u)": (
            f"{PREFIX}TEXT COLUMNS refers to table not currently being added",
            f"the following columns are referenced but not added: {here}.public.t.e",
        ),
        f"{create}, EXCLUDE COLUMNS (u.x, u.x)) FOR TABLES (u)": (
            f"invalid EXCLUDE COLUMNS option value: unexpected multiple references to {here}.public.u.x",
            None,
        ),
        f"{create}) FOR TABLES (public.t)": (f"{PREFIX}referenced tables use unsupported types", None),
        f"{create}) FOR TABLES (u AS s)": ("catalog item 's' already exists", None),
        f"{create}) INCLUDE OFFSET FOR TABLES (u)": (
            "ENVELOPE, FORMAT and INCLUDE are only valid for single-output sources",
            None,
        ),
    }


def later_refusals(schema: str) -> dict[str, tuple[str, str | None]]:
    """The same, for a source with a subsource `u`."""
    return {
        "ALTER SOURCE s ADD SUBSOURCE u AS again": (
            "multiple subsources refer to table u",
            "subsources referencing table: u, again",
        ),
        "ALTER SOURCE s ADD SUBSOURCE w AS u": ("catalog item 'u' already exists", None),
        "ALTER SOURCE s ADD SUBSOURCE nope": ("reference to nope not found in source", None),
        "ALTER SOURCE u ADD SUBSOURCE w": ("u is a subsource of a source, not a source", None),
        "ALTER SOURCE s DROP SUBSOURCE u": (
            f"SOURCE materialize.{schema}.s must retain at least one non-progress subsource",
            None,
        ),
        "ALTER SOURCE s DROP SUBSOURCE pg": (f"pg is not a subsource of materialize.{schema}.s", None),
    }


def test_what_cannot_be_is_refused_and_leaves_nothing(
    server: HeadwaterServer, client: Following, upstream: Database
) -> None:
    for text, (message, detail) in refusals(upstream.name).items():
        found = client.refusal(text)
        assert found[0] == message, text
        assert detail is None or found[1] == detail, text
    assert client.listed() == set()
    assert slots(upstream) == 0

    client.run("CREATE SOURCE s FROM POSTGRES CONNECTION pg (PUBLICATION 'p') FOR TABLES (u)")
    for text, (message, detail) in later_refusals(client.schema).items():
        found = client.refusal(text)
        assert found[0] == message, text
        assert detail is None or found[1] == detail, text
    assert client.listed() == {"s", "s_progress", "u"}

    server.operate("ALTER SYSTEM SET enable_create_table_from_source = off")
    try:
        error = client.error("CREATE SOURCE q FROM POSTGRES CONNECTION pg (PUBLICATION 'p')")
        assert error.message_primary == f"{PREFIX}missing TABLES specification"
    finally:
        server.operate("ALTER SYSTEM RESET enable_create_table_from_source")


def test_a_bare_name_goes_where_the_source_is(client: Following, upstream: Database) -> None:
    elsewhere = f"{client.schema}_elsewhere"
    client.run(f"CREATE SCHEMA {elsewhere}")
    create = f"CREATE SOURCE {elsewhere}.s FROM POSTGRES CONNECTION pg (PUBLICATION 'p')"
    try:
        client.run(f"{create} FOR TABLE u AS x")
        assert client.listed(f"SHOW SOURCES FROM {elsewhere}") == {"s", "s_progress", "x"}
        client.run(f"ALTER SOURCE {elsewhere}.s ADD SUBSOURCE w AS y")
        assert client.listed(f"SHOW SOURCES FROM {elsewhere}") == {"s", "s_progress", "x", "y"}
        assert client.listed() == set()
        with pytest.raises(psycopg.Error) as error:
            client.run("CREATE SOURCE q FROM POSTGRES CONNECTION pg (PUBLICATION 'p') FOR TABLE public.t")
        assert "TEXT COLUMNS (public.t.e)" in str(error.value.diag.message_hint)
    finally:
        client.run(f"DROP SCHEMA {elsewhere} CASCADE")


QUERIES = (
    "SELECT * FROM first ORDER BY id",
    "SELECT * FROM u ORDER BY id",
    "SELECT count(*), sum(id) FROM w",
    "SELECT * FROM vt",
    "SELECT * FROM vc",
    "SELECT * FROM w2 ORDER BY id LIMIT 3",
    "SELECT count(*) FROM bids",
    "SELECT count(*) FROM kv",
    "SELECT n FROM c ORDER BY n",
    "SELECT count(*) FROM vp",
    "SHOW CREATE VIEW vt",
    "SHOW CREATE VIEW vp",
)


def legacy_shapes(upstream: Database) -> list[str]:
    """Every legacy shape, with views and comments."""
    return [
        upstream.connection_sql("pg"),
        "CREATE SOURCE s FROM POSTGRES CONNECTION pg (PUBLICATION 'p', TEXT COLUMNS (public.t.e))"
        " FOR TABLES (public.t AS first, u, w) WITH (RETAIN HISTORY FOR '1h')",
        "CREATE SOURCE a FROM LOAD GENERATOR AUCTION (AS OF 300, UP TO 301) FOR ALL TABLES",
        "CREATE SOURCE c (n) FROM LOAD GENERATOR COUNTER (AS OF 4, UP TO 5) EXPOSE PROGRESS AS cp",
        "CREATE SOURCE kv FROM LOAD GENERATOR KEY VALUE (KEYS 16, SNAPSHOT ROUNDS 1,"
        " TRANSACTIONAL SNAPSHOT true, VALUE SIZE 8, SEED 42, PARTITIONS 4, BATCH SIZE 2) INCLUDE OFFSET",
        "CREATE TABLE w2 FROM SOURCE s (REFERENCE w)",
        "CREATE VIEW vt AS SELECT f.name, u.x FROM first f JOIN u USING (id)",
        "CREATE VIEW vc AS SELECT sum(n) AS n FROM c",
        'CREATE VIEW vp AS SELECT s.lsn, cp."offset" FROM s_progress s, cp',
        "COMMENT ON SOURCE first IS 'the first'",
        "COMMENT ON SOURCE s IS 'the source'",
    ]


def test_the_migration_keeps_everything_also_when_it_is_killed(
    own_server: HeadwaterServer, upstream: Database
) -> None:
    server = own_server.start()
    for text in legacy_shapes(upstream):
        server.query(text)
    before = [server.query(text) for text in QUERIES]
    ((then,),) = server.query("SELECT mz_now() FROM w LIMIT 1")
    ids = server.query("SELECT name, id FROM mz_objects WHERE id LIKE 'u%' ORDER BY name")
    shown = server.query("EXPLAIN MIGRATION")
    slot = upstream.value("SELECT slot_name FROM pg_replication_slots WHERE database = current_database()")
    server.operate("ALTER SYSTEM SET force_source_table_syntax = on")
    server.kill_environment()
    server.kill_cluster()
    upstream.run("INSERT INTO u VALUES (2, 'later', 'y')", "DELETE FROM w WHERE id <= 50")

    # The first transaction at start is the migration; the next start does it, or finds it done.
    for failpoint in ("catalog.before_commit", "catalog.after_commit"):
        with pytest.raises(AssertionError, match="the server did not start"):
            server.start({VARIABLE: f"{failpoint}=1*exit"})
    server.start()
    assert server.query("EXPLAIN MIGRATION") == []
    after = server.query("SELECT name, id, type FROM mz_objects WHERE id LIKE 'u%' ORDER BY name")
    assert {name for name, _ in ids} == {name for name, _, _ in after}
    assert {(id_, name, type_) for id_, _, _, name, type_, _, _ in shown} <= {
        (id_, f"materialize.public.{name}", type_) for name, id_, type_ in after
    }
    eventually(lambda: server.query("SELECT count(*) FROM w") == [(50,)], within_s=120)
    eventually(lambda: server.query("SELECT max(id) FROM u") == [(2,)], within_s=120)
    assert server.query(f"SELECT count(*) FROM w AS OF {then}") == [(100,)]
    assert "RETAIN HISTORY" in server.query("SHOW CREATE TABLE w")[0][1]
    upstream.run("DELETE FROM u WHERE id = 2", "INSERT INTO w SELECT generate_series(1, 50)")
    eventually(lambda: server.query("SELECT count(*) FROM w") == [(100,)], within_s=120)
    eventually(lambda: server.query("SELECT count(*) FROM u") == [(1,)], within_s=120)
    assert [server.query(text) for text in QUERIES] == before
    assert server.query("SELECT status FROM mz_internal.mz_source_statuses WHERE name = 'first'") == [
        ("running",)
    ]
    assert server.query("SELECT name, comment FROM (SHOW TABLES) WHERE comment <> ''") == [
        ("first", "the first")
    ]
    assert server.query("SELECT name, comment FROM (SHOW SOURCES) WHERE comment <> ''") == [
        ("s", "the source")
    ]
    for (name,) in server.query("SELECT name FROM (SHOW SOURCES)"):
        ((_, text),) = server.query(f"SHOW CREATE SOURCE {name}")
        assert "FOR TABLE" not in text
        assert "FOR ALL" not in text
        assert "SUBSOURCE" not in text
    # The same slot: nothing was read anew.
    assert slot == upstream.value(
        "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()"
    )
    server.query("DROP SOURCE s CASCADE")
    eventually(lambda: slots(upstream) == 0, within_s=60)

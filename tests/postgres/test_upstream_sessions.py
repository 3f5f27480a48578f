"""Sessions upstream read all rows, and print them in one way, whatever is the default there.

Method: a role that may lose the right to see all rows while nothing runs here, and one whose every default is
hostile; a database in which texts are any bytes; sessions that are ended by somebody.  A table is what
it is upstream or is not there, with the reason; never a part of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from headwater.core.errors import TransientError
from headwater.sources.contract import Export
from headwater.sources.postgres.frontier import LsnFrontier
from headwater.sources.postgres.inspect import examine, pin
from headwater.sources.postgres.snapshot import PostgresPoint
from tests.postgres.asking import listed, no_secrets
from tests.support.database import Database
from tests.support.faulty import check_running, check_stalled
from tests.support.following import Following, following
from tests.support.server import HeadwaterServer, eventually

HOSTILE = (
    *("search_path = evil, pg_catalog, public", "standard_conforming_strings = off"),
    *("datestyle = 'SQL, DMY'", "intervalstyle = iso_8601", "extra_float_digits = -15"),
    *("bytea_output = escape", "timezone = 'Asia/Tokyo'", "lc_monetary = 'C.UTF-8'"),
    *("quote_all_identifiers = on", "xmlbinary = hex", "xmloption = document", "array_nulls = off"),
    *("transform_null_equals = on", "gin_fuzzy_search_limit = 1"),
    *("default_transaction_isolation = serializable", "default_transaction_read_only = on"),
    *("default_transaction_deferrable = on", "exit_on_error = on", "client_encoding = 'LATIN1'"),
    *("statement_timeout = '1ms'", "lock_timeout = '1ms'", "idle_session_timeout = '5s'"),
    *("idle_in_transaction_session_timeout = '1ms'", "wal_sender_timeout = '1ms'"),
)
VALUES = (
    "timestamptz '2024-06-01 12:00+05:30', date '2024-02-03', interval '1 year 2 days 03:04:05.678',"
    " 0.1::float8 + 0.2, '\\x00ff5c'::bytea, '12345.67'::money, 'public.seen'::regclass,"
    " '<a>ü</a>'::xml, array[NULL, 'a']::text[], '{\"[2024-01-02,2024-02-03)\"}'::daterange[], time '03:04'"
)
COLUMNS = (
    "at timestamptz, day date, span interval, f float8, b bytea, m money, r regclass, x xml, a text[],"
    " d daterange[], t time"
)


@contextmanager
def as_reader(server: HeadwaterServer, database: Database) -> Iterator[Following]:
    """As the role that is not a superuser."""
    here = Following(server, database, database.role)
    try:
        yield here
    finally:
        here.close()


def test_defaults_of_the_role_change_nothing_of_what_is_read(
    server: HeadwaterServer, database: Database
) -> None:
    database.run(
        "CREATE SCHEMA evil",
        "CREATE FUNCTION evil.row_security_active(oid) RETURNS bool LANGUAGE sql AS 'SELECT true'",
        "CREATE ROLE other_" + database.name,
        f"GRANT other_{database.name} TO {database.role}",
        f"CREATE TABLE seen (id int PRIMARY KEY, {COLUMNS})",
        f"INSERT INTO seen SELECT 1, {VALUES}",
        "CREATE PUBLICATION p FOR TABLE seen WHERE ((id = NULL) IS NULL)",
        f"GRANT SELECT ON seen TO {database.role}",
        *(f"ALTER ROLE {database.role} SET {setting}" for setting in HOSTILE),
        f"ALTER ROLE {database.role} SET role = 'other_{database.name}'",
    )
    try:
        with as_reader(server, database) as here:
            here.create_source()
            here.create_table("seen", options="TEXT COLUMNS (m, r, x)")
            assert here.value("SELECT count(*) FROM seen") == 1
            database.run(f"INSERT INTO seen SELECT 2, {VALUES}", "UPDATE seen SET at = at WHERE id = 2")
            here.follows("seen", columns="id")
            by_snapshot, by_stream = here.rows("SELECT * FROM seen ORDER BY id")
            assert by_snapshot[1:] == by_stream[1:]
            assert by_stream[6:9] == ("$12,345.67", "public.seen", "<a>ü</a>")
            assert here.rows("VERIFY TABLE seen")[0][0] == "equal"
    finally:
        database.run(f"DROP ROLE other_{database.name}")


@pytest.mark.parametrize("guarded", ["plain", "leaf"])
def test_rows_that_are_hidden_from_us_are_asked_for_and_never_left_out(
    server: HeadwaterServer, database: Database, guarded: str
) -> None:
    role, pool = database.role, f"still_{database.name}"
    database.run(
        "CREATE TABLE plain (id int PRIMARY KEY)",
        "CREATE TABLE parts (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE leaf PARTITION OF parts FOR VALUES FROM (0) TO (1000)",
        *(f"INSERT INTO {name} SELECT generate_series(1, 100)" for name in ("plain", "parts")),
        f"GRANT SELECT ON plain, parts, leaf TO {role}",
        f"CREATE POLICY half ON {guarded} USING (id <= 50)",
        f"ALTER TABLE {guarded} ENABLE ROW LEVEL SECURITY",
        "CREATE PUBLICATION p FOR TABLE plain, parts WITH (publish_via_partition_root = true)",
    )
    table = "parts" if guarded == "leaf" else "plain"
    with as_reader(server, database) as here:
        here.run(f"CREATE CLUSTER {pool} (SIZE 'small', REPLICATION FACTOR 0)")
        here.run(f"CREATE SOURCE src IN CLUSTER {pool} FROM POSTGRES CONNECTION pg (PUBLICATION 'p')")
        with pytest.raises(psycopg.Error, match="requires BYPASSRLS"):
            here.create_table(table)
        database.run(f"ALTER ROLE {role} BYPASSRLS")
        here.create_table(table)
        database.run(f"ALTER ROLE {role} NOBYPASSRLS")
        here.run(f"ALTER CLUSTER {pool} SET (REPLICATION FACTOR 1)")
        error = check_stalled(here, table, "row-level security")
        assert f'"{guarded}"' in error
        assert any(f'ALTER ROLE "{role}" BYPASSRLS' in hint for hint in here.status_of(table)[2])
        database.run(f"ALTER ROLE {role} BYPASSRLS")
        check_running(here, table)
        assert here.value(f"SELECT count(*) FROM {table}") == 100
        database.run(f"ALTER ROLE {role} NOBYPASSRLS")
        with pytest.raises(psycopg.Error, match="row-level security") as refused:
            here.rows(f"VERIFY TABLE {table}")
        assert "BYPASSRLS" in str(refused.value.diag.message_hint)
        database.run(f"DROP POLICY half ON {guarded}", f"ALTER TABLE {guarded} DISABLE ROW LEVEL SECURITY")
        assert here.rows(f"VERIFY TABLE {table}")[0][0] == "equal"
        here.run("DROP SOURCE src CASCADE", f"DROP CLUSTER {pool}")


def test_bytes_that_are_no_text_are_an_error_of_their_row(
    server: HeadwaterServer, bytes_database: Database
) -> None:
    with following(
        server,
        bytes_database,
        *(
            f"CREATE TABLE {name} (id int PRIMARY KEY, name text, tags text[])"
            for name in ("bad", "later", "good")
        ),
        "INSERT INTO bad VALUES (1, E'caf\\351', '{}'), (2, 'caf\u00e9', NULL)",
        "INSERT INTO good VALUES (1, 'caf\u00e9', '{x}')",
    ) as here:
        for name in ("bad", "later", "good"):
            here.create_table(name)
        here.create_table("partly", "bad", options="EXCLUDE COLUMNS (name)")
        message = here.value_error_of("bad")
        assert 'value "caf\\xe9" of column "name" in row (id)=(1)' in message, message
        with pytest.raises(psycopg.errors.DataException) as told:
            here.rows("SELECT 1 FROM bad")
        assert "TEXT COLUMNS" not in str(told.value.diag.message_hint)  # it is one
        bytes_database.run(
            "INSERT INTO later VALUES (1, 'fine', NULL)",
            "INSERT INTO good VALUES (2, 'tr\u00e8s', NULL)",
            "INSERT INTO later VALUES (2, 'x', ARRAY[E'\\377'])",
            "INSERT INTO bad VALUES (3, E'\\376', '{y}')",
        )
        assert 'value "{\\xff}" of column "tags" in row (id)=(2)' in here.value_error_of("later")
        bytes_database.run("INSERT INTO good VALUES (3, 'after', NULL)")
        here.follows("good")
        here.follows("partly", "bad", columns="id, tags")
        assert here.rows("VERIFY TABLE good")[0][0] == "equal"
        assert here.rows("VERIFY TABLE partly")[0][0] == "equal"
        check_running(here, "src")
        bytes_database.run("UPDATE bad SET name = 'fine'", "DELETE FROM later WHERE id = 2")
        here.follows("bad")
        here.follows("later")


def test_a_session_that_is_ended_while_it_holds_a_snapshot_is_replaced(
    server: HeadwaterServer, database: Database
) -> None:
    with following(
        server,
        database,
        "CREATE TABLE t (id int PRIMARY KEY, long text)",
        "INSERT INTO t SELECT g, repeat(md5(g::text), 20) FROM generate_series(1, 50000) AS g",
    ) as here:
        here.create_table("t")
        ended = (
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name = 'headwater' AND state = 'idle in transaction'"
        )
        for _ in range(2):
            assert eventually(lambda: database.value(ended), within_s=60)
        here.follows("t", columns="id, md5(long)")
        check_running(here, "t")


def test_a_snapshot_whose_session_is_gone_does_not_count(database: Database) -> None:
    """Without its lock the table may be rewritten, and then shows no rows to a snapshot from before."""
    database.run("CREATE TABLE t (id int PRIMARY KEY)", "CREATE PUBLICATION p FOR TABLE t")
    pinned = pin(listed(database)["t"])
    export = Export("u1", pinned.path(), pinned.relation, ("id",), pinned.discipline, pinned=pinned.pinned)
    options = {"connection": database.options(), "publication": "p"}
    options["identity"] = examine(options, no_secrets).facts.identity()
    point = PostgresPoint(options, no_secrets, (export,))
    try:
        point.take(LsnFrontier(0, "", 1), {}, 1000)
        point.held()
        database.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name = 'headwater'"
        )
        with pytest.raises(TransientError, match="terminating connection"):
            point.held()
    finally:
        point.close()

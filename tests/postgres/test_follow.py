"""Tables here become and stay what they are upstream.

Method: a real PostgreSQL and a real server; statements run upstream, and the tables here must come to
have exactly the rows of there, compared as both print them.  `close` also sees that no slot is left.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import count
from urllib.request import urlopen

import psycopg
import pytest

from tests.postgres.writing import THREE, Writer
from tests.support.clients import Follower
from tests.support.database import Database
from tests.support.faulty import check_failed, check_running
from tests.support.following import Following, following
from tests.support.server import HeadwaterServer, eventually

CHANGES = (
    "INSERT INTO t VALUES (1, 'one', 1.5), (2, 'two', NULL), (3, NULL, 0)",
    "UPDATE t SET name = 'uno' WHERE id = 1",
    "UPDATE t SET id = 20 WHERE id = 2",
    "DELETE FROM t WHERE id = 3",
    "BEGIN; INSERT INTO t VALUES (4, 'x', 1); UPDATE t SET name = 'y' WHERE id = 4;"
    " DELETE FROM t WHERE id = 4; INSERT INTO t VALUES (4, 'z', 2); COMMIT",
    "BEGIN; INSERT INTO t VALUES (5, 'never', 1); ROLLBACK",
    "BEGIN; INSERT INTO t VALUES (6, 'kept', 1); SAVEPOINT s; INSERT INTO t VALUES (7, 'lost', 1);"
    " ROLLBACK TO s; COMMIT",
    "UPDATE t SET id = id + 100000",
)
COLUMNS_MAX = 1_600
TABLE = "CREATE TABLE t (id int NOT NULL, name text, amount numeric)"
FILLED = "INSERT INTO t SELECT -g, 'row ' || g, g / 3.0 FROM generate_series(1, 500) AS g"


@pytest.mark.parametrize(
    "identity",
    [
        "ALTER TABLE t ADD PRIMARY KEY (id)",
        "ALTER TABLE t ADD PRIMARY KEY (id); ALTER TABLE t REPLICA IDENTITY FULL",
        "CREATE UNIQUE INDEX i ON t (id); ALTER TABLE t REPLICA IDENTITY USING INDEX i",
        "ALTER TABLE t REPLICA IDENTITY FULL",
    ],
    ids=["default", "full", "index", "keyless"],
)
def test_every_kind_of_change_with_each_identity(
    server: HeadwaterServer, database: Database, identity: str
) -> None:
    with following(server, database, TABLE, identity, FILLED) as here:
        here.create_table("t")
        for statement in CHANGES:
            database.run(statement)
            here.follows("t")


def test_rows_that_are_equal_are_counted(server: HeadwaterServer, database: Database) -> None:
    with following(server, database, TABLE, "ALTER TABLE t REPLICA IDENTITY FULL") as here:
        here.create_table("t")
        database.run("INSERT INTO t SELECT 1, 'same', NULL FROM generate_series(1, 10)")
        here.follows("t")
        database.run("DELETE FROM t WHERE ctid IN (SELECT ctid FROM t LIMIT 3)")
        here.follows("t")
        database.run("UPDATE t SET name = 'other' WHERE ctid IN (SELECT ctid FROM t LIMIT 2)")
        here.follows("t")


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_long_values_that_an_update_leaves_alone_stay(
    server: HeadwaterServer, database: Database, engine: str
) -> None:
    long = "(SELECT string_agg(md5(random()::text), '') FROM generate_series(1, 300))"
    with following(
        server,
        database,
        "CREATE TABLE t (id int PRIMARY KEY, n int, a text, b text)",
        "ALTER TABLE t ALTER a SET STORAGE EXTERNAL, ALTER b SET STORAGE EXTERNAL",
        f"INSERT INTO t SELECT g, 0, {long}, {long} FROM generate_series(1, 5) AS g",
    ) as here:
        here.create_table("t")
        here.run(f"SET read_engine = {engine}")
        here.follows("t")
        database.run("UPDATE t SET n = 1")
        here.follows("t")
        database.run(
            f"BEGIN; INSERT INTO t VALUES (6, 0, {long}, NULL); UPDATE t SET n = 2 WHERE id = 6; COMMIT",
            "UPDATE t SET n = 3, a = NULL WHERE id = 2",
            f"UPDATE t SET b = {long} WHERE id = 3",
            "DELETE FROM t WHERE id = 4",
        )
        here.follows("t")
        database.run(
            "BEGIN; UPDATE t SET id = id + 10; UPDATE t SET id = id - 5, a = 'said' WHERE id = 11;"
            f" UPDATE t SET id = id + 20; INSERT INTO t VALUES (6, 0, {long}, {long}); COMMIT",
            "UPDATE t SET id = 1 WHERE id = 6",
            f"UPDATE t SET id = id + 100, b = {long} WHERE id = 26",
        )
        here.follows("t")


def test_truncation_empties_all_tables_it_names_at_once(server: HeadwaterServer, database: Database) -> None:
    with following(
        server,
        database,
        "CREATE TABLE a (id int PRIMARY KEY)",
        "CREATE TABLE b (id int PRIMARY KEY, of int REFERENCES a)",
        "INSERT INTO a SELECT generate_series(1, 100)",
        "INSERT INTO b SELECT g, g FROM generate_series(1, 100) AS g",
    ) as here:
        here.run("BEGIN")
        here.create_table("a")
        here.create_table("b")
        here.run("COMMIT")
        here.follows("a")
        database.run(
            "BEGIN; INSERT INTO a VALUES (101); TRUNCATE a CASCADE; INSERT INTO a VALUES (7); COMMIT"
        )
        here.follows("a")
        here.follows("b")
        database.run("INSERT INTO b VALUES (1, 7)", "TRUNCATE b", "INSERT INTO b VALUES (2, 7)")
        here.follows("b")


def test_a_transaction_is_never_half_visible_and_tables_join_while_it_goes_on(
    server: HeadwaterServer, database: Database
) -> None:
    with following(server, database, *THREE) as here:
        eventually(lambda: here.rows("SELECT lsn FROM src"), within_s=60)
        writer = Writer(database)
        writer.start()
        try:
            # A transaction that is open while tables join is in none of their snapshots, and in all tables.
            with psycopg.connect(database.server.dsn(database.name)) as old:
                for table in "abc":
                    old.execute(f"INSERT INTO {table} VALUES (-1, 0)")
                for table in "ab":
                    here.create_table(table)
                here.rows("SELECT count(*) FROM a, b WHERE false")
                old.commit()
            here.create_table("c")
            counts = "SELECT (SELECT sum(id) FROM a), (SELECT sum(id) FROM b), (SELECT sum(id) FROM c)"
            seen: set[int] = set()
            while len(seen) < 10:
                ((a, b, c),) = here.rows(counts)
                assert a == b == c
                seen.add(a)
        finally:
            writer.stop()
        for table in "abc":
            here.follows(table)


def test_a_killed_cluster_goes_on_where_it_was(server: HeadwaterServer, database: Database) -> None:
    with following(server, database, *THREE) as here:
        here.create_table("a")
        here.follows("a")
        writer = Writer(database)
        writer.start()
        try:
            for table in "bc":
                here.create_table(table)
                server.kill_cluster()
                behind = f"SELECT max(id) > {database.value('SELECT max(id) FROM a')} FROM a"
                eventually(partial(here.value, behind), within_s=120)
        finally:
            writer.stop()
        for table in "abc":
            here.follows(table)
        assert len(here.slots()) == 1


VALUES = {
    "boolean": ["true", "false", "NULL"],
    "int2": ["-32768", "32767"],
    "int4": ["-2147483648", "2147483647"],
    "int8": ["-9223372036854775808", "9223372036854775807"],
    "float4": ["'NaN'", "'-Infinity'", "1.5e-30", "'-0'"],
    "float8": ["'NaN'", "'Infinity'", "1e-300", "0.1"],
    "numeric": ["'NaN'", "12345678901234567890.123456789", "0.10", "-1e-20", "1e39", "-1e1000", "1e41 + 1"],
    "numeric(50, 2)": ["1e40", "0.25"],
    "numeric(12, 3)": ["1.5", "-123456789.999", "'NaN'"],
    "numeric(6, 2)[]": ["'{1.25,NaN,NULL}'"],
    "text": ["''", "'a''b\\c'", "E'tab\\tline\\n'", "'ünïcödé 🙂'", "NULL"],
    "varchar(5)": ["'abc'", "'abcde'"],
    "char(5)": ["'ab'", "'abcde'"],
    "bytea": ["'\\x00ff'", "''"],
    "date": [
        "'2024-02-29'",
        "'0001-01-01'",
        "'9999-12-31'",
        "'infinity'",
        "'-infinity'",
        "'5874897-12-31'",
        "'4713-01-01 BC'",
    ],
    "time": ["'00:00:00'", "'23:59:59.999999'"],
    "timestamp": [
        "'1999-12-31 23:59:59.999999'",
        "'0001-01-01 00:00:00'",
        "'infinity'",
        "'-infinity'",
        "'294246-12-31 23:59:59.999999'",
        "'4713-01-01 00:00:00 BC'",
    ],
    "timestamptz": ["'2024-06-01 12:00:00+05:30'", "'1900-01-01 00:00:00Z'", "'infinity'", "'-infinity'"],
    "interval": ["'1 year 2 mons 3 days 04:05:06.789'", "'-3 days'", "'0'"],
    "uuid": ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"],
    "json": ['\'{"b": 1, "a": [1, 2, {"c": null}]}\''],
    "jsonb": ['\'{"b": 1.5, "a": [1, "x"]}\'', "'null'", "'\"text\"'", "'[1e400, -1e39]'"],
    "oid": ["4294967295"],
    "int4[]": ["'{}'", "'{1,NULL,3}'"],
    "text[]": ['\'{a,NULL,"q\\"uote","com,ma",""}\''],
    "timestamptz[]": ["'{2024-01-01 00:00:00Z,infinity}'"],
    "timestamptz(3)": ["'infinity'", "'2024-01-01 00:00:00.1236Z'"],
    "int4range": ["'[1,5)'", "'(1,5]'", "'empty'", "'(,)'", "'[3,]'", "NULL"],
    "int8range": ["'[-9223372036854775808,9223372036854775807)'"],
    "numrange": ["'(1.5,2]'", "'[,0]'"],
    "daterange": [
        "'[2024-02-28,2024-02-29]'",
        "'(,2024-01-01)'",
        "'[2024-01-01,infinity]'",
        "'[0044-03-15 BC,)'",
        "'(-infinity,infinity)'",
        "'[infinity,infinity]'",
    ],
    "tsrange": ["'[2024-01-01 00:00:00.5,2024-01-02)'", "'[-infinity,infinity]'"],
    "tstzrange": ["'(2024-01-01 00:00+05,)'", "'[2024-01-01 00:00+05,infinity)'", "'(infinity,)'"],
    "daterange[]": ["'{\"[2024-01-01,2024-02-01)\",empty,NULL}'"],
}


def test_values_of_every_type_are_the_same_by_snapshot_and_by_stream(
    server: HeadwaterServer, database: Database
) -> None:
    columns = ", ".join(f"c{i} {type_}" for i, type_ in enumerate(VALUES))
    rows = [
        f"INSERT INTO t (id, c{i}) VALUES (?, {value})"
        for i, values in enumerate(VALUES.values())
        for value in values
    ]
    numbers = count(1)
    with following(
        server,
        database,
        f"CREATE TABLE t (id int PRIMARY KEY, {columns})",
        *(row.replace("?", str(next(numbers)), 1) for row in rows),
    ) as here:
        here.create_table("t")
        # json is jsonb here: spaces and the order of keys are those of jsonb.
        casts = {"json": "::jsonb::text", "numeric": "", "numeric(12, 3)": "", "numeric(50, 2)": ""}
        shown = ", ".join(f"c{i}{casts.get(type_, '::text')}" for i, type_ in enumerate(VALUES))
        here.follows("t", columns=f"id, {shown}")
        database.run(*(row.replace("?", str(next(numbers)), 1) for row in rows))
        here.follows("t", columns=f"id, {shown}")


def test_types_that_have_no_counterpart_come_as_text(server: HeadwaterServer, database: Database) -> None:
    with following(
        server,
        database,
        "CREATE TYPE mood AS ENUM ('sad', 'happy')",
        "CREATE DOMAIN small AS int CHECK (VALUE < 10)",
        "CREATE TYPE pair AS (a int, b text)",
        "CREATE TABLE t (id int PRIMARY KEY, m mood, d small, i inet, b bit(3), x xml, r int4range, mo money,"
        " tz timetz, p point, ms mood[], c pair)",
        "INSERT INTO t VALUES (1, 'sad', 3, '10.0.0.1/8', B'101', '<a/>', '[1,5)', '12.34', '12:00+02',"
        " '(1,2)', '{sad,happy}', '(1,x)')",
        "INSERT INTO t (id, c) VALUES (11, '(1,)'), (12, '(,)'), (13, NULL)",
    ) as here:
        columns = "m, d, i, b, x, r, mo, tz, p, ms, c"
        here.create_table("t", options="TEXT COLUMNS (i, b, x, r, mo, tz, p, c)")  # enums and domains are
        printed = ", ".join(
            f"CASE WHEN {column} IS DISTINCT FROM NULL THEN format('%s', {column}) END"
            for column in columns.split(", ")
        )
        here.follows("t", upstream=f"id, {printed}")
        database.run(
            "INSERT INTO t VALUES (2, 'happy', 9, '::1', B'000', NULL, 'empty', '-1', '23:59:59-11',"
            " '(0,0)', '{}', '(,y)')",
            "INSERT INTO t (id, c) VALUES (21, '(1,)'), (22, '(,)'), (23, NULL)",
        )
        here.follows("t", upstream=f"id, {printed}")
        assert here.rows("VERIFY TABLE t")[0][0] == "equal"


def test_odd_tables_are_followed(server: HeadwaterServer, database: Database) -> None:
    long = "n" * 63
    with following(
        server,
        database,
        'CREATE TABLE "Quoted ""name" (" id" int PRIMARY KEY, "Ünï.cödé" text, "select" int)',
        f"CREATE TABLE {long} (id int PRIMARY KEY, {'c' * 63} text)",
        "CREATE TABLE generated (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n int,"
        " twice int GENERATED ALWAYS AS (n * 2) STORED)",
        "CREATE TABLE parent (id int PRIMARY KEY, n int)",
        "CREATE TABLE child (PRIMARY KEY (id)) INHERITS (parent)",
        "INSERT INTO parent VALUES (1, 1)",
        "INSERT INTO child VALUES (2, 2)",
        "INSERT INTO generated (n) VALUES (1), (2)",
    ) as here:
        here.create_table('"Quoted ""name"')
        here.create_table(long)
        here.create_table("generated")
        here.notices.clear()
        here.create_table("parent")
        assert here.notices == ["NOTICE: rows of public.child are not rows of public.parent here"]
        here.create_table("child")
        assert len(here.notices) == 1
        database.run(
            'INSERT INTO "Quoted ""name" VALUES (1, \'x\', 2)',
            f"INSERT INTO {long} VALUES (1, 'x')",
            "INSERT INTO generated (n) VALUES (3)",
            "UPDATE generated SET n = 10 WHERE n = 1",
            "UPDATE parent SET n = 5",
        )
        here.follows('"Quoted ""name"')
        here.follows(long)
        here.follows("generated", columns="id, n")
        here.follows("parent", "ONLY parent")
        here.follows("child")


def test_as_many_columns_as_a_table_may_have(server: HeadwaterServer, database: Database) -> None:
    columns = ", ".join(f"c{n} int" for n in range(1, COLUMNS_MAX))
    values = ", ".join(f"g + {n}" for n in range(1, COLUMNS_MAX))
    with following(server, database, f"CREATE TABLE wide (id int PRIMARY KEY, {columns})") as here:
        database.run(f"INSERT INTO wide SELECT g, {values} FROM generate_series(1, 20) AS g")
        here.create_table("wide")
        here.follows("wide")
        database.run(
            f"INSERT INTO wide SELECT g, {values} FROM generate_series(21, 30) AS g",
            f"UPDATE wide SET c{COLUMNS_MAX - 1} = -1, c1 = NULL WHERE id % 3 = 0",
            "DELETE FROM wide WHERE id = 5",
        )
        here.follows("wide")


def test_a_partitioned_table_is_followed_as_one(server: HeadwaterServer, database: Database) -> None:
    database.run(
        "CREATE TABLE parts (id int, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at)",
        "CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM ('2024-01-01') TO ('2024-07-01')",
        "CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM ('2024-07-01') TO ('2025-01-01')",
        "INSERT INTO parts SELECT g, date '2024-01-01' + g FROM generate_series(0, 300) AS g",
        "CREATE PUBLICATION p FOR TABLE parts WITH (publish_via_partition_root = true)",
    )
    here = Following(server, database)
    try:
        here.create_source()
        here.create_table("parts")
        here.follows("parts")
        database.run(
            "UPDATE parts SET at = '2024-12-01' WHERE id = 5",
            "DELETE FROM parts WHERE id = 6",
            "CREATE TABLE parts_3 PARTITION OF parts FOR VALUES FROM ('2025-01-01') TO ('2026-01-01')",
            "INSERT INTO parts VALUES (1000, '2025-05-05')",
        )
        here.follows("parts")
    finally:
        here.close()


def shown_of(here: Following) -> dict[str, bool]:
    """By name: whether all say that it is hydrated, running and less than five seconds behind."""
    prefix = f"materialize.{here.schema}."

    def agreed() -> dict[str, bool]:
        rows = here.rows(
            "SELECT o.name, h.hydrated, l.lag < '5 s', s.status = 'running' FROM mz_objects o"
            " JOIN mz_internal.mz_hydration_statuses h ON h.object_id = o.id"
            " JOIN mz_internal.mz_wallclock_global_lag l ON l.object_id = o.id"
            " JOIN mz_internal.mz_source_statuses s ON s.id = o.id"
            f" JOIN mz_schemas c ON c.id = o.schema_id WHERE c.name = '{here.schema}'"
        )
        with urlopen(f"http://127.0.0.1:{here.server.http_port}/metrics", timeout=10) as page:
            text = page.read().decode()
        found = re.findall(r'^headwater_status\{.*name="([^"]+)".*status="(\w+)".*\} 1', text, re.MULTILINE)
        exposed = {name.removeprefix(prefix): word == "running" for name, word in found if prefix in name}
        shown = {name: hydrated for name, hydrated, *_ in rows}
        assert all(hydrated == near == running for _, hydrated, near, running in rows), rows
        assert exposed == shown
        return shown

    return eventually(agreed, within_s=60.0)


def test_a_changed_table_stops_alone_and_is_replaced_beside_itself(
    server: HeadwaterServer, database: Database
) -> None:
    with following(server, database, *THREE) as here:
        for table in "abc":
            here.create_table(table)
        database.run(*(f"INSERT INTO {table} VALUES (1, 1)" for table in "abc"))
        for table in "abc":
            here.follows(table)
        database.run(
            "ALTER TABLE a ADD COLUMN extra text",
            "INSERT INTO a VALUES (2, 2, 'more')",
            "ALTER TABLE b DROP COLUMN n",
            "INSERT INTO b VALUES (2)",
            "INSERT INTO c VALUES (2, 2)",
        )
        here.follows("a", columns="id, n")
        here.follows("c")
        assert "incompatible schema change: source table b" in here.error_of("b")
        check_failed(here, "b", "incompatible schema change")
        check_running(here, "src")
        assert shown_of(here) == {"src": True, "a": True, "b": False, "c": True}
        here.create_table("a2", "a")
        here.create_table("b2", "b")
        here.follows("a2", "a")
        here.follows("b2", "b")
        here.run("ALTER TABLE a SWAP WITH a2", "DROP TABLE a2")
        here.run("ALTER TABLE b SWAP WITH b2", "DROP TABLE b2")
        database.run("INSERT INTO a VALUES (3, 3, 'still')", "INSERT INTO b VALUES (3)")
        here.follows("a")
        here.follows("b")


def test_what_the_stream_does_not_say_is_found_all_the_same(
    server: HeadwaterServer, database: Database
) -> None:
    database.run(*(f"CREATE TABLE {name} (id int PRIMARY KEY)" for name in "abcd"))
    database.run("CREATE PUBLICATION p FOR TABLE a, b, c, d")
    here = Following(server, database)
    try:
        here.create_source()
        for name in "abcd":
            here.create_table(name)
            here.follows(name)
        database.run("DROP TABLE a", "ALTER TABLE b RENAME TO z", "ALTER PUBLICATION p DROP TABLE c")
        assert "table was dropped" in here.error_of("a")
        assert "has been altered" in here.error_of("b")
        assert "table was dropped" in here.error_of("c")
        database.run("INSERT INTO d VALUES (1)")
        here.follows("d")
    finally:
        here.close()


def test_a_subscription_tells_the_same_changes(server: HeadwaterServer, database: Database) -> None:
    """Truncation, and values that an update leaves as they were, too."""
    long = "(SELECT string_agg(md5(random()::text), '') FROM generate_series(1, 300))"
    with following(
        server,
        database,
        "CREATE TABLE t (id int PRIMARY KEY, n int, a text)",
        "CREATE TABLE u (n int)",
        "ALTER TABLE u REPLICA IDENTITY FULL",
        "ALTER TABLE t ALTER a SET STORAGE EXTERNAL",
        f"INSERT INTO t SELECT g, 0, {long} FROM generate_series(1, 10) AS g",
    ) as here:
        for table in "tu":
            here.create_table(table)
            here.follows(table)
        followers = [Follower(server, f"{here.schema}.{table}") for table in "tu"]
        for follower in followers:
            follower.start()
            eventually(partial(getattr, follower, "complete"))
        for statements in (
            ("UPDATE t SET n = n + 1", "INSERT INTO u VALUES (1), (1), (2)"),
            ("UPDATE t SET id = id + 100; UPDATE t SET id = id - 99", "UPDATE t SET id = -id, n = 5"),
            ("BEGIN; TRUNCATE t, u; INSERT INTO t VALUES (1, 1, 'x'); INSERT INTO u VALUES (1); COMMIT",),
            (f"INSERT INTO t SELECT g, 0, {long} FROM generate_series(5, 9) AS g", "UPDATE t SET n = 7"),
            ("TRUNCATE t", "DELETE FROM u"),
        ):
            database.run(*statements)
            for table in "tu":
                here.follows(table)
        for follower in followers:
            eventually(partial(lambda f: not f.rows, follower))
            follower.stop()
            follower.check_rows(here.session)


def test_a_table_that_another_one_contains_is_made_without_asking_upstream(
    server: HeadwaterServer, database: Database
) -> None:
    with following(server, database, TABLE, "ALTER TABLE t ADD PRIMARY KEY (id)", FILLED) as here:
        here.create_table("t")
        here.follows("t")
        with psycopg.connect(database.server.dsn(database.name)) as locking:
            locking.execute("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
            here.session.execute("SET statement_timeout = '20s'")
            here.run("CREATE TABLE part FROM SOURCE src (REFERENCE t) WITH (EXCLUDE COLUMNS (amount))")
            assert here.value("SELECT count(*) FROM part") == 500
            locking.execute("UPDATE t SET name = 'changed' WHERE id = -1")
        here.follows("part", "t", columns="id, name")


def test_statistics_and_progress_are_shown(server: HeadwaterServer, database: Database) -> None:
    with following(server, database, TABLE, "ALTER TABLE t ADD PRIMARY KEY (id)", FILLED) as here:
        here.create_table("t")
        here.follows("t")
        statistics = (
            "SELECT s.snapshot_records_known::int8, s.snapshot_records_staged::int8, s.snapshot_committed,"
            " s.updates_committed::int8 FROM mz_internal.mz_source_statistics s"
            " JOIN mz_tables t ON t.id = s.id"
            f" JOIN mz_schemas c ON c.id = t.schema_id WHERE t.name = 't' AND c.name = '{here.schema}'"
        )

        def complete() -> bool:
            assert here.rows(statistics) == [(500, 500, True, 500)]
            return True

        eventually(complete)
        before = here.value("SELECT lsn::int8 FROM src")
        database.run("INSERT INTO t VALUES (1, 'x', 1)")
        eventually(lambda: here.value("SELECT lsn::int8 FROM src") > before)
        ((status,),) = here.rows(
            "SELECT status FROM mz_internal.mz_source_statuses s JOIN mz_schemas c ON true"
            f" JOIN mz_sources o ON o.id = s.id AND o.schema_id = c.id WHERE c.name = '{here.schema}'"
        )
        assert status == "running"
        here.run("ALTER SOURCE src RESYNC")

        def again() -> bool:
            assert [row[:3] for row in here.rows(statistics)] == [(501, 501, True)]
            return True

        eventually(again)

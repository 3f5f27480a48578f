"""Values at the ends of their types: rows here are those there, on both engines, in keys and through folds.

Method: what Python has no value for is compared as text, as PostgreSQL prints it.
"""

from __future__ import annotations

from tests.support.database import Database
from tests.support.following import following
from tests.support.server import HeadwaterServer

INFINITE = "('infinity', '-infinity', '[2024-01-01,infinity)', 1)"


def test_infinite_dates_are_keys_and_values_like_others(server: HeadwaterServer, database: Database) -> None:
    with following(
        server,
        database,
        "CREATE TABLE k (at timestamptz, day date, span tstzrange, n int, PRIMARY KEY (at, day))",
        "CREATE TABLE u (at timestamptz, day date, span tstzrange, n int)",
        "ALTER TABLE u REPLICA IDENTITY FULL",
        *(f"INSERT INTO {table} VALUES {INFINITE}, ('2024-01-01', 'infinity', 'empty', 2)" for table in "ku"),
    ) as here:
        for table in "ku":
            here.create_table(table)
        shown = "at::text, day::text, span::text, n"
        for change in (
            "INSERT INTO {} VALUES ('-infinity', 'infinity', '(-infinity,infinity]', 3)",
            "INSERT INTO {} VALUES ('infinity', 'infinity')",
            "UPDATE {} SET n = 4 WHERE at = 'infinity'",
            "UPDATE {} SET day = '-infinity' WHERE day = 'infinity' AND isfinite(at)",
            "DELETE FROM {} WHERE at = '-infinity'",
        ):
            database.run(*(change.format(table) for table in "ku"))
        for table in "ku":
            for engine in ("duckdb", "spark"):
                here.run(f"SET read_engine = {engine}")
                here.follows(table, columns=shown)
                assert here.rows(f"SELECT n FROM {table} WHERE isfinite(at) ORDER BY day, n") == [(2,)]
                assert here.rows(f"SELECT max(at)::text, min(day)::text FROM {table}") == [
                    ("infinity", "-infinity")
                ]
            ((result, _, _),) = here.rows(f"VERIFY TABLE {table}")
            assert result == "equal"


def test_numerics_of_any_length_come_by_snapshot_and_stream(
    server: HeadwaterServer, database: Database
) -> None:
    longest = "repeat('9', 131072)::numeric"
    with following(
        server,
        database,
        "CREATE TABLE wide (id int PRIMARY KEY, n numeric, x int)",
        f"INSERT INTO wide VALUES (1, 1.5, 1), (2, {longest}, 2), (3, -{longest}, 3)",
        "INSERT INTO wide VALUES (4, repeat('9', 131069)::numeric, 4), (5, repeat('1', 131068)::numeric, 5)",
    ) as here:
        here.create_table("wide")
        columns = "id, md5(n::text), length(n::text), x"
        here.follows("wide", columns=columns)
        database.run(f"INSERT INTO wide VALUES (6, {longest}, 6)", "UPDATE wide SET n = n - 1 WHERE id = 2")
        here.follows("wide", columns=columns)
        assert here.rows("VERIFY TABLE wide")[0][0] == "equal"

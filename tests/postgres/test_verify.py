"""VERIFY TABLE says whether a table is what it is upstream, and which rows are not.

Method: tables that are equal, also while they are written to; then tables of a publication that publishes no
changes at all, so that they differ by what happened since, which must be named.
"""

from __future__ import annotations

import psycopg
import pytest

from tests.postgres.writing import THREE, Writer
from tests.support.database import Database
from tests.support.following import Following, following
from tests.support.server import HeadwaterServer

KEYLESS = ("CREATE TABLE u (n int, name text)", "ALTER TABLE u REPLICA IDENTITY FULL")


def test_tables_that_are_written_to_are_equal(server: HeadwaterServer, database: Database) -> None:
    with following(server, database, *THREE, *KEYLESS, "INSERT INTO u VALUES (1, 'x'), (1, 'x')") as here:
        for table in "abcu":
            here.create_table(table)
            here.follows(table)
        writer = Writer(database)
        writer.start()
        try:
            for table in "au":
                ((result, key, row),) = here.rows(f"VERIFY TABLE {table}")
                assert (result, key) == ("equal", None)
                assert row.split(" ")[1:4] == ["rows", "as", "of"]
        finally:
            writer.stop()


def test_rows_that_differ_are_named(server: HeadwaterServer, database: Database) -> None:
    database.run(*THREE, *KEYLESS, "INSERT INTO a SELECT g, g FROM generate_series(1, 1000) AS g")
    database.run("INSERT INTO u VALUES (1, 'x'), (1, 'x'), (2, NULL)")
    database.run("CREATE PUBLICATION p FOR TABLE a, u WITH (publish = '')")
    here = Following(server, database)
    try:
        here.create_source()
        for table in "au":
            here.create_table(table)
            here.follows(table)
        database.run(
            "UPDATE a SET n = -1 WHERE id = 500",
            "DELETE FROM a WHERE id = 700",
            "INSERT INTO a VALUES (2000, 1)",
            "DELETE FROM u WHERE ctid = (SELECT min(ctid) FROM u)",
        )
        found = here.rows("VERIFY TABLE a")
        assert sorted((result, key) for result, key, _ in found) == [
            ("missing", "(2000)"),
            ("missing", "(500)"),
            ("unexpected", "(500)"),
            ("unexpected", "(700)"),
        ]
        ((result, _, row),) = here.rows("VERIFY TABLE u")
        assert (result, row) == ("unexpected", "(1, x)")
        # As its hint says.  The source runs all the time, and who reads right behind gets no old rows.
        here.run("ALTER SOURCE src RESYNC")
        assert here.rows("SELECT count(*), min(n), max(id) FROM a") == [(1000, -1, 2000)]
        assert here.rows("SELECT * FROM u ORDER BY n") == [(1, "x"), (2, None)]
        assert [here.rows(f"VERIFY TABLE {table}")[0][0] for table in "au"] == ["equal"] * 2
    finally:
        here.close()


def test_only_tables_of_sources_can_be_verified(server: HeadwaterServer, database: Database) -> None:
    with following(server, database, *THREE) as here:
        here.run("CREATE TABLE plain (n int)")
        with pytest.raises(psycopg.Error, match="has no upstream to compare it with"):
            here.run("VERIFY TABLE plain")
        with pytest.raises(psycopg.Error, match="src is a source not a table"):
            here.run("VERIFY TABLE src")

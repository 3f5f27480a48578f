"""NaN and -0 upstream: rows here are those there, spelled as there, on both engines.

Method: a table without a key, where rows are matched as wholes, and one whose key is a float; both get every
odd value by the snapshot and by the stream.  The snapshot is read in binary and the stream in text, which
must come to the same rows.
"""

from __future__ import annotations

import pytest

from tests.support.database import Database
from tests.support.following import following
from tests.support.server import HeadwaterServer

ODD = "('NaN'::float8), ('-0'), (0), (1), ('-Infinity')"


@pytest.mark.timeout(300)
def test_rows_with_odd_floats_are_matched_and_shown_as_upstream(
    server: HeadwaterServer, database: Database
) -> None:
    with following(
        server,
        database,
        "CREATE TABLE free (f float8, g real, a float8[])",
        "ALTER TABLE free REPLICA IDENTITY FULL",
        "CREATE TABLE keyed (k float8 PRIMARY KEY, _nth int, long text)",
        "ALTER TABLE keyed ALTER long SET STORAGE EXTERNAL",
        f"INSERT INTO free SELECT x, x, ARRAY[x, NULL] FROM (VALUES {ODD}, ('NaN'), ('-0')) AS v(x)",
        "INSERT INTO free SELECT -'NaN'::float8, -'NaN'::real, ARRAY[-'NaN'::float8]",
        "INSERT INTO keyed SELECT x, 0, repeat('long', 999) FROM (VALUES ('NaN'::float8), (0), (1)) AS v(x)",
    ) as here:
        here.create_table("free")
        here.create_table("keyed")
        here.follows("free")
        for changes in (
            (f"INSERT INTO free SELECT x, x, ARRAY[-x] FROM (VALUES {ODD}) AS v(x)",),
            (
                "UPDATE free SET f = -f, g = -g WHERE a[1] = 0",
                "UPDATE keyed SET k = -k, long = repeat('other', 999) WHERE k = 0",
            ),
            ("DELETE FROM free WHERE f::text = '-0'", "DELETE FROM keyed WHERE k = 'NaN'"),
            (
                "INSERT INTO keyed VALUES ('NaN', 2, 'x')",
                "UPDATE free SET a = ARRAY[-a[1]] WHERE f = 0",
                "DELETE FROM free WHERE f = 'NaN' AND a[2] IS NULL",
                "UPDATE keyed SET _nth = 7 WHERE k = 0",
            ),
        ):
            database.run(*changes)
            for engine in ("duckdb", "spark"):
                here.run(f"SET read_engine = {engine}")
                here.follows("free")
                here.follows("keyed")
        assert [row[0] for row in here.rows("VERIFY TABLE free")] == ["equal"]
        assert [row[0] for row in here.rows("VERIFY TABLE keyed")] == ["equal"]

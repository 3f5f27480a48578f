"""Arrays of any shape: rows here are those there, by snapshot and by stream, in keys and without one.

Method: what is compared is text, as PostgreSQL prints it, on both engines.
"""

from __future__ import annotations

from tests.support.database import Database
from tests.support.following import following
from tests.support.server import HeadwaterServer

ROWS = """
    (1, '{{1,2},{3,NULL}}', '{{a,"b c"},{NULL,"x,y"}}', '{{2024-01-01},{infinity}}'),
    (2, '[0:1]={1,2}', '[-1:0][5:5]={{a},{b}}', '[0:0]={-infinity}'),
    (3, '{1,2}', '{a,b}', '{}'),
    (4, '{{1,2}}', NULL, '{{{2024-01-01}}}')
"""
COLUMNS = "n int, a int[], t text[], d date[]"
SHOWN = "n, a::text, t::text, d::text"


def test_arrays_of_any_shape_are_followed(server: HeadwaterServer, database: Database) -> None:
    with following(
        server,
        database,
        f"CREATE TABLE keyed ({COLUMNS}, PRIMARY KEY (n))",
        f"CREATE TABLE by_array ({COLUMNS}, PRIMARY KEY (a))",
        f"CREATE TABLE bag ({COLUMNS})",
        "ALTER TABLE bag REPLICA IDENTITY FULL",
        *(f"INSERT INTO {table} VALUES {ROWS}" for table in ("keyed", "by_array", "bag")),
        f"INSERT INTO bag VALUES {ROWS}",
    ) as here:
        tables = ("keyed", "by_array", "bag")
        for table in tables:
            here.create_table(table)
            here.follows(table, columns=SHOWN)
        for change in (
            "INSERT INTO {} VALUES (5, '{{{{1}},{{2}}}}', '[2:2]={{z}}', NULL)",
            "INSERT INTO {} VALUES (6, '[1:2][0:0]={{{{1}},{{2}}}}', '{{}}', '{{}}')",
            "UPDATE {} SET n = 7 WHERE a = '[0:1]={{1,2}}'",
            "UPDATE {} SET a = '[3:4]={{1,2}}' WHERE a = '{{1,2}}'",
            "UPDATE {} SET t = a::text[] WHERE a = '{{{{1,2}}}}'",
            "DELETE FROM {} WHERE a = '{{{{1,2}},{{3,NULL}}}}'",
        ):
            database.run(*(change.format(table) for table in tables))
        database.run("DELETE FROM bag WHERE ctid = (SELECT min(ctid) FROM bag WHERE a = '[0:1]={1,2}')")
        for table in tables:
            for engine in ("duckdb", "spark"):
                here.run(f"SET read_engine = {engine}")
                here.follows(table, columns=SHOWN)
                assert here.rows(f"SELECT DISTINCT n FROM {table} WHERE a[1][1] = 1 ORDER BY 1") == [
                    (4,),
                    (5,),
                ]
            ((result, _, _),) = here.rows(f"VERIFY TABLE {table}")
            assert result == "equal"

"""Rows change their keys while long values are not sent again, and nothing of them is lost.

Method: a writer goes on upstream all the time: rows get other keys, often twice in a transaction, keys of
rows that went are taken by others, and long values are rarely said.  Meanwhile a table is made, filled and
widened here; in the end it is what it is upstream.
"""

from __future__ import annotations

from tests.support.database import Database
from tests.support.following import following
from tests.support.repeated import Writer, wait_turns
from tests.support.server import HeadwaterServer

LONG = (
    "CREATE FUNCTION long() RETURNS text VOLATILE LANGUAGE sql AS"
    " $$SELECT string_agg(md5(random()::text), '') FROM generate_series(1, 80)$$"
)


class Moving(Writer):
    """Gives rows other keys; of 60 rows, each in its own ten thousand."""

    pace_s = 0.02

    def turn(self) -> None:
        n = self.turns % 9
        with self.connection.transaction():
            self.connection.execute("UPDATE t SET id = id + 3 WHERE id %% 10 = %s", (n,))
            self.connection.execute(
                "UPDATE t SET n = n + 1, id = id - 2 WHERE id %% 10 = %s", ((n + 3) % 10,)
            )
            self.connection.execute("UPDATE t SET a = long() WHERE id %% 31 = %s", (n,))
            self.connection.execute(
                "WITH gone AS (DELETE FROM t WHERE id %% 37 = %s RETURNING *)"
                " INSERT INTO t SELECT id + 1, n, b, a, c FROM gone",
                (n,),
            )


def test_long_values_come_along_while_a_table_is_made_and_widened(
    server: HeadwaterServer, database: Database
) -> None:
    with following(
        server,
        database,
        LONG,
        "CREATE TABLE t (id int PRIMARY KEY, n int, a text, b text, c text)",
        "ALTER TABLE t ALTER a SET STORAGE EXTERNAL, ALTER b SET STORAGE EXTERNAL",
        "ALTER TABLE t ALTER c SET STORAGE EXTERNAL",
        "INSERT INTO t SELECT g * 10000, 0, long(), long(), long() FROM generate_series(1, 60) AS g",
    ) as here:
        with Moving(database) as writer:
            wait_turns([writer])
            here.create_table("t", options="EXCLUDE COLUMNS (c)")
            here.rows("SELECT count(*) FROM t")
            wait_turns([writer], 20)
            here.run("ALTER TABLE t ADD COLUMN c")
            wait_turns([writer], 10)
        here.follows("t")
        assert here.rows("VERIFY TABLE t")[0][0] == "equal"

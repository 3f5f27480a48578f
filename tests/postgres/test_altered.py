"""A table that is altered upstream and not written to again: its old rows are not shown beside newer ones.

Method: after the statement a row is written to another table.  Both are read at one timestamp, again and
again: until the row shows nothing is known, and as soon as it does the altered table must say so.
"""

from __future__ import annotations

import psycopg
import pytest

from tests.support.database import Database
from tests.support.following import Following, following
from tests.support.here import EQUAL_S_MAX
from tests.support.server import HeadwaterServer, eventually

ALTERED = [
    (
        "BEGIN; ALTER TABLE t DROP COLUMN v; ALTER TABLE t ADD COLUMN v text DEFAULT 'new'; COMMIT",
        "column v was dropped",
    ),
    (
        "BEGIN; ALTER TABLE t RENAME v TO x; ALTER TABLE t RENAME w TO v; ALTER TABLE t RENAME x TO w;"
        " COMMIT",
        "column v is called w now",
    ),
    ("ALTER TABLE t RENAME v TO x", "column v is called x now"),
    ("BEGIN; DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, v text, w text); COMMIT", "table was dropped"),
    ("DROP TABLE t", "table was dropped"),
    (
        "BEGIN; ALTER TABLE t RENAME TO t_old; CREATE TABLE t (id int PRIMARY KEY, v text, w text); COMMIT",
        "it is called public.t_old now",
    ),
    ("CREATE SCHEMA elsewhere; ALTER TABLE t SET SCHEMA elsewhere", "it is called elsewhere.t now"),
    ("ALTER SCHEMA public RENAME TO private; SET search_path = private", "it is called private.t now"),
    ("ALTER TABLE t DROP CONSTRAINT t_pkey", "its key (id) was dropped"),
]


@pytest.mark.parametrize(("statements", "why"), ALTERED)
def test_rows_of_before_are_not_shown_beside_what_came_after(
    server: HeadwaterServer, database: Database, statements: str, why: str
) -> None:
    """No change of the table follows, so the stream never says a word of it."""
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, v text, w text)",
        "CREATE TABLE other (id int PRIMARY KEY)",
        "INSERT INTO t VALUES (1, 'old', 'w')",
    )
    with following(server, database) as here:
        for name in ("t", "other"):
            here.create_table(name)
            here.follows(name)
        database.run(*(text.strip() for text in statements.split(";")), "INSERT INTO other VALUES (1)")
        both = "SELECT t.id, t.v FROM other LEFT JOIN t ON true"

        def ended() -> str:
            try:
                found = here.rows(both)
            except psycopg.errors.InternalError_ as error:
                return str(error.diag.message_primary)
            if found:
                raise RuntimeError(f"{found} was shown after it had been altered")
            return ""

        assert why in eventually(ended, within_s=EQUAL_S_MAX)


def test_a_table_that_goes_before_it_was_read_does_not_wait_for_ever(
    server: HeadwaterServer, database: Database
) -> None:
    database.run("CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE other (id int PRIMARY KEY)")
    database.run("CREATE PUBLICATION p FOR ALL TABLES")
    here = Following(server, database)
    pool = f"pool_{database.name}"
    try:
        here.run(f"CREATE CLUSTER {pool} (SIZE 'small', REPLICATION FACTOR 0)")
        here.run(f"CREATE SOURCE src IN CLUSTER {pool} FROM POSTGRES CONNECTION pg (PUBLICATION 'p')")
        for name in ("t", "other"):
            here.create_table(name)
        database.run("DROP TABLE t", "INSERT INTO other VALUES (1)")
        here.run(f"ALTER CLUSTER {pool} SET (REPLICATION FACTOR 1)")
        here.follows("other")
        assert "table was dropped" in here.error_of("t")
    finally:
        here.close()
        here.server.query(f"DROP CLUSTER {pool}")


def test_a_table_that_is_gone_stays_ended_when_its_source_begins_anew(
    server: HeadwaterServer, database: Database
) -> None:
    database.run("CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE other (id int PRIMARY KEY)")
    with following(server, database) as here:
        for name in ("t", "other"):
            here.create_table(name)
            here.follows(name)
        database.run("DROP TABLE t")
        assert "table was dropped" in here.error_of("t")
        here.run("ALTER SOURCE src RESYNC")
        database.run("INSERT INTO other VALUES (1)")
        here.follows("other")
        assert "table was dropped" in here.error_of("t")

"""What a publication leaves out of the stream for a while is noticed, and no table goes on without it.

Method: tables that are followed, of publications of each kind; something takes one of them out and puts it
back, faster than anybody looks or while nobody does, with a change in between.  That table ends with the
reason, the others go on, and a table that is made again has all rows.
"""

from __future__ import annotations

from tests.postgres.conftest import Database
from tests.postgres.following import Following, following
from tests.support.server import HeadwaterServer

ALL = "insert, update, delete, truncate"
FOUR = tuple(f"CREATE TABLE {name} (id int PRIMARY KEY, n int)" for name in "abcd")


def followed(here: Following, *names: str) -> None:
    for name in names:
        here.create_table(name)
    for name in names:
        here.follows(name)


def test_a_table_that_was_out_of_its_publication_ends_and_is_replaced(
    server: HeadwaterServer, database: Database
) -> None:
    database.run(*FOUR, "INSERT INTO a VALUES (1, 1)", "CREATE PUBLICATION p FOR TABLE a, b, c")
    here = Following(server, database)
    try:
        here.create_source()
        followed(here, "a", "b", "c")
        database.run(
            "ALTER PUBLICATION p DROP TABLE a; INSERT INTO a VALUES (2, 2); ALTER PUBLICATION p ADD TABLE a",
            "ALTER PUBLICATION p ADD TABLE d",
            "INSERT INTO a VALUES (3, 3)",
            "INSERT INTO b VALUES (1, 1)",
        )
        assert 'taken out of publication "p" and added again' in here.error_of("a")
        here.follows("b")
        here.create_table("a2", "a")
        here.follows("a2", "a")
        database.run(
            "VACUUM FULL b", "TRUNCATE c", "INSERT INTO c VALUES (1, 1)", "INSERT INTO b VALUES (2, 2)"
        )
        here.follows("b")
        here.follows("c")
        # While nobody looks.
        server.kill_cluster()
        database.run(
            "ALTER PUBLICATION p DROP TABLE b",
            "INSERT INTO b VALUES (3, 3)",
            "ALTER PUBLICATION p ADD TABLE b",
            "INSERT INTO c VALUES (2, 2)",
        )
        assert "taken out" in here.error_of("b")
        here.follows("c")
        here.follows("a2", "a")
        # Nothing more is said of the table by the stream.
        database.run(
            "ALTER PUBLICATION p SET (publish = 'insert')",
            "DELETE FROM a WHERE id = 1",
            f"ALTER PUBLICATION p SET (publish = '{ALL}')",
        )
        for name in ("a2", "c"):
            assert 'publication "p" was altered' in here.error_of(name)
        here.create_table("a3", "a")
        here.follows("a3", "a")
    finally:
        here.close()


def test_a_table_that_was_unlogged_ends_and_one_that_was_written_anew_does_not(
    server: HeadwaterServer, database: Database
) -> None:
    filled = tuple(f"INSERT INTO {name} SELECT g, g FROM generate_series(1, 100) AS g" for name in "abcd")
    with following(server, database, *FOUR, *filled) as here:
        followed(here, *"abcd")
        database.run(
            "ALTER TABLE a SET UNLOGGED",
            "INSERT INTO a VALUES (101, 1)",
            "ALTER TABLE a SET LOGGED",
            "VACUUM FULL b",
            "INSERT INTO b VALUES (101, 1)",
            "TRUNCATE c",
            "BEGIN; TRUNCATE d; INSERT INTO d VALUES (1, 1); COMMIT",
            "INSERT INTO c VALUES (1, 1)",
        )
        assert "UNLOGGED" in here.error_of("a")
        for name in "bcd":
            here.follows(name)
        server.kill_cluster()
        database.run(
            *("ALTER TABLE c SET UNLOGGED", "DELETE FROM c", "ALTER TABLE c SET LOGGED"),
            *("VACUUM FULL b", "CLUSTER d USING d_pkey", "GRANT SELECT ON d TO PUBLIC"),
            *("INSERT INTO b VALUES (102, 1)", "INSERT INTO d VALUES (2, 2)"),
        )
        assert "UNLOGGED" in here.error_of("c")
        here.create_table("a2", "a")
        for name in "bd":
            here.follows(name)
            assert here.rows(f"VERIFY TABLE {name}")[0][0] == "equal"
        here.follows("a2", "a")


def test_a_publication_that_was_made_again_is_told_of(server: HeadwaterServer, database: Database) -> None:
    with following(server, database, *FOUR) as here:
        followed(here, "a")
        database.run(
            "BEGIN; DROP PUBLICATION p; INSERT INTO a VALUES (1, 1); COMMIT",
            "CREATE PUBLICATION p FOR ALL TABLES",
        )
        assert 'publication "p"' in here.error_of("a")

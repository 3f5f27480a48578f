"""What a publication leaves out of the stream for a while is noticed, and no table goes on without it.

Method: tables that are followed, of publications of each kind; something takes one of them out and puts it
back, faster than anybody looks or while nobody does, with a change in between.  That table is read again,
and the others go on.
"""

from __future__ import annotations

from tests.support.database import Database
from tests.support.following import Following, following
from tests.support.server import HeadwaterServer

ALL = "insert, update, delete, truncate"
FOUR = tuple(f"CREATE TABLE {name} (id int PRIMARY KEY, n int)" for name in "abcd")


def followed(here: Following, *names: str) -> None:
    for name in names:
        here.create_table(name)
    for name in names:
        here.follows(name)


def test_a_table_that_was_out_of_its_publication_is_read_again(
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
        here.read_again("a", 'taken out of publication "p" and added again')
        here.follows("a")
        here.follows("b")
        assert here.rows("VERIFY TABLE a")[0][0] == "equal"
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
        here.read_again("b", "taken out")
        for name in "abc":
            here.follows(name)
        # Nothing more is said of the table by the stream.
        database.run("ALTER PUBLICATION p SET (publish = 'insert')", "DELETE FROM a WHERE id = 1")
        for name in "ac":
            here.read_again(name, 'publication "p" was altered')
        here.read_again("a", 'publication "p" does not publish update, delete, truncate any more')
        database.run(f"ALTER PUBLICATION p SET (publish = '{ALL}')")
        for name in "abc":
            here.follows(name)
    finally:
        here.close()


def test_a_table_that_was_unlogged_is_read_again_and_one_that_was_written_anew_is_not(
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
        here.read_again("a", "UNLOGGED")
        for name in "abcd":
            here.follows(name)
        server.kill_cluster()
        database.run(
            *("ALTER TABLE c SET UNLOGGED", "DELETE FROM c", "ALTER TABLE c SET LOGGED"),
            *("VACUUM FULL b", "CLUSTER d USING d_pkey", "GRANT SELECT ON d TO PUBLIC"),
            *("INSERT INTO b VALUES (102, 1)", "INSERT INTO d VALUES (2, 2)"),
        )
        here.read_again("c", "UNLOGGED")
        for name in "abcd":
            here.follows(name)
            assert here.rows(f"VERIFY TABLE {name}")[0][0] == "equal"
        database.run("ALTER TABLE a SET UNLOGGED", "INSERT INTO a VALUES (102, 1)")
        here.read_again("a", "a is UNLOGGED, and its changes cannot be followed")
        database.run("ALTER TABLE a SET LOGGED", "INSERT INTO a VALUES (103, 1)")
        here.follows("a")


def test_a_publication_that_was_made_again_needs_a_resync(
    server: HeadwaterServer, database: Database
) -> None:
    with following(server, database, *FOUR) as here:
        followed(here, "a")
        database.run(
            "BEGIN; DROP PUBLICATION p; INSERT INTO a VALUES (1, 1); COMMIT",
            "CREATE PUBLICATION p FOR ALL TABLES",
        )
        assert 'publication "p" does not exist' in here.error_of("a")
        here.run("ALTER SOURCE src RESYNC")
        here.follows("a")

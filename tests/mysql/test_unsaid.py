"""Rows that are others after a statement, and no change of a row in the log says so.

Method: a real MySQL and a real MariaDB, and a real server; one statement runs upstream, and the tables it
touched must come to have exactly the rows of there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.mysql.database import Database
from tests.mysql.following import Following, following
from tests.mysql.randomized import Far
from tests.support.mysql import MysqlServer
from tests.support.server import HeadwaterServer

COLUMNS = "(id int PRIMARY KEY, a varchar(20))"
PARTED = f"CREATE TABLE parted {COLUMNS} PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (10))"


@pytest.fixture
def of_mariadb(mariadb: MysqlServer) -> Iterator[Database]:
    made = Database(mariadb)
    yield made
    made.close()


@pytest.fixture
def far(upstream: MysqlServer) -> Iterator[Far]:
    with closing(Far(upstream)) as made, closing(made.proxy):
        yield made


def followed(here: Following, *names: str) -> None:
    for name in names:
        here.create_table(name)
    for name in names:
        here.follows(name)


AWAY = {
    # Under another name, and back, beside something else that is altered
    "renamed": (
        "(id int PRIMARY KEY, a varchar(20), KEY i (a))",
        "ALTER TABLE renamed RENAME INDEX i TO j, RENAME TO another",
        "INSERT INTO another VALUES (7, 'written there')",
        "ALTER TABLE another RENAME INDEX j TO i, RENAME = renamed",
    ),
    # What a column is generated from becomes another number, and is not taken
    "made": (
        "(id decimal(5,2), g double AS (id * 1) STORED, a varchar(20))",
        "SET SESSION sql_mode = ''",
        "ALTER TABLE made MODIFY id int",
    ),
    # Rows that are alike in the key for a while
    "lifted": (
        "(id int PRIMARY KEY, a varchar(20))",
        "ALTER TABLE lifted DROP PRIMARY KEY",
        "INSERT INTO lifted VALUES (1, 'another')",
        "DELETE FROM lifted WHERE a = 'one'",
        "ALTER TABLE lifted ADD PRIMARY KEY (id)",
    ),
    "loose": (
        "(id int NOT NULL, a varchar(20), UNIQUE KEY k (id))",
        "DROP INDEX k ON loose",
        "INSERT INTO loose VALUES (1, 'another')",
        "DELETE FROM loose WHERE a = 'one'",
        "CREATE UNIQUE INDEX k ON loose (id)",
    ),
    # A key has no NULLs
    "keyed": (
        "(id int, n int, a varchar(20))",
        "SET SESSION sql_mode = ''",
        "ALTER TABLE keyed ADD PRIMARY KEY (n)",
    ),
}


def test_what_was_altered_while_nobody_read_the_log_is_followed(server: HeadwaterServer, far: Far) -> None:
    tables = [f"CREATE TABLE {name} {columns}" for name, (columns, *_) in AWAY.items()]
    filled = [
        "INSERT INTO renamed VALUES (1, 'one')",
        "INSERT INTO made (id, a) VALUES (1.5, 'one')",
        "INSERT INTO keyed VALUES (1, NULL, 'one')",
        "INSERT INTO lifted VALUES (1, 'one')",
        "INSERT INTO loose VALUES (1, 'one')",
    ]
    with following(server, far, *tables, *filled) as here:
        for name in AWAY:
            here.create_table(name, options="EXCLUDE COLUMNS (id)" if name == "made" else "")
        for name in AWAY:
            here.follows(name, columns="g, a" if name == "made" else "*")
        far.proxy.refuse()
        for name, (_, *statements) in AWAY.items():
            if name == "keyed" and far.server.flavour == "mysql":
                continue  # which refuses it
            far.run(*statements)
        far.run("SET SESSION sql_mode = DEFAULT")
        far.proxy.accept()
        for name in AWAY:
            here.follows(name, columns="g, a" if name == "made" else "*")


def test_a_table_that_changes_places_with_a_partition_has_its_rows(
    server: HeadwaterServer, database: Database
) -> None:
    filled = ("INSERT INTO parted VALUES (1, 'in')", "INSERT INTO beside VALUES (2, 'out')")
    with following(server, database, PARTED, f"CREATE TABLE beside {COLUMNS}", *filled) as here:
        followed(here, "parted", "beside")
        database.run("ALTER TABLE parted EXCHANGE PARTITION p WITH TABLE beside")
        here.follows("parted")
        here.follows("beside")


def test_loaded_files_are_noticed_where_the_log_has_the_statement(
    server: HeadwaterServer, database: Database
) -> None:
    with following(server, database, f"CREATE TABLE t {COLUMNS}") as here:
        followed(here, "t")
        database.run(
            f"SELECT 1, 'loaded' INTO OUTFILE './{database.name}.txt'",
            "SET SESSION binlog_format = STATEMENT",
            f"LOAD DATA INFILE './{database.name}.txt' INTO TABLE t",
            "SET SESSION binlog_format = ROW",
        )
        here.read_again("t", "rows may have been changed by a statement")
        here.follows("t")


def test_rows_of_zeros_below_zero_go_when_they_are_deleted(
    server: HeadwaterServer, database: Database
) -> None:
    table = ("CREATE TABLE zeros (f float)", "INSERT INTO zeros VALUES (-0e0), (-0e0), (0)")
    with following(server, database, *table) as here:
        followed(here, "zeros")
        database.run("DELETE FROM zeros LIMIT 2")
        here.follows("zeros")


def test_tables_may_be_called_anything(server: HeadwaterServer, database: Database) -> None:
    with following(server, database, f"CREATE TABLE `a{{b}}%s` {COLUMNS}") as here:
        here.run(f'CREATE TABLE odd FROM SOURCE src (REFERENCE {database.name}."a{{b}}%s")')
        database.run("INSERT INTO `a{b}%s` VALUES (1, 'first')", "ALTER TABLE `a{b}%s` ADD COLUMN c int")
        here.follows("odd", "`a{b}%s`", columns="id, a")


HIDDEN = (
    ("SET SESSION sql_log_bin = 0", "UPDATE t SET a = 'unseen' WHERE id = 1", "SET SESSION sql_log_bin = 1"),
    ("DELETE FROM parent WHERE id = 2",),
)


def test_what_is_not_in_the_log_is_found_by_comparing(server: HeadwaterServer, database: Database) -> None:
    tables = (
        "CREATE TABLE parent (id int PRIMARY KEY)",
        "CREATE TABLE t (id int PRIMARY KEY, a varchar(20),"
        " FOREIGN KEY (id) REFERENCES parent (id) ON DELETE CASCADE)",
        "INSERT INTO parent VALUES (1), (2)",
        "INSERT INTO t VALUES (1, 'one'), (2, 'two')",
    )
    with following(server, database, *tables) as here:
        followed(here, "t", "parent")
        for statements in HIDDEN:
            database.run(*statements)
            here.follows("parent")
            if database.server.flavour == "mysql" and statements == HIDDEN[-1]:
                here.follows("t")  # it logs what foreign keys do
                continue
            here.notices.clear()
            assert {row[0] for row in here.rows("VERIFY TABLE t")} <= {"missing", "unexpected"}
            assert here.notices == [f'NOTICE: table "materialize.{here.schema}.t" differs from its upstream']
            here.run("ALTER SOURCE src RESYNC")
            here.follows("t")


def test_names_are_understood_in_the_charset_of_who_writes_them(
    server: HeadwaterServer, database: Database
) -> None:
    filled = ("INSERT INTO `tä` VALUES (1, 'one')", "INSERT INTO `uä` VALUES (2, 'two')")
    made = (f"CREATE TABLE `tä` {COLUMNS}", f"CREATE TABLE `uä` {COLUMNS}", f"CREATE TABLE `vä` {COLUMNS}")
    with following(server, database, *made, *filled) as here:
        for name, reference in (("t", "tä"), ("u", "uä")):
            here.run(f'CREATE TABLE {name} FROM SOURCE src (REFERENCE {database.name}."{reference}")')
            here.follows(name, f"`{reference}`")
        with closing(database.server.connect(charset="latin1")) as session, session.cursor() as cursor:
            session.select_db(database.name)
            cursor.execute("TRUNCATE TABLE `tä`")
            cursor.execute("RENAME TABLE `uä` TO `wä`, `vä` TO `uä`")
        for name, reference in (("t", "tä"), ("u", "uä")):
            here.follows(name, f"`{reference}`")


def test_what_mariadb_has_before_a_statement_does_not_hide_it(
    server: HeadwaterServer, of_mariadb: Database
) -> None:
    with following(server, of_mariadb, f"CREATE TABLE t {COLUMNS}") as here:
        followed(here, "t")
        of_mariadb.run("SET SESSION binlog_format = STATEMENT")
        for statement in (
            "SET STATEMENT sort_buffer_size = 100000 FOR INSERT INTO t VALUES (1, 'one')",
            "ANALYZE UPDATE t SET a = 'uno'",
            "SET STATEMENT lock_wait_timeout = 5 FOR TRUNCATE TABLE t",
        ):
            of_mariadb.run(statement)
            here.follows("t")
        of_mariadb.run("SET SESSION binlog_format = ROW")


def test_a_key_that_another_takes_the_place_of_ends_its_table(
    server: HeadwaterServer, of_mariadb: Database
) -> None:
    table = ("CREATE TABLE t (a int NOT NULL, b int NOT NULL, UNIQUE k (a))", "INSERT INTO t VALUES (1, 1)")
    with following(server, of_mariadb, *table) as here:
        followed(here, "t")
        of_mariadb.run("CREATE OR REPLACE UNIQUE INDEX k ON t (b)", "INSERT INTO t VALUES (1, 2)")
        assert "keys in table t have been altered" in here.error_of("t")


def test_rows_that_are_in_the_way_of_a_key_are_gone(server: HeadwaterServer, of_mariadb: Database) -> None:
    filled = "INSERT INTO t VALUES (1, 'one'), (2, 'one'), (3, 'two')"
    with following(server, of_mariadb, f"CREATE TABLE t {COLUMNS}", filled) as here:
        followed(here, "t")
        of_mariadb.run("ALTER IGNORE TABLE t ADD UNIQUE (a)")
        here.follows("t")


def test_tables_of_a_database_that_is_replaced_end(server: HeadwaterServer, of_mariadb: Database) -> None:
    with following(
        server, of_mariadb, f"CREATE TABLE t {COLUMNS}", "INSERT INTO t VALUES (1, 'old')"
    ) as here:
        followed(here, "t")
        of_mariadb.run(
            f"CREATE OR REPLACE DATABASE {of_mariadb.name}",
            f"USE {of_mariadb.name}",
            f"CREATE TABLE t {COLUMNS}",
        )
        assert "table was dropped" in here.error_of("t")

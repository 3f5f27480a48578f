"""What breaks between a source and its upstream is said and overcome; nothing is lost or doubled.

Method: real servers, and one of ours; something is done to the upstream, and the tables must come to equal
it, or say what they cannot follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pymysql
import pytest

from tests.mysql.database import Database
from tests.mysql.following import Following, following
from tests.mysql.randomized import Far
from tests.support.mysql import MysqlServer
from tests.support.server import HeadwaterServer, eventually

TABLE = "CREATE TABLE t (id int PRIMARY KEY, a varchar(20), b int)"
FILLED = "INSERT INTO t VALUES (1, 'one', 1), (2, 'two', 2), (3, 'three', 3)"


@pytest.fixture
def shop(mortal_upstream: MysqlServer) -> Iterator[Database]:
    made = Database(mortal_upstream)
    yield made
    again(made)
    made.close()


def again(database: Database) -> None:
    """A new session, after the server has been away."""
    database.session = database.server.connect()
    database.session.select_db(database.name)


# What statements do to tables


UNHARMED = (
    "ALTER TABLE t ADD COLUMN c int DEFAULT 7 AFTER id",
    "ALTER TABLE t ADD INDEX i (b)",
    "ALTER TABLE t DROP COLUMN c",
    "ALTER TABLE t MODIFY b int NULL COMMENT 'told'",
    "ALTER TABLE t MODIFY b int FIRST",
    "CREATE TABLE other (id int)",
    "DROP TABLE other",
    "OPTIMIZE TABLE t",
)


def test_what_a_table_does_not_take_may_change_freely(server: HeadwaterServer, database: Database) -> None:
    with following(server, database, TABLE, FILLED) as here:
        here.create_table("t")
        here.follows("t", columns="id, a, b")
        for place, statement in enumerate(UNHARMED):
            database.run(
                statement,
                f"INSERT INTO t (id, a, b) VALUES ({place + 10}, 'x', {place})",
                f"UPDATE t SET a = '{place}' WHERE id = 1",
            )
        here.follows("t", columns="id, a, b")


ENDS = {
    "DROP TABLE t": "table was dropped: `{}`.`t`",
    "RENAME TABLE t TO u": "table was dropped: `{}`.`t`",
    "ALTER TABLE t DROP COLUMN b": "incompatible schema change: column b no longer present in table t",
    "ALTER TABLE t MODIFY b bigint": "incompatible schema change: column b in table t has been altered",
    "ALTER TABLE t RENAME COLUMN b TO c": "incompatible schema change: column b no longer present in table t",
    "ALTER TABLE t DROP PRIMARY KEY": "incompatible schema change: keys in table t have been altered",
    "ALTER TABLE t ENGINE = MyISAM": "incompatible schema change: table t is kept by MyISAM now",
}


def test_what_a_table_takes_ends_it_and_no_other(server: HeadwaterServer, database: Database) -> None:
    tables = [TABLE.replace("TABLE t", f"TABLE t{place}") for place in range(len(ENDS))]
    with following(server, database, *tables, "CREATE TABLE beside (id int PRIMARY KEY)") as here:
        here.create_table("beside")
        for place in range(len(ENDS)):
            here.create_table(f"t{place}")
            here.follows(f"t{place}")
        for place, (statement, text) in enumerate(ENDS.items()):
            database.run(statement.replace("TABLE t", f"TABLE t{place}").replace("TO u", f"TO u{place}"))
            wanted = (
                text.format(database.name)
                .replace("`t`", f"`t{place}`")
                .replace("table t ", f"table t{place} ")
            )
            assert wanted.removesuffix(" t") in here.error_of(f"t{place}")
        database.run("INSERT INTO beside VALUES (1)")
        here.follows("beside")


def test_a_table_that_another_takes_the_place_of_is_read_again(
    server: HeadwaterServer, database: Database
) -> None:
    with following(server, database, TABLE, FILLED) as here:
        here.create_table("t")
        here.follows("t")
        database.run(
            TABLE.replace("TABLE t", "TABLE _t_gho"),
            "INSERT INTO _t_gho SELECT id, CONCAT(a, '!'), b FROM t",
            "RENAME TABLE t TO _t_del, _t_gho TO t",
            "INSERT INTO t VALUES (4, 'four', 4)",
        )
        here.read_again("t", "has other rows by a statement")
        here.follows("t")
        database.run("UPDATE t SET b = 0", "DELETE FROM t WHERE id = 4")
        here.follows("t")


def test_columns_that_exchange_their_names_are_read_again(
    server: HeadwaterServer, database: Database
) -> None:
    columns = "(id int PRIMARY KEY, a int, b int)"
    with following(server, database, f"CREATE TABLE t {columns}", "INSERT INTO t VALUES (1, 10, 20)") as here:
        here.create_table("t")
        here.follows("t", columns="id, a, b")
        database.run("ALTER TABLE t DROP COLUMN a, ADD COLUMN a int DEFAULT 5")
        here.read_again("t", "has other rows by a statement")
        here.follows("t", columns="id, a, b")


def test_statements_in_place_of_rows_are_noticed(server: HeadwaterServer, database: Database) -> None:
    with following(server, database, TABLE, FILLED) as here:
        here.create_table("t")
        here.follows("t")
        database.run(
            "SET SESSION binlog_format = STATEMENT",
            "UPDATE t SET a = 'unseen' WHERE id = 2",
            "SET SESSION binlog_format = ROW",
        )
        here.read_again("t", "rows may have been changed by a statement")
        here.follows("t")


def test_a_table_is_read_again_after_images_that_lack_columns(
    server: HeadwaterServer, database: Database
) -> None:
    with following(server, database, TABLE, FILLED) as here:
        here.create_table("t")
        here.follows("t")
        database.run(
            "SET SESSION binlog_row_image = MINIMAL",
            "UPDATE t SET a = 'half' WHERE id = 2",
            "SET SESSION binlog_row_image = FULL",
        )
        here.read_again("t", "binlog_row_image was not FULL")
        here.follows("t")


def test_transactions_in_two_phases_are_followed(server: HeadwaterServer, database: Database) -> None:
    with following(server, database, TABLE, FILLED) as here:
        here.create_table("t")
        here.follows("t")
        database.run(
            "XA START 'one'", "UPDATE t SET b = 100 WHERE id = 1", "XA END 'one'", "XA PREPARE 'one'"
        )
        database.run("XA COMMIT 'one'")
        here.follows("t")
        database.run("XA START 'two'", "DELETE FROM t WHERE id = 2", "XA END 'two'", "XA PREPARE 'two'")
        database.run("XA ROLLBACK 'two'", "INSERT INTO t VALUES (9, 'nine', 9)")
        here.follows("t")


def test_transactions_that_outlive_their_sessions_are_followed(
    server: HeadwaterServer, database: Database
) -> None:
    with following(server, database, TABLE, FILLED) as here:
        here.create_table("t")
        here.follows("t")
        session = database.server.connect()
        with session.cursor() as cursor:
            cursor.execute("XA START 'left'")
            cursor.execute(f"INSERT INTO {database.name}.t VALUES (7, 'left', 7)")
            cursor.execute("XA END 'left'")
            cursor.execute("XA PREPARE 'left'")
        session.close()
        if database.server.flavour == "mariadb":  # MySQL lets nobody read the table before it is over
            here.read_again("t", "XA PREPARE")
            here.follows("t")
        eventually(lambda: committed(database), within_s=60)
        here.follows("t")


def committed(database: Database) -> bool:
    """The server may need a moment to notice that the session has ended."""
    try:
        database.run("XA COMMIT 'left'")
    except pymysql.MySQLError:
        return False
    return True


# What nobody foresaw


def test_an_error_nobody_foresaw_stays_with_its_value_or_its_table(
    mortal_server: HeadwaterServer, mysql: MysqlServer
) -> None:
    """The server's json has a defect (tests/kinds/planted)."""
    tables = ("good", "few", "many", "filled")
    made = [f"CREATE TABLE {name} (id int PRIMARY KEY, doc json)" for name in tables]
    broken = """INSERT INTO {} WITH RECURSIVE g (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < {})
        SELECT n, '{{"break": 1}}' FROM g"""
    told = "internal error while changes were decoded: KeyError: 'planted'"
    with (
        closing(Database(mysql)) as database,
        following(mortal_server, database, *made, broken.format("filled", 40)) as here,
    ):
        for name in ("good", "few", "many"):
            here.create_table(name)
            here.follows(name)
        database.run(
            broken.format("few", 1), broken.format("many", 40), """INSERT INTO good VALUES (1, '{"a": 1}')"""
        )
        here.follows("good", columns="id")
        assert "cannot be stored: internal error: KeyError: 'planted'" in here.value_error_of("few")
        assert told in here.error_of("many")
        database.run("INSERT INTO good VALUES (2, NULL)", "UPDATE few SET doc = NULL WHERE id = 1")
        here.follows("good", columns="id")
        here.follows("few")
        # A table that cannot be filled ends as well.
        here.create_table("filled")
        assert told in here.error_of("filled")
        assert here.status_of("src")[0] == "running"
        assert "in _breaking_from_text" in mortal_server.log_tail(10_000), "the log says where"


# What happens to the way


def test_answers_that_are_lost_on_the_way_are_not_waited_for(
    server: HeadwaterServer, upstream: MysqlServer
) -> None:
    name, row = "asked_for_in_vain", "lost in the middle of this"
    with (
        closing(Far(upstream)) as far,
        closing(far.proxy),
        following(
            server, far, f"CREATE TABLE {name} (a varchar(50))", f"INSERT INTO {name} VALUES ('{row}')"
        ) as here,
    ):
        far.proxy.swallow_within(name)
        # Whether it is this statement's question that is lost, or the running source's and so this one cannot
        # even connect, is chance.
        with pytest.raises(psycopg.Error, match=r"the server has stopped answering|connection timed out"):
            here.create_table("t", name)
        far.proxy.pass_on()
        far.proxy.swallow_within(row)
        here.create_table("t", name)
        eventually(lambda: far.proxy.swallowing, within_s=60)
        far.proxy.pass_on()
        here.follows("t", name)


# What happens to the server


def test_a_server_that_restarts_or_dies_is_followed_on(server: HeadwaterServer, shop: Database) -> None:
    with following(server, shop, TABLE, FILLED) as here:
        here.create_table("t")
        here.follows("t")
        shop.server.restart()
        again(shop)
        shop.run("INSERT INTO t VALUES (4, 'four', 4)")
        here.follows("t")
        shop.server.kill()
        shop.server.resume()
        again(shop)
        shop.run("UPDATE t SET b = b + 1", "ALTER TABLE t ADD COLUMN c int", "DELETE FROM t WHERE id = 1")
        here.follows("t", columns="id, a, b")


def test_a_database_that_is_left_out_of_the_log_ends_its_tables(
    server: HeadwaterServer, shop: Database
) -> None:
    with following(server, shop, TABLE, FILLED) as here:
        here.create_table("t")
        here.follows("t")
        shop.server.restart(f"--binlog-ignore-db={shop.name}")
        try:
            assert "not in the upstream's binary log (binlog_ignore_db)" in here.error_of("t")
        finally:
            shop.server.restart()


def test_a_log_that_was_thrown_away_ends_the_source_until_it_begins_anew(
    server: HeadwaterServer, shop: Database
) -> None:
    reset = "RESET MASTER" if shop.server.flavour == "mariadb" else "RESET BINARY LOGS AND GTIDS"
    with following(server, shop, TABLE, FILLED) as here:
        here.create_table("t")
        here.follows("t")
        shop.run(reset, "INSERT INTO t VALUES (4, 'four', 4)")
        shop.server.restart()
        again(shop)
        assert "is beyond required frontier" in here.error_of("t")
        begin_anew(here)
        shop.run("INSERT INTO t VALUES (5, 'five', 5)")
        here.follows("t")


def test_a_log_that_was_thrown_away_and_has_come_as_far_again_ends_the_source(
    server: HeadwaterServer, shop: Database
) -> None:
    reset = "RESET MASTER" if shop.server.flavour == "mariadb" else "RESET BINARY LOGS AND GTIDS"
    with following(server, shop, TABLE, FILLED) as here:
        here.create_table("t")
        here.follows("t")  # of the copy: the source has not read any transaction since it began
        here.run("ALTER CLUSTER quickstart SET (REPLICATION FACTOR 0)")
        try:
            eventually(lambda: not readers(shop))
            shop.run(reset, *(f"INSERT INTO t VALUES ({place}, 'again', 0)" for place in range(10, 60)))
        finally:
            here.run("ALTER CLUSTER quickstart SET (REPLICATION FACTOR 1)")
        assert "binlog has another transaction" in here.error_of("t")
        begin_anew(here)
        shop.run("INSERT INTO t VALUES (5, 'five', 5)")
        here.follows("t")


@pytest.mark.parametrize("mortal_upstream", ["mariadb"], indirect=True)  # MySQL's may come in any order
def test_a_number_that_does_not_rise_ends_the_source_until_it_begins_anew(
    server: HeadwaterServer, shop: Database
) -> None:
    with following(server, shop, TABLE, FILLED) as here:
        here.create_table("t")
        here.follows("t")
        shop.run("SET gtid_seq_no = 3", "INSERT INTO t VALUES (4, 'four', 4)")
        assert "received out of order gtids: transaction 0-1-3 came after number" in here.error_of("t")
        shop.run("INSERT INTO t VALUES (5, 'five', 5)")  # the next number of the domain: 3 is there twice
        begin_anew(here)
        shop.run("INSERT INTO t VALUES (6, 'six', 6)")
        here.follows("t")


def readers(database: Database) -> int:
    """How many read the server's log."""
    ((count,),) = database.run(
        "SELECT count(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"
    )
    return int(count)


def begin_anew(here: Following) -> None:
    here.run("ALTER SOURCE src RESYNC")

    def readable() -> bool:
        here.rows("SELECT count(*) FROM t")
        return True

    eventually(readable, within_s=60)


def test_changes_that_were_purged_end_the_source_until_it_begins_anew(
    server: HeadwaterServer, shop: Database
) -> None:
    with following(server, shop, TABLE, FILLED) as here:
        here.create_table("t")
        here.follows("t")
        here.run("ALTER CLUSTER quickstart SET (REPLICATION FACTOR 0)")
        try:
            shop.run(
                "DELETE FROM t WHERE id = 1",
                "FLUSH LOGS",
                "INSERT INTO t VALUES (4, 'four', 4)",
                "FLUSH LOGS",
            )
            eventually(lambda: purged(shop), within_s=60)
        finally:
            here.run("ALTER CLUSTER quickstart SET (REPLICATION FACTOR 1)")
        assert "does not have the binlog available" in here.error_of("t")
        begin_anew(here)
        here.follows("t")


@pytest.mark.parametrize("mortal_upstream", ["mysql"], indirect=True)  # MariaDB has nothing of the kind
def test_transactions_that_were_never_in_the_log_end_the_source(
    server: HeadwaterServer, shop: Database
) -> None:
    with following(server, shop, TABLE, FILLED) as here:
        here.create_table("t")
        here.follows("t")
        shop.run("SET GLOBAL gtid_purged = '+3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5'")
        here.create_table("again", "t")  # whereupon the source looks at its upstream
        assert "does not have the binlog available" in here.error_of("t")
        begin_anew(here)
        shop.run("INSERT INTO t VALUES (4, 'four', 4)")
        here.follows("t")


@pytest.mark.parametrize("mortal_upstream", ["mysql"], indirect=True)  # MariaDB names them all
def test_transactions_without_a_name_end_the_source_until_it_begins_anew(
    server: HeadwaterServer, shop: Database
) -> None:
    with following(server, shop, TABLE, FILLED) as here:
        here.create_table("t")
        here.follows("t")
        try:
            shop.run(*(f"SET GLOBAL gtid_mode = {mode}" for mode in ("ON_PERMISSIVE", "OFF_PERMISSIVE")))
            shop.run("INSERT INTO t VALUES (4, 'four', 4)")
            here.error_of("t")
        finally:
            shop.run(*(f"SET GLOBAL gtid_mode = {mode}" for mode in ("ON_PERMISSIVE", "ON")))
        assert "gtid_mode" in here.error_of("t")
        begin_anew(here)
        shop.run("INSERT INTO t VALUES (5, 'five', 5)")
        here.follows("t")


def purged(database: Database) -> bool:
    """Whether one file of the log is left; a server keeps those that it thinks somebody reads."""
    [*_, (newest, *_)] = database.run("SHOW BINARY LOGS")
    database.run(f"PURGE BINARY LOGS TO '{newest}'")
    return len(database.run("SHOW BINARY LOGS")) == 1

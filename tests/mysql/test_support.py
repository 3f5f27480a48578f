"""The servers that tests are made with: they are what the tests take them for, and keep what they promise."""

from __future__ import annotations

from tests.mysql.database import PASSWORD, Database
from tests.support.mysql import MysqlServer, running


def test_a_server_is_the_one_that_was_asked_for(upstream: MysqlServer) -> None:
    [(version, image, metadata)] = upstream.run("SELECT @@version, @@binlog_row_image, @@binlog_row_metadata")
    assert version.startswith("10.11." if upstream.flavour == "mariadb" else "9.")
    assert ("MariaDB" in version) == (upstream.flavour == "mariadb")
    assert (image, metadata) == ("FULL", "FULL")


def test_a_reader_logs_in_with_its_password(database: Database) -> None:
    session = database.server.connect(database.user, password=PASSWORD)
    with session.cursor() as cursor:
        assert cursor.execute(
            f"SELECT * FROM information_schema.schemata WHERE schema_name = '{database.name}'"
        )
    session.close()


def test_a_server_that_was_killed_has_what_was_committed(mortal_upstream: MysqlServer) -> None:
    mortal_upstream.run(
        "CREATE DATABASE kept", "CREATE TABLE kept.t (a INT)", "INSERT INTO kept.t VALUES (1)"
    )
    mortal_upstream.kill()
    mortal_upstream.resume()
    assert mortal_upstream.run("SELECT a FROM kept.t") == [(1,)]
    mortal_upstream.run("DROP DATABASE kept")


def test_each_server_has_an_identity_of_its_own(mysql: MysqlServer, mortal_mysql: MysqlServer) -> None:
    assert mysql.run("SELECT @@server_uuid") != mortal_mysql.run("SELECT @@server_uuid")


def test_nothing_is_left_of_a_server_that_was_stopped() -> None:
    with running("mariadb") as server:
        assert server.directory.exists()
    assert not server.directory.exists()

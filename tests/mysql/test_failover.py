"""A source whose connection leads to another server: with the same transactions, with fewer, with others.

Method: two servers of this module's own, one a replica of the other, that lose each other; statements of
users move the connection.  The ways to a server are also encrypted, and fall silent.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pymysql
import pytest

from headwater.sources.mysql.facts import Flavour
from tests.mysql.database import Database
from tests.mysql.following import Following
from tests.support.certificates import Authority
from tests.support.mysql import FLAVOURS, MysqlServer, running
from tests.support.proxy import Proxy
from tests.support.server import HeadwaterServer, eventually

TABLES = ("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(20))", "INSERT INTO t VALUES (1, 'one'), (2, 'two')")
FOLLOW = {
    "mysql": (
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'root',"
        " SOURCE_AUTO_POSITION = 1",
        "START REPLICA",
    ),
    "mariadb": (
        "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = 'root',"
        " MASTER_USE_GTID = slave_pos",
        "START SLAVE",
    ),
}
FORGET = {
    "mysql": ("RESET BINARY LOGS AND GTIDS",),
    "mariadb": ("RESET MASTER", "SET GLOBAL gtid_slave_pos = ''"),
}
"""What a server did before is of another history."""
STATUS = {"mysql": "SHOW REPLICA STATUS", "mariadb": "SHOW SLAVE STATUS"}
STOP = {"mysql": ("STOP REPLICA", "RESET REPLICA ALL"), "mariadb": ("STOP SLAVE", "RESET SLAVE ALL")}


@pytest.fixture(scope="module", params=FLAVOURS)
def flavour(request: pytest.FixtureRequest) -> Flavour:
    made: Flavour = request.param
    return made


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"), "one")


@pytest.fixture(scope="module")
def servers(flavour: Flavour, authority: Authority) -> Iterator[tuple[MysqlServer, MysqlServer]]:
    """Two of this module's own, whose certificates are for `localhost`."""
    signed = authority.sign("localhost", names=("localhost",))
    files = {"ca.crt": authority.certificate, "server.crt": signed.certificate, "server.key": signed.key}
    encrypted = ("--ssl-ca=ca.crt", "--ssl-cert=server.crt", "--ssl-key=server.key")
    options: dict[str, Any] = {"files": {name: text.encode() for name, text in files.items()}}
    with (
        running(flavour, *encrypted, "--require-secure-transport=OFF", "--server-id=2", **options) as one,
        running(flavour, "--server-id=3") as other,
    ):
        yield one, other


@pytest.fixture
def primary(servers: tuple[MysqlServer, MysqlServer]) -> Iterator[Database]:
    """One with a new database, which is all that its log tells of."""
    servers[0].run(*FORGET[servers[0].flavour])
    database = Database(servers[0])
    database.run(*TABLES)
    yield database
    if servers[0].process is not None and servers[0].process.poll() is not None:
        servers[0].resume()
        database = seen_from(servers[0], database)
    database.close()


@pytest.fixture
def replica(servers: tuple[MysqlServer, MysqlServer], primary: Database) -> Iterator[Database]:
    """One that has all of it, and goes on with it."""
    server = servers[1]
    server.run(*FORGET[server.flavour])
    server.run(*(statement.format(port=primary.server.port) for statement in FOLLOW[server.flavour]))
    yield caught_up(server, primary)
    leave(server)
    server.run(f"DROP DATABASE {primary.name}")


def leave(server: MysqlServer) -> None:
    """It is no replica any more."""
    if server.run(STATUS[server.flavour]):
        for statement in STOP[server.flavour]:
            server.run(statement)


def caught_up(server: MysqlServer, primary: Database) -> Database:
    """The same database, once it is there."""
    count = f"SELECT count(*) FROM {primary.name}.t"

    def equal() -> bool:
        with suppress(pymysql.Error):
            return server.run(count) == primary.server.run(count)
        return False

    eventually(equal, within_s=60)
    return seen_from(server, primary)


def seen_from(server: MysqlServer, primary: Database) -> Database:
    """The same database in another server."""
    made = Database.__new__(Database)
    made.server, made.name, made.user = server, primary.name, primary.user
    made.session = server.connect()
    made.session.select_db(made.name)
    return made


@contextmanager
def source(server: HeadwaterServer, database: Database) -> Iterator[Following]:
    made = Following(server, database)
    try:
        made.create_source()
        made.create_table("t")
        made.follows("t")
        yield made
    finally:
        made.close()


def move(here: Following, to: Database) -> None:
    here.run(f"ALTER CONNECTION my SET (PORT {to.server.port})")
    here.database = to


def test_a_source_goes_on_with_a_server_that_has_the_same_transactions(
    server: HeadwaterServer, primary: Database, replica: Database
) -> None:
    with source(server, primary) as here:
        primary.run("UPDATE t SET a = 'more' WHERE id = 1", "INSERT INTO t VALUES (3, 'three')")
        here.follows("t")
        caught_up(replica.server, primary)
        primary.server.kill()
        leave(replica.server)
        replica.run("INSERT INTO t VALUES (4, 'four')", "DELETE FROM t WHERE id = 2")
        move(here, replica)
        here.follows("t")
        assert here.rows("VERIFY TABLE t")[0][0] == "equal"


def test_a_source_does_not_go_on_with_a_server_that_has_fewer(
    server: HeadwaterServer, primary: Database, replica: Database
) -> None:
    leave(replica.server)
    with source(server, primary) as here:
        primary.run("INSERT INTO t VALUES (3, 'three')")
        here.follows("t")
        move(here, replica)
        assert "is beyond required frontier" in here.error_of("t")
        here.run("ALTER SOURCE src RESYNC")
        here.follows("t")


def test_a_source_does_not_go_on_with_a_server_of_another_history(
    server: HeadwaterServer, request: pytest.FixtureRequest, primary: Database
) -> None:
    stranger: MysqlServer = request.getfixturevalue(primary.server.flavour)
    with source(server, primary) as here:
        other = Database(stranger)
        stranger.run(
            f"CREATE DATABASE {primary.name}",
            f"CREATE TABLE {primary.name}.t (id INT PRIMARY KEY, a VARCHAR(20))",
            *(f"INSERT INTO {primary.name}.t VALUES ({number}, 'other')" for number in range(20)),
            f"GRANT SELECT, LOCK TABLES ON {primary.name}.* TO {other.user}@'%'",
        )
        here.run(f"ALTER CONNECTION my SET (PORT {stranger.port}, USER '{other.user}')")
        here.error_of("t")
        here.run("ALTER SOURCE src RESYNC")
        here.database = seen_from(stranger, primary)
        here.follows("t")
        stranger.run(f"DROP DATABASE {primary.name}")
        other.close()


def test_copies_and_the_log_pass_an_encrypted_way(
    server: HeadwaterServer, primary: Database, authority: Authority
) -> None:
    here = Following(server, primary)
    try:
        primary.run(f"ALTER USER {primary.user}@'%' REQUIRE SSL")
        here.run(
            "ALTER CONNECTION my SET (HOST 'localhost', SSL MODE 'VERIFY_IDENTITY',"
            f" SSL CERTIFICATE AUTHORITY '{authority.certificate}')"
        )
        here.create_source()
        here.create_table("t")
        primary.run("INSERT INTO t SELECT id + 10, REPEAT(a, 3) FROM t", "DELETE FROM t WHERE id = 1")
        here.follows("t")
    finally:
        here.close()


def test_a_way_that_falls_silent_is_told_and_gone_again(
    server: HeadwaterServer, mariadb: MysqlServer
) -> None:
    primary = Database(mariadb)
    primary.run(*TABLES)
    with closing(primary), Proxy(mariadb.port) as proxy, source(server, primary) as here:
        here.run(f"ALTER CONNECTION my SET (PORT {proxy.port})")
        primary.run("INSERT INTO t VALUES (5, 'five')")
        here.follows("t")
        proxy.swallow()
        status = (
            "SELECT s.error FROM mz_internal.mz_source_statuses s JOIN mz_schemas x ON true"
            f" JOIN mz_sources o ON o.id = s.id AND o.schema_id = x.id WHERE x.name = '{here.schema}'"
            " AND s.status = 'stalled' AND s.type = 'mysql'"
        )
        [(error,)] = eventually(lambda: here.rows(status), within_s=60)
        assert error.startswith("mysql: ")
        primary.run("INSERT INTO t VALUES (6, 'six')")
        proxy.pass_on()
        here.follows("t")

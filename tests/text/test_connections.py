"""Connections to a real PostgreSQL: validated before anything is made, with values nobody else sees.

Goal: what CREATE, ALTER and VALIDATE CONNECTION do when there is an upstream to ask, and while it does
not answer.

Method: a real server and a real PostgreSQL with passwords; an upstream that does not answer is a socket
that accepts and says nothing.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import psycopg
import pytest

from headwater.core.clock import unique_name
from tests.support.postgres import PostgresServer, available
from tests.support.server import HeadwaterServer, eventually

pytestmark = pytest.mark.skipif(not available(), reason="this machine has no PostgreSQL 15")

ACCESS = """
host  all  postgres  127.0.0.1/32  trust
host  all  reader    127.0.0.1/32  scram-sha-256
"""


@pytest.fixture(scope="module")
def upstream() -> Iterator[PostgresServer]:
    with PostgresServer(access=ACCESS) as running:
        with psycopg.connect(running.dsn(), autocommit=True) as admin:
            admin.execute("CREATE ROLE reader LOGIN REPLICATION PASSWORD 'hunter2'")
        yield running


@pytest.fixture
def schema(server: HeadwaterServer) -> Iterator[str]:
    name = f"connections_{unique_name()[:12]}"
    server.query(f"CREATE SCHEMA {name}")
    yield name
    server.query(f"DROP SCHEMA {name} CASCADE")


def options(upstream: PostgresServer, schema: str) -> str:
    return (
        f"(HOST '127.0.0.1', PORT {upstream.port}, DATABASE postgres, USER reader,"
        f" PASSWORD SECRET {schema}.pgpass)"
    )


def refused(server: HeadwaterServer, sql: str) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as error:
        server.query(sql)
    return error.value


def test_a_connection_is_made_only_when_its_upstream_can_be_used(
    server: HeadwaterServer, upstream: PostgresServer, schema: str
) -> None:
    create = f"CREATE CONNECTION {schema}.pg TO POSTGRES {options(upstream, schema)}"
    server.query(f"CREATE SECRET {schema}.pgpass AS 'wrong'")
    error = refused(server, create)
    assert (error.sqlstate, error.diag.message_primary) == (
        "58000",
        'password authentication failed for user "reader"',
    )
    assert server.query(f"SHOW CONNECTIONS FROM {schema}") == []
    server.query(f"ALTER SECRET {schema}.pgpass AS 'hunter2'")
    server.query(create)
    assert server.query(f"SHOW CONNECTIONS FROM {schema}") == [("pg", "postgres", "")]


def test_a_new_value_of_a_secret_is_used_from_then_on(
    server: HeadwaterServer, upstream: PostgresServer, schema: str
) -> None:
    server.query(f"CREATE SECRET {schema}.pgpass AS 'hunter2'")
    server.query(f"CREATE CONNECTION {schema}.pg TO POSTGRES {options(upstream, schema)}")
    server.query(f"VALIDATE CONNECTION {schema}.pg")
    server.query(f"ALTER SECRET {schema}.pgpass AS 'wrong'")
    assert "password authentication failed" in str(refused(server, f"VALIDATE CONNECTION {schema}.pg"))
    server.query(f"ALTER SECRET {schema}.pgpass AS decode('68756e74657232', 'hex')")
    server.query(f"VALIDATE CONNECTION {schema}.pg")


def test_what_is_altered_is_tried_with_what_stays_a_hidden_password_included(
    server: HeadwaterServer, upstream: PostgresServer, schema: str
) -> None:
    server.query(f"CREATE SECRET {schema}.pgpass AS 'hunter2'")
    written = options(upstream, schema).replace(f"SECRET {schema}.pgpass", "'hunter2'")
    server.query(f"CREATE CONNECTION {schema}.pg TO POSTGRES {written}")
    server.query(f"ALTER CONNECTION {schema}.pg SET (DATABASE template1)")
    error = refused(server, f"ALTER CONNECTION {schema}.pg SET (DATABASE nothing)")
    assert error.diag.message_primary == 'database "nothing" does not exist'
    server.query(f"VALIDATE CONNECTION {schema}.pg")
    ((text,),) = server.query(f"SELECT create_sql FROM (SHOW CREATE CONNECTION {schema}.pg)")
    assert "DATABASE = 'template1'" in text
    assert "hunter2" not in text


def test_a_transaction_may_make_a_secret_and_the_connection_that_uses_it(
    server: HeadwaterServer, upstream: PostgresServer, schema: str
) -> None:
    with server.connect() as connection, connection.transaction():
        connection.execute(f"CREATE SECRET {schema}.pgpass AS 'wrong'".encode())
        connection.execute(f"ALTER SECRET {schema}.pgpass AS 'hunter2'".encode())
        connection.execute(f"CREATE CONNECTION {schema}.pg TO POSTGRES {options(upstream, schema)}".encode())
        assert server.query(f"SHOW CONNECTIONS FROM {schema}") == []
    server.query(f"VALIDATE CONNECTION {schema}.pg")


def test_an_upstream_that_does_not_answer_holds_up_nobody_and_can_be_cancelled(
    server: HeadwaterServer, schema: str
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        told: list[psycopg.Error] = []
        connection = server.connect()

        def create() -> None:
            try:
                connection.execute(
                    f"CREATE CONNECTION {schema}.pg TO POSTGRES (HOST '127.0.0.1', PORT {port},"
                    " DATABASE d, USER u, PASSWORD 'hunter2')".encode()
                )
            except psycopg.Error as error:
                told.append(error)

        thread = threading.Thread(target=create)
        thread.start()

        def running() -> list[tuple[str]]:
            return server.query(
                "SELECT query FROM pg_catalog.pg_stat_activity WHERE query LIKE 'CREATE CONNECTION%'"
            )

        # The others are answered, and see no password.
        ((query,),) = eventually(running)
        assert "PASSWORD = '********'" in query
        server.query(f"CREATE TABLE {schema}.meanwhile (a int)")
        connection.cancel_safe(timeout=10)
        thread.join(10)
        assert not thread.is_alive()
        assert [error.sqlstate for error in told] == ["57014"]
        assert server.query(f"SHOW CONNECTIONS FROM {schema}") == []
        connection.close()


def test_a_prepared_statement_shows_no_secret(server: HeadwaterServer, schema: str) -> None:
    with server.connect() as connection:
        connection.pgconn.prepare(b"create_it", f"CREATE SECRET {schema}.s AS 'hunter2'".encode())
        rows = connection.execute("SELECT name, statement FROM pg_catalog.pg_prepared_statements").fetchall()
        assert ("create_it", f"CREATE SECRET {schema}.s AS '********';") in rows
        connection.pgconn.exec_prepared(b"create_it", [])
    assert server.query(f"SHOW SECRETS FROM {schema}") == [("s", "")]


def test_no_value_is_in_the_diagnostics_or_readable_in_the_folder(
    server: HeadwaterServer, schema: str
) -> None:
    server.query(f"CREATE SECRET {schema}.s AS 'swordfish ' || 'sandwich'")
    refused(server, f"CREATE SECRET {schema}.s AS 'swordfish sandwich'")
    refused(server, f"CREATE SECRET {schema}.s2 AS 'swordfish sandwich'::timestamp")
    files = [path for path in server.data_dir.rglob("*") if path.is_file()]
    assert any(path.parent.name == "secrets" for path in files)
    for path in (*files, server.log_path):
        with suppress(FileNotFoundError):  # the server deletes files meanwhile
            assert b"swordfish" not in path.read_bytes(), path

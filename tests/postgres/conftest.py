"""One PostgreSQL for all tests of this folder; each test has a database of its own in it."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from headwater.core.clock import unique_name
from tests.kinds import install
from tests.support.database import Database
from tests.support.dying import DyingServer
from tests.support.postgres import PostgresServer, running
from tests.support.server import eventually


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """The upstream server."""
    with running() as server:
        yield server


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[Database]:
    """A new database, and a role that may log in and replicate and nothing else."""
    name = f"d{unique_name()[:12]}"
    with psycopg.connect(postgres.dsn(), autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        made = Database(postgres, name)
        server.execute(sql.SQL("CREATE ROLE {} LOGIN REPLICATION").format(sql.Identifier(made.role)))
        yield made
        made.connection.close()

        def gone() -> bool:
            """A source that was dropped lets go of its slot a little later."""
            server.execute(
                "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
                " WHERE database = %s AND NOT active",
                (name,),
            )
            server.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
            return True

        eventually(gone, within_s=60)
        server.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(made.role)))


@pytest.fixture
def bytes_database(postgres: PostgresServer, database: Database) -> Iterator[Database]:
    """One whose texts are in no encoding."""
    name = f"{database.name}_bytes"
    database.run(f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    made = Database(postgres, name)
    made.run("SET client_encoding TO 'UTF8'")
    yield made
    made.connection.close()
    database.run(f"DROP DATABASE {name} WITH (FORCE)")


ACCESS = """
host all guarded 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
host replication all 127.0.0.1/32 trust
"""


@pytest.fixture(scope="session")
def breakable_postgres() -> Iterator[PostgresServer]:
    """An upstream that may be killed."""
    with running(ACCESS) as made:
        yield made


@pytest.fixture(scope="session")
def breakable_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DyingServer]:
    """A server that may be killed, with a source `beside` that has nothing to do with any upstream.

    It has decoders that raise errors (tests/kinds/planted).
    """
    planted = install(tmp_path_factory.mktemp("site") / "packages", "tests.kinds.planted")
    made = DyingServer(tmp_path_factory.mktemp("faults"), planted)
    try:
        made.start()
        made.query(
            "CREATE SOURCE beside FROM LOAD GENERATOR COUNTER (TICK INTERVAL '100ms')"
            " WITH (TIMESTAMP INTERVAL '200ms')"
        )
        made.query("CREATE TABLE counter FROM SOURCE beside (REFERENCE counter)")
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def mortal_postgres() -> Iterator[PostgresServer]:
    """An upstream that may be killed."""
    with running() as made:
        yield made

"""One PostgreSQL for all tests of this folder; each test has a database of its own in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql

from headwater.core.clock import unique_name
from tests.support.postgres import PostgresServer, running
from tests.support.server import eventually


class Database:
    """A database of the upstream, with a role that tests may take rights away from."""

    def __init__(self, server: PostgresServer, name: str) -> None:
        self.server = server
        self.name = name
        self.role = f"reader_{name}"
        self.connection = psycopg.connect(server.dsn(name), autocommit=True)

    def run(self, *texts: str) -> None:
        """Statements, as the superuser."""
        for text in texts:
            self.connection.execute(text)

    def value(self, text: str) -> Any:
        """The one value of a query."""
        row = self.connection.execute(text).fetchone()
        assert row is not None
        return row[0]

    def options(self, user: str = "postgres", **more: Any) -> dict[str, Any]:
        """Options of a connection, as the catalog keeps them."""
        return {
            "host": "127.0.0.1",
            "port": self.server.port,
            "database": self.name,
            "user": user,
            "ssl_mode": "disable",
            **more,
        }

    def connection_sql(self, name: str, user: str = "postgres") -> str:
        """CREATE CONNECTION to here."""
        return (
            f"CREATE CONNECTION {name} TO POSTGRES (HOST '127.0.0.1', PORT {self.server.port},"
            f" DATABASE '{self.name}', USER '{user}')"
        )


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

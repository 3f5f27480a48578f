"""A database of a real PostgreSQL, as the upstream of a test."""

from __future__ import annotations

from typing import Any

import psycopg

from tests.support.postgres import PostgresServer


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

"""A database of a MySQL or MariaDB server that a test has for itself, and a user who may read it."""

from __future__ import annotations

from typing import Any

from headwater.core.clock import unique_name
from tests.support.mysql import MysqlServer

PASSWORD = "it's \\ a secret"


class Database:
    """`run` is done as root, in the database; `connection` is what a CREATE CONNECTION says to come here."""

    def __init__(self, server: MysqlServer) -> None:
        self.server = server
        self.name = f"d{unique_name()[:12]}"
        self.user = f"u{self.name}"
        self.session = server.connect()
        self.run(f"CREATE DATABASE {self.name}", f"USE {self.name}")
        with self.session.cursor() as cursor:
            cursor.execute("CREATE USER %s@'%%' IDENTIFIED BY %s", (self.user, PASSWORD))
        self.run(
            f"GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO {self.user}@'%'",
            f"GRANT SELECT, LOCK TABLES ON {self.name}.* TO {self.user}@'%'",
        )

    @property
    def connection(self) -> str:
        """The options of a connection; the secret is that of `secret`."""
        return f"HOST '127.0.0.1', PORT {self.server.port}, USER '{self.user}', PASSWORD SECRET {self.secret}"

    @property
    def secret(self) -> str:
        """What the secret of the password is called."""
        return f"{self.name}_password"

    @property
    def create_secret(self) -> str:
        quoted = PASSWORD.replace("'", "''")
        return f"CREATE SECRET {self.secret} AS '{quoted}'"

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """The rows of the last of them."""
        with self.session.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def close(self) -> None:
        """Nothing is left of it."""
        self.run(f"DROP DATABASE {self.name}", f"DROP USER {self.user}@'%'")
        self.session.close()

"""A source over a database of the upstream, and tables that must come to equal theirs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.mysql.database import Database
from tests.support.here import Here
from tests.support.server import HeadwaterServer


class Following(Here):
    """A session in a schema of its own, with the source `src` over a database upstream."""

    def __init__(self, server: HeadwaterServer, database: Database) -> None:
        super().__init__(server, database.name)
        self.database = database
        self.run(database.create_secret, f"CREATE CONNECTION my TO MYSQL ({database.connection})")

    def create_source(self, interval: str = "100ms") -> None:
        self.run(f"CREATE SOURCE src FROM MYSQL CONNECTION my WITH (TIMESTAMP INTERVAL '{interval}')")

    def create_table(self, name: str, reference: str | None = None, options: str = "") -> None:
        within = f" WITH ({options})" if options else ""
        wanted = f"{self.database.name}.{reference or name}"
        self.run(f"CREATE TABLE {name} FROM SOURCE src (REFERENCE {wanted}){within}")

    def follows(
        self, name: str, reference: str | None = None, columns: str = "*", upstream: str = ""
    ) -> None:
        """Wait until a table here has the rows of one there."""
        there = f"SELECT {upstream or columns} FROM {self.database.name}.{reference or name}"
        self.comes_to(f"SELECT {columns} FROM {name}", lambda: self.database.run(there))


@contextmanager
def following(server: HeadwaterServer, database: Database, *statements: str) -> Iterator[Following]:
    """With these statements run upstream."""
    database.run(*statements)
    made = Following(server, database)
    try:
        made.create_source()
        yield made
    finally:
        made.close()

"""A source over a database of the upstream, and tables that must come to equal theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from tests.support.database import Database
from tests.support.here import EQUAL_S_MAX, Here
from tests.support.server import HeadwaterServer, eventually


class Following(Here):
    """A session in a schema of its own, with the source `src` over all tables of the database."""

    def __init__(self, server: HeadwaterServer, database: Database, user: str = "postgres") -> None:
        super().__init__(server, database.name)
        self.database = database
        self.run(database.connection_sql("pg", user))

    def create_source(self, interval: str = "100ms", **options: str) -> None:
        more = "".join(f", {name} {value}" for name, value in options.items())
        self.run(
            f"CREATE SOURCE src FROM POSTGRES CONNECTION pg (PUBLICATION 'p'{more})"
            f" WITH (TIMESTAMP INTERVAL '{interval}')"
        )

    def create_table(self, name: str, reference: str | None = None, options: str = "") -> None:
        within = f" WITH ({options})" if options else ""
        self.run(f"CREATE TABLE {name} FROM SOURCE src (REFERENCE {reference or name}){within}")

    def follows(
        self, name: str, reference: str | None = None, columns: str = "*", upstream: str | None = None
    ) -> None:
        """Wait until a table here has the rows of one there."""
        there = f"SELECT {upstream or columns} FROM {reference or name}".encode()

        def rows_there() -> list[tuple[Any, ...]]:
            with psycopg.ClientCursor(self.database.connection) as cursor:
                return cursor.execute(there).fetchall()

        self.comes_to(f"SELECT {columns} FROM {name}", rows_there)

    def slots(self) -> Sequence[str]:
        return [
            row[0]
            for row in self.database.connection.execute(
                "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()"
            )
        ]

    def close(self) -> None:
        super().close()
        eventually(lambda: not self.slots(), within_s=EQUAL_S_MAX)


@contextmanager
def following(server: HeadwaterServer, database: Database, *statements: str) -> Iterator[Following]:
    """With these statements run upstream, and everything published."""
    database.run(*statements, "CREATE PUBLICATION p FOR ALL TABLES")
    made = Following(server, database)
    try:
        made.create_source()
        yield made
    finally:
        made.close()

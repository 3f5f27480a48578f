"""A source over a database of the upstream, and tables that must come to equal theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import psycopg

from tests.mysql.database import Database
from tests.support.server import HeadwaterServer, eventually

EQUAL_S_MAX = 60.0


class Following:
    """A session in a schema of its own, with the source `src` over a database upstream."""

    def __init__(self, server: HeadwaterServer, database: Database) -> None:
        self.server = server
        self.database = database
        self.schema = database.name
        self.session = self.connect()
        self.run(f"CREATE SCHEMA {self.schema}", f"SET search_path = {self.schema}", database.create_secret)
        self.run(f"CREATE CONNECTION my TO MYSQL ({database.connection})")

    def connect(self) -> psycopg.Connection[Any]:
        session = self.server.connect()
        session.execute(f"SET search_path = {self.database.name}".encode())
        session.execute(b"SET statement_timeout = '60s'")
        return session

    def create_source(self, interval: str = "100ms") -> None:
        self.run(f"CREATE SOURCE src FROM MYSQL CONNECTION my WITH (TIMESTAMP INTERVAL '{interval}')")

    def create_table(self, name: str, reference: str | None = None, options: str = "") -> None:
        within = f" WITH ({options})" if options else ""
        wanted = f"{self.database.name}.{reference or name}"
        self.run(f"CREATE TABLE {name} FROM SOURCE src (REFERENCE {wanted}){within}")

    def run(self, *texts: str) -> None:
        for text in texts:
            self.session.execute(text.encode())

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        return self.session.execute(text.encode()).fetchall()

    def follows(
        self, name: str, reference: str | None = None, columns: str = "*", upstream: str = ""
    ) -> None:
        """Wait until a table here has the rows of one there."""
        query = f"SELECT {upstream or columns} FROM {self.database.name}.{reference or name}"
        here = f"SELECT {columns} FROM {name}".encode()

        def equal() -> bool:
            wanted = Counter(map(shown, self.database.run(query)))
            found = Counter(map(shown, self.session.execute(here).fetchall()))
            assert found == wanted, f"missing {list(wanted - found)[:5]}, too many {list(found - wanted)[:5]}"
            return True

        eventually(equal, within_s=EQUAL_S_MAX)

    def error_of(self, name: str) -> str:
        """Wait until reading a table fails; how."""

        def failing() -> str:
            try:
                self.rows(f"SELECT count(*) FROM {name}")
            except psycopg.Error as error:
                return str(error.diag.message_primary)
            return ""

        return eventually(failing, within_s=EQUAL_S_MAX)

    def read_again(self, name: str, why: str) -> None:
        """Wait until a table is read again for this reason."""
        query = (
            "SELECT h.error FROM mz_internal.mz_source_status_history h"
            " JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = h.source_id"
            f" WHERE n.schema_name = '{self.schema}' AND n.name = '{name}' AND h.error IS NOT NULL"
        )

        def said() -> bool:
            found = [row[0] for row in self.rows(query)]
            assert any(why in error for error in found), found
            return True

        eventually(said, within_s=EQUAL_S_MAX)

    def close(self) -> None:
        self.run(f"DROP SCHEMA {self.schema} CASCADE")
        self.session.close()


def shown(row: tuple[Any, ...]) -> str:
    """A row for comparing: a decimal is the same with and without zeros at its end."""
    return repr(tuple(value.normalize() if isinstance(value, Decimal) else value for value in row))


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

"""A schema of a server, for a test that compares what is in it with an upstream.

    here.run("CREATE TABLE ..")         here.rows("SELECT * FROM t")
    here.comes_to("SELECT * FROM t", lambda: rows_of_the_upstream())
    here.refusal("CREATE TABLE ..")     here.error_of("t")

Not here: the upstream (following.py and mirror.py, tests/mysql/following.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from tests.support.server import HeadwaterServer, eventually

EQUAL_S_MAX = 60.0


class Here:
    """A session in the schema."""

    def __init__(self, server: HeadwaterServer, schema: str) -> None:
        self.server = server
        self.schema = schema
        self.notices: list[str] = []
        server.query(f"CREATE SCHEMA {schema}")
        self.session = self.connect()

    def connect(self) -> psycopg.Connection[Any]:
        """Another session in it."""
        session = self.server.connect()
        session.add_notice_handler(lambda n: self.notices.append(f"{n.severity}: {n.message_primary}"))
        session.execute(f"SET search_path = {self.schema}".encode())
        session.execute(f"SET statement_timeout = '{EQUAL_S_MAX:.0f}s'".encode())
        return session

    def close(self) -> None:
        """Nothing of it is left."""
        self.session.close()
        self.server.query(f"DROP SCHEMA {self.schema} CASCADE")

    def run(self, *texts: str) -> None:
        for text in texts:
            self.session.execute(text.encode())

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        return self.session.execute(text.encode()).fetchall()

    def value(self, text: str) -> Any:
        """The one value of a query."""
        return self.rows(text)[0][0]

    def listed(self, text: str = "SHOW SOURCES") -> set[str]:
        """The names that a statement lists."""
        return {row[0] for row in self.rows(text)}

    def names(self) -> set[str]:
        """What is in the schema, beside connections and secrets."""
        return self.listed(
            "SELECT o.name FROM mz_catalog.mz_objects o JOIN mz_catalog.mz_schemas s ON s.id = o.schema_id"
            f" WHERE s.name = '{self.schema}' AND o.type NOT IN ('connection', 'secret')"
        )

    def comes_to(self, text: str, wanted: Callable[[], Iterable[tuple[Any, ...]]]) -> None:
        """Wait until a query gives the wanted rows, in any order."""

        def equal() -> bool:
            expected = Counter(map(shown, wanted()))
            found = Counter(map(shown, self.rows(text)))
            missing, many = list(expected - found)[:5], list(found - expected)[:5]
            assert found == expected, f"missing {missing}, too many {many}"
            return True

        eventually(equal, within_s=EQUAL_S_MAX)

    # Errors

    def error(self, text: str) -> psycopg.errors.Diagnostic:
        """What a statement is refused with."""
        with pytest.raises(psycopg.Error) as caught:
            self.run(text)
        return caught.value.diag

    def refusal(self, text: str) -> tuple[str, str | None, str | None]:
        """Message, detail and hint of it."""
        diag = self.error(text)
        return str(diag.message_primary), diag.message_detail, diag.message_hint

    def error_of(self, name: str, kind: type[psycopg.Error] = psycopg.errors.InternalError_) -> str:
        """Wait until reading a table fails; how."""

        def failing() -> str:
            try:
                self.rows(f"SELECT count(*) FROM {name}")
            except kind as error:
                return str(error.diag.message_primary)
            return ""

        return eventually(failing, within_s=EQUAL_S_MAX)

    def value_error_of(self, name: str) -> str:
        """Wait until reading a table fails for a value that cannot be stored; how."""
        return self.error_of(name, psycopg.errors.DataException)

    def read_again(self, name: str, why: str) -> None:
        """Wait until a table is read again for this reason."""
        query = (
            "SELECT h.error FROM mz_internal.mz_source_status_history h"
            " JOIN mz_internal.mz_object_fully_qualified_names n ON n.id = h.source_id"
            f" WHERE n.schema_name = '{self.schema}' AND n.name = '{name}' AND h.error IS NOT NULL"
        )

        def said() -> bool:
            found = self.listed(query)
            assert any(why in error for error in found), found
            return True

        eventually(said, within_s=EQUAL_S_MAX)

    def status_of(self, name: str) -> tuple[str, str | None, Sequence[str]]:
        """(status, error, hints) that are shown for a source or a table."""
        ((word, error, details),) = self.rows(
            "SELECT s.status, s.error, s.details FROM mz_internal.mz_source_statuses s"
            " JOIN mz_objects o ON o.id = s.id JOIN mz_schemas c ON c.id = o.schema_id"
            f" WHERE o.name = '{name}' AND c.name = '{self.schema}'"
        )
        found: dict[str, Any] = details or {}
        return word, error, found.get("hints", [])


def shown(row: tuple[Any, ...]) -> str:
    """A row for comparing: a number is the same with and without zeros at its end."""
    return repr(tuple(value.normalize() if isinstance(value, Decimal) else value for value in row))

"""Orders that are written to upstream and watched here: every answer is checked against the one before.

Transfers   transactions upstream that move amounts and add orders: the sum stays, the count never falls
Watch       reads the orders here, in one way or in several within one transaction
shop        a source with the table `orders` and the view `priced` over it
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby
from typing import Any

import psycopg
import pytest

from tests.support.database import Database
from tests.support.files import rows_about
from tests.support.following import Following
from tests.support.repeated import Repeated, Writer, wait_turns
from tests.support.server import HeadwaterServer, eventually

ROWS = 300
TOTAL = 100 * ROWS
GONE_S_MAX = 240.0
STATEMENT_TIMEOUT = "SET statement_timeout = '240s'"
REPLANNED = "cached plan must not change result type"


class Transfers(Writer):
    """One unit from one order to another, and one more order that is worth nothing."""

    pace_s = 0.02

    def turn(self) -> None:
        n = self.turns
        with self.connection.transaction():
            self.connection.execute("UPDATE orders SET amount = amount - 1 WHERE id = %s", (n % ROWS + 1,))
            self.connection.execute(
                "UPDATE orders SET amount = amount + 1 WHERE id = %s", ((n * 7 + 3) % ROWS + 1,)
            )
            self.connection.execute("INSERT INTO orders (id, amount) VALUES (%s, 0)", (ROWS + 1 + n,))


class Watch(Repeated):
    """Reads orders, in one transaction if by several queries; an answer has at least `id` and `amount`."""

    pace_s = 0.02

    def __init__(self, here: Following, *queries: str) -> None:
        super().__init__(here.connect())
        self.connection.execute(STATEMENT_TIMEOUT)
        self._queries = queries
        self._count = ROWS
        self.shapes: list[tuple[tuple[str, int], ...]] = []

    def turn(self) -> None:
        if len(self._queries) == 1:
            looks = [self._look(self._queries[0])]
        else:
            with self.connection.transaction():
                looks = [self._look(query) for query in self._queries]
        assert len(set(looks)) == 1, f"one transaction saw {looks}"
        assert looks[0] >= self._count, f"{looks[0]} orders, and {self._count} before"
        self._count = looks[0]

    def _look(self, query: str) -> int:
        """The number of orders, when all of them are there."""
        answer = self._answer(query)
        shape = tuple((column.name, column.type_code) for column in answer.description or ())
        rows = [dict(zip([name for name, _ in shape], row, strict=True)) for row in answer.fetchall()]
        self.check_rows(rows)
        self.shapes.append(shape)
        return len(rows)

    def check_rows(self, rows: list[dict[str, Any]]) -> None:
        """Of one answer."""
        assert len({row["id"] for row in rows}) == len(rows), "an order is there twice"
        assert sum(row["amount"] for row in rows) == TOTAL
        assert {row["region"] for row in rows if "region" in row} <= {"north"}

    def _answer(self, query: str) -> psycopg.Cursor[Any]:
        """With the simple protocol if the query has a star: what was prepared may not change its shape."""
        if "*" not in query:
            return self.connection.execute(query.encode())
        return psycopg.ClientCursor(self.connection).execute(query.encode())

    def steps(self) -> list[tuple[str, ...]]:
        """The shapes that were seen, one after the other."""
        return [tuple(name for name, _ in shape) for shape, _ in groupby(self.shapes)]


@contextmanager
def shop(server: HeadwaterServer, database: Database, options: str = "") -> Iterator[Following]:
    """The orders, written to upstream and read here by name and through the view `priced`."""
    database.run(
        "CREATE TABLE orders (id int PRIMARY KEY, amount int NOT NULL)",
        f"INSERT INTO orders SELECT g, 100 FROM generate_series(1, {ROWS}) AS g",
        "CREATE PUBLICATION p FOR ALL TABLES",
    )
    here = Following(server, database)
    try:
        here.run(STATEMENT_TIMEOUT)
        here.create_source()
        here.create_table("orders", options=options)
        here.run("CREATE VIEW priced AS SELECT id, amount FROM orders")
        assert here.value("SELECT count(*) FROM priced") == ROWS
        yield here
    finally:
        here.close()


@contextmanager
def watching(here: Following, *watches: Sequence[str]) -> Iterator[list[Watch]]:
    """Watchers with these queries, while transactions go on upstream."""
    with ExitStack() as stack:
        stack.enter_context(Transfers(here.database))
        watchers = [stack.enter_context(Watch(here, *queries)) for queries in watches]
        wait_turns(watchers)
        yield watchers


def ids(here: Following, schema: str | None = None) -> dict[str, str]:
    """Of the tables and views, by name."""
    return dict(
        here.rows(
            "SELECT o.name, o.id FROM mz_objects o JOIN mz_schemas s ON s.id = o.schema_id"
            f" WHERE s.name = '{schema or here.schema}' AND o.type IN ('table', 'view')"
        )
    )


def read_by(here: Following, id_: str) -> set[str]:
    """The ids of what an object depends on."""
    query = f"SELECT referenced_object_id FROM mz_internal.mz_object_dependencies WHERE object_id = '{id_}'"
    return {row[0] for row in here.rows(query)}


def check_gone(here: Following, id_: str) -> None:
    """Wait until nothing is left of a table."""
    data_dir = here.server.data_dir
    eventually(lambda: rows_about(data_dir, id_) == 0, within_s=GONE_S_MAX)
    eventually(lambda: not (data_dir / "tables" / id_).exists(), within_s=GONE_S_MAX)


def refused(here: Following, text: str) -> str:
    with pytest.raises(psycopg.Error) as error:
        here.run(text)
    return str(error.value.diag.message_primary)

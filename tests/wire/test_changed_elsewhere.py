"""Statements that were prepared, and tables that another session has changed since: nothing goes out under a
description that is no longer true, and nothing is written by a statement that is refused.

Method: a whole environment (without a cluster), messages by hand on one connection, DDL on another.  What
PostgreSQL answers when one session does both is in conversations.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.support.environment import Environment
from tests.support.wire import driver
from tests.wire.plain import Plain


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with Environment(tmp_path_factory.mktemp("environment")) as environment:
        yield environment


@pytest.fixture
def other(environment: Environment) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with environment.connect() as connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute("CREATE TABLE t (a int, b text)")
        yield connection


def change(other: psycopg.Connection[tuple[object, ...]], columns: str) -> None:
    other.execute("DROP TABLE t")
    other.execute(f"CREATE TABLE t ({columns})".encode())


@pytest.mark.parametrize("columns", ["a text, b text", "a int, b text, c int", "a int, other text"])
@pytest.mark.parametrize("bound", ["before", "after"])
def test_an_insert_that_would_return_something_else_is_refused_and_writes_nothing(
    client: Plain, other: psycopg.Connection[tuple[object, ...]], columns: str, bound: str
) -> None:
    client.send(driver.query("BEGIN"))
    client.until_ready()
    bind = driver.bind((b"1", b"x"), (), (), "p", "s")
    client.send(driver.parse("INSERT INTO t VALUES ($1, $2) RETURNING *", "s") + driver.describe("S", "s"))
    client.send((bind if bound == "before" else b"") + driver.SYNC)
    client.until_ready()
    change(other, columns)
    client.send((bind if bound == "after" else b"") + driver.execute(0, "p") + driver.SYNC)
    replies = client.until_ready()
    assert driver.error_of(replies)["C"] in ("0A000", "42804"), (
        "the columns, or else the parameter, do not fit"
    )
    assert driver.rows_of(replies) == []
    assert replies[-1] == ("Z", b"E")
    client.send(driver.query("COMMIT"))
    assert client.until_ready()[-2:] == [("C", b"ROLLBACK\x00"), ("Z", b"I")]
    assert other.execute("SELECT * FROM t").fetchall() == []


def test_a_table_made_anew_with_the_same_columns_is_written_without_a_word(
    client: Plain, other: psycopg.Connection[tuple[object, ...]]
) -> None:
    client.send(driver.parse("INSERT INTO t VALUES ($1, $2) RETURNING *", "s") + driver.describe("S", "s"))
    client.send(driver.SYNC)
    client.until_ready()
    change(other, "a int, b text")
    client.send(driver.bind((b"1", b"x"), (), (), "", "s") + driver.execute() + driver.SYNC)
    assert driver.rows_of(client.until_ready()) == [(b"1", b"x")]
    assert other.execute("SELECT * FROM t").fetchall() == [(1, "x")]


def test_a_fetch_that_was_described_is_refused_when_its_cursor_is_another(client: Plain) -> None:
    client.send(driver.query("BEGIN") + driver.query("DECLARE c CURSOR FOR SELECT 1 AS one"))
    client.until_ready()
    client.until_ready()
    client.send(driver.parse("FETCH ALL FROM c", "f") + driver.describe("S", "f") + driver.SYNC)
    client.until_ready()
    client.send(driver.query("CLOSE c; DECLARE c CURSOR FOR SELECT 'x'::text AS a, 2 AS b"))
    client.until_ready()
    client.send(driver.bind((), (), (), "", "f") + driver.execute() + driver.SYNC)
    replies = client.until_ready()
    assert (driver.error_of(replies)["C"], replies[-1]) == ("0A000", ("Z", b"E"))

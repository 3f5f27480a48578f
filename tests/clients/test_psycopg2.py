"""psycopg2 works: the simple protocol with literals put in by the driver, cursors, COPY, errors.

Goal: programs and tools on the older driver, which sends everything as text in one message.
Method: as for psycopg 3, less where that covers the same ground.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import psycopg2
import psycopg2.errors
import psycopg2.extensions
import psycopg2.extras
import pytest

from tests.support.server import HeadwaterServer


@pytest.fixture
def connection(server: HeadwaterServer, schema: str) -> Iterator[Any]:
    opened = psycopg2.connect(server.dsn(), options=f"-c search_path={schema}")
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("int8", 2**62),
        ("text", "it's \\ here\n"),
        ("numeric", Decimal("1.5")),
        ("bool", False),
        ("bytea", b"\x00\xff"),
        ("date", date(2024, 2, 29)),
        ("timestamptz", datetime(2024, 1, 1, tzinfo=UTC)),
        ("interval", timedelta(days=1, seconds=2)),
        ("int4[]", [1, 2]),
        ("text[]", ["a", None]),
        ("text", None),
    ],
)
def test_a_value_comes_back_as_it_was_sent(connection: Any, type_: str, value: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT %s::{type_}", (value,))
        found = cursor.fetchone()[0]
    assert (bytes(found) if isinstance(found, memoryview) else found) == value


def test_rows_are_written_in_a_transaction(connection: Any, server: HeadwaterServer, schema: str) -> None:
    with connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE t (a int, b jsonb)")
    with connection, connection.cursor() as cursor:
        psycopg2.extras.execute_values(
            cursor, "INSERT INTO t VALUES %s", [(n, psycopg2.extras.Json({"n": n})) for n in range(10)]
        )
        assert server.query(f"SELECT count(*) FROM {schema}.t") == [(0,)]
    with connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
        cursor.execute("SELECT a, b FROM t WHERE b->>'n' = '7'")
        assert cursor.fetchall() == [{"a": 7, "b": {"n": 7}}]
    connection.rollback()


def test_a_transaction_in_error_is_refused_until_it_is_rolled_back(connection: Any) -> None:
    cursor = connection.cursor()
    with pytest.raises(psycopg2.errors.DivisionByZero):
        cursor.execute("SELECT 1 / 0")
    assert connection.info.transaction_status == psycopg2.extensions.TRANSACTION_STATUS_INERROR
    with pytest.raises(psycopg2.errors.InFailedSqlTransaction):
        cursor.execute("SELECT 1")
    connection.rollback()
    cursor.execute("SELECT 1")
    assert cursor.fetchone() == (1,)


def test_a_named_cursor_reads_in_parts(connection: Any) -> None:
    with connection.cursor("parts") as cursor:
        cursor.itersize = 100
        cursor.execute("SELECT n FROM generate_series(1, 250) AS n ORDER BY n")
        assert [row[0] for row in cursor] == list(range(1, 251))


def test_rows_are_copied_in_and_out(connection: Any) -> None:
    with connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE copied (a int, b text)")
    with connection, connection.cursor() as cursor:
        cursor.copy_expert("COPY copied FROM STDIN WITH (FORMAT csv)", io.StringIO('1,"x, y"\n2,\n'))
    with connection.cursor() as cursor:
        out = io.StringIO()
        cursor.copy_expert("COPY (SELECT * FROM copied ORDER BY a) TO STDOUT", out)
    assert out.getvalue() == "1\tx, y\n2\t\\N\n"


def test_isolation_and_autocommit_are_set_by_the_driver(connection: Any) -> None:
    connection.set_session(isolation_level="SERIALIZABLE", readonly=True)
    with connection.cursor() as cursor:
        cursor.execute("SHOW transaction_isolation")
        assert cursor.fetchone() == ("serializable",)
    connection.rollback()
    connection.set_session(autocommit=True, readonly=False)
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_database(), current_user")
        assert cursor.fetchone() == ("materialize", "materialize")


def test_notices_are_kept(connection: Any) -> None:
    connection.autocommit = True
    connection.cursor().execute("DROP TABLE IF EXISTS never_there")
    assert any('table "never_there" does not exist, skipping' in notice for notice in connection.notices)

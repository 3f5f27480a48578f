"""asyncpg works: everything prepared, everything binary, pools that reset their connections.

Goal: the driver that uses the binary format for all types, and sends statements of its own between
uses of a pooled connection.  Types that it does not know (arrays of other than text, unsigned
integers) it looks up first, with a recursive query that has another, correlated one in it.

Method: real asyncpg in an event loop of the test's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from tests.support.server import HeadwaterServer

Work = Callable[[Any], Awaitable[Any]]


def run(server: HeadwaterServer, schema: str, work: Work) -> Any:
    """Do the work with a connection."""

    async def connected() -> Any:
        connection = await asyncpg.connect(
            host="127.0.0.1",
            port=server.sql_port,
            user="materialize",
            database="materialize",
            server_settings={"search_path": schema},
        )
        try:
            return await asyncio.wait_for(work(connection), 60)
        finally:
            await connection.close()

    return asyncio.run(connected())


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("bool", True),
        ("int2", -5),
        ("int4", 2**31 - 1),
        ("int8", -(2**63)),
        ("float4", 0.5),
        ("float8", 1e-300),
        ("numeric", Decimal("-123456.789")),
        ("numeric(12, 3)", Decimal("0.125")),
        ("text", "ünïcödé"),
        ("varchar(20)", "short"),
        ("bytea", b"\x00\xff"),
        ("date", date(2000, 1, 1)),
        ("time", time(1, 2, 3, 4)),
        ("timestamp", datetime(1999, 12, 31, 23, 59, 59, 999999)),
        ("timestamptz", datetime(2024, 2, 29, tzinfo=UTC)),
        ("interval", timedelta(days=-1, hours=5, microseconds=7)),
        ("uuid", UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
        ("jsonb", '{"a": [1, null]}'),
        ("text[]", ["a", None, ""]),
        ("int8range", asyncpg.Range(1, 5)),
        ("numrange", asyncpg.Range(Decimal("1.5"), None, lower_inc=False)),
        ("daterange", asyncpg.Range(empty=True)),
        ("oid", 17),
        ("text", None),
    ],
)
def test_a_value_comes_back_as_it_was_sent(
    server: HeadwaterServer, schema: str, type_: str, value: Any
) -> None:
    assert run(server, schema, lambda c: c.fetchval(f"SELECT $1::{type_}", value)) == value


MOMENT = datetime(2024, 2, 29, 12, 30, 0, 250000)


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("bool[]", [True, None, False]),
        ("int2[]", [-32768, None, 32767]),
        ("int4[]", [1, None, -(2**31)]),
        ("int8[]", [2**63 - 1, None]),
        ("float4[]", [0.5, None]),
        ("float8[]", [1e-300, None, float("inf")]),
        ("numeric[]", [Decimal("-123456.789"), None, Decimal(0)]),
        (
            "text[]",
            ["a", None, "", "NULL", '"{,}'],
        ),
        ("varchar[]", ["short", None]),
        ("bytea[]", [b"\x00\xff", None, b""]),
        ("date[]", [date(2000, 1, 1), None]),
        ("time[]", [time(1, 2, 3, 4), None]),
        ("timestamp[]", [MOMENT, None]),
        ("timestamptz[]", [MOMENT.replace(tzinfo=UTC), None]),
        ("interval[]", [timedelta(days=-1, hours=5, microseconds=7), None]),
        ("uuid[]", [UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), None]),
        ("jsonb[]", ['{"a": [1, null]}', None]),
        ("oid[]", [17, None]),
        ("int4[]", []),
        ("int4[]", [[1, 2], [None, 4]]),
        ("text[]", [[["a", ""], [None, "{}"]]]),
        ("int4[]", None),
    ],
)
def test_an_array_comes_back_as_it_was_sent(
    server: HeadwaterServer, schema: str, type_: str, value: Any
) -> None:
    assert run(server, schema, lambda c: c.fetchval(f"SELECT $1::{type_}", value)) == value


def test_arrays_are_searched_and_collected(server: HeadwaterServer, schema: str) -> None:
    async def work(connection: Any) -> None:
        await connection.execute("CREATE TABLE listed (a int, b numeric[], c timestamptz[])")
        moments = [MOMENT.replace(tzinfo=UTC)]
        await connection.executemany(
            "INSERT INTO listed VALUES ($1, $2, $3)", [(n, [Decimal(n), None], moments) for n in range(5)]
        )
        rows = await connection.fetch("SELECT b, c FROM listed WHERE a = ANY ($1) ORDER BY a", [1, 3])
        assert [tuple(row) for row in rows] == [([Decimal(n), None], moments) for n in (1, 3)]
        assert await connection.fetchval("SELECT array_agg(a ORDER BY a) FROM listed") == [0, 1, 2, 3, 4]
        statement = await connection.prepare("SELECT $1::int8[] AS n")
        assert [(p.name, p.kind) for p in statement.get_parameters()] == [("int8[]", "array")]

    run(server, schema, work)


def test_records_and_unsigned_integers_are_understood(server: HeadwaterServer, schema: str) -> None:
    async def work(connection: Any) -> None:
        assert tuple(await connection.fetchval("SELECT ROW(1, 'a', NULL::date)")) == (1, "a", None)
        assert await connection.fetchval("SELECT 7::uint8") == "7"
        rows = await connection.fetchval("SELECT ARRAY[ROW(1, 'a'), ROW(NULL::int, 'b')]")
        assert [tuple(row) for row in rows] == [(1, "a"), (None, "b")]

    run(server, schema, work)


def test_rows_of_a_table_are_written_and_read(server: HeadwaterServer, schema: str) -> None:
    async def work(connection: Any) -> None:
        await connection.execute("CREATE TABLE t (a int, b text, c numeric(10, 2))")
        await connection.executemany(
            "INSERT INTO t VALUES ($1, $2, $3)", [(n, f"n{n}", n) for n in range(20)]
        )
        tag = await connection.execute("UPDATE t SET b = $2 WHERE a < $1", 5, "small")
        assert tag == "UPDATE 5"
        rows = await connection.fetch("SELECT a, c FROM t WHERE b = $1 ORDER BY a", "small")
        assert [tuple(row) for row in rows] == [(n, Decimal(n)) for n in range(5)]
        assert await connection.execute("DELETE FROM t WHERE a >= $1", 5) == "DELETE 15"

    run(server, schema, work)


def test_a_prepared_statement_tells_its_types(server: HeadwaterServer, schema: str) -> None:
    async def work(connection: Any) -> None:
        statement = await connection.prepare("SELECT $1::int + 1 AS n, $2::text || '!' AS t")
        assert [p.name for p in statement.get_parameters()] == ["int4", "text"]
        assert [(a.name, a.type.name) for a in statement.get_attributes()] == [("n", "int4"), ("t", "text")]
        for n in range(5):
            assert tuple(await statement.fetchrow(n, "x")) == (n + 1, "x!")
        assert len(await statement.fetch(1, "x")) == 1
        assert statement.get_statusmsg() == "SELECT 1"

    run(server, schema, work)


def test_transactions_and_cursors_work(server: HeadwaterServer, schema: str) -> None:
    async def work(connection: Any) -> None:
        await connection.execute("CREATE TABLE done (a int)")
        async with connection.transaction():
            await connection.execute("INSERT INTO done VALUES ($1)", 1)

        async def fail() -> None:
            async with connection.transaction():
                await connection.execute("INSERT INTO done VALUES ($1)", 2)
                await connection.execute("INSERT INTO done VALUES (1 / $1)", 0)

        with pytest.raises(asyncpg.DivisionByZeroError):
            await fail()
        assert await connection.fetchval("SELECT count(*) FROM done") == 1
        async with connection.transaction(isolation="serializable", readonly=True):
            query = "SELECT n FROM generate_series(1, $1) AS n ORDER BY n"
            assert [r["n"] async for r in connection.cursor(query, 120, prefetch=50)] == list(range(1, 121))
            cursor = await connection.cursor(query, 10)
            assert [r["n"] for r in await cursor.fetch(3)] == [1, 2, 3]

    run(server, schema, work)


def test_rows_are_copied_in_and_out(server: HeadwaterServer, schema: str) -> None:
    async def work(connection: Any) -> None:
        await connection.execute("CREATE TABLE copied (a int, b text, c timestamptz)")
        moment = datetime(2024, 5, 6, tzinfo=UTC)
        rows = [(1, "one", moment), (2, None, None)]
        assert await connection.copy_records_to_table("copied", records=rows) == "COPY 2"
        parts: list[bytes] = []

        async def take(data: bytes) -> None:
            parts.append(data)

        await connection.copy_from_query("SELECT a, b FROM copied ORDER BY a", output=take, format="csv")
        assert b"".join(parts) == b"1,one\n2,\n"

    run(server, schema, work)


def test_a_pool_resets_its_connections(server: HeadwaterServer, schema: str) -> None:
    async def work() -> None:
        async with asyncpg.create_pool(
            host="127.0.0.1",
            port=server.sql_port,
            user="materialize",
            database="materialize",
            min_size=1,
            max_size=2,
        ) as pool:
            for number in range(4):
                async with pool.acquire() as connection:
                    assert await connection.fetchval("SHOW application_name") == ""
                    await connection.execute("SET application_name = 'used'")
                    assert await connection.fetchval("SELECT $1::int", number) == number
            assert await pool.fetchval("SELECT 1") == 1

    asyncio.run(asyncio.wait_for(work(), 60))


def test_cancelling_a_task_cancels_its_query(server: HeadwaterServer, schema: str) -> None:
    async def work(connection: Any) -> None:
        long = (
            "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b WHERE a < -b"
        )
        with pytest.raises(asyncio.TimeoutError):
            await connection.fetchval(long, timeout=0.3)
        assert await connection.fetchval("SELECT 1") == 1

    run(server, schema, work)


def test_a_recursion_without_end_ends_with_its_time(server: HeadwaterServer, schema: str) -> None:
    async def work(connection: Any) -> None:
        endless = (
            "WITH RECURSIVE r(n) AS (SELECT 1::int8 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"
        )
        with pytest.raises(asyncio.TimeoutError):
            await connection.fetchval(endless, timeout=0.3)
        await connection.execute("SET statement_timeout = '300ms'")
        with pytest.raises(asyncpg.QueryCanceledError):
            await connection.fetchval(endless)
        assert await connection.fetchval("SELECT 1") == 1

    run(server, schema, work)


def test_errors_have_the_class_that_programs_catch(server: HeadwaterServer, schema: str) -> None:
    async def work(connection: Any) -> None:
        with pytest.raises(asyncpg.PostgresSyntaxError):
            await connection.execute("SELEC 1")
        with pytest.raises(asyncpg.UndefinedColumnError) as caught:
            await connection.fetch("SELECT nothing")
        assert caught.value.position == "8"
        await connection.execute("CREATE TABLE strict (a int NOT NULL)")
        with pytest.raises(asyncpg.NotNullViolationError):
            await connection.execute("INSERT INTO strict VALUES (NULL)")

    run(server, schema, work)

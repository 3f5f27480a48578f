"""SELECT: what cannot be computed from constants is an error even where no row needs it.

Goal: the same queries fail as on a real PostgreSQL 15, which computes constants when it plans, and with
the same SQLSTATE; those that do not fail there give the same rows here.

Method: the expected answers are asked of PostgreSQL during the run.  `t` has two rows, `e` none.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.support.postgres import available, running
from tests.support.server import HeadwaterServer

pytestmark = pytest.mark.skipif(not available(), reason="this machine has no PostgreSQL 15")

SCHEMA = "constants_tests"
QUERIES = r"""
SELECT 1 / 0 FROM t WHERE false
SELECT 1 / 0 WHERE false
SELECT 1 / 0 FROM e
SELECT a FROM e WHERE 1 / 0 = 1
SELECT CASE WHEN a > 0 THEN 1 / 0 ELSE 1 END FROM e
SELECT CASE WHEN a > 100 THEN 1 / 0 ELSE 1 END FROM t
SELECT CASE WHEN true THEN 1 ELSE 1 / 0 END
SELECT CASE WHEN false THEN 1 / 0 ELSE 1 END
SELECT CASE WHEN a > 0 THEN 1 WHEN true THEN 2 ELSE 1 / 0 END FROM t
SELECT CASE 1 WHEN 1 THEN 1 ELSE 1 / 0 END
SELECT coalesce(1, 1 / 0)
SELECT coalesce(a, 1 / 0) FROM t
SELECT coalesce(null, 1, 1 / 0)
SELECT false AND 1 / 0 = 1
SELECT 1 / 0 = 1 AND false
SELECT a FROM t WHERE false AND 1 / 0 = 1
SELECT a FROM t WHERE a > 100 AND 1 / 0 = 1
SELECT true OR 1 / 0 = 1
SELECT count(*) FROM t WHERE a IN (1, 1 / 0)
SELECT 1 WHERE 1 IN (1, 1 / 0)
SELECT sum(1 / 0) FROM e
SELECT max(a) FROM e HAVING 1 / 0 = 1
SELECT a FROM e ORDER BY 1 / 0
SELECT a FROM e GROUP BY a, 1 / 0
SELECT a FROM t LIMIT 1 / 0
SELECT a FROM e LIMIT 1 / 0
SELECT 'x'::int FROM e
SELECT ('x' || 'y')::int FROM e
SELECT cast('x'::text AS int) FROM e
SELECT sqrt(-1) FROM e
SELECT ln(0) FROM e
SELECT 2147483647 + 1 FROM e
SELECT 9223372036854775807 + 1 FROM e
SELECT 10 ^ 400 FROM e
SELECT a FROM (SELECT a, 1 / 0 AS b FROM t) x
SELECT a FROM (SELECT a, 1 / 0 AS b FROM e) x
WITH x AS (SELECT 1 / 0 AS b) SELECT 1
SELECT 1 WHERE EXISTS (SELECT 1 / 0)
SELECT 1 WHERE EXISTS (SELECT 1 / 0 FROM t)
SELECT (SELECT 1 / 0 FROM e)
SELECT (SELECT a FROM e WHERE a = 1 / 0)
SELECT t.a FROM t LEFT JOIN e ON 1 / 0 = 1
SELECT t.a FROM t JOIN e ON t.a = e.a AND 1 / 0 = 1
SELECT 1 UNION SELECT 1 / 0 FROM e
SELECT a FROM e WHERE a = ANY (ARRAY[1, 1 / 0])
SELECT nullif(1, 1 / 0) FROM e
SELECT greatest(1, 1 / 0) FROM e
SELECT row_number() OVER (ORDER BY 1 / 0) FROM e
SELECT date '2020-01-01' + 99999999 FROM e
SELECT substring('abc', 1, -1) FROM e
SELECT repeat('x', 1 / 0) FROM e
SELECT a, null::int + 1 / 0 FROM e
SELECT null::int + 1 / 0
SELECT a + 1 / 0 FROM e
SELECT a + null + 1 / 0 FROM e
SELECT null AND 1 / 0 = 1
SELECT a > 0 AND 1 / 0 = 1 FROM e
SELECT count(*) FILTER (WHERE 1 / 0 = 1) FROM e
SELECT extract(foo FROM date '2020-01-01') FROM e
SELECT generate_series(1, 1 / 0) FROM e
SELECT * FROM generate_series(1, 1 / 0) WHERE false
SELECT 1 / a FROM t WHERE false
SELECT (1, 1 / 0) FROM e
SELECT ARRAY[1 / 0] FROM e
SELECT '{1,x}'::int[] FROM e
SELECT to_char(1 / 0, '9') FROM e
SELECT lower((1 / 0)::text) FROM e
SELECT mod(1, 0) FROM e
SELECT 1 FROM e WHERE a BETWEEN 1 AND 1 / 0
SELECT now() - (1 / 0) * interval '1 day' FROM e
SELECT DISTINCT 1 / 0 FROM e
SELECT a IS NULL OR 1 / 0 = 1 FROM t
SELECT NOT (1 / 0 = 1) FROM e
SELECT (1 / 0) IS NULL FROM e
SELECT (1 / 0)::text COLLATE "C" FROM e
VALUES (1), (1 / 0)
SELECT 1 FROM (VALUES (1), (1 / 0)) v WHERE false
SELECT cast('x'::text AS date) FROM e
SELECT cast('x'::text AS timestamp) FROM e
SELECT cast('x'::text AS interval) FROM e
SELECT cast('x'::text AS int[]) FROM e
SELECT cast('x'::text AS uuid) FROM e
SELECT cast('x'::text AS jsonb) FROM e
SELECT cast('x'::text AS bool) FROM e
SELECT to_date('x', 'YYYY') FROM e
SELECT to_char(1, '9') || (1 / 0)::text FROM e
SELECT format('%s %s', 1) FROM e
SELECT date_trunc('foo', timestamptz '2020-01-01') FROM e
SELECT date_trunc('foo', timestamp '2020-01-01') FROM e
SELECT timestamptz '2020-01-01' + (1 / 0) * interval '1 day' FROM e
SELECT date '5874897-12-31' + 1 FROM e
SELECT cast(date '5874897-12-31' AS timestamp) FROM e
SELECT (null::int + 1) + 1 / 0 FROM e
SELECT coalesce(null::int + 1, 1 / 0) FROM e
SELECT coalesce(a, 2, 1 / 0) FROM t
SELECT coalesce(a, null, 1 / 0) FROM t
SELECT CASE a WHEN 1 THEN 2 WHEN 1 / 0 THEN 3 END FROM e
SELECT CASE WHEN 1 = 2 THEN 1 / 0 WHEN a = 1 THEN 2 END FROM t
SELECT CASE WHEN 1 = 1 THEN 2 WHEN a = 1 THEN 1 / 0 END FROM t
SELECT CASE WHEN a = 1 THEN 2 WHEN 1 = 1 THEN 3 ELSE 1 / 0 END FROM t
SELECT CASE WHEN a = 1 THEN 2 WHEN 1 = 2 THEN 1 / 0 ELSE 3 END FROM t
SELECT CASE WHEN a = 1 THEN CASE WHEN 1 = 2 THEN 1 / 0 ELSE 5 END END FROM t
SELECT CASE WHEN a = 1 THEN (SELECT 1 / 0 FROM e) END FROM t
SELECT CASE WHEN true THEN 1 ELSE (SELECT 1 / 0) END FROM t
SELECT a FROM t WHERE a > 0 OR (1 = 1 OR 1 / 0 = 1)
SELECT a FROM t WHERE a > 0 AND (1 = 2 AND 1 / 0 = 1)
SELECT a FROM t WHERE a > 9 AND 1 / 0 = 1 AND false
SELECT a FROM t WHERE false AND a > 9 AND 1 / 0 = 1
SELECT a FROM t WHERE a IN (SELECT 1 / 0 FROM e)
SELECT a FROM t WHERE a = ALL (SELECT a FROM e WHERE 1 / 0 = 1)
SELECT a FROM t WHERE 1 / 0 IN (SELECT a FROM e)
SELECT ARRAY(SELECT 1 / 0 FROM e)
SELECT sum(a) OVER (ROWS BETWEEN 1 / 0 PRECEDING AND CURRENT ROW) FROM e
SELECT string_agg(a::text, (1 / 0)::text) FROM e
SELECT array_agg(a ORDER BY 1 / 0) FROM e
SELECT count(DISTINCT 1 / 0) FROM e
SELECT a FROM e OFFSET 1 / 0
SELECT 'abc' LIKE 'a\' FROM e
SELECT regexp_replace('a', '(', 'b') FROM e
SELECT 'a' ~ '(' FROM e
SELECT decode('x', 'hex') FROM e
SELECT chr(0) FROM e
SELECT 1::numeric / 0 FROM e
SELECT 1::float8 / 0 FROM e
SELECT 1e300::float8 * 1e300 FROM e
SELECT 300::int2 * 300::int2 FROM e
SELECT 99999::int2 FROM e
SELECT abs((-32768)::int2) FROM e
SELECT power(0, -1) FROM e
SELECT '1'::jsonb -> 'a' FROM e
SELECT make_date(2020, 13, 1) FROM e
SELECT repeat('x', -1) FROM e
SELECT left('abc', 2147483647 + 1) FROM e
""".strip().splitlines()


@pytest.fixture(scope="module")
def upstream() -> Iterator[psycopg.Connection]:
    with running() as server, psycopg.connect(server.dsn(), autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def connection(server: HeadwaterServer, upstream: psycopg.Connection) -> Iterator[psycopg.Connection]:
    with server.connect() as made:
        made.execute(f"CREATE SCHEMA {SCHEMA}".encode())
        made.execute(f"SET search_path = {SCHEMA}".encode())
        for each in (made, upstream):
            each.execute("CREATE TABLE t (a int)")
            each.execute("CREATE TABLE e (a int)")
            each.execute("INSERT INTO t VALUES (1), (2)")
        yield made
        made.execute(f"DROP SCHEMA {SCHEMA} CASCADE".encode())


def answer(connection: psycopg.Connection, query: str) -> object:
    try:
        return sorted(connection.execute(query.encode()).fetchall(), key=repr)
    except psycopg.Error as error:
        return error.sqlstate


@pytest.mark.parametrize("query", QUERIES)
def test_constants_fail_where_they_fail_in_postgresql(
    connection: psycopg.Connection, upstream: psycopg.Connection, query: str
) -> None:
    assert answer(connection, query) == answer(upstream, query)


def test_arguments_are_constants_too(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        connection.execute("SELECT 1 / %s::int FROM e", (0,))
    assert connection.execute("SELECT 1 / %s::int FROM e", (1,)).fetchall() == []


def test_a_subscription_fails_too(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        connection.execute("SUBSCRIBE (SELECT 1 / 0 FROM e)")

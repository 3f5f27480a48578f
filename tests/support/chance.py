"""Queries whose result SQL leaves to chance, and rows of which many are tied.

`r` has values that are equal without being the same: 0 and -0, '1 month' and '30 days'.  Float sums
depend on the order of addition.  `write` puts the rows into a Parquet file in another order each time.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from headwater.core.errors import UserError
from headwater.core.names import NamedRelation, SessionFacts
from headwater.core.relation import Column, Relation
from headwater.core.types import (
    FLOAT4,
    FLOAT8,
    INT4,
    INTERVAL,
    JSONB,
    NUMERIC,
    TEXT,
    SqlType,
    array_of,
    map_of,
)
from headwater.formats.arrow import state_schema
from headwater.formats.text import from_text, to_text
from headwater.sql.select import plan_query, total_order
from headwater.sql.select.generate.duckdb.query import generate
from headwater.sql.select.kernels import register_duckdb, told
from headwater.sql.select.plan.nodes import Query

DOMAINS: tuple[tuple[str, SqlType, tuple[str | None, ...]], ...] = (
    ("k", INT4, ("1", "2", "3", None)),
    ("f", FLOAT8, ("0", "-0", "0.1", "1e16", "-1e16", "1.1", "NaN", None)),
    ("g", FLOAT4, ("0", "-0", "0.1", "16777216", "1", None)),
    ("x", FLOAT8, ("0.1", "0.2", "0.3", "1e9", "-1e9", "1e-9", "3.3333333333")),
    ("i", INTERVAL, ("1 mon", "30 days", "720:00:00", "1 day", None)),
    ("n", NUMERIC, ("1.5", "2", "-3.25", "10", None)),
    ("j", JSONB, ('{"a": 1}', "[1, 2]", '"x"', "1", "null", None)),
    ("c", SqlType("char", length=4), ("ab", "b", None)),
    ("a", array_of(FLOAT8), ("{0}", "{-0}", "{NULL}", "{1,2}", "{}", None)),
    ("m", map_of(INT4), ("{x=>1}", "{}", None)),
    ("t", TEXT, ("a", "B", "ä", "", None)),
)
RELATION = Relation(tuple(Column(name, type_) for name, type_, _ in DOMAINS))

QUERIES = (
    "SELECT * FROM r LIMIT 20",
    "SELECT k, f, i FROM r ORDER BY k LIMIT 13 OFFSET 5",
    "SELECT f FROM r LIMIT 20",
    "SELECT i FROM r ORDER BY i LIMIT 30",
    "SELECT a FROM r ORDER BY t DESC LIMIT 30",
    "SELECT m, j FROM r LIMIT 30",
    "SELECT t FROM (SELECT t, k FROM r ORDER BY k DESC, x) s LIMIT 7",
    "SELECT upper(t) FROM (SELECT t FROM r WHERE k > 1 ORDER BY x) s LIMIT 7",
    "SELECT DISTINCT ON (k) k, f, t, i FROM r",
    "SELECT DISTINCT ON (k) k, x FROM r ORDER BY k, t",
    "SELECT DISTINCT f, i FROM r",
    "SELECT DISTINCT a FROM r",
    "SELECT DISTINCT c, g FROM r",
    "SELECT f, count(*) FROM r GROUP BY f",
    "SELECT i, count(*), max(x) FROM r GROUP BY i",
    "SELECT a, count(*) FROM r GROUP BY a",
    "SELECT f FROM r UNION SELECT -f FROM r",
    "SELECT i FROM r UNION SELECT i * 1 FROM r WHERE k = 1",
    "SELECT f FROM r INTERSECT SELECT -f FROM r",
    "SELECT i FROM r WHERE k < 3 INTERSECT SELECT i FROM r WHERE k = 1",
    "SELECT f FROM r EXCEPT SELECT x FROM r",
    "SELECT f FROM r EXCEPT ALL SELECT f FROM r WHERE k = 1",
    "SELECT i, c FROM r EXCEPT ALL SELECT i, c FROM r WHERE k = 1",
    "SELECT i, a FROM r WHERE x < 1 INTERSECT ALL SELECT i, a FROM r WHERE k = 1",
    "SELECT k, row_number() OVER (ORDER BY k) AS w FROM r",
    "SELECT t, row_number() OVER () AS w FROM r",
    "SELECT f, ntile(4) OVER (PARTITION BY k ORDER BY i) AS w FROM r",
    "SELECT t, lag(x) OVER (ORDER BY k) AS w, lead(f, 2) OVER (ORDER BY i) AS v FROM r",
    "SELECT k, rank() OVER (ORDER BY f) AS w, dense_rank() OVER (ORDER BY i) AS v FROM r",
    "SELECT k, first_value(x) OVER (PARTITION BY k ORDER BY t) AS w FROM r",
    "SELECT k, last_value(x) OVER (ORDER BY k) AS w FROM r",
    "SELECT k, last_value(f) OVER (PARTITION BY k) AS w, nth_value(x, 3) OVER (ORDER BY k) AS v FROM r",
    "SELECT k, first_value(i) OVER (ORDER BY k RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM r",
    "SELECT k, count(*) OVER (ORDER BY k) AS w, sum(k) OVER (ORDER BY k ROWS 2 PRECEDING) AS v FROM r",
    "SELECT k, sum(x) OVER (PARTITION BY k) AS w, avg(g) OVER (ORDER BY k) AS v FROM r",
    "SELECT k, array_agg(t) OVER (ORDER BY k) AS w FROM r WHERE k IS NOT NULL LIMIT 50",
    "SELECT k, array_agg(f) FROM r GROUP BY k",
    "SELECT k, array_agg(t ORDER BY k) FROM r GROUP BY k",
    "SELECT k, array_agg(i), list_agg(n) FROM r GROUP BY k",
    "SELECT array_agg(DISTINCT f), array_agg(DISTINCT t), string_agg(DISTINCT t, '/') FROM r",
    "SELECT string_agg(t, ','), jsonb_agg(j), jsonb_agg(x), jsonb_object_agg(coalesce(t, '?'), x) FROM r",
    "SELECT k, string_agg(t, ',') FROM (SELECT * FROM r ORDER BY x DESC) s GROUP BY k",
    "SELECT k, sum(x), avg(x), avg(f), sum(g), avg(g) FROM r GROUP BY k",
    "SELECT sum(f) FROM r WHERE f = 0",
    "SELECT sum(DISTINCT f), sum(DISTINCT x), avg(DISTINCT g) FROM r WHERE f < 5",
    "SELECT k, stddev(x), var_pop(g), corr(x, g), regr_slope(x, g) FROM r GROUP BY k",
    "SELECT min(f), max(f), min(i), max(i), min(c), max(g) FROM r WHERE f <= 0",
    "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY f) FROM r",
    "SELECT percentile_cont(0.4) WITHIN GROUP (ORDER BY x) FROM r",
    "SELECT ARRAY(SELECT t FROM r WHERE k = 1)",
    "SELECT ARRAY(SELECT f FROM r ORDER BY k LIMIT 9)",
    "SELECT k, (SELECT s.x FROM r s WHERE s.k = q.k LIMIT 1) AS y FROM (SELECT DISTINCT k FROM r) q",
    "SELECT q.k, l.t FROM (SELECT DISTINCT k FROM r) q, LATERAL (SELECT t FROM r WHERE r.k = q.k LIMIT 2) l",
    "SELECT f, i, a FROM (SELECT f, i, a FROM r LIMIT 40) s, (VALUES (1)) v",
    "SELECT count(*) FROM (SELECT 1 FROM r LIMIT 10) s",
)  # fmt: skip


class ChanceNames:
    """A catalog of `r` alone."""

    def find_relation(self, parts: tuple[str, ...]) -> NamedRelation:
        if parts[-1] != "r":
            raise UserError(f"unknown catalog item '{parts[-1]}'", "42P01")
        return NamedRelation("u1", "materialize", "public", "r", "table", RELATION, None)

    def regclass(self, text: str) -> int | None:
        return None

    def type_oid(self, text: str) -> int | None:
        return None


def plain(text: str) -> Query:
    """The plan of a query over `r`."""
    return plan_query(text, ChanceNames(), SessionFacts())


def certain(text: str) -> Query:
    """The same, with nothing left to chance."""
    return total_order(plain(text))


def rows(seed: int, count: int) -> list[tuple[str | None, ...]]:
    """Rows of `r`, the same for the same seed."""
    chance = random.Random(seed)
    return [tuple(chance.choice(values) for _, _, values in DOMAINS) for _ in range(count)]


def write(path: Path, values: list[tuple[str | None, ...]], seed: int) -> None:
    """The rows as a file, in an order and in groups that depend on the seed."""
    chance = random.Random(seed)
    mixed = chance.sample(values, len(values))
    arrays = [
        from_text(pa.array([row[place] for row in mixed], pa.string()), type_)
        for place, (_, type_, _) in enumerate(DOMAINS)
    ]
    table = pa.table(arrays, schema=state_schema(RELATION))
    pq.write_table(table, path, row_group_size=chance.randint(1, len(values)))


Bag = Counter[tuple[str | None, ...]]


@cache
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 4})
    connection.execute("SET TimeZone = 'UTC'")
    register_duckdb(connection)
    return connection


def answer(query: Query, file: Path) -> Bag:
    table = database().sql(told(generate(query, {"u1": f"read_parquet('{file}')"}))).to_arrow_table()
    printed = [to_text(table.column(i), column.type).to_pylist() for i, column in enumerate(query.columns())]
    return Counter(zip(*printed, strict=True))

"""Numerics in flight: a computed numeric keeps its zeros for the next computation and for nobody else.

Goal: the digits of an inexact result are PostgreSQL's however its operands were computed, and
comparisons, groups, texts and results see canonical numerics.
Method: queries run in DuckDB against digits that PostgreSQL 15 gave; the columns chosen are read
from plans; forms are taken apart as texts.
"""

from __future__ import annotations

import pytest

from headwater.core.types import NUMERIC, numeric
from headwater.sql.select.functions.forms import (
    DUCKDB,
    SPARK,
    numeric_bare,
    numeric_text,
    trimmed,
)
from headwater.sql.select.functions.written import untrimmed
from headwater.sql.select.passes.zeros import columns_with_zeros
from tests.unit.sql.select.lab import one, plan, run


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("exp(1::numeric / 1000)", "1.00100050016670834167"),
        ("exp(coalesce(1::numeric / 1000, 2))", "1.00100050016670834167"),
        ("exp(CASE WHEN true THEN 1::numeric / 1000 ELSE 2 END)", "1.00100050016670834167"),
        ("exp((SELECT 1::numeric / 1000))", "1.00100050016670834167"),
        ("exp(trim_scale(1::numeric / 1000))", "1.0010005001667083"),
        ("exp(0.001)", "1.0010005001667083"),
        ("exp('1.50000000000000000000000'::numeric)", "4.48168907033806482260206"),
        ("1::numeric / 8 = 0.125", "t"),
        ("1::numeric / 8 IN (0.125)", "t"),
        ("(1::numeric / 8)::text", "0.125"),
        ("ARRAY[1::numeric / 8]", "{0.125}"),
        ("to_jsonb(1::numeric / 8)", "0.125"),
        ("0::numeric / 7", "0"),
        ("-0.0::numeric * 1.50", "0"),
    ],
)
def test_only_computations_see_the_zeros_of_a_numeric(expression: str, expected: str) -> None:
    assert one(f"SELECT {expression}") == expected


@pytest.mark.parametrize(
    "query",
    [
        "SELECT exp(y) FROM (SELECT 1::numeric / 1000 AS y) q",
        "SELECT exp(y) FROM (SELECT DISTINCT x / 1000 AS y FROM (VALUES (1::numeric), (1.0)) t(x)) q",
        "SELECT exp(y) FROM (SELECT x / 1000 AS y FROM (VALUES (1::numeric)) t(x) GROUP BY x / 1000) q",
        "SELECT exp(y) FROM (SELECT 1::numeric / 1000 AS y UNION SELECT 0.001) q",
        "SELECT exp(y) FROM (SELECT 1::numeric / 1000 AS y INTERSECT SELECT 0.001) q",
        "SELECT exp(y) FROM (SELECT 1::numeric / 1000 AS y EXCEPT SELECT 2) q",
        "SELECT exp(y) FROM (SELECT 1::numeric / 1000 AS y INTERSECT ALL SELECT 0.001) q",
        "SELECT exp(y) FROM (SELECT 1::numeric / 1000 AS y EXCEPT ALL SELECT 2) q",
        "SELECT exp(sum(DISTINCT y)) FROM (VALUES (1::numeric / 1000), (1::numeric / 1000)) q(y)",
        "SELECT exp(max(DISTINCT y)) FROM (SELECT 1::numeric / 1000 AS y) q",
        "SELECT exp(max(y)) FROM (SELECT 1::numeric / 1000 AS y) q",
        "SELECT exp(first_value(y) OVER ()) FROM (SELECT 1::numeric / 1000 AS y) q",
    ],
)
def test_the_zeros_pass_through_the_nodes_of_a_plan(query: str) -> None:
    assert one(query) == "1.00100050016670834167"


def test_equal_numerics_are_one_whatever_their_zeros() -> None:
    rows = "(VALUES (1::numeric), (1.000), (2)) t(x)"
    assert run(f"SELECT DISTINCT x / 8 FROM {rows} ORDER BY 1") == (("0.125",), ("0.25",))
    grouped = run(f"SELECT x / 8, count(*) FROM {rows} GROUP BY 1 ORDER BY 1")
    assert grouped == (("0.125", "2"), ("0.25", "1"))


def test_what_is_read_from_a_relation_carries_no_zeros() -> None:
    assert columns_with_zeros(plan("SELECT n, u FROM t").root) == frozenset()
    assert columns_with_zeros(plan("SELECT x / 3 FROM (SELECT u::numeric AS x FROM t) q").root)


def test_a_trimmed_text_can_be_had_back_and_is_not_trimmed_twice() -> None:
    for engine in (DUCKDB, SPARK):
        once = trimmed(engine, "c1")
        assert untrimmed(once) == untrimmed("c1") == "c1"
        assert trimmed(engine, once) == once != "c1"
        bare = numeric_bare(engine, "c1", numeric(2))
        assert numeric_text(engine, bare, NUMERIC) == numeric_text(engine, "c1", numeric(2))

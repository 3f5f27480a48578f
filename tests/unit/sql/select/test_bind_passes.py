"""Rewrites of plans, walking them, and EXPLAIN.

Method: plans of queries, before and after; what prune_columns leaves out is looked for in scans and
projections, and the rows must stay the same.
"""

from __future__ import annotations

import pytest

from headwater.sql.select import before_rows, explain
from headwater.sql.select.plan.nodes import Node, Query, Scan
from headwater.sql.select.plan.walk import highest_id, inputs, output_columns, rebuild_node
from tests.unit.sql.select.lab import plan, run


def scans(node: Node) -> list[Scan]:
    return [node] if isinstance(node, Scan) else [scan for inner in inputs(node) for scan in scans(inner)]


def read(query: Query) -> list[list[str]]:
    return [[column.name for column in scan.columns] for scan in scans(query.root)]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT a FROM t", [["a"]]),
        ("SELECT count(*) FROM t", [[]]),
        ("SELECT a FROM t WHERE b = 'x' ORDER BY n", [["a", "b", "n"]]),
        ("SELECT q.a FROM (SELECT * FROM t) q", [["a"]]),
        ("SELECT a FROM v", [["a"]]),
        ("SELECT t.b FROM t JOIN s USING (a)", [["a", "b"], ["a"]]),
        ("SELECT a FROM (SELECT a, sum(n) OVER (ORDER BY f) FROM t) q", [["a"]]),
        ("SELECT count(*) FROM (SELECT DISTINCT a, b FROM t) q", [["a", "b"]]),
        ("SELECT 1 FROM t, LATERAL (SELECT t.n + 1 AS z) q WHERE z > 1", [["n"]]),
        ("SELECT b FROM t GROUP BY b, n", [["b", "n"]]),
        ("SELECT a FROM (SELECT a, b FROM t UNION SELECT a, x FROM s) q", [["a", "b"], ["a", "x"]]),
        ("SELECT (SELECT t.f) FROM t", [["f"]]),
    ],
)
def test_only_what_is_used_is_read(text: str, columns: list[list[str]]) -> None:
    assert read(plan(text)) == columns


def test_pruning_keeps_the_rows() -> None:
    assert run("SELECT q.a FROM (SELECT a, 1 / (a - a) AS z FROM s) q ORDER BY 1") == (("1",), ("1",), ("4",))
    assert run("SELECT count(*) FROM (SELECT DISTINCT a FROM s) q") == (("2",),)
    assert run("SELECT count(*) FROM (SELECT a FROM s UNION SELECT 1) q") == (("2",),)
    assert run("SELECT count(*) FROM (SELECT a, count(*) FROM s GROUP BY a) q") == (("2",),)


def test_numbers_of_columns_are_unique_and_a_copy_is_equal() -> None:
    query = plan("SELECT s.a, q.total FROM s JOIN v q ON s.a = q.a WHERE s.x IN (SELECT x FROM s) ORDER BY 1")
    seen: list[int] = []

    def copy(node: Node) -> Node:
        if not list(inputs(node)) or type(node).__name__ in ("Project", "Aggregate"):
            seen.extend(column.id for column in output_columns(node))
        return rebuild_node(node, copy, lambda expression: expression)

    assert copy(query.root) == query.root
    assert len(seen) == len(set(seen))
    assert highest_id(query.root) >= max(seen)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("SELECT 1, 'x', a FROM t", 0),
        ("SELECT a + 1 FROM t", 0),
        ("SELECT a + (1 + 2) * 3 FROM t", 1),
        ("SELECT a + 1 / 2, a - 1 / 2 FROM t", 1),  # the same twice
        ("SELECT 1 + 2 FROM t WHERE a < 3 * 4 ORDER BY 5 - 6", 3),
        ("SELECT null::int + 1 / 2", 2),  # the sum, and what it would not need
        ("SELECT a IN (1 / 2, 3 / 4) FROM t", 2),
        ("SELECT (SELECT sum(1 + 2) FROM s WHERE EXISTS (SELECT 3 + 4 FROM t WHERE 5 + 6 = a)) FROM t", 2),
        ("SELECT mz_now()::text FROM t", 0),
        ("SELECT q.a FROM (SELECT a, 1 / 0 FROM t) q", 0),
    ],
)
def test_parts_of_constants_are_found(text: str, parts: int) -> None:
    found = before_rows(plan(text))
    assert (0 if found is None else len(found.output)) == parts


def test_explain_shows_the_plan_from_the_top_down() -> None:
    shown = explain(plan("SELECT a, count(*) FROM t WHERE b LIKE 'x%' GROUP BY a ORDER BY 2 DESC LIMIT 5"))
    lines = [line.strip().split(" ")[0] for line in shown.splitlines()]
    assert lines == ["Output", "Limit", "Sort", "Project", "Aggregate", "Filter", "Scan"]
    assert "Scan materialize.public.t" in shown
    assert [len(line) - len(line.lstrip()) for line in shown.splitlines()] == [0, 2, 4, 6, 8, 10, 12]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT DISTINCT ON (a) a FROM s UNION ALL SELECT 1",
        "SELECT row_number() OVER (PARTITION BY a ORDER BY x ROWS 1 PRECEDING) FROM s",
        "SELECT a IN (1, 2), a = ANY (SELECT 1), ARRAY[1], ROW(1), NOT ok, $1::int,"
        " a::text FROM t, unnest(arr) WITH ORDINALITY",
        "SELECT string_agg(DISTINCT x, ',' ORDER BY x) FILTER (WHERE a > 1), CASE WHEN"
        " true THEN 1 END FROM s",
        "VALUES " + ", ".join(["(1)"] * 20) + " OFFSET 3",
    ],
)
def test_every_plan_can_be_explained(text: str) -> None:
    assert explain(plan(text)).startswith("Output ")

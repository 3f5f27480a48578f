"""Names in binding: tables, aliases, joins, subqueries, common tables, views.

Method: queries over the lab's relations whose rows show which column a name meant, and the
errors for names that mean nothing or too much, compared by text and place.
"""

from __future__ import annotations

import pytest

from headwater.core.errors import UserError
from headwater.sql.select import qualify, relations_of, rename
from tests.unit.sql.select.lab import LabNames, failure, plan, run


def names(text: str) -> list[str]:
    return [column.name for column in plan(text).output]


@pytest.mark.parametrize(
    ("text", "sqlstate", "message", "position"),
    [
        ("SELECT nope FROM s", "42703", 'column "nope" does not exist', 8),
        ("SELECT s.nope FROM s", "42703", "column s.nope does not exist", 8),
        ("SELECT z.a FROM s", "42P01", 'missing FROM-clause entry for table "z"', 8),
        ("SELECT s.a FROM s AS q", "42P01", 'invalid reference to FROM-clause entry for table "s"', 8),
        ("SELECT a FROM s, t", "42702", 'column reference "a" is ambiguous', 8),
        ("SELECT * FROM s, s", "42712", 'table name "s" specified more than once', 18),
        ("SELECT * FROM nosuch", "42P01", "unknown catalog item 'nosuch'", 15),
        ("SELECT *", "42601", "SELECT * with no tables specified is not valid", 8),
        ("SELECT z.* FROM s", "42P01", 'missing FROM-clause entry for table "z"', 8),
        (
            "SELECT * FROM s JOIN t USING (x)",
            "42703",
            'column "x" specified in USING clause does not exist in right table',
            17,
        ),
        ("SELECT a AS q FROM s WHERE q = 1", "42703", 'column "q" does not exist', 28),
        ("SELECT a AS q FROM s ORDER BY q + 1", "42703", 'column "q" does not exist', 31),
        ("SELECT * FROM s ORDER BY 3", "42P10", "ORDER BY position 3 is not in select list", 26),
        ("SELECT a, x AS a FROM s ORDER BY a", "42702", 'ORDER BY "a" is ambiguous', 34),
        (
            "SELECT DISTINCT a FROM s ORDER BY x",
            "42P10",
            "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
            35,
        ),
        (
            "SELECT DISTINCT ON (a) a FROM s ORDER BY x",
            "42P10",
            "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
            21,
        ),
        (
            "SELECT a FROM s UNION SELECT 1 ORDER BY a + 1",
            "0A000",
            "invalid UNION/INTERSECT/EXCEPT ORDER BY clause",
            43,
        ),
        ("SELECT 1, 2 UNION SELECT 1", "42601", "each UNION query must have the same number of columns", 13),
        (
            "SELECT * FROM (SELECT 1) q (a, b)",
            "42P10",
            'table "q" has 1 columns available but 2 columns specified',
            0,
        ),
        (
            "WITH q AS (SELECT 1), q AS (SELECT 2) SELECT 1",
            "42712",
            'WITH query name "q" specified more than once',
            23,
        ),
        ("SELECT 1 LIMIT a FROM s", "42601", "Expected end of statement, found FROM", 18),
        ("SELECT a FROM s LIMIT x", "42703", 'column "x" does not exist', 23),
        ("SELECT a FROM s LIMIT 'x'", "22P02", 'invalid input syntax for type bigint: "x"', 23),
        (
            "SELECT * FROM s WHERE a IN (SELECT t.a FROM t WHERE q.a = 1)",
            "42P01",
            'missing FROM-clause entry for table "q"',
            53,
        ),
        (
            "SELECT * FROM (SELECT s.a FROM s WHERE t.a = 1) q, t",
            "42P01",
            'missing FROM-clause entry for table "t"',
            40,
        ),
    ],
)
def test_a_name_that_means_nothing_or_too_much_is_an_error(
    text: str, sqlstate: str, message: str, position: int
) -> None:
    error = failure(text)
    assert (error.sqlstate, error.message, error.position) == (sqlstate, message, position)


def test_a_near_name_is_offered() -> None:
    assert failure("SELECT arrr FROM t").hint == 'Perhaps you meant to reference the column "t.arr".'
    assert failure("SELECT t.okk FROM t").hint == 'Perhaps you meant to reference the column "t.ok".'
    assert failure("SELECT s.a FROM s q").hint == 'Perhaps you meant to reference the table alias "q".'


def test_an_error_inside_a_view_points_nowhere() -> None:
    error = failure("SELECT * FROM broken")
    assert (error.message, error.position) == ('column "nope" does not exist', 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM s", ["a", "x"]),
        ("SELECT s.*, 1 FROM s", ["a", "x", "?column?"]),
        ("SELECT * FROM s q (m)", ["m", "x"]),
        ("SELECT * FROM s JOIN (SELECT 1 AS a, 2 AS z) q USING (a)", ["a", "x", "z"]),
        ("SELECT * FROM s NATURAL JOIN (SELECT 'one' AS x, 1 AS y) q", ["x", "a", "y"]),
        ("SELECT * FROM (s CROSS JOIN (SELECT 1 AS z) q) w", ["a", "x", "z"]),
        ("SELECT * FROM v", ["a", "total"]),
        (
            "SELECT upper(x), a::text, 1 + 1, 'x', NULL, true, CASE WHEN true THEN a END FROM s",
            ["upper", "a", "?column?", "?column?", "?column?", "?column?", "case"],
        ),
        (
            "SELECT 5::int8, date '2020-01-01', ARRAY[1], ROW(1), coalesce(1), now(),"
            " current_date, (SELECT a FROM s),"
            " EXISTS (SELECT 1), extract(year FROM now()), '{1}'::int[]",
            [
                "int8",
                "date",
                "array",
                "row",
                "coalesce",
                "now",
                "current_date",
                "a",
                "exists",
                "extract",
                "int4",
            ],
        ),
        ('SELECT arr[1], (ROW(1)).f1, x COLLATE "C" FROM t, s', ["arr", "f1", "x"]),
        ("SELECT * FROM generate_series(1, 2) g", ["g"]),
        ("SELECT * FROM generate_series(1, 2) AS g (n)", ["n"]),
        ("SELECT * FROM generate_series(1, 2) WITH ORDINALITY", ["generate_series", "ordinality"]),
        ("SELECT * FROM jsonb_each('{}')", ["key", "value"]),
        ("SELECT * FROM unnest(ARRAY[1]) WITH ORDINALITY AS q (e, o)", ["e", "o"]),
        ("VALUES (1, 2)", ["column1", "column2"]),
        ("SELECT 1 AS a UNION SELECT 2 AS b", ["a"]),
        ("TABLE s", ["a", "x"]),
    ],
)
def test_output_columns_are_called_as_in_postgresql(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            "SELECT s.a, q.a FROM s LEFT JOIN (VALUES (1)) q (a) ON s.a = q.a ORDER BY 1",
            (("1", "1"), ("1", "1"), ("4", None)),
        ),
        (
            "SELECT a, s.a, q.a FROM s RIGHT JOIN (VALUES (1), (9)) q (a) USING (a) ORDER BY 1, s.x",
            (("1", "1", "1"), ("1", "1", "1"), ("9", None, "9")),
        ),
        (
            "SELECT a FROM s FULL JOIN (VALUES (4), (9)) q (a) USING (a) ORDER BY a",
            (("1",), ("1",), ("4",), ("9",)),
        ),
        (
            "SELECT a FROM (SELECT 1 AS a) x JOIN (SELECT 1 AS a) y USING (a) JOIN (SELECT 1"
            " AS a) z USING (a)",
            (("1",),),
        ),
        (
            "SELECT * FROM (VALUES (1)) a (m) JOIN (VALUES (1)) b (n) JOIN (VALUES (1)) c"
            " (o) ON n = o ON m = n",
            (("1", "1", "1"),),
        ),
        (
            "SELECT t.a, q.x FROM t LEFT JOIN LATERAL (SELECT x FROM s WHERE s.a = t.a ORDER"
            " BY x LIMIT 1) q ON true"
            " ORDER BY 1",
            (("1", "one"), ("2", None), ("3", None)),
        ),
        ("SELECT v.a, w.c FROM (VALUES (1, 2)) v (a, b), LATERAL (SELECT v.a + v.b AS c) w", (("1", "3"),)),
        ("SELECT t.a, e FROM t, unnest(arr) e ORDER BY 1, 2", (("1", "1"), ("1", "2"), ("2", "3"))),
        ("SELECT t.a, k.key, k.value FROM t, jsonb_each(j) k ORDER BY 1", (("1", "k", "1"), ("2", "k", "2"))),
        (
            "SELECT g, h FROM generate_series(1, 2) g, generate_series(g, 2) h ORDER BY 1, 2",
            (("1", "1"), ("1", "2"), ("2", "2")),
        ),
        ("WITH q AS (SELECT a FROM s WHERE a = 4) SELECT q1.a, q2.a FROM q q1, q q2", (("4", "4"),)),
        ("WITH s AS (SELECT 7 AS a) SELECT a FROM s", (("7",),)),
        ("WITH q AS (SELECT 1 AS m), r (z) AS MATERIALIZED (SELECT m + 1 FROM q) SELECT z FROM r", (("2",),)),
        ("SELECT a FROM v WHERE total = 2", (("1",),)),
        ("SELECT public.s.a FROM public.s WHERE materialize.public.s.x = 'four'", (("4",),)),
        ("SELECT (SELECT max(x) FROM s WHERE s.a = t.a) FROM t ORDER BY a", (("uno",), (None,), (None,))),
        (
            "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM s WHERE s.a = t.a AND EXISTS"
            " (SELECT 1 WHERE t.b = 'x'))",
            (("1",),),
        ),
        ("SELECT e FROM jsonb_array_elements('[1, 2]') e", (("1",), ("2",))),
        ("SELECT x AS a, a AS b FROM s ORDER BY a LIMIT 1", (("four", "4"),)),
        ("SELECT a FROM s GROUP BY a ORDER BY count(*) DESC", (("1",), ("4",))),
        ("SELECT -a AS a FROM s ORDER BY s.a LIMIT 1", (("-1",),)),
        ("((SELECT 1) UNION (SELECT 2)) ORDER BY 1 DESC LIMIT 1", (("2",),)),
        ("SELECT ((SELECT 1) + 1)", (("2",),)),
        ("SELECT * FROM ((SELECT 1 AS a) x JOIN (SELECT 1 AS a) y USING (a))", (("1",),)),
        ("SELECT x FROM s ORDER BY x OFFSET 1 ROWS FETCH NEXT ROW ONLY", (("one",),)),
        ('SELECT a c1, -a "C2" FROM s ORDER BY c1 DESC, x LIMIT 1', (("4", "-4"),)),
        ("SELECT a, a FROM s WHERE a = 4", (("4", "4"),)),
    ],
)
def test_names_mean_what_they_mean_in_postgresql(text: str, rows: object) -> None:
    assert run(text) == rows


def test_a_common_table_that_nobody_reads_is_still_checked() -> None:
    assert failure("WITH q AS (SELECT nope) SELECT 1").position == 19
    query = plan("WITH q AS (SELECT a FROM s), r AS (SELECT a FROM q) SELECT 1")
    assert query.relation_ids == frozenset()


def test_a_plan_knows_its_relations() -> None:
    assert plan("SELECT * FROM v, t").relation_ids == {"u1", "u2"}
    assert plan("SELECT 1").relation_ids == frozenset()
    assert plan("SELECT 1 WHERE mz_now() > 5").uses_mz_now
    assert not plan("SELECT now()").uses_mz_now


# Names in the text


def test_qualifying_changes_names_and_nothing_else() -> None:
    text = (
        "SELECT /* s */ s.a, 's' FROM s -- s\nJOIN public.t AS s2 ON EXISTS (WITH s AS"
        " (TABLE v) SELECT * FROM s)"
    )
    assert qualify(text, LabNames()) == (
        "SELECT /* s */ s.a, 's' FROM materialize.public.s -- s\n"
        "JOIN materialize.public.t AS s2 ON EXISTS (WITH s AS (TABLE materialize.public.v) SELECT * FROM s)"
    )


def test_a_qualified_text_means_the_same() -> None:
    text = "SELECT s.a, count(*) FROM s, v WHERE s.a = v.a GROUP BY s.a ORDER BY 1"
    assert run(qualify(text, LabNames())) == run(text)


def test_renaming_keeps_the_old_name_as_an_alias() -> None:
    moved = rename("SELECT s.a FROM s, t s2", lambda parts: ("db", "New x") if parts == ("s",) else None)
    assert moved == 'SELECT s.a FROM db."New x" AS s, t s2'
    aliased = rename("SELECT q.a FROM s q", lambda parts: ("z",))
    assert aliased == "SELECT q.a FROM z q"


def test_relations_are_listed_once_without_common_tables() -> None:
    text = "WITH c AS (SELECT * FROM a.b) SELECT * FROM c, d WHERE x IN (SELECT y FROM d, a.b) UNION TABLE e"
    assert relations_of(text) == (("a", "b"), ("d",), ("e",))


def test_a_name_that_cannot_be_found_is_not_qualified() -> None:
    with pytest.raises(UserError, match="unknown catalog item 'nosuch'"):
        qualify("SELECT * FROM nosuch", LabNames())


def test_a_join_has_at_most_64_relations() -> None:
    def chain(count: int) -> str:
        joins = (f"JOIN s s{i} ON s{i}.a = s{i - 1}.a" for i in range(1, count))
        return f"SELECT s0.a FROM s s0 {' '.join(joins)}"

    assert names(chain(64)) == ["a"]
    assert names(f"{chain(64)} UNION ALL {chain(64)}") == ["a"]
    assert names(f"SELECT x.a FROM ({chain(64)} LIMIT 1) x, s") == ["a"]
    commas = f"SELECT count(*) FROM {', '.join(f's s{i}' for i in range(65))}"
    for text in (chain(65), commas, f"SELECT x.a FROM ({chain(40)}) x JOIN ({chain(40)}) y USING (a)"):
        refused = failure(text)
        assert (refused.sqlstate, refused.message) == (
            "54001",
            "a join of more than 64 relations is too large",
        )
        assert refused.hint

"""The DuckDB generator: rows, types and errors of queries run in DuckDB.

Method: queries over the lab's relations, their rows printed and compared with what PostgreSQL prints.
The lab also compares every result's Arrow schema with the stored forms the plan promises.  What
DuckDB answers differently if asked plainly (NULL logic of rows, ANY over odd comparisons, order of
distinct values, intervals, unsigned integers) has a case each.
"""

from __future__ import annotations

import re

import pytest

from headwater.core.errors import InvariantViolation, UserError
from headwater.sql.select.generate.duckdb.errors import translate_error
from headwater.sql.select.generate.duckdb.query import generate
from tests.unit.sql.select.lab import TABLES, Rows, failure, one, plan, run


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("7 / 2", "3"),
        ("-7 / 2", "-3"),
        ("2.0 / 3", "0.66666666666666666667"),
        ("0.1 + 0.2", "0.3"),
        ("1.50", "1.5"),
        ("1e30 + 1e-5", "1000000000000000000000000000000.00001"),
        ("1.1::float4 + 1", "2.100000023841858"),
        ("1.1::float4 = 1.1", "f"),
        ("'NaN'::float8 = 'NaN'::float8", "t"),
        ("true AND NULL", None),
        ("false AND NULL", "f"),
        ("NULL IS UNKNOWN", "t"),
        ("3 IN (1, 2, NULL)", None),
        ("3 NOT IN (1, 2)", "t"),
        ("(1, NULL) = (1, 2)", None),
        ("(1, NULL) = (2, 2)", "f"),
        ("(1, 2) < (1, 3)", "t"),
        ("ROW(1, NULL) IS NULL", "f"),
        ("ROW(1, NULL) IS NOT NULL", "f"),
        ("ROW(1, 2) IS DISTINCT FROM ROW(1, NULL)", "t"),
        ("5 BETWEEN SYMMETRIC 9 AND 1", "t"),
        ("'abc' LIKE 'a!%c' ESCAPE '!'", "f"),
        ("'a%c' LIKE 'a\\%c'", "t"),
        ("'abc' SIMILAR TO '(a|b)%'", "t"),
        ("'ab' = 'ab  '::char(4)", "t"),
        ("'B' < 'a'", "t"),
        ("CASE WHEN false THEN 1 / 0 ELSE 2 END", "2"),
        ("coalesce(1, 1 / 0)", "1"),
        ("CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END", "b"),
        ("ARRAY[1, NULL] = ARRAY[1, NULL]", "t"),
        ("1 = ANY (ARRAY[2, NULL])", None),
        ("1 = ANY (NULL::int[])", None),
        ("1 = ALL ('{}'::int[])", "t"),
        ("'a' LIKE ANY (ARRAY['b%', 'a%'])", "t"),
        ("1.5 > ALL (SELECT u FROM t WHERE false)", "t"),
        ("10 > ALL (SELECT u FROM t)", "f"),
        ("1 <> ALL (SELECT a FROM s)", "f"),
        ("9 = ANY (SELECT u FROM t)", "t"),
        ("100 = ANY (SELECT u FROM t)", None),
        ("(1, 'one') IN (SELECT a, x FROM s)", "t"),
        ("(1, NULL) IN (SELECT a, x FROM s)", None),
        ("(9, NULL) IN (SELECT a, x FROM s)", "f"),
        ("ARRAY(SELECT a FROM s ORDER BY x)", "{4,1,1}"),
        ("ARRAY(SELECT a FROM s WHERE false)", "{}"),
        ("(SELECT x FROM s WHERE false)", None),
        ("(ROW(1, 'x')).f2", "x"),
        ("ROW(1, 'a b', NULL)", '(1,"a b",)'),
        ("MAP['a' => 1, 'b' => NULL]", "{a=>1,b=>NULL}"),
        ("LIST[LIST[1], LIST[2, 3]]", "{{1},{2,3}}"),
        ("'{1,2,3}'::int[]", "{1,2,3}"),
        ("(ARRAY[1, 2, 3])[2:]", "{2,3}"),
        ("interval '1 mon' = interval '30 days'", "t"),
        ("-interval '1 mon -2 days 03:04:05.678'", "-1 mons +2 days -03:04:05.678"),
        ("timestamptz '0044-03-15 00:00:00+00 BC'", "0044-03-15 00:00:00+00 BC"),
        ("time '24:00:00'", "24:00:00"),
        ("'\\x00ff'::bytea", "\\x00ff"),
        ("18446744073709551615::uint8 - 1", "18446744073709551614"),
        ("mz_now()", "1700000000000"),
        ("mz_now() <= now()", "t"),
        ("'t'::regclass::oid = 20000", "t"),
        ("date '2020-01-31' + interval '1 month'", "2020-02-29 00:00:00"),
        ("timestamp '2020-01-01 10:00' AT TIME ZONE 'America/New_York'", "2020-01-01 15:00:00+00"),
    ],
)
def test_an_expression_has_the_value_of_postgresql(expression: str, expected: str | None) -> None:
    assert one(f"SELECT {expression}") == expected


def test_stored_forms_go_in_and_come_out() -> None:
    assert run("SELECT * FROM t WHERE a < 3 ORDER BY a") == (
        (
            "1",
            "x",
            "1.5",
            "10.25",
            "2020-01-01 00:00:00+00",
            "2020-01-01",
            "1 day",
            "{1,2}",
            '{"k": 1}',
            "ab  ",
            "5",
            "1.5",
            "t",
            '{p=>"1 day"}',
        ),
        (
            "2",
            "y",
            "2.5",
            "9",
            "2021-01-01 00:00:00+00",
            "2021-01-01",
            "1 mon 2 days 03:04:05",
            "{3}",
            '{"k": 2}',
            "cd  ",
            "18446744073709551615",
            "2.5",
            "f",
            "{}",
        ),
    )
    assert run("SELECT i, u8, m, ROW(i), ARRAY[i] FROM t WHERE a = 3") == (
        (None, None, None, "()", "{NULL}"),
    )


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT a FROM t ORDER BY u", (("2",), ("1",), ("3",))),
        ("SELECT a FROM t ORDER BY n DESC", (("3",), ("2",), ("1",))),
        ("SELECT a FROM t ORDER BY n DESC NULLS LAST, a LIMIT 2 OFFSET 1", (("1",), ("3",))),
        ("SELECT a FROM t ORDER BY j", (("1",), ("2",), ("3",))),
        ("SELECT a FROM t ORDER BY i DESC NULLS LAST", (("2",), ("1",), ("3",))),
        (
            "SELECT x FROM (VALUES ('b'), ('A'), ('a'), ('Ä')) v (x) ORDER BY x",
            (("A",), ("a",), ("b",), ("Ä",)),
        ),
        ("SELECT x FROM s ORDER BY x LIMIT (SELECT count(*) - 1 FROM s)", (("four",), ("one",))),
        ("SELECT x FROM s ORDER BY 1 LIMIT NULL OFFSET 2", (("uno",),)),
        ("SELECT count(*) FROM t t1 JOIN t t2 ON t1.u = t2.u AND t1.i = t2.i AND t1.c = t2.c", (("2",),)),
        ("SELECT a FROM s EXCEPT ALL SELECT 1 ORDER BY 1", (("1",), ("4",))),
        ("SELECT a FROM s INTERSECT SELECT 1", (("1",),)),
        ("SELECT 1 UNION SELECT 2 UNION ALL SELECT 2.5 ORDER BY 1", (("1",), ("2",), ("2.5",))),
        ("SELECT n FROM t UNION SELECT 1.500 ORDER BY 1", (("1.5",), ("2.5",), (None,))),
        ("SELECT count(*) FROM t CROSS JOIN s", (("9",),)),
        ("SELECT FROM s", ((), (), ())),
        (
            "SELECT t.a, (SELECT string_agg(x, ',' ORDER BY x) FROM s WHERE s.a = t.a) FROM t ORDER BY 1",
            (("1", "one,uno"), ("2", None), ("3", None)),
        ),
        (
            'SELECT key, o FROM jsonb_each(\'{"a": 1, "b": 2}\') WITH ORDINALITY q (key, value, o)',
            (("a", "1"), ("b", "2")),
        ),
        (
            "SELECT t.a, q.key, q.o FROM t, jsonb_each(j) WITH ORDINALITY q (key, value, o) ORDER BY 1",
            (("1", "k", "1"), ("2", "k", "1")),
        ),
        (
            "SELECT t.a, q.e, q.o FROM t LEFT JOIN unnest(arr) WITH ORDINALITY q (e, o) ON"
            " true ORDER BY 1, 3",
            (("1", "1", "1"), ("1", "2", "2"), ("2", "3", "1"), ("3", None, None)),
        ),
        ("SELECT a FROM t WHERE n IN (1.5, 7) OR u IN (9, 1.25) ORDER BY 1", (("1",), ("2",))),
        ("SELECT a FROM t WHERE u > n AND u < 10", (("2",),)),
        ("SELECT x, y FROM (VALUES (1, NULL), (NULL, 'a')) v (x, y) ORDER BY x", (("1", None), (None, "a"))),
        ("SELECT max(e) FROM (SELECT unnest(arr) AS e FROM t) q", (("3",),)),
    ],
)
def test_queries_answer_as_in_postgresql(text: str, rows: Rows) -> None:
    assert run(text) == rows


@pytest.mark.parametrize(
    ("text", "sqlstate", "message"),
    [
        ("SELECT a / 0 FROM s", "22012", "division by zero"),
        ("SELECT a % 0 FROM s", "22012", "division by zero"),
        ("SELECT n / 0 FROM t", "22012", "division by zero"),
        ("SELECT f / 0 FROM t", "22012", "division by zero"),
        ("SELECT 2147483647 + a FROM s", "22003", "integer out of range"),
        ("SELECT 9223372036854775807 + a FROM s", "22003", "bigint out of range"),
        ("SELECT (a * 100000)::int2 FROM s", "22003", "smallint out of range"),
        ("SELECT x::int FROM s", "22P02", 'invalid input syntax for type integer: "one"'),
        ("SELECT x::date FROM s", "22007", 'invalid input syntax for type date: "one"'),
        (
            "SELECT (SELECT a FROM s)",
            "21000",
            "more than one row returned by a subquery used as an expression",
        ),
        ("SELECT 2::uint4 - a::uint4 FROM s", "22003", "uint4 out of range"),
    ],
)
def test_errors_at_run_time_are_those_of_postgresql(text: str, sqlstate: str, message: str) -> None:
    error = failure(text)
    assert (error.sqlstate, error.message) == (sqlstate, message)


def test_an_error_that_is_not_the_users_is_told_without_the_engines_words() -> None:
    error = translate_error("Binder Error: something odd\nLINE 1")
    assert (error.sqlstate, error.message) == ("XX000", "the query cannot be run on DuckDB")
    assert "odd" not in f"{error.detail}{error.hint}"
    assert translate_error("Out of Memory Error: no room").sqlstate == "53200"
    refused = translate_error("Not implemented Error: x")
    assert (refused.sqlstate, refused.message) == (
        "0A000",
        "a part of this query on DuckDB not yet supported",
    )
    assert translate_error("INTERRUPT Error: Interrupted!").sqlstate == "57014"


def test_a_plan_without_its_relation_or_arguments_is_a_bug() -> None:
    with pytest.raises(InvariantViolation, match="no table expression for relation u2"):
        generate(plan("SELECT a FROM s"), {})
    with pytest.raises(InvariantViolation, match=r"parameter \$1 was not bound"):
        generate(plan("SELECT $1::int"), {})


def test_mz_now_is_given_at_generation() -> None:
    query = plan("SELECT mz_now()")
    assert "CAST(7 AS BIGINT)" in generate(query, {}, mz_now=7)
    with pytest.raises(UserError, match=r"mz_now\(\)"):
        generate(query, {}, mz_now=None)


def test_output_names_never_meet_the_generators_own() -> None:
    assert run('SELECT a AS c1, x AS "C2", -a AS c3 FROM s ORDER BY x DESC LIMIT 1') == (("1", "uno", "-1"),)
    assert run("SELECT a AS n1, a AS c_1 FROM s ORDER BY -a LIMIT 1") == (("4", "4"),)


def test_an_array_of_a_long_constant_is_not_made_while_a_query_is_planned() -> None:
    parts, numbers = "string_to_array(repeat('ab,', 3), ',')", "('{' || repeat('1,', 3) || '2}')::int[]"
    for text in (parts, numbers):
        assert re.search(r"hw_\w+\(\(SELECT ", generate(plan(f"SELECT {text}"), {}))
    for text in ("string_to_array('a,b', ',')", "'{1,2}'::int[]", "string_to_array(x, ',')"):
        assert not re.search(r"hw_\w+\(\(SELECT ", generate(plan(f"SELECT {text} FROM s"), TABLES))
    assert one(f"SELECT {parts}") == '{ab,ab,ab,""}'
    assert one(f"SELECT array_replace({numbers}, 1, length(repeat('x', 5)))") == "{5,5,5,2}"
    rows = run(f"SELECT x, 'ab' = ANY({parts}) FROM s WHERE 'ab' = ANY({parts}) ORDER BY 1 LIMIT 1")
    assert rows[0][1] == "t"

"""Types in binding: literals, overloads, common types, casts, parameters.

Method: plan small expressions and look at the types of the output; the expected ones are those that
PostgreSQL's pg_typeof gives, with our scales added.  Errors are compared by text and SQLSTATE.
"""

from __future__ import annotations

import pytest

from headwater.core.types import (
    BOOL,
    DATE,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    JSONB,
    MZ_TIMESTAMP,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    SqlType,
    array_of,
    format_type,
    list_of,
    numeric,
)
from headwater.sql.select.plan.nodes import Constant, Project
from tests.unit.sql.select.lab import failure, one, plan, run


def type_of(expression: str) -> SqlType:
    (column,) = plan(f"SELECT {expression} FROM t").output
    return column.type


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1", INT4),
        ("2147483647", INT4),
        ("2147483648", INT8),
        ("-2147483648", INT4),
        ("-9223372036854775808", INT8),
        ("9223372036854775808", numeric(0)),
        ("1.50", numeric(2)),
        ("1e3", numeric(0)),
        ("1e-40", NUMERIC),
        ("'x'", TEXT),
        ("NULL", TEXT),
        ("true", BOOL),
        ("date '2020-01-01'", DATE),
        ("interval '1 day'", INTERVAL),
        ("timestamp with time zone '2020-01-01'", TIMESTAMPTZ),
        ("timestamp(3) '2020-01-01'", SqlType("timestamp", scale=3)),
        ("'x'::varchar(3)", SqlType("varchar", length=3)),
        ("'x'::char", SqlType("char", length=1)),
        ("'x'::\"char\"", SqlType('"char"')),
        ("'x'::bpchar", SqlType("char")),
        ("1::decimal(10, 3)", numeric(3)),
        ("1::numeric(10)", numeric(0)),
        ("1::numeric", NUMERIC),
        ("1::float(20)", SqlType("float4")),
        ("1::float(30)", FLOAT8),
        ("'{}'::int4[]", array_of(INT4)),
        ("'{}'::_text", array_of(TEXT)),
        ("'{1}'::int list", list_of(INT4)),
        ("'1'::pg_catalog.int8", INT8),
        ("mz_now()", MZ_TIMESTAMP),
    ],
)
def test_a_literal_has_the_type_it_has_in_postgresql(expression: str, expected: SqlType) -> None:
    assert type_of(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1::int2 + 1", INT4),
        ("1 + 1::int8", INT8),
        ("1 + 1.5", numeric(1)),
        ("n + 1", numeric(2)),
        ("n * 1.5", numeric(3)),
        ("n / 2", NUMERIC),
        ("n + u", NUMERIC),
        ("f + n", FLOAT8),
        ("1::float4 + 1", FLOAT8),
        ("1::float4 + 1::float4", SqlType("float4")),
        ("a + '5'", INT4),
        ("d + 1", DATE),
        ("d + interval '1 day'", TIMESTAMP),
        ("d - d", INT4),
        ("ts - ts", INTERVAL),
        ("ts - interval '1 day'", TIMESTAMPTZ),
        ("j -> 'k'", JSONB),
        ("j ->> 0", TEXT),
        ("b || a", TEXT),
        ("arr || 1", array_of(INT4)),
        ("arr || '{2}'", array_of(INT4)),
        ("arr[1]", INT4),
        ("c || 'x'", TEXT),
        ("u8 + 1", SqlType("uint8")),
        ("mz_now() > now()", BOOL),
        ("sum(a)", INT8),
        ("sum(a::int8)", numeric(0)),
        ("sum(n)", numeric(2)),
        ("avg(a)", NUMERIC),
        ("count(*)", INT8),
        ("min(b)", TEXT),
        ("array_agg(n)", array_of(numeric(2))),
        ("row_number() OVER ()", INT8),
        ("lag(d) OVER (ORDER BY a)", DATE),
        ("extract(year FROM d)", numeric(0)),
        ("extract(second FROM ts)", numeric(6)),
        ("extract(milliseconds FROM ts)", numeric(3)),
        ("round(2.5)", numeric(0)),
        ("a = 1", BOOL),
        ("a IS NULL", BOOL),
    ],
)
def test_operators_and_functions_answer_the_type_of_postgresql(expression: str, expected: SqlType) -> None:
    assert type_of(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("CASE WHEN ok THEN 1 ELSE 2.5 END", numeric(1)),
        ("CASE WHEN ok THEN 1 END", INT4),
        ("CASE WHEN ok THEN n ELSE u END", NUMERIC),
        ("CASE WHEN ok THEN n ELSE 1.005 END", NUMERIC),
        ("CASE WHEN ok THEN n ELSE a END", numeric(2)),
        ("CASE WHEN ok THEN '5' ELSE a END", INT4),
        ("coalesce(a, 5::int8)", INT8),
        ("coalesce(NULL, NULL)", TEXT),
        ("coalesce(d, '2020-01-01')", DATE),
        ("greatest(1, 2.5::float8)", FLOAT8),
        ("nullif(1, 1.0)", numeric(1)),
        ("ARRAY[1, 2.5]", array_of(numeric(1))),
        ("ARRAY[NULL, 'x']", array_of(TEXT)),
        ("ARRAY[]::date[]", array_of(DATE)),
        ("LIST[LIST[1]]", list_of(list_of(INT4))),
    ],
)
def test_several_values_meet_at_the_type_of_postgresql(expression: str, expected: SqlType) -> None:
    assert type_of(expression) == expected


def test_a_set_operation_gives_literals_the_other_sides_type() -> None:
    assert plan("SELECT 1 UNION SELECT 2.5").output[0].type == numeric(1)
    assert plan("SELECT d FROM t UNION SELECT '2020-01-01'").output[0].type == DATE
    assert plan("SELECT 'a' UNION SELECT 'b'").output[0].type == TEXT
    assert plan("SELECT NULL UNION ALL SELECT 5").output[0].type == INT4


@pytest.mark.parametrize(
    ("text", "sqlstate", "message"),
    [
        ("SELECT 1 + true", "42883", "operator does not exist: integer + boolean"),
        ("SELECT 1 + 'x'::text", "42883", "operator does not exist: integer + text"),
        ("SELECT - true", "42883", "operator does not exist: - boolean"),
        ("SELECT n + d FROM t", "42883", "operator does not exist: numeric + date"),
        ("SELECT - NULL", "42725", "operator is not unique: - unknown"),
        ("SELECT '1' + '2'", "42725", "operator is not unique: unknown + unknown"),
        ("SELECT foo(1, 'x')", "42883", "function foo(integer, unknown) does not exist"),
        ("SELECT lower(1)", "42883", "function lower(integer) does not exist"),
        ("SELECT sum('a')", "42725", "function sum(unknown) is not unique"),
        ("SELECT 'x'::int", "22P02", 'invalid input syntax for type integer: "x"'),
        ("SELECT 1 WHERE 1", "42804", "argument of WHERE must be type boolean, not type integer"),
        ("SELECT NOT 1", "42804", "argument of NOT must be type boolean, not type integer"),
        ("SELECT true AND 'x'::text", "42804", "argument of AND must be type boolean, not type text"),
        (
            "SELECT CASE WHEN true THEN 1 ELSE now() END",
            "42804",
            "CASE types timestamp with time zone and integer cannot be matched",
        ),
        (
            "SELECT coalesce(1, now())",
            "42804",
            "COALESCE types integer and timestamp with time zone cannot be matched",
        ),
        (
            "SELECT 1 UNION SELECT now()",
            "42804",
            "UNION types integer and timestamp with time zone cannot be matched",
        ),
        ("SELECT ARRAY[]", "42P18", "cannot determine type of empty array"),
        ("SELECT now()::int", "42846", "cannot cast type timestamp with time zone to integer"),
        ("SELECT 'x'::nosuch", "42704", 'type "nosuch" does not exist'),
        ("SELECT '1'::\"integer\"", "42704", 'type "integer" does not exist'),
        ("SELECT '1'::public.money", "42704", 'type "public.money" does not exist'),
        ("SELECT '1'::money", "0A000", "type money not yet supported"),
        ("SELECT NULL::int" + " list" * 17, "54001", "type is nested too deeply"),
        ("SELECT '1'::int4(3)", "42601", 'type modifier is not allowed for type "int4"'),
        ("SELECT 1::numeric(39, 39)", "22023", "scale for type numeric must be between 0 and 38"),
        ("SELECT 1::numeric(50)", "22023", "precision for type numeric must be between 1 and 39"),
        ("SELECT a.f FROM (SELECT 1 AS a) q", "42P01", 'missing FROM-clause entry for table "a"'),
        (
            "SELECT (a).f FROM (SELECT 1 AS a) q",
            "42809",
            "column notation .f applied to type integer, which is not a composite type",
        ),
        (
            "SELECT a[1] FROM s",
            "42804",
            "cannot subscript type integer because it does not support subscripting",
        ),
        ("SELECT 'x' COLLATE \"de_DE\"", "42704", 'collation "de_DE" for encoding "UTF8" does not exist'),
        (
            "SELECT 'a' COLLATE \"C\" || 'b' COLLATE \"POSIX\"",
            "42P21",
            'collation mismatch between explicit collations "C" and "POSIX"',
        ),
        ("SELECT 'nosuch'::regclass", "42P01", 'relation "nosuch" does not exist'),
        ("SELECT pg_catalog.foo()", "42883", "function foo() does not exist"),
        ("SELECT x.upper('a')", "3F000", 'schema "x" does not exist'),
        ("SELECT (1, 2) = (1, 2, 3)", "42601", "unequal number of entries in row expressions"),
        ("SELECT (SELECT 1, 2)", "42601", "subquery must return only one column"),
        ("SELECT 1 IN (SELECT 1, 2)", "42601", "subquery has too many columns"),
        ("SELECT 1 = ANY (5)", "42809", "op ANY/ALL (array) requires array on right side"),
        ("SELECT '{}'::json = '{}'::json", "42883", "operator does not exist: json = json"),
        ("SELECT DEFAULT", "42601", "DEFAULT is not allowed in this context"),
    ],
)
def test_types_that_do_not_fit_fail_as_in_postgresql(text: str, sqlstate: str, message: str) -> None:
    error = failure(text)
    assert (error.sqlstate, error.message) == (sqlstate, message)
    assert error.position > 0


def test_a_literal_is_a_constant_in_canonical_text() -> None:
    query = plan("SELECT '2020-1-2'::date, '01.5'::numeric, 'T'::bool, '{ 1,2 }'::int[], '1 DAY'::interval")
    assert isinstance(query.root, Project)
    values = [value.value for _, value in query.root.columns if isinstance(value, Constant)]
    assert values == ["2020-01-02", "1.5", "t", "{1,2}", "1 day"]


def test_the_words_for_moments_are_those_of_the_statement() -> None:
    assert one("SELECT 'now'::timestamptz = now()") == "t"
    assert one("SELECT 'today'::date = current_date") == "t"
    assert one("SELECT 'tomorrow'::timestamp - 'yesterday'::timestamp") == "2 days"


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("INTERVAL '3' HOUR", "03:00:00"),
        ("INTERVAL '1-2' YEAR TO MONTH", "1 year 2 mons"),
        ("INTERVAL '1 day 02:03:04' MINUTE", "1 day 02:03:00"),
        ("INTERVAL '14 mons 5 days' YEAR", "1 year"),
        ("INTERVAL(3) '1 day'", "1 day"),
        ("interval '1.5 days'", "1 day 12:00:00"),
    ],
)
def test_interval_fields_cut_what_is_finer(literal: str, expected: str) -> None:
    assert one(f"SELECT {literal}") == expected


# Parameters


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("SELECT $1", (TEXT,)),
        ("SELECT $1::int", (INT4,)),
        ("SELECT a FROM t WHERE a = $1 AND d > $2", (INT4, DATE)),
        ("SELECT $1 + 1, $2 || 'x'", (INT4, TEXT)),
        ("SELECT a FROM t WHERE a IN ($1, $2)", (INT4, INT4)),
        ("SELECT a FROM t WHERE a BETWEEN $1 AND $2", (INT4, INT4)),
        ("SELECT a FROM t WHERE b LIKE $1 LIMIT $2", (TEXT, INT8)),
        ("SELECT a FROM t WHERE a = ANY ($1)", (array_of(INT4),)),
        ("SELECT $2::date, $1", (TEXT, DATE)),
        ("SELECT coalesce($1, 5), CASE WHEN $2 THEN 1 END", (INT4, BOOL)),
        ("SELECT $1 UNION SELECT 5", (INT4,)),
        ("SELECT $1 = $1", (TEXT,)),
        ("SELECT upper($1)", (TEXT,)),
        ("SELECT $1::int2 + $1", (INT2,)),
    ],
)
def test_a_parameter_takes_the_type_its_place_wants(text: str, types: tuple[SqlType, ...]) -> None:
    assert plan(text).parameters == types


def test_a_declared_parameter_keeps_its_type() -> None:
    query = plan("SELECT $1 + 1", (INT8,))
    assert (query.parameters, query.output[0].type) == ((INT8,), INT8)


def test_arguments_are_read_as_literals_are() -> None:
    assert one("SELECT $1::date + 1", "2020-01-01") == "2020-01-02"
    assert one("SELECT $1 || $2", "a", None) is None
    assert run("SELECT a FROM s WHERE x = $1", ("four",)) == (("4",),)
    assert failure("SELECT $1::int", "abc").sqlstate == "22P02"
    assert failure("SELECT $1").sqlstate == "08P01"
    assert failure("SELECT 1 LIMIT $1", "-1").sqlstate == "2201W"


def test_text_of_a_user_stays_text() -> None:
    evil = "'; DROP TABLE t; --\\' {0} <<list|x>> >> $1 \x02"
    assert one("SELECT $1", evil) == evil
    assert one("SELECT string_agg(b, $1 ORDER BY b) FROM t", evil) == f"x{evil}y"
    ((column,),) = (plan('SELECT 1 AS "a"" {0} b"').output,)
    assert column.name == 'a" {0} b'
    assert run('SELECT 1 AS "a"" {0} b"') == (("1",),)


def test_error_texts_name_types_without_their_modifiers() -> None:
    assert failure("SELECT n + b FROM t").message == "operator does not exist: numeric + text"
    assert format_type(type_of("n")) == "numeric(39,2)"

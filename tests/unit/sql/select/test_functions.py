"""The function table against PostgreSQL's answers.

Goal: every function and operator gives in DuckDB what PostgreSQL 15 gives, value and error alike.
Method: calls with answers of a real server (support/function_answers.py); each call is spelled by
its entry's form, run in process with the kernels registered, and its result cast to text.  The forms
for Spark are only made here, not run; the fixture that runs them is elsewhere.
"""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from headwater.core.errors import UserError
from headwater.core.types import (
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    JSONB,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    SqlType,
    list_of,
    numeric,
)
from headwater.sql.select.functions import (
    FUNCTIONS,
    assignment_cast,
    equality_key,
    find_cast,
    sort_key,
)
from headwater.sql.select.functions.system import ACTING
from headwater.sql.select.kernels import KERNELS_BY_NAME, register_duckdb, told, user_error_of
from tests.support.function_answers import ANSWERS, call_text, cast, entry_for, literal, spelled, type_named


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    made.execute("SET TimeZone = 'UTC'")
    register_duckdb(made)
    return made


def answer(connection: duckdb.DuckDBPyConnection, query: str) -> object:
    try:
        row = connection.execute(told(query)).fetchone()
    except duckdb.Error as error:
        found = user_error_of(str(error))
        return str(error) if found is None else f"ERR {found.sqlstate} {found.message}"
    assert row is not None
    return row[0]


@pytest.mark.parametrize("group", sorted(ANSWERS))
def test_a_call_gives_what_postgresql_gives(connection: duckdb.DuckDBPyConnection, group: str) -> None:
    for name, arguments, expected in ANSWERS[group]:
        text, type_, function = call_text(name, arguments)
        query = f"SELECT {text if type_ == TEXT else cast(text, type_, TEXT)}"
        if function.shape == "table":
            shown = "u" if type_ == TEXT else cast("u", type_, TEXT)
            query = f"SELECT string_agg(coalesce({shown}, 'NULL'), '|') FROM (SELECT unnest({text}) AS u)"
        assert answer(connection, query) == expected, (name, arguments)


@pytest.mark.parametrize("group", sorted(ANSWERS))
def test_a_call_has_a_spelling_for_spark_too(group: str) -> None:
    for name, arguments, _ in ANSWERS[group]:
        types = tuple(type_named(type_) for _, type_ in arguments)
        texts = tuple(f"a{index}" for index in range(len(types)))
        try:
            text = spelled(entry_for(name, types).spark, texts, types)
        except UserError as error:
            if error.sqlstate != "0A000":
                raise
            continue
        assert all(word in text for word in texts if types) or name.startswith(("has_", "pg_"))
        assert set(re.findall(r"hw_\w+", text)) <= set(KERNELS_BY_NAME)


# Aggregates


def aggregated(name: str, types: tuple[SqlType, ...], *columns: str, order: str = "") -> tuple[str, SqlType]:
    """An aggregate's call as a generator would write it."""
    function = entry_for(name, types)
    text = spelled(function.duckdb, columns, types)

    def call(found: re.Match[str]) -> str:
        inside = found.group(2) or "*"
        return f"{found.group(1)}({inside}{order if found.group(1) == 'list' else ''})"

    return re.sub(r"<<(\w+)\|(.*?)>>", call, text, flags=re.DOTALL), function.return_type(types)


@pytest.mark.parametrize(
    ("name", "type_", "values", "expected"),
    [
        ("count", INT4, ["1", None], "1"),
        ("sum", INT4, ["2147483647", "1"], "2147483648"),
        ("sum", INT8, ["9223372036854775807", "9223372036854775807"], "18446744073709551614"),
        ("sum", numeric(2), ["1.50", "2.25", None], "3.75"),
        ("sum", NUMERIC, ["1.5", "2.25", None, "-7", "100.001"], "96.751"),
        ("sum", NUMERIC, [], None),
        ("sum", FLOAT8, ["1e308", "1e308"], "ERR 22003 value out of range: overflow"),
        ("sum", SqlType("float4"), ["1.5", "0.1", "0.2"], "1.8000001"),
        ("avg", INT4, ["1", "2", "2"], "1.6666666666666667"),
        ("avg", INT2, [], None),
        ("avg", numeric(2), ["1.50", "2.25", "-7"], "-1.08333333333333333333"),
        ("avg", FLOAT8, ["1", "2"], "1.5"),
        ("stddev", INT4, ["1", "2", "5", "-3"], "3.3040379335998349"),
        ("var_pop", NUMERIC, ["1", "2", "4"], "1.5555555555555556"),
        ("stddev", FLOAT8, ["1.5", "0.1", "0.2"], "0.7810249675906655"),
        ("var_samp", FLOAT8, ["1"], None),
        ("min", NUMERIC, ["10", "9", "NaN"], "9"),
        ("max", NUMERIC, ["10", "9", "NaN"], "NaN"),
        ("max", INTERVAL, ["1 mon", "31 days"], "31 days"),
        ("sum", INTERVAL, ["1 day", "2 mons", None], "2 mons 1 day"),
        ("avg", INTERVAL, ["1 day", "2 days", "4 days"], "2 days 08:00:00"),
        ("array_agg", INT4, ["2", None, "1"], "{2,NULL,1}"),
        ("jsonb_agg", TEXT, ["a", None], '["a", null]'),
        ("bool_and", SqlType("bool"), ["t", None], "true"),
    ],
)
def test_an_aggregate_gives_what_postgresql_gives(
    connection: duckdb.DuckDBPyConnection, name: str, type_: SqlType, values: list[str | None], expected: str
) -> None:
    rows = ", ".join(f"({literal(value, type_)})" for value in values)
    source = f"(VALUES {rows}) t(c)" if values else f"(SELECT {literal(None, type_)} AS c WHERE FALSE)"
    call, returns = aggregated(name, (type_,), "c")
    assert answer(connection, f"SELECT {cast(call, returns, TEXT)} FROM {source}") == expected


def test_percentiles_interpolate_and_pick_as_postgresql_does(connection: duckdb.DuckDBPyConnection) -> None:
    source = "(VALUES (3.0), (1.0), (NULL), (2.0), (10.0)) t(c)"
    for fraction, continuous, discrete in (("0.5", 2.5, 2.0), ("0.9", 7.9, 10.0), ("0", 1.0, 1.0)):
        for name, expected in (("percentile_cont", continuous), ("percentile_disc", discrete)):
            call, _ = aggregated(name, (FLOAT8, FLOAT8), fraction, "CAST(c AS DOUBLE)", order=" ORDER BY c")
            assert answer(connection, f"SELECT {call} FROM {source}") == pytest.approx(expected)


def test_string_agg_skips_nulls_and_the_first_separator(connection: duckdb.DuckDBPyConnection) -> None:
    call, _ = aggregated("string_agg", (TEXT, TEXT), "v", "s")
    source = "(VALUES ('a', ','), (NULL, ';'), ('b', '-')) t(v, s)"
    assert answer(connection, f"SELECT {call} FROM {source}") == "a-b"


# Casts


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        ("2.5", "float8", "int4", "2"),
        ("2.5", "numeric(1)", "int4", "3"),
        ("-2.5", "numeric", "int4", "-3"),
        ("0.1", "float4", "numeric", "0.1"),
        ("123456789.123456789", "float8", "numeric", "123456789.123457"),
        ("1.235", "numeric", "numeric(2)", "1.24"),
        ("-1.235", "numeric(3)", "numeric(2)", "-1.24"),
        ("1.50", "numeric(2)", "text", "1.5"),
        ("t", "bool", "text", "true"),
        ("abcdef", "text", "varchar(3)", "abc"),
        ("ab", "text", "char(4)", "ab"),
        ("2020-01-05 10:11:12.5", "timestamp", "timestamp(0)", "2020-01-05 10:11:13"),
        ("2020-01-05 10:11:12.5", "timestamp", "time", "10:11:12.5"),
        ("x", "text", "int4", 'ERR 22P02 invalid input syntax for type integer: "x"'),
        ("70000", "int4", "int2", "ERR 22003 smallint out of range"),
        ("-1", "int4", "uint4", "ERR 22003 uint4 out of range"),
        ("1e300", "float8", "float4", "ERR 22003 value out of range: overflow"),
        ("{1,2}", "int4[]", "text", "{1,2}"),
        ("{1,2}", "int4[]", "text[]", "{1,2}"),
        ("{1.5,2.5}", "text", "numeric[]", "{1.5,2.5}"),
        ('{"b":1,"a":[1, 2.50]}', "text", "jsonb", '{"a": [1, 2.5], "b": 1}'),
        ("1.5", "jsonb", "int4", "2"),
        ('"a"', "jsonb", "int4", "ERR 22023 cannot cast jsonb string to type integer"),
        ("\\xdeadbeef", "bytea", "text", "\\xdeadbeef"),
        ("1 day 02:00:00", "interval", "time", "02:00:00"),
        ("-1", "int4", "oid", "4294967295"),
    ],
)
def test_a_cast_gives_what_postgresql_gives(
    connection: duckdb.DuckDBPyConnection, value: str, source: str, target: str, expected: str
) -> None:
    first, second = type_named(source), type_named(target)
    text = cast(literal(value, first), first, second)
    shown = text if second == TEXT else cast(text, second, TEXT)
    assert answer(connection, f"SELECT {shown}") == expected


def test_a_text_too_long_for_a_column_is_an_error_unless_only_blanks_are_lost(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    target = SqlType("varchar", length=3)
    entry = assignment_cast(TEXT, target)
    assert entry is not None
    for value, expected in (
        ("abcd", "ERR 22001 value too long for type character varying(3)"),
        ("abc  ", "abc"),
    ):
        assert (
            answer(connection, f"SELECT {spelled(entry.duckdb, (literal(value, TEXT),), (TEXT, target))}")
            == expected
        )


@pytest.mark.parametrize(
    ("source", "target", "context"),
    [
        ("int4", "int8", "implicit"),
        ("int8", "int4", "assignment"),
        ("int4", "bool", "explicit"),
        ("float8", "numeric", "assignment"),
        ("numeric", "float8", "implicit"),
        ("text", "int4", "explicit"),
        ("int4", "text", "assignment"),
        ("date", "timestamptz", "implicit"),
        ("timestamptz", "timestamp", "assignment"),
        ("uint2", "int4", "implicit"),
        ("int4", "uint4", "assignment"),
        ("jsonb", "numeric", "explicit"),
    ],
)
def test_a_cast_is_allowed_where_postgresql_allows_it(source: str, target: str, context: str) -> None:
    entry = find_cast(SqlType(source), SqlType(target))
    assert entry is not None
    assert entry.context == context


def test_types_that_have_nothing_to_do_with_each_other_have_no_cast() -> None:
    for source, target in (("date", "int4"), ("bool", "float8"), ("uuid", "int8"), ("interval", "date")):
        assert find_cast(SqlType(source), SqlType(target)) is None


# The table as a whole


def test_every_entry_has_a_form_for_each_engine() -> None:
    for name, entries in FUNCTIONS.items():
        for function in entries:
            assert function.name == name
            assert (function.duckdb is None) == (name in ACTING), name
            assert (function.spark is None) == (name in ACTING), name


def test_every_kernel_that_a_template_calls_exists() -> None:
    for entries in FUNCTIONS.values():
        for function in entries:
            for form in (function.duckdb, function.spark):
                if isinstance(form, str):
                    assert set(re.findall(r"hw_\w+", form)) <= set(KERNELS_BY_NAME)


def test_numeric_results_have_the_scale_that_arithmetic_gives_them() -> None:
    pair = (numeric(2), numeric(3))
    assert entry_for("+", pair).return_type(pair) == numeric(3)
    assert entry_for("*", pair).return_type(pair) == numeric(5)
    assert entry_for("/", pair).return_type(pair) == NUMERIC
    wide = (numeric(20), numeric(19))
    assert entry_for("*", wide).return_type(wide) == NUMERIC


def test_keys_order_and_group_what_the_engines_cannot() -> None:
    assert sort_key("duckdb", "x", NUMERIC) == "hw_numeric_key(x)"
    assert sort_key("spark", "x", JSONB) == "hw_jsonb_key(x)"
    assert sort_key("duckdb", "x", TIMESTAMP) == "x"
    assert equality_key("duckdb", "x", SqlType("char", length=3)) == "rtrim(x, ' ')"
    assert "x.months" in equality_key("spark", "x", INTERVAL)
    with pytest.raises(UserError, match="operator does not exist"):
        equality_key("duckdb", "x", SqlType("json"))
    with pytest.raises(UserError, match="not yet supported"):
        sort_key("duckdb", "x", list_of(NUMERIC))


def test_the_user_documentation_names_every_function() -> None:
    text = (Path(__file__).parents[4] / "docs" / "user" / "functions.md").read_text()
    missing = [name for name in FUNCTIONS if name[0].isalpha() and f"`{name}(" not in text]
    assert missing == []

"""Spark generator: plans become texts that mean the same; errors become ours.

Method: small plans made by hand, and what matters in their text: which spelling of NULL-sensitive
forms is chosen, what is refused and how, that user text cannot leave its literal.  That Spark
understands the texts, and answers as PostgreSQL does, is seen by tests/text/test_select_fixture.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import UserError
from headwater.core.types import (
    BOOL,
    DATE,
    FLOAT8,
    INT4,
    INT8,
    INTERVAL,
    MZ_TIMESTAMP,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    SqlType,
    array_of,
    numeric,
)
from headwater.sql.select.functions.entry import Function
from headwater.sql.select.generate.spark.errors import translate_error
from headwater.sql.select.generate.spark.literals import constant, string_literal
from headwater.sql.select.generate.spark.query import generate, supported
from headwater.sql.select.plan.nodes import (
    Aggregate,
    AggregateCall,
    Call,
    ColumnId,
    ColumnRef,
    Constant,
    Distinct,
    Expression,
    Filter,
    Join,
    Limit,
    Logical,
    Node,
    OutputColumn,
    Parameter,
    Project,
    Query,
    Scan,
    Sort,
    SortKey,
    Subquery,
    Values,
    Window,
    WindowCall,
    WindowFrame,
)

EQUALS = Function("=", (INT4, INT4), BOOL, "({0} = {1})", "({0} = {1})", "operator")
LESS = Function("<", (INT4, INT4), BOOL, "({0} < {1})", "({0} < {1})", "operator")
SUM = Function("sum", (INT4,), INT8, "<<sum|{0}>>", "<<sum|{0}>>", "aggregate")
LIST = Function("array_agg", (INT4,), array_of(INT4), "<<list|{0}>>", "<<list|{0}>>", "aggregate")
MZ_NOW = Function("mz_now", (), MZ_TIMESTAMP, None, None)
A, B = OutputColumn(ColumnId(1), "a", INT4), OutputColumn(ColumnId(2), "b", INT4)
C = OutputColumn(ColumnId(3), "c", INT4)
LEFT, RIGHT = Scan("u1", "t", (A,)), Scan("u2", "u", (B,))
REF_A, REF_B = ColumnRef(ColumnId(1), INT4), ColumnRef(ColumnId(2), INT4)
IN = Subquery("any", RIGHT, ColumnId(2), BOOL, REF_A, EQUALS)


def text_of(root: Node, *output: OutputColumn) -> str:
    query = Query(root, output or (A,), relation_ids=frozenset(("u1", "u2")))
    return generate(query, {"u1": "left_view", "u2": "right_view"}, 1700)


def calls(plan: Expression) -> Node:
    return Project(LEFT, ((C, plan),))


def test_a_scan_names_its_columns_by_number_and_the_result_by_place() -> None:
    assert text_of(LEFT) == "SELECT c1 AS o0 FROM (SELECT `a` AS c1 FROM left_view)"


def test_a_scan_of_no_column_still_has_rows() -> None:
    assert "SELECT 1 FROM left_view" in text_of(Project(Scan("u1", "t", ()), ((C, Constant("1", INT4)),)), C)


@pytest.mark.parametrize(
    ("predicate", "wanted"),
    [
        (IN, "(c1 IN (SELECT c2 FROM"),
        (Logical("not", (IN,)), "(c1 NOT IN (SELECT c2 FROM"),
        (Logical("and", (Constant("t", BOOL), Logical("not", (IN,)))), "(c1 NOT IN (SELECT c2 FROM"),
        (Logical("or", (Constant("t", BOOL), IN)), "(c1 IN (SELECT c2 FROM"),
        (Logical("or", (Constant("t", BOOL), Logical("not", (IN,)))), "THEN CAST(NULL AS BOOLEAN)"),
    ],
)
def test_in_a_where_spark_s_own_in_is_used_as_far_as_it_is_right(predicate: Expression, wanted: str) -> None:
    assert wanted in text_of(Filter(LEFT, predicate))


def test_outside_a_where_an_unknown_in_is_null() -> None:
    text = text_of(calls(IN), C)
    assert "(c1 IN" not in text
    assert "WHERE ((c1 = c2) IS NULL)) THEN CAST(NULL AS BOOLEAN)" in text


def test_all_is_false_as_soon_as_one_comparison_is() -> None:
    text = text_of(calls(Subquery("all", RIGHT, ColumnId(2), BOOL, REF_A, LESS)), C)
    assert text.index("WHERE (NOT (c1 < c2))) THEN FALSE") < text.index("IS NULL)) THEN CAST(NULL")


def test_an_aggregate_s_argument_and_filter_are_computed_below_it() -> None:
    total = AggregateCall(
        SUM, (Call(LESS, (REF_A, REF_A), INT4),), INT8, True, filter=Logical("not", (REF_A,))
    )
    text = text_of(Aggregate(LEFT, ((B, Constant("1", INT4)),), ((C, total),)), C)
    found = re.search(r"sum\(DISTINCT (t\d+)\) FILTER \(WHERE (t\d+)\) AS c3", text)
    assert found is not None
    assert f"(c1 < c1) AS {found.group(1)}" in text
    assert f"(NOT c1) AS {found.group(2)}" in text
    assert re.search(r"GROUP BY t\d+$", text.rstrip(")")) is not None


def test_an_ordered_list_is_sorted_by_keys_with_nulls_in_their_place() -> None:
    key = SortKey(REF_A, descending=True, nulls_first=False)
    text = text_of(
        Aggregate(LEFT, (), ((C, AggregateCall(LIST, (REF_A,), array_of(INT4), order_by=(key,))),)), C
    )
    assert "array_sort(collect_list(struct(c1 AS v, c1 AS k0))" in text
    assert "WHEN l.k0 IS NULL AND r.k0 IS NOT NULL THEN 1 " in text
    assert "WHEN l.k0 < r.k0 THEN 1 " in text


def test_a_sort_key_that_is_a_number_is_not_a_column_s_place() -> None:
    assert "ORDER BY (5 + 0) ASC NULLS LAST" in text_of(
        Sort(LEFT, (SortKey(Constant("5", INT4), False, False),))
    )


def test_distinct_on_keeps_the_first_row_of_each_group() -> None:
    text = text_of(Distinct(LEFT, (REF_A,), (SortKey(REF_A, True, True),)))
    assert re.search(r"row_number\(\) OVER \(PARTITION BY c1 ORDER BY c1 DESC NULLS FIRST\) AS (t\d+)", text)


def test_a_limit_stands_directly_on_the_sorted_select() -> None:
    sort = Sort(LEFT, (SortKey(REF_A, False, False),))
    assert text_of(Limit(sort, Constant("3", INT8), Constant("2", INT8))).endswith(
        "ORDER BY c1 ASC NULLS LAST LIMIT 3 OFFSET 2)"
    )
    assert "LIMIT" not in text_of(Limit(sort, Constant(None, INT8), None))


def test_mz_now_is_the_timestamp_it_is_read_at() -> None:
    assert "SELECT 1700L AS c3" in text_of(calls(Call(MZ_NOW, (), MZ_TIMESTAMP)), C)


def test_join_sides_keep_their_kind_and_condition() -> None:
    text = text_of(Join("full", LEFT, RIGHT, Call(EQUALS, (REF_A, REF_B), BOOL)), A, B)
    assert re.search(r"FULL JOIN \(SELECT `b` AS c2 FROM right_view\) AS t\d+ ON \(c1 = c2\)", text)
    assert " CROSS JOIN " in text_of(Join("inner", LEFT, RIGHT, Constant("t", BOOL)), A, B)


def test_rows_of_constants_are_one_values_and_others_one_array() -> None:
    constants = Values(((Constant("1", INT4),), (Constant(None, INT4),)), (A,))
    assert "VALUES (1), (CAST(NULL AS INT)) AS v(c1)" in text_of(constants)
    computed = Values(
        ((Call(LESS, (Constant("1", INT4), Constant("2", INT4)), INT4),), (Constant("1", INT4),)), (A,)
    )
    assert "inline(array(named_struct('c1', (1 < 2)), named_struct('c1', 1))) AS (c1)" in text_of(computed)


CHECKED = Function("checked", (INT4,), INT4, None, "transform(array({0}), r -> r + 1)[0]")
ONE = Subquery("scalar", RIGHT, ColumnId(2), INT4)


def test_a_query_inside_a_lambda_is_computed_below_it() -> None:
    text = text_of(calls(Call(CHECKED, (ONE,), INT4)), C)
    found = re.search(r"transform\(array\((t\d+)\), r -> r \+ 1\)\[0\] AS c3", text)
    assert found is not None
    assert f"(SELECT c2 FROM (SELECT `b` AS c2 FROM right_view)) AS {found.group(1)} FROM" in text


def test_a_text_that_only_looks_like_a_query_is_not_computed_below() -> None:
    shown = Function("shown", (TEXT,), INT4, None, "transform(array({0}), r -> length(r))[0]")
    text = text_of(calls(Call(shown, (Constant("(SELECT 1)", TEXT),), INT4)), C)
    assert "transform(array('(SELECT 1)'), r -> length(r))[0]" in text


def test_what_is_computed_below_a_filter_does_not_come_out_of_it() -> None:
    text = text_of(Filter(LEFT, Call(LESS, (Call(CHECKED, (ONE,), INT4), REF_A), BOOL)))
    assert text.startswith("SELECT c1 AS o0 FROM (SELECT c1 FROM (SELECT *, (SELECT c2 FROM")


def test_a_query_that_calls_python_is_joined_as_one_row() -> None:
    python = Function("python", (INT4,), INT4, None, "hw_python({0})")
    root = Project(RIGHT, ((OutputColumn(ColumnId(4), "d", INT4), Call(python, (REF_B,), INT4)),))
    text = text_of(calls(Subquery("scalar", root, ColumnId(4), INT4)), C)
    assert re.search(r"CROSS JOIN \(SELECT CASE WHEN count\(\*\) > 1 THEN raise_error\('HW\|21000\|", text)
    correlated = Filter(root, Call(EQUALS, (ColumnRef(ColumnId(4), INT4), REF_A), BOOL))
    assert "CROSS JOIN" not in text_of(calls(Subquery("scalar", correlated, ColumnId(4), INT4)), C)


GROUPS = WindowFrame("groups", ("unbounded preceding", None), ("current row", None))


@pytest.mark.parametrize(
    "root",
    [
        calls(Call(Function("odd", (INT4,), INT4, "odd({0})", None), (REF_A,), INT4)),
        Limit(LEFT, REF_A, None),
        Window(LEFT, ((C, WindowCall(AggregateCall(SUM, (REF_A,), INT8), (), (), GROUPS, INT8)),)),
        Join("full", LEFT, RIGHT, Constant("f", BOOL), lateral=True),
    ],
)
def test_what_spark_cannot_do_is_known_beforehand(root: Node) -> None:
    error = supported(Query(root, (C,), relation_ids=frozenset(("u1", "u2"))))
    assert error is not None
    assert error.sqlstate == "0A000"


def test_what_spark_can_do_is_supported() -> None:
    assert supported(Query(Filter(LEFT, IN), (A,), relation_ids=frozenset(("u1", "u2")))) is None


def test_a_parameter_without_a_value_is_the_user_s_error() -> None:
    with pytest.raises(UserError, match=r"there is no parameter \$2"):
        text_of(calls(Parameter(2, INT4)))


@pytest.mark.parametrize(
    ("value", "type_", "wanted"),
    [
        ("5", INT4, "5"),
        ("-5", INT8, "CAST('-5' AS BIGINT)"),
        ("t", BOOL, "TRUE"),
        (None, TEXT, "CAST(NULL AS STRING)"),
        ("1.5", NUMERIC, "'1.5'"),
        ("1.5", numeric(2), "CAST('1.50' AS DECIMAL(38,2))"),
        ("NaN", FLOAT8, "CAST('nan' AS DOUBLE)"),
        ("1970-01-03", DATE, "date_from_unix_date(2)"),
        ("1970-01-01 00:00:01", TIMESTAMP, "CAST(timestamp_micros(1000000L) AS TIMESTAMP_NTZ)"),
        ("1 mon", INTERVAL, "named_struct('months', 1, 'days', 0, 'microseconds', 0L)"),
        (
            "{}",
            array_of(INT4),
            "named_struct('elements', CAST(array() AS ARRAY<INT>), 'shape', CAST(NULL AS ARRAY<INT>))",
        ),
        (
            "[0:1]={1,NULL}",
            array_of(INT4),
            "named_struct('elements', array(1, CAST(NULL AS INT)), 'shape', array(1, 2, 0))",
        ),
        ("abc", SqlType("varchar", length=2), "'abc'"),
    ],
)
def test_a_literal_has_exactly_its_type(value: str | None, type_: SqlType, wanted: str) -> None:
    assert constant(value, type_) == wanted


@given(st.text())
def test_no_text_can_leave_its_literal(text: str) -> None:
    literal = string_literal(text)
    inside = re.sub(r"\\u[0-9a-f]{4}|\\.", "", literal[1:-1])
    assert literal[0] == literal[-1] == "'"
    assert not set(inside) & set("'\\$<>\n")


@pytest.mark.parametrize(
    ("text", "sqlstate", "message"),
    [
        ("org.apache.X: [DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012", "22012", "division by zero"),
        ("[ARITHMETIC_OVERFLOW] integer overflow. SQLSTATE: 22003", "22003", None),
        (
            "[SCALAR_SUBQUERY_TOO_MANY_ROWS] More than one row",
            "21000",
            "more than one row returned by a subquery used as an expression",
        ),
        (
            """[CAST_INVALID_INPUT] The value 'abc' of the type "STRING" cannot be cast to "INT" because""",
            "22P02",
            'invalid input syntax for type integer: "abc"',
        ),
        ("x.PythonException: HW|22008|date out of range|||\n at java.lang", "22008", "date out of range"),
        ("[UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.X] Unsupported", "0A000", None),
        ("java.lang.OutOfMemoryError: Java heap space", "53200", None),
        ("Py4JJavaError: java.lang.IllegalStateException: boom at org.apache", "XX000", None),
    ],
)
def test_an_error_of_spark_is_told_in_our_words(text: str, sqlstate: str, message: str | None) -> None:
    error = translate_error(text)
    assert error.sqlstate == sqlstate
    assert message is None or error.message == message
    shown = f"{error.message} {error.detail} {error.hint}"
    assert re.search(r"java|org\.|Exception|py4j|\bat \w+\.", shown, re.IGNORECASE) is None


def test_every_form_is_a_text_or_makes_one() -> None:
    form: Callable[..., str] = lambda texts, types: f"f({texts[0]}, {types[0].kind})"  # noqa: E731
    assert "f(c1, int4)" in text_of(calls(Call(Function("f", (INT4,), INT4, None, form), (REF_A,), INT4)), C)

"""Queries that feed columns (INSERT, UPDATE), and expressions on their own (DEFAULT).

Method: plan with target columns and look at the output's types and rows; PostgreSQL's errors for
what an assignment does not cast.
"""

from __future__ import annotations

import pytest

from headwater.core.errors import UserError
from headwater.core.names import SessionFacts
from headwater.core.relation import Column
from headwater.core.types import DATE, INT4, INT8, NUMERIC, TEXT, UNKNOWN, SqlType, array_of, numeric
from headwater.sql.select import cast_output, plan_expression, plan_query
from headwater.sql.select.plan.nodes import Constant, Project
from tests.unit.sql.select.lab import FACTS, LabNames, execute, failure, plan, run

SHORT = SqlType("varchar", length=2)
COLUMNS = (Column("id", INT8), Column("day", DATE, default="current_date"), Column("name", TEXT))


def test_literals_and_parameters_take_the_targets_types() -> None:
    query = plan("VALUES ($1, '2020-01-01', $2)", targets=COLUMNS)
    assert query.parameters == (INT8, TEXT)
    assert [(column.name, column.type) for column in query.output] == [
        ("id", INT8),
        ("day", DATE),
        ("name", TEXT),
    ]
    assert plan("SELECT $1, $2, 'x'", targets=COLUMNS).parameters == (INT8, DATE)


def test_each_row_of_values_is_cast_for_itself() -> None:
    rows = run("VALUES ('1', '2020-01-01', 5), (2, NULL, 'x')", targets=COLUMNS)
    assert rows == (("1", "2020-01-01", "5"), ("2", None, "x"))


def test_default_is_the_columns_own() -> None:
    rows = run("VALUES (DEFAULT, DEFAULT, DEFAULT)", targets=COLUMNS)
    assert rows == ((None, "2023-11-14", None),)


def test_a_select_is_cast_by_assignment() -> None:
    assert run("SELECT a, ts, n FROM t WHERE a = 1", targets=COLUMNS) == (("1", "2020-01-01", "1.5"),)
    assert run("SELECT DISTINCT 1.6, NULL, 2", targets=COLUMNS) == (("2", None, "2"),)


@pytest.mark.parametrize(
    ("text", "target", "sqlstate", "message"),
    [
        ("SELECT b FROM t", INT4, "42804", 'column "z" is of type integer but expression is of type text'),
        ("VALUES (true)", DATE, "42804", 'column "z" is of type date but expression is of type boolean'),
        ("VALUES ('x')", INT4, "22P02", 'invalid input syntax for type integer: "x"'),
        ("VALUES ('abc')", SHORT, "22001", "value too long for type character varying(2)"),
        ("SELECT 'abc'", SHORT, "22001", "value too long for type character varying(2)"),
        ("SELECT x FROM s", SHORT, "22001", "value too long for type character varying(2)"),
        ("VALUES (1, 2)", INT4, "42601", "INSERT has more expressions than target columns"),
        ("SELECT 1, 2", INT4, "42601", "INSERT has more expressions than target columns"),
        ("SELECT 3000000000", INT4, "22003", "integer out of range"),
    ],
)
def test_what_an_assignment_does_not_cast_is_an_error(
    text: str, target: SqlType, sqlstate: str, message: str
) -> None:
    error = failure(text, targets=(Column("z", target),))
    assert (error.sqlstate, error.message) == (sqlstate, message)


def test_too_few_expressions_are_an_error() -> None:
    assert failure("SELECT 1", targets=COLUMNS).message == "INSERT has more target columns than expressions"


def test_an_explicit_cast_cuts_what_an_assignment_refuses() -> None:
    assert run("SELECT x::varchar(2) FROM s WHERE a = 4", targets=(Column("z", SHORT),)) == (("fo",),)


def test_the_output_of_a_planned_query_can_be_cast() -> None:
    query = cast_output(
        plan("SELECT a, x FROM s WHERE a = 4"), (Column("k", TEXT), Column("v", SqlType("name")))
    )
    assert [(column.name, column.type) for column in query.output] == [("k", TEXT), ("v", SqlType("name"))]
    assert execute(query) == (("4", "four"),)
    with pytest.raises(UserError, match='column "k" is of type date but expression is of type integer'):
        cast_output(plan("SELECT a FROM s"), (Column("k", DATE),))
    with pytest.raises(UserError, match="INSERT has more target columns than expressions"):
        cast_output(plan("SELECT a FROM s"), COLUMNS)


@pytest.mark.parametrize(
    ("text", "wanted", "expected"),
    [
        ("current_date", DATE, DATE),
        ("'5'", INT4, INT4),
        ("1 + 1", NUMERIC, NUMERIC),
        ("'{}'", array_of(INT4), array_of(INT4)),
        ("a + 1.5", None, numeric(1)),
        ("'x'", None, TEXT),
    ],
)
def test_an_expression_stands_alone(text: str, wanted: SqlType | None, expected: SqlType) -> None:
    target = None if wanted is None else Column("z", wanted)
    query = plan_expression(text, LabNames(), FACTS, (Column("a", INT4),), target)
    assert [column.type for column in query.output] == [expected]
    assert expected != UNKNOWN


@pytest.mark.parametrize(
    ("text", "sqlstate"),
    [("count(*)", "42803"), ("nope", "42703"), ("'x'", "22P02"), ("1 +", "42601"), ("now()", "42804")],
)
def test_an_expression_that_cannot_be_a_default_is_refused(text: str, sqlstate: str) -> None:
    with pytest.raises(UserError) as caught:
        plan_expression(text, LabNames(), FACTS, (), Column("z", INT4))
    assert caught.value.sqlstate == sqlstate


def test_places_count_from_the_statements_start() -> None:
    with pytest.raises(UserError) as caught:
        plan_query("SELECT nope", LabNames(), FACTS, offset=100)
    assert caught.value.position == 108


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("now()", "2023-11-14 22:13:20+00"),
        ("current_timestamp(0)", "2023-11-14 22:13:20+00"),
        ("localtimestamp", "2023-11-14 22:13:20"),
        ("current_date", "2023-11-14"),
        ("current_user", "eve"),
        ("session_user", "eve"),
        ("current_database()", "db"),
        ("current_schema()", "app"),
        ("current_schema", "app"),
        ("current_schemas(false)", "{app,public}"),
        ("current_schemas(true)", "{mz_catalog,pg_catalog,app,public}"),
        ("current_setting('x')", "y"),
        ("current_setting('TimeZone')", "UTC"),
        ("current_setting('nope', true)", None),
        ("pg_backend_pid()", "77"),
        ("mz_environment_id()", "headwater-local"),
        ("mz_version_num()", "2603000"),
        ("pg_is_in_recovery()", "f"),
    ],
)
def test_facts_of_the_session_are_constants(text: str, value: str | None) -> None:
    facts = SessionFacts(
        user="eve",
        database="db",
        search_path=("app", "public"),
        now_us=FACTS.now_us,
        backend_pid=77,
        settings=(("x", "y"),),
    )
    query = plan_query(f"SELECT {text}", LabNames(), facts)
    assert isinstance(query.root, Project)
    ((_, constant),) = query.root.columns
    assert isinstance(constant, Constant)
    assert constant.value == value


def test_an_unknown_setting_is_an_error() -> None:
    assert failure("SELECT current_setting('nope')").message == 'unrecognized configuration parameter "nope"'

"""Long lists of constants, and long series: as data they give what they give as text, and stay linear.

Method: the same plan is generated twice, once with a place for tables and once without, and run by DuckDB;
sizes of what is made of n and of 2n terms are compared.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from headwater.core.limits import LITERAL_ROWS_MIN
from headwater.core.names import SessionFacts
from headwater.core.relation import Column
from headwater.core.types import DATE, INT2, INT4, INT8, TEXT, TIMESTAMPTZ, SqlType, numeric
from headwater.sql.select import before_rows, bind_parameters
from headwater.sql.select.generate.duckdb.query import generate
from headwater.sql.select.kernels import told
from headwater.sql.select.plan.nodes import Query
from tests.unit.sql.select.lab import MZ_NOW, TABLES, database, failure, one, plan, run

_AT = (Column("at", TIMESTAMPTZ),)
MANY = range(LITERAL_ROWS_MIN)
_TEXTS = "('it''s {i}')"
_DATES = "(DATE '2020-01-01', {i}, NULL)"
_DAYS = "(INTERVAL '{i} days', FLOAT8 '1.5', '{{1,{i}}}'::int[])"


def _as_data(query: Query) -> tuple[pa.Table, int]:
    """The rows with long lists handed in, and how many lists there were."""
    tables: dict[str, pa.Table] = {}
    sql = generate(query, TABLES, MZ_NOW, tables)
    cursor = database().cursor()
    for name, table in tables.items():
        cursor.register(name, table)
    lab = {name: database().sql(f"SELECT * FROM {name}").to_arrow_table() for name in TABLES.values()}
    for name, table in lab.items():
        cursor.register(name, table)
    return cursor.sql(told(sql)).to_arrow_table(), len(tables)


def _listed(item: str) -> str:
    return ", ".join(item.format(i=i) for i in MANY)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (f"SELECT * FROM (VALUES {_listed('({i}, {i}.50, NULL, true)')}) v (a, b, c, d)", 1),
        (f"SELECT * FROM (VALUES {_listed(_TEXTS)}) v (a)", 1),
        (f"VALUES {_listed(_DATES)}", 1),
        (f"VALUES {_listed(_DAYS)}", 1),
        (f"VALUES {_listed('(1 + {i})')}", 0),  # no constants
        (f"SELECT a FROM t WHERE a IN ({_listed('{i}')}) ORDER BY 1", 1),
        (f"SELECT a, a NOT IN (NULL, {_listed('{i} + 7')}) FROM t ORDER BY 1", 0),
        (f"SELECT a, u IN ({_listed('{i}.25')}) FROM t ORDER BY 1", 1),
        (f"SELECT t.a, s.a FROM t LEFT JOIN s ON t.a = s.a AND s.a IN ({_listed('{i}')}) ORDER BY 1, 2", 0),
        (f"SELECT count(*) FILTER (WHERE a IN ({_listed('{i}')})) FROM s GROUP BY a IN (1, 2) ORDER BY 1", 1),
    ],
)
def test_a_list_gives_the_same_as_data_and_as_text(text: str, count: int) -> None:
    query = plan(text)
    rows, handed_in = _as_data(query)
    assert handed_in == count
    assert rows.equals(database().sql(told(generate(query, TABLES, MZ_NOW))).to_arrow_table())


def test_strings_of_many_rows_are_read_as_one_by_one() -> None:
    columns = (Column("d", DATE), Column("n", numeric(2)), Column("v", SqlType("varchar", length=3)))
    row = "('{}', '{}', 'abc')"
    rows = [row.format(f"2020-01-{i % 28 + 1}", f"{i}.5") for i in MANY]
    query = plan("VALUES " + ", ".join(rows), targets=columns)
    few = plan("VALUES " + ", ".join(rows[:3]), targets=columns)
    assert query.root.rows[:3] == few.root.rows  # type: ignore[union-attr]
    assert query.root.literal  # type: ignore[union-attr]
    wrong = "VALUES " + ", ".join([*rows, "('2020-13-01', '1', 'a')"])
    raised = failure(wrong, targets=columns)
    assert (raised.sqlstate, raised.position) == ("22008", wrong.index("'2020-13") + 1)
    clocks = ["('2026-07-01 12:00')"] * len(MANY)
    berlin = SessionFacts(zone="Europe/Berlin")
    read = [plan("VALUES " + ", ".join(some), facts=berlin, targets=_AT) for some in (clocks, clocks[:1])]
    assert read[0].root.rows[0] == read[1].root.rows[0]  # type: ignore[union-attr]
    today = plan("VALUES " + ", ".join(["('today')"] * len(MANY)), targets=columns[:1])
    assert len({row[0] for row in today.root.rows}) == 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "make",
    [
        lambda n: "SELECT " + " AND ".join(["1 = 1"] * n),
        lambda n: "SELECT a FROM t WHERE " + " OR ".join(f"a = {i} + 1 OR {i} = 1" for i in range(n)),
        lambda n: (
            "SELECT CASE " + " ".join(f"WHEN 2 = {i} THEN {i} + 1" for i in range(n)) + " ELSE a END FROM t"
        ),
        lambda n: "SELECT coalesce(" + ", ".join(f"{i} + 1" for i in range(n)) + ")",
    ],
    ids=["and", "or", "case", "coalesce"],
)
def test_parts_of_constants_grow_as_the_statement_does(make: object) -> None:
    def size(n: int) -> int:
        parts = before_rows(plan(make(n)))  # type: ignore[operator]
        return 0 if parts is None else len(generate(parts, TABLES))

    assert size(400) < 3 * size(200) + 1_000


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("SELECT x FROM generate_series(1, 10000000000) AS s (x) LIMIT 1", "1"),
        ("SELECT count(*) FROM generate_series(1, 3000000000) AS s (x)", "3000000000"),
        ("SELECT sum(x) FROM generate_series(10, 1, -3) AS s (x)", "22"),
        ("SELECT sum(x * o) FROM generate_series(5, 7) WITH ORDINALITY AS s (x, o)", "38"),
        ("SELECT count(*) FROM generate_series(2, 1)", "0"),
        ("SELECT count(*) FROM generate_series(NULL, 1)", "0"),
        ("SELECT count(*) FROM generate_series(9223372036854775806, 9223372036854775807)", "2"),
        ("SELECT count(*) FROM (SELECT generate_series(1, 20000000)) q", "20000000"),
    ],
)
def test_a_series_between_constants_may_be_of_any_length(text: str, value: str) -> None:
    assert one(text) == value


def test_other_series_are_bounded() -> None:
    assert run("SELECT generate_series(1, a) FROM s WHERE a = 4") == (("1",), ("2",), ("3",), ("4",))
    raised = failure("SELECT generate_series(1, a * 10000000) FROM s")
    assert (raised.sqlstate, raised.hint is not None) == ("0A000", True)
    assert failure("SELECT * FROM generate_series(1, 2, 0)").sqlstate == "22023"
    assert plan("SELECT * FROM generate_series(1, 3)").columns()[0].type == INT4


def test_rows_of_arguments_are_data_though_a_driver_sends_narrower_numbers() -> None:
    targets = (Column("a", INT8), Column("b", TEXT), Column("c", INT2))
    text = f"VALUES {', '.join(f'(${i * 3 + 1}, ${i * 3 + 2}, ${i * 3 + 3})' for i in MANY)}"
    query = plan(text, (INT2, SqlType("varchar"), INT8) * len(MANY), targets)
    arguments = [value for i in MANY for value in (f"0{i}", None if i == 1 else f"t{i}", f"{i} ")]
    rows, list_count = _as_data(bind_parameters(query, tuple(arguments)))
    assert list_count == 1
    assert rows.num_rows == len(MANY)
    assert [column.to_pylist()[:2] for column in rows.columns] == [[0, 1], ["t0", None], [0, 1]]


def test_an_argument_that_its_column_has_no_room_for_is_an_error_and_the_first_wrong_one_is_named() -> None:
    targets = (Column("a", INT2),)
    error = failure("VALUES ($1::int8)", "40000", targets=targets)
    assert (error.sqlstate, error.message) == ("22003", "smallint out of range")
    wrong = failure("SELECT $1::date, $2::int, $3::date", "2020-01-01", "x", "y")
    assert wrong.message == 'invalid input syntax for type integer: "x"'

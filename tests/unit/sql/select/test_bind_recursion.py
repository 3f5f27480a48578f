"""WITH RECURSIVE in binding: names, types, form, and what both engines make of it.

Goal: a query reads itself only where that means something, its columns have the types of its base,
and a recursion that never ends can be stopped.

Method: queries over the lab's relations; errors are compared by text and place.  The same queries
are compared with PostgreSQL in tests/text/select/recursion.slt.
"""

from __future__ import annotations

import threading

import duckdb
import pytest

from headwater.core.types import INT4, NUMERIC, numeric
from headwater.sql.select import bind_parameters, count_rows, explain, qualify, relations_of
from headwater.sql.select.generate.duckdb.errors import translate_error
from headwater.sql.select.generate.duckdb.query import generate
from headwater.sql.select.generate.spark.query import supported
from headwater.sql.select.passes.zeros import columns_with_zeros
from headwater.sql.select.plan.nodes import FoundRows, Node, Recursion
from headwater.sql.select.plan.walk import inputs
from tests.unit.sql.select.lab import LabNames, execute, failure, plan, run

FIVE = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) "
ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1::int8 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"


def nodes(node: Node) -> list[Node]:
    return [node, *(below for inner in inputs(node) for below in nodes(inner))]


def recursion(text: str) -> Recursion:
    return next(node for node in nodes(plan(text).root) if isinstance(node, Recursion))


@pytest.mark.parametrize(
    ("text", "sqlstate", "message", "position"),
    [
        (
            "WITH RECURSIVE r AS (SELECT * FROM r) SELECT 1",
            "42P19",
            'recursive query "r" does not have the form non-recursive-term UNION [ALL] recursive-term',
            16,
        ),
        (
            "WITH RECURSIVE r(n) AS (SELECT 1 FROM r UNION SELECT 1) SELECT 1",
            "42P19",
            'recursive reference to query "r" must not appear within its non-recursive term',
            39,
        ),
        (
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT 1 FROM s LEFT JOIN r ON true) SELECT 1",
            "42P19",
            'recursive reference to query "r" must not appear within an outer join',
            66,
        ),
        (
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT 1 WHERE 1 = ANY (TABLE r)) SELECT 1",
            "42P19",
            'recursive reference to query "r" must not appear within a subquery',
            70,
        ),
        (
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT 1 FROM r, r AS q) SELECT 1",
            "42P19",
            'recursive reference to query "r" must not appear more than once',
            57,
        ),
        (
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT max(n) FROM s JOIN r ON true) SELECT 1",
            "42P19",
            "aggregate functions are not allowed in a recursive query's recursive term",
            40,
        ),
        (
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n + 1.5 FROM r) SELECT 1",
            "42804",
            'recursive query "r" column 1 has type integer in non-recursive term but type numeric overall',
            16,
        ),
        (
            "WITH RECURSIVE a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT 1",
            "0A000",
            "mutual recursion between WITH items is not implemented",
            16,
        ),
        (
            "WITH RECURSIVE r(n) AS ((SELECT 1 UNION SELECT n FROM r) LIMIT 1) SELECT 1",
            "0A000",
            "LIMIT in a recursive query is not implemented",
            16,
        ),
        ("WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT q FROM r) SELECT 1", "42703", None, 47),
        ("WITH r(n) AS (SELECT 1 UNION SELECT n FROM r) SELECT * FROM r", "42P01", None, 44),
        (
            "WITH RECURSIVE r(n) AS (WITH q AS (SELECT nope) SELECT 1 UNION SELECT n FROM r) SELECT 1",
            "42703",
            None,
            43,
        ),
    ],
)
def test_a_recursion_that_means_nothing_is_refused_where_it_goes_wrong(
    text: str, sqlstate: str, message: str | None, position: int
) -> None:
    error = failure(text)
    assert (error.sqlstate, error.position) == (sqlstate, position)
    assert message is None or error.message == message


def test_columns_have_the_types_of_the_base() -> None:
    assert [c.type for c in recursion(FIVE + "SELECT * FROM r").columns] == [INT4]
    same = "WITH RECURSIVE r(n) AS (SELECT 1.5 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r"
    assert [c.type for c in recursion(same).columns] == [numeric(1)]
    assert run(same) == (("1.5",), ("2.5",), ("3.5",))
    wider = same.replace("n + 1", "n * 1.5")
    assert [c.type for c in recursion(wider).columns] == [NUMERIC]
    assert run(wider) == (("1.5",), ("2.25",), ("3.375",))


def test_zeros_of_numerics_are_kept_where_rows_are_not_compared() -> None:
    text = (
        "WITH RECURSIVE r(n) AS (SELECT 8::numeric UNION ALL SELECT n / 2 FROM r WHERE n > 5) SELECT n FROM r"
    )
    kept = plan(text)
    column = recursion(text).columns[0]
    assert column.id in columns_with_zeros(kept.root)
    assert execute(kept) == (("8",), ("4",))
    distinct = text.replace(" ALL", "").replace("n / 2", "n * 0.50")
    assert not columns_with_zeros(plan(distinct).root)
    assert run(distinct) == (("8",), ("4",))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT exp(n) FROM r WHERE n < 1",
        "SELECT exp(min(n)) FROM r",
        "SELECT exp(m) FROM (SELECT -n AS m FROM r) q WHERE m > -1",
        "SELECT exp(min(n) OVER ()) FROM r LIMIT 1",
        "SELECT exp((SELECT min(n) FROM r))",
        "SELECT exp(n) FROM (SELECT n FROM r EXCEPT SELECT 1) q",
    ],
)
def test_zeros_are_kept_where_a_recursive_union_is_computed_with(query: str) -> None:
    text = f"WITH RECURSIVE r(n) AS (SELECT 1::numeric UNION SELECT n / 1000 FROM r WHERE n = 1) {query}"
    assert run(text) == run(text.replace(" UNION", " UNION ALL", 1))
    assert len(run(text)[0][0] or "") > 20, "the digits of a numeric without zeros"


@pytest.mark.parametrize("step", ["n * 1.0 FROM r", "(n + 1) % 3.0 FROM r"])
def test_equal_numerics_that_a_recursion_cannot_tell_from_new_ones_are_refused(step: str) -> None:
    text = f"WITH RECURSIVE r(n) AS (SELECT 0::numeric UNION SELECT {step})"
    assert run(f"{text} SELECT n FROM r WHERE n = 0") == (("0",),)
    error = failure(f"{text} SELECT n / 7 FROM r")
    assert "a recursive UNION that finds equal values in different spellings" in error.message
    assert error.sqlstate == "0A000"
    assert "UNION ALL" in (error.hint or "")


def test_the_step_reads_only_what_it_uses() -> None:
    text = (
        "WITH RECURSIVE r(n, t) AS (SELECT 1, 'x' UNION ALL SELECT n + 1, 'y' FROM r WHERE n < 3)"
        " SELECT t FROM r"
    )
    (found,) = (node for node in nodes(plan(text).root) if isinstance(node, FoundRows))
    assert [column.name for column, _ in found.columns] == ["n"]
    assert run(text) == (("x",), ("y",), ("y",))


def test_parameters_stand_in_base_and_step() -> None:
    text = (
        "WITH RECURSIVE r(n) AS (SELECT $1::int UNION ALL SELECT n + $2 FROM r WHERE n < $3)"
        " SELECT n FROM r LIMIT $4"
    )
    assert plan(text).parameters[:3] == (INT4, INT4, INT4)
    assert run(text, ("1", "3", "20", "4")) == (("1",), ("4",), ("7",), ("10",))


def test_explain_shows_the_recursion_and_its_rows() -> None:
    shown = explain(plan(FIVE + "SELECT n FROM r"))
    assert "Recursion r#1 all c2" in shown
    assert "FoundRows r#1 [c3 := c2]" in shown


def test_a_name_in_a_recursive_with_is_no_relation() -> None:
    text = "WITH RECURSIVE a AS (TABLE b), b AS (SELECT a FROM s UNION SELECT a FROM b) SELECT * FROM a, t"
    assert relations_of(text) == (("s",), ("t",))
    assert "FROM materialize.public.s UNION SELECT a FROM b" in qualify(text, LabNames())


def test_rows_of_a_recursion_are_counted() -> None:
    query = count_rows(plan(FIVE + "SELECT n % 2 FROM r"), "many")
    assert sorted(execute(query)) == [("0", "2"), ("1", "3")]


def test_spark_refuses_and_says_who_does_not() -> None:
    error = supported(plan(FIVE + "SELECT n FROM r"))
    assert error is not None
    assert (error.sqlstate, error.message) == ("0A000", "WITH RECURSIVE on Spark not yet supported")
    assert supported(plan("WITH RECURSIVE q AS (SELECT 1 AS n) SELECT n FROM q")) is None


def test_a_recursion_without_end_is_interrupted() -> None:
    with duckdb.connect() as connection:
        stop = threading.Timer(0.3, connection.interrupt)
        stop.start()
        with pytest.raises(duckdb.Error) as caught:
            connection.execute(generate(bind_parameters(plan(ENDLESS), ()), {})).fetchall()
        stop.join()
    assert translate_error(str(caught.value)).sqlstate == "57014"


def test_a_recursion_that_grows_meets_the_memory_limit() -> None:
    text = (
        "WITH RECURSIVE r(n) AS (SELECT 1::int8 UNION ALL SELECT n + g FROM r, generate_series(1, 4) g)"
        " SELECT count(*) FROM r"
    )
    with (
        duckdb.connect(":memory:", config={"memory_limit": "100MB", "temp_directory": ""}) as connection,
        pytest.raises(duckdb.Error) as caught,
    ):
        connection.execute(generate(plan(text), {})).fetchall()
    assert translate_error(str(caught.value)).sqlstate == "53200"

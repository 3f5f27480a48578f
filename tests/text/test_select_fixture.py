"""SELECT: both engines answer as a real PostgreSQL 15 does.

Goal: rows, column names, types and text of every query in tests/text/select are the same on
PostgreSQL, on DuckDB and on Spark; what fails on one fails on all, with the same SQLSTATE.

Method: the expected answers are asked of PostgreSQL during the run, never written down.  An
expression is computed over constants and over a table's columns, because engines fold constants
by other code than they run rows.  Spark's queries are put together, many expressions a query, and
run in two threads, since each costs some tenths of a second whatever it does; a query that
fails is taken apart until the culprit is alone.  Those that bring rows together run over two
partitions, the others over one.

One difference is the dialect's: numerics have no needless zeros.  It is taken away from
PostgreSQL's answers for the types that hold numerics, and where a case says `zeros`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headwater.formats.text import to_text
from headwater.options import SparkOptions
from headwater.sql.select import count_rows, explain
from headwater.sql.select.generate.spark import query as spark_generator
from headwater.sql.select.kernels import KERNELS
from headwater.sql.select.plan.nodes import Query
from tests.support import chance
from tests.support.postgres import PostgresServer, available
from tests.support.server import QUICK_SPARK
from tests.text.select_cases import Case, read_cases, table_sql
from tests.text.select_engines import (
    Answer,
    Engine,
    Failure,
    Postgres,
    duckdb_engine,
    spark_engine,
    write_tables,
)

FOLDER = Path(__file__).parent / "select"
CASES = read_cases(FOLDER)
COLUMNS_PER_QUERY_MAX = 40
SPARK_THREADS = 2
PARTED = {"aggregates", "grouping", "joins", "mixed", "sets", "subqueries", "windows"}
_HOLD_NUMERICS = {1700, 1231, 3802, 2249, 3807}
_ZEROS = re.compile(r"(?<![\w.])(-?\d+)(?:\.0+|(\.\d*?[1-9])0+)(?![\w.])")

pytestmark = [
    pytest.mark.skipif(not available(), reason="PostgreSQL 15 is not installed"),
    pytest.mark.timeout(900),
]


@dataclass(slots=True)
class Outcomes:
    """The answers of everyone; an expression has one over the table and one a row of constants."""

    whole: dict[tuple[str, str], Answer | Failure] = field(default_factory=dict)
    constants: dict[tuple[str, str, int], Answer | Failure] = field(default_factory=dict)


def block_table(case: Case) -> str:
    return f"inputs_{case.file}_{case.block}"


def evaluate(engine: Engine, expressions: list[str], source: str, zone: str) -> list[Answer | Failure]:
    """Each expression's column over `source`; several to a query as long as none fails."""
    listed = ", ".join(f"{text} AS e{index}" for index, text in enumerate(expressions))
    answer = engine.run(f"SELECT {listed}{source}", zone)
    if isinstance(answer, Answer):
        return [
            Answer(("e",), (answer.oids[i],), tuple((row[i],) for row in answer.rows))
            for i in range(len(expressions))
        ]
    if len(expressions) == 1:
        return [answer]
    middle = len(expressions) // 2
    return [
        *evaluate(engine, expressions[:middle], source, zone),
        *evaluate(engine, expressions[middle:], source, zone),
    ]


def run_block(name: str, engine: Engine, cases: list[Case], outcomes: Outcomes, width: int) -> None:
    """A block of expressions, over its table and over constants."""
    source, zone = f" FROM {block_table(cases[0])} ORDER BY nr", cases[0].zone
    for start in range(0, len(cases), width):
        some = cases[start : start + width]
        for case, answer in zip(some, evaluate(engine, [c.sql for c in some], source, zone), strict=True):
            outcomes.whole[name, str(case)] = answer
    pairs = [(case, row) for case in cases for row in constant_rows(name, case)]
    for start in range(0, len(pairs), width):
        chunk = pairs[start : start + width]
        answers = evaluate(engine, [case.over_constants(row) for case, row in chunk], "", zone)
        for (case, row), answer in zip(chunk, answers, strict=True):
            outcomes.constants[name, str(case), row] = answer


def constant_rows(name: str, case: Case) -> list[int]:
    """The rows that an expression is computed for over constants: two for Spark and where there are zones."""
    rows = range(len(case.rows))
    return sorted({rows[0], rows[-1]}) if name == "spark" or case.zone != "UTC" else list(rows)


def run_unit(name: str, engine: Engine, unit: list[Case], outcomes: Outcomes, width: int) -> None:
    if unit[0].kind == "expr":
        run_block(name, engine, unit, outcomes, width)
    else:
        outcomes.whole[name, str(unit[0])] = engine.run(unit[0].sql, unit[0].zone)


def units_of(cases: list[Case]) -> list[list[Case]]:
    """Blocks of expressions together, everything else alone."""
    units: dict[tuple[str, int, str], list[Case]] = {}
    for case in cases:
        units.setdefault((case.file, case.block, case.zone), []).append(case)
    return list(units.values())


@pytest.fixture(scope="module")
def spark_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session as the cluster builds it."""
    from headwater.cluster import kernels_spark
    from headwater.cluster.spark import build_session

    pairs = tuple((name, value) for name, _, value in (setting.partition("=") for setting in QUICK_SPARK))
    options = SparkOptions(master="local[2]", conf=pairs)
    session = build_session(options, tmp_path_factory.mktemp("spark"))
    session.sparkContext.setLogLevel("OFF")
    kernels_spark.prepare(session)
    kernels_spark.register_used(session, " ".join(kernel.name for kernel in KERNELS), set())
    yield session
    session.stop()


class Asking:
    """Asks everybody the cases of a file when the first of them is looked at; answers are kept."""

    def __init__(self, postgres: Postgres, directory: Path, session: Any, units: list[list[Case]]) -> None:
        relations = write_tables(postgres, directory)
        self._postgres, self._session, self._units = postgres, session, units
        self._small, self._large = (
            duckdb_engine(relations, directory),
            spark_engine(relations, directory, session),
        )
        self._asked: set[str] = set()
        self._found = Outcomes()

    def about(self, case: Case) -> Outcomes:
        """What was answered, to this case among others."""
        if case.file not in self._asked:
            self._asked.add(case.file)
            self._ask([unit for unit in self._units if unit[0].file == case.file])
        return self._found

    def _ask(self, units: list[list[Case]]) -> None:
        for unit in units:
            if unit[0].kind != "agree":
                run_unit("postgres", self._postgres, unit, self._found, 1)
        for unit in units:
            run_unit("duckdb", self._small, unit, self._found, COLUMNS_PER_QUERY_MAX)
        self._session.conf.set("spark.sql.shuffle.partitions", 2 if units[0][0].file in PARTED else 1)
        on_spark = [unit for unit in units if "spark" in unit[0].engines]
        with ThreadPoolExecutor(SPARK_THREADS) as pool:
            ask = partial(run_unit, "spark", self._large, outcomes=self._found, width=COLUMNS_PER_QUERY_MAX)
            list(pool.map(ask, on_spark))


@pytest.fixture(scope="module")
def asking(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, spark_session: Any
) -> Iterator[Asking]:
    chosen = {str(item.callspec.params["case"]) for item in request.session.items if hasattr(item, "callspec")
              and "case" in item.callspec.params}  # fmt: skip
    units = [unit for unit in units_of(CASES) if any(str(case) in chosen for case in unit)]
    with PostgresServer() as server:
        postgres = Postgres(server.dsn())
        try:
            postgres.script((FOLDER / "tables.sql").read_text())
            for table, unit in {block_table(unit[0]): unit for unit in units}.items():
                if unit[0].kind == "expr":
                    for statement in table_sql(unit[0], table):
                        postgres.script(statement)
            yield Asking(postgres, tmp_path_factory.mktemp("select"), spark_session, units)
        finally:
            postgres.close()
    summarise(request.config)


def summarise(config: pytest.Config) -> None:
    """Says how many cases there are and which are refused, and why."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    capture = config.pluginmanager.getplugin("capturemanager")
    if reporter is None or capture is None:
        return
    refused = [(case, engine, why) for case in CASES for engine, why in case.refused.items()]
    with capture.global_and_fixture_disabled():
        reporter.write_line("")
        reporter.write_line(f"select fixture: {len(CASES)} cases, {len(refused)} refused by an engine")
        for case, engine, why in refused:
            reporter.write_line(f"  {case} on {engine}: {why}")


def without_zeros(answer: Answer, everywhere: bool) -> Answer:
    """PostgreSQL's answer in the dialect's numerics."""
    odd = [everywhere or oid in _HOLD_NUMERICS for oid in answer.oids]

    def shown(text: str | None, numeric: bool) -> str | None:
        return text if text is None or not numeric else _ZEROS.sub(r"\1\2", text)

    rows = tuple(tuple(shown(text, odd[i]) for i, text in enumerate(row)) for row in answer.rows)
    return Answer(answer.names, answer.oids, rows)


def compare(case: Case, expected: Answer | Failure, answer: Answer | Failure) -> None:
    if isinstance(expected, Failure):
        assert isinstance(answer, Failure), f"PostgreSQL fails with {expected}, here it answers {answer.rows}"
        assert answer.sqlstate == expected.sqlstate, f"{answer} instead of {expected}"
        assert not case.message or answer.message == expected.message, f"{answer} instead of {expected}"
        return
    assert isinstance(answer, Answer), f"fails with {answer}"
    wanted = without_zeros(expected, case.zeros)
    assert answer.names == wanted.names, f"columns {answer.names} instead of {wanted.names}"
    assert answer.oids == wanted.oids, f"types {answer.oids} instead of {wanted.oids}"
    rows, wanted_rows = list(answer.rows), list(wanted.rows)
    if case.kind != "expr" and not case.ordered:
        rows, wanted_rows = sorted(rows, key=repr), sorted(wanted_rows, key=repr)
    assert rows == wanted_rows, difference(rows, wanted_rows)


def difference(rows: list[tuple[str | None, ...]], wanted: list[tuple[str | None, ...]]) -> str:
    """The first rows that are not what they should be."""
    if len(rows) != len(wanted):
        return f"{len(rows)} rows instead of {len(wanted)}: {rows[:5]} instead of {wanted[:5]}"
    pairs = [f"{row} instead of {other}" for row, other in zip(rows, wanted, strict=True) if row != other]
    return f"{len(pairs)} of {len(rows)} rows: {'; '.join(pairs[:3])}"


ANSWERED = [(case, engine) for case in CASES for engine in case.engines]


@pytest.mark.parametrize(("case", "engine"), ANSWERED, ids=[f"{case}-{engine}" for case, engine in ANSWERED])
def test_an_engine_answers_as_postgresql_does(case: Case, engine: str, asking: Asking) -> None:
    outcomes = asking.about(case)
    answer = outcomes.whole[engine, str(case)]
    if engine in case.refused:
        assert isinstance(answer, Failure), "marked as refused, but it answers"
        assert answer.sqlstate == "0A000"
        return
    other = "spark" if engine == "duckdb" else "duckdb"
    expected = outcomes.whole[("postgres" if case.kind != "agree" else other), str(case)]
    if case.kind == "error":
        assert isinstance(expected, Failure), f"PostgreSQL answers {expected}"
    elif case.kind != "expr":
        # Two that fail alike do not agree: only `error` may expect a failure.
        assert isinstance(expected, Answer), f"the answer to compare with is a failure: {expected}"
    else:
        over = [outcomes.constants["postgres", str(case), row] for row in constant_rows("postgres", case)]
        assert any(isinstance(one, Answer) for one in (expected, *over)), (
            f"PostgreSQL never answers: {expected}"
        )
    compare(case, expected, answer)
    for row in constant_rows(engine, case) if case.kind == "expr" else ():
        of_postgres = outcomes.constants["postgres", str(case), row]
        try:
            compare(case, of_postgres, outcomes.constants[engine, str(case), row])
        except AssertionError as error:
            raise AssertionError(f"over the constants {case.rows[row]}: {error}") from None


def test_the_fixture_is_large_and_little_of_it_is_refused() -> None:
    refused = sum(len(case.refused) for case in CASES)
    assert len(CASES) >= 450
    assert refused <= len(CASES) // 20


CERTAIN = (
    "SELECT * FROM r LIMIT 20",
    "SELECT DISTINCT ON (k) k, f, t, i FROM r",
    "SELECT DISTINCT a, g FROM r",
    "SELECT i, count(*), max(x) FROM r GROUP BY i",
    "SELECT f FROM r UNION SELECT -f FROM r",
    "SELECT i, c FROM r EXCEPT ALL SELECT i, c FROM r WHERE k = 1",
    "SELECT t, lag(x) OVER (ORDER BY k) AS w, lead(f, 2) OVER (ORDER BY i) AS v FROM r",
    "SELECT k, last_value(f) OVER (PARTITION BY k) AS w, nth_value(x, 3) OVER (ORDER BY k) AS v FROM r",
    "SELECT array_agg(DISTINCT f), string_agg(DISTINCT t, '/'), jsonb_agg(j), min(i), max(f) FROM r",
    "SELECT k, sum(x), avg(f), sum(g), stddev(x), corr(x, g), list_agg(i) FROM r GROUP BY k",
    "SELECT ARRAY(SELECT f FROM r ORDER BY k LIMIT 9)",
    "SELECT q.k, l.t FROM (SELECT DISTINCT k FROM r) q, LATERAL (SELECT t FROM r WHERE r.k = q.k LIMIT 2) l",
)  # fmt: skip


def test_a_plan_that_leaves_nothing_to_chance_has_one_result_on_both_engines(
    spark_session: Any, tmp_path: Path
) -> None:
    """More of them, on DuckDB alone: tests/unit/sql/select/test_total_order.py."""
    for seed in (1, 2):
        chance.write(tmp_path / f"{seed}.parquet", chance.rows(5, 60), seed)
    spark_session.conf.set("spark.sql.shuffle.partitions", 2)
    spark_session.read.parquet(str(tmp_path / "2.parquet")).createOrReplaceTempView("chance")

    def large(query: Query) -> chance.Bag:
        table = spark_session.sql(spark_generator.generate(query, {"u1": "chance"}, None)).toArrow()
        printed = [to_text(table.column(i), c.type).to_pylist() for i, c in enumerate(query.columns())]
        return Counter(zip(*printed, strict=True))

    queries = [*map(chance.certain, CERTAIN), count_rows(chance.plain("SELECT f, g, i, a, c FROM r"), "n")]
    with ThreadPoolExecutor(SPARK_THREADS) as pool:
        for query, found in zip(queries, pool.map(large, queries), strict=True):
            small = chance.answer(query, tmp_path / "1.parquet")
            assert found == small, explain(query)

"""A plan without chance: one result for the same rows, in whatever files and order they lie.

Method: queries that SQL leaves to chance, over rows of which many are tied or equal without being the
same (chance.py), from files in which the rows lie differently; DuckDB with several threads.  What the
plan answers must also be one of the answers the query allows.  Spark's part is in tests/text.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from headwater.coordinator.hubs import netted
from headwater.coordinator.sequence.subscribe import all_different
from headwater.core.change import Discipline, ReadPlan
from headwater.core.errors import UserError
from headwater.core.relation import Column, Relation
from headwater.core.types import INT4, TEXT
from headwater.formats.arrow import state_schema
from headwater.formats.text import from_text, to_text
from headwater.persist.signed import DIFF
from headwater.sql.select import count_rows
from headwater.sql.select.kernels.aggregates import exact_total
from tests.support.chance import DOMAINS, QUERIES, answer, certain, database, plain, rows, write


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("chance")
    paths = [folder / f"{seed}.parquet" for seed in range(6)]
    for seed, path in enumerate(paths):
        write(path, rows(7, 300), seed)
    return paths


@pytest.mark.parametrize("text", QUERIES)
def test_a_plan_has_one_result(text: str, files: list[Path]) -> None:
    query = certain(text)
    first, *others = [answer(query, file) for file in files]
    assert first
    for other in others:
        assert other == first, (other - first, first - other)
    assert first.total() == answer(plain(text), files[0]).total()


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("SELECT k, f FROM r ORDER BY k LIMIT 400", "SELECT k, f FROM r"),
        ("SELECT k, rank() OVER (ORDER BY t) AS w FROM r", None),
        ("SELECT k, sum(n) OVER (ORDER BY k) AS w FROM r", None),
        ("SELECT k, last_value(k) OVER (ORDER BY k) AS w FROM r", None),
        ("SELECT t, first_value(t) OVER (PARTITION BY t) AS w FROM r", None),
        ("SELECT array_agg(t ORDER BY t) FROM r", None),
        ("SELECT k, max(x), min(n), count(DISTINCT f) FROM r GROUP BY k", None),
        ("SELECT string_agg(t, ',') FROM (SELECT t FROM r ORDER BY t) s", None),
        ("SELECT t FROM (SELECT t FROM r ORDER BY t DESC NULLS LAST) s LIMIT 30", None),
    ],
)
def test_what_sql_says_stays_as_it_is(text: str, same: str | None, files: list[Path]) -> None:
    assert answer(certain(text), files[0]) == answer(plain(same or text), files[1])


def test_whole_tables_and_plain_queries_are_not_touched() -> None:
    for text in (
        "SELECT * FROM r",
        "SELECT k + 1 FROM r WHERE t > 'a'",
        "SELECT k, count(*), sum(n) FROM r GROUP BY k",
        "SELECT DISTINCT t FROM r",
        "SELECT a.k FROM r a JOIN r b ON a.k = b.k",
        "VALUES (1), (2) LIMIT 1",
    ):
        assert certain(text) == plain(text)


def test_a_snapshot_counts_rows_that_are_the_same(files: list[Path]) -> None:
    columns = ", ".join(name for name, _, _ in DOMAINS)
    for listed in (columns, "f", "g, i", "a", "c"):
        query = plain(f"SELECT {listed} FROM r")
        counted = answer(count_rows(query, "n"), files[0])
        assert Counter({row[:-1]: int(row[-1] or 0) for row in counted}) == answer(query, files[1])
        assert set(counted.values()) == {1}


def test_rows_that_are_known_to_be_different_are_not_counted(files: list[Path]) -> None:
    query = plain("SELECT k, t, f FROM r")
    marked = count_rows(query, "n", different=True)
    assert "Aggregate" not in repr(marked.root)
    assert Counter({row[:-1]: many for row, many in answer(marked, files[0]).items()}) == answer(
        query, files[1]
    )
    assert {row[-1] for row in answer(marked, files[0])} == {"1"}


@pytest.mark.parametrize(
    ("text", "discipline", "different"),
    [
        ("SELECT * FROM r", "keyed", True),
        ("SELECT t, k FROM r", "keyed", True),
        ("SELECT k FROM r", "keyed", True),
        ("SELECT t FROM r", "keyed", False),
        ("SELECT k + 1 AS k FROM r", "keyed", False),
        ("SELECT a.k FROM r a, r b", "keyed", False),
        ("SELECT * FROM r", "counted", False),
        ("SELECT * FROM r", "appended", False),
    ],
)
def test_rows_of_a_table_with_their_key_are_different(
    text: str, discipline: Discipline, different: bool
) -> None:
    query = plain(text)
    (id_,) = query.relation_ids
    relation = Relation((Column("k", INT4), Column("t", TEXT)), keys=((0,),))
    plans = {id_: ReadPlan(id_, relation, discipline, 5, 0, (), ())}
    assert all_different(query, plans) == different
    assert not all_different(query, {})


def test_sums_of_floats_are_rounded_once() -> None:
    cases: tuple[tuple[list[float], float | None], ...] = (
        ([1e16, 1.0, -1e16], 1.0),
        ([0.1] * 10, 1.0),
        ([1e308, 1e308, -1e308], 1e308),
        ([5e-324, 5e-324, 1.0, -1.0], 1e-323),
        ([], None),
        ([-0.0, -0.0], -0.0),
        ([0.0, -0.0], 0.0),
        ([float("inf"), 1.0], float("inf")),
        ([float("inf"), float("-inf")], float("nan")),
    )
    for values, wanted in cases:
        assert repr(exact_total(np.array(values))) == repr(wanted)
    with pytest.raises(UserError, match="overflow"):
        exact_total(np.array([1e308, 1e308]))
    chance = random.Random(3)
    for _ in range(50):
        many = [chance.uniform(-1, 1) * 10.0 ** chance.randint(-30, 30) for _ in range(300)]
        assert exact_total(np.array(many)) == math.fsum(many)


def test_a_net_is_of_rows_that_are_the_same() -> None:
    columns = plain("SELECT f, i, a, c FROM r").columns()
    schema = state_schema(Relation(columns))
    values = [("0", "1 mon", "{0}", "x"), ("-0", "1 mon", "{0}", "x"), ("0", "30 days", "{-0}", "x"),
              ("NaN", None, None, None)]  # fmt: skip

    def table(rows: list[tuple[str | None, ...]]) -> pa.Table:
        arrays = [
            from_text(pa.array(c, pa.string()), k.type)
            for c, k in zip(zip(*rows, strict=True), columns, strict=True)
        ]
        return pa.table(arrays, schema=schema)

    now, before = table([*values, values[0]]), table([values[1], values[3], values[3]])  # noqa: F841
    signed = f"SELECT *, 1 AS {DIFF} FROM now UNION ALL SELECT *, -1 FROM before"
    net = database().sql(netted(signed, ["f", "i", "a", "c"], columns)).to_arrow_table()
    printed = [to_text(net.column(n), c.type).to_pylist() for n, c in enumerate(columns)]
    found = dict(zip(zip(*printed, strict=True), net.column(DIFF).to_pylist(), strict=True))
    char = [(*row[:3], row[3] and row[3].ljust(4)) for row in values]
    assert found == {char[0]: 2, char[2]: 1, char[3]: -1}

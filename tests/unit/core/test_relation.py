"""Relations, file entries and read plans: values that go to Spark tasks and over a socket unchanged.

Method: random ones are taken through JSON text and through pickle and compared.
"""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.change import FileEntry, ReadPlan
from headwater.core.relation import Column, Relation
from headwater.core.types import FLOAT8, INT4, TEXT, array_of, map_of, numeric

types = st.sampled_from([INT4, TEXT, FLOAT8, numeric(2), numeric(), array_of(INT4), map_of(TEXT)])
names = st.text(min_size=1, max_size=6)
columns = st.builds(Column, names, types, st.booleans(), st.none() | st.text(max_size=6))


@st.composite
def relations(draw: st.DrawFn) -> Relation:
    made = tuple(draw(st.lists(columns, min_size=1, max_size=4)))
    key = st.lists(st.integers(0, len(made) - 1), min_size=1, max_size=2, unique=True).map(tuple)
    return Relation(made, tuple(draw(st.lists(key, max_size=2))))


counts = st.integers(0, 2**62)
files = st.builds(FileEntry, names, counts, counts, counts, counts)
plans = st.builds(
    ReadPlan,
    names,
    relations(),
    st.sampled_from(["appended", "keyed", "counted"]),
    counts,
    counts,
    st.lists(files, max_size=3).map(tuple),
    st.lists(files, max_size=3).map(tuple),
)


@given(relations())
def test_a_relation_survives_json_and_pickle(relation: Relation) -> None:
    assert Relation.from_json(json.loads(json.dumps(relation.to_json()))) == relation
    assert pickle.loads(pickle.dumps(relation)) == relation


@given(plans)
def test_a_read_plan_survives_json_and_pickle(plan: ReadPlan) -> None:
    assert ReadPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    assert pickle.loads(pickle.dumps(plan)) == plan


@given(plans)
def test_a_plan_is_as_large_as_its_files(plan: ReadPlan) -> None:
    everything = (*plan.state, *plan.tail)
    assert (plan.bytes(), plan.rows()) == (sum(f.bytes for f in everything), sum(f.rows for f in everything))


def test_the_first_key_is_the_primary_key() -> None:
    shape = (Column("a", INT4), Column("b", INT4), Column("c", INT4))
    assert Relation(shape, ((2, 0), (1,))).key_names() == ("c", "a")
    assert Relation(shape).key_names() == ()


def test_a_column_of_an_older_writer_has_no_default() -> None:
    assert Column.from_json({"name": "a", "type": "int4", "nullable": False}) == Column("a", INT4, False)


@pytest.mark.parametrize("value", [{"columns": 1, "keys": []}, {"columns": [], "keys": None}])
def test_what_is_no_relation_is_refused(value: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="not a relation"):
        Relation.from_json(value)


@pytest.mark.parametrize(
    "broken", [{"discipline": "sorted"}, {"relation": None}, {"state": None}, {"tail": "none"}]
)
def test_what_is_no_read_plan_is_refused(broken: dict[str, object]) -> None:
    plan = ReadPlan("u1", Relation((Column("a", INT4),)), "keyed", 2, 1, (), ())
    with pytest.raises(ValueError, match="not a"):
        ReadPlan.from_json({**plan.to_json(), **broken})

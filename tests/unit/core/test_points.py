"""Points come back from their text as they were, and the same point has the same text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import InvariantViolation
from headwater.core.points import Copied, Point, Read, Reread, Widened, point_from, point_text

names = st.text("abc", min_size=1, max_size=3)
values = st.recursive(
    st.none() | st.integers(0, 9) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)
seen = st.dictionaries(names, values, max_size=3)
points: st.SearchStrategy[Point] = st.one_of(
    st.builds(Read, values, seen),
    st.builds(Copied, names, values, seen),
    st.builds(Widened, names, st.lists(names, max_size=3).map(tuple), values, seen),
    st.builds(Reread, names, values, seen),
)


@given(points)
def test_a_point_comes_back_as_it_was(point: Point) -> None:
    text = point_text(point)
    assert point_from(text) == point
    again = point_from(json.dumps(dict(reversed(json.loads(text).items()))))
    assert point_text(again) == text


def test_a_table_may_have_no_point() -> None:
    assert point_text(None) == "null"
    assert point_from("null") is None


def test_what_nobody_wrote_is_not_taken_for_a_point() -> None:
    with pytest.raises(InvariantViolation):
        point_from('{"rows": "dreamt", "at": 1, "seen": {}}')

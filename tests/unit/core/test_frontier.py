"""Offset frontiers: a total order with the end above everything.

Method: random pairs and triples of frontiers, the end included, against the laws of an order.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.frontier import OffsetFrontier

FRONTIERS = st.builds(OffsetFrontier, st.none() | st.integers(0, 50))


@given(FRONTIERS, FRONTIERS, FRONTIERS)
def test_frontiers_are_ordered(a: OffsetFrontier, b: OffsetFrontier, c: OffsetFrontier) -> None:
    assert a <= a
    assert a <= b or b <= a
    if a <= b and b <= c:
        assert a <= c
    if a <= b and b <= a:
        assert a == b


@given(FRONTIERS)
def test_the_end_is_ahead_of_everything(frontier: OffsetFrontier) -> None:
    assert frontier <= OffsetFrontier(None)
    assert OffsetFrontier(None).to_json() is None


@given(FRONTIERS)
def test_a_frontier_survives_being_written_as_json(frontier: OffsetFrontier) -> None:
    assert OffsetFrontier.from_json(json.loads(json.dumps(frontier.to_json()))) == frontier


@pytest.mark.parametrize("value", ["7", 7.0, [7], {}])
def test_what_is_no_offset_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="an offset frontier is a whole number or null"):
        OffsetFrontier.from_json(value)


def test_people_read_the_number_or_that_it_has_ended() -> None:
    assert [str(OffsetFrontier(7)), str(OffsetFrontier(None))] == ["7", "end"]

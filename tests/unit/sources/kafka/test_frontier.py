"""Places in topics: their order, their text, and which of them a source has reached."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.sources.kafka.frontier import (
    Place,
    Places,
    covers,
    position_from_text,
    progress_rows,
    reached,
)

ONE = {"several": False, "topics": ["a"], "pattern": None}
SEVERAL = {"several": True, "topics": ["a", "b"], "pattern": None}
OFFSETS = st.lists(st.integers(0, 10**12), min_size=1, max_size=20)
NAMES = st.text(string.ascii_letters + string.digits + "._-", min_size=1, max_size=20)


def one(topic_id: str, *offsets: int) -> Places:
    return Places({"a": Place(topic_id, offsets)})


def several(number: int = 0, **topics: tuple[int, str, Sequence[int]]) -> Places:
    """By name: the number under which it joined, its id, its offsets."""
    made = {name: Place(id_, tuple(next_), joined=joined) for name, (joined, id_, next_) in topics.items()}
    return Places(made, True, number)


def test_a_frontier_is_before_another_if_it_is_so_in_every_partition() -> None:
    assert one("a", 1, 2) <= one("a", 1, 2)
    assert one("a", 1, 2) <= one("a", 1, 3, 0)
    assert one("a", 1, 0) <= one("a", 1)
    assert not one("a", 1, 2) <= one("a", 1)
    assert not one("a", 1, 2) <= one("a", 5, 1)


def test_offsets_of_another_topic_are_other_places() -> None:
    assert not one("a", 1) <= one("b", 5)
    assert not one("b", 5) <= one("a", 1)


def test_topics_that_join_and_leave_are_later() -> None:
    two = several(0, a=(0, "x", [5]), b=(0, "y", [7]))
    joined = several(1, a=(0, "x", [5]), b=(0, "y", [7]), c=(1, "z", [3]))
    left = several(2, a=(0, "x", [6]), c=(1, "z", [3]))
    again = several(3, a=(0, "x", [6]), b=(3, "w", [0]), c=(1, "z", [3]))
    line = [two, joined, left, again]
    for place, earlier in enumerate(line):
        for later in line[place:]:
            assert earlier <= later
            assert earlier is later or not later <= earlier
    assert not joined <= several(2, a=(0, "x", [4]), c=(1, "z", [3]))
    assert not two <= several(0, a=(0, "x", [5]))
    assert not several(0, a=(0, "x", [5])) <= two


@st.composite
def histories(draw: st.DrawFn) -> list[Places]:
    """What a source passes through: topics grow, join, leave, and come back under another id."""
    now = Places({}, True, 0)
    passed = [now]
    for step in range(draw(st.integers(0, 12))):
        topics, number = dict(now.topics), now.number
        name = draw(st.sampled_from("abc"))
        match draw(st.sampled_from(["grow", "join", "leave"])):
            case "grow" if name in topics:
                next_ = tuple(offset + draw(st.integers(0, 3)) for offset in topics[name].next)
                topics[name] = replace(topics[name], next=next_)
            case "join":
                number += 2 if name in topics else 1
                topics[name] = Place(f"id{step}", (draw(st.integers(0, 5)),), joined=number)
            case "leave" if name in topics:
                del topics[name]
                number += 1
        now = Places({key: topics[key] for key in sorted(topics)}, True, number)
        passed.append(now)
    return passed


@given(histories())
def test_what_a_source_passes_through_is_in_order(passed: list[Places]) -> None:
    for place, earlier in enumerate(passed):
        for later in passed[place:]:
            assert earlier <= later
            assert (later <= earlier) == (earlier == later)
        assert Places.from_json(earlier.to_json()) == earlier


@given(OFFSETS)
def test_text_and_json_of_one_topic_say_where_it_is(offsets: list[int]) -> None:
    found = Places({"a": Place("id", tuple(offsets), (1, 0), 0, (3,) * len(offsets))})
    assert position_from_text(ONE, str(found)) == one("", *offsets)
    # Zeros at the end of where a topic begins are left out.
    assert Places.from_json(found.to_json()) == one_with(found, start=(1,))
    assert progress_rows(found.to_json()) == [
        *((f"[{number},{number}]", offset) for number, offset in enumerate(offsets)),
        (f"({len(offsets) - 1},)", 0),
    ]


def one_with(places: Places, **facts: Any) -> Places:
    return Places({name: replace(place, **facts) for name, place in places.topics.items()})


@given(st.dictionaries(NAMES, OFFSETS, min_size=1, max_size=5))
def test_text_and_rows_of_several_topics_say_where_each_is(topics: dict[str, list[int]]) -> None:
    found = Places({name: Place("id", tuple(topics[name])) for name in sorted(topics)}, True)
    told = position_from_text(SEVERAL, str(found))
    assert told == Places({name: Place("", tuple(topics[name])) for name in sorted(topics)}, True)
    assert str(told) == str(found)
    rows = [
        row
        for name in sorted(topics)
        for row in [
            *((name, f"[{number},{number}]", offset) for number, offset in enumerate(topics[name])),
            (name, f"({len(topics[name]) - 1},)", 0),
        ]
    ]
    assert progress_rows(found.to_json()) == rows


def test_a_position_may_leave_partitions_out() -> None:
    assert position_from_text(ONE, "2:7,0:1") == one("", 1, 0, 7)
    assert position_from_text(SEVERAL, "b(1:3)") == Places({"b": Place("", (0, 3))}, True)


@pytest.mark.parametrize(
    "text", ["", "1", "0:1,", "0:1,0:2", "0:-1", "a:1", "9999999999:1", "0:1 ", "٠:1", "a(0:1)"]
)
def test_what_is_no_position_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="as in 0:120,1:44"):
        position_from_text(ONE, text)


@pytest.mark.parametrize(
    "text", ["", "0:1", "a(0:1),a(0:2)", "a(0:1,0:2)", "a(0:1)b(0:1)", "a()", "a(0:1),", "a (0:1)", "ä(0:1)"]
)
def test_what_is_no_position_in_several_topics_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"as in eu\(0:120,1:44\),us\(0:7\)"):
        position_from_text(SEVERAL, text)


def test_a_position_is_reached_where_it_says_something_of_the_source() -> None:
    stands = several(1, a=(0, "x", [5]), b=(1, "y", [7]))
    assert reached(stands, several(0, a=(0, "x", [5])))
    assert not reached(stands, several(0, a=(0, "x", [6])))
    # The upstream has more topics: a table of one would have waited for it to join.
    assert reached(stands, several(0, a=(0, "x", [5]), c=(0, "z", [9])))
    assert reached(stands, several(0, a=(0, "other", [9])))
    # Somebody wrote it.
    assert reached(stands, position_from_text(SEVERAL, "a(0:5),b(0:7)"))
    assert not reached(stands, position_from_text(SEVERAL, "c(0:0)"))
    # The one topic of a source.
    assert reached(one("x", 5), position_from_text(ONE, "0:5"))
    assert not reached(one("x", 5), one("x", 6))
    assert not reached(one("x", 5), one("y", 1))


def test_a_point_is_covered_in_its_own_topic() -> None:
    at = {"topic": "a", "place": Place("x", (5, 1)).to_json()}
    assert covers(several(0, a=(0, "x", [5, 1])), at)
    assert not covers(several(0, a=(0, "x", [5])), at)
    assert not covers(several(0, a=(0, "other", [9, 9])), at)
    assert not covers(several(0, b=(0, "x", [9, 9])), at)


def test_nothing_is_known_of_no_partition() -> None:
    assert progress_rows(one("").to_json()) == [("(,)", 0)]
    assert progress_rows(several().to_json()) == []
    assert str(several()) == "no topic"

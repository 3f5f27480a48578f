"""Offsets: their order, their text, how a range is cut to size and shared out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.limits import KAFKA_PART_MESSAGES_MIN, TICK_TASKS_MAX
from headwater.sources.kafka.frontier import Offsets, position_from_text, progress_rows
from headwater.sources.kafka.reader import cut_to, shared_out

SIZES = st.lists(st.integers(0, 300_000), max_size=12)


def grown(counts: list[int], by: list[int]) -> tuple[Offsets, Offsets]:
    """A range; there may be more partitions at its end."""
    ends = [(counts[n] if n < len(counts) else 0) + more for n, more in enumerate(by)]
    ends += counts[len(by) :]
    return Offsets("id", tuple(counts)), Offsets("id", tuple(ends))


def test_a_frontier_is_before_another_if_it_is_so_in_every_partition() -> None:
    assert Offsets("a", (1, 2)) <= Offsets("a", (1, 2))
    assert Offsets("a", (1, 2)) <= Offsets("a", (1, 3, 0))
    assert Offsets("a", (1, 0)) <= Offsets("a", (1,))
    assert not Offsets("a", (1, 2)) <= Offsets("a", (1,))
    assert not Offsets("a", (1, 2)) <= Offsets("a", (5, 1))


def test_offsets_of_another_topic_are_other_places() -> None:
    assert not Offsets("a", (1,)) <= Offsets("b", (5,))
    assert not Offsets("b", (5,)) <= Offsets("a", (1,))
    assert Offsets("", (1,)) <= Offsets("b", (5,))
    assert Offsets("a", (1,)) <= Offsets("", (5,))


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=20))
def test_text_and_json_say_where_it_is(offsets: list[int]) -> None:
    found = Offsets("id", tuple(offsets))
    assert position_from_text(str(found)) == Offsets("", tuple(offsets))
    assert Offsets.from_json(found.to_json()) == found
    assert progress_rows(found.to_json()) == [
        *((f"[{number},{number}]", offset) for number, offset in enumerate(offsets)),
        (f"({len(offsets) - 1},)", 0),
    ]


def test_a_position_may_leave_partitions_out() -> None:
    assert position_from_text("2:7,0:1") == Offsets("", (1, 0, 7))


@pytest.mark.parametrize("text", ["", "1", "0:1,", "0:1,0:2", "0:-1", "a:1", "9999999999:1", "0:1 ", "٠:1"])
def test_what_is_no_position_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="as in 0:120,1:44"):
        position_from_text(text)


def test_nothing_is_known_of_no_partition() -> None:
    assert progress_rows({"topic_id": "", "next": []}) == [("(,)", 0)]


@given(SIZES, SIZES, st.integers(1, 400_000))
def test_a_range_is_cut_to_size_and_gets_on(counts: list[int], by: list[int], most: int) -> None:
    first, last = grown(counts, by)
    cut = cut_to(first, last, most)
    assert first <= cut <= last
    assert cut.total() - first.total() <= most + len(cut.next)
    assert cut == last or cut.total() > first.total()


@given(SIZES, SIZES)
def test_shares_are_the_range_in_its_order(counts: list[int], by: list[int]) -> None:
    first, last = grown(counts, by)
    shares = shared_out(first, last)
    stretches = [tuple(stretch) for share in shares for stretch in share]
    assert [partition for partition, _, _ in stretches] == sorted(partition for partition, _, _ in stretches)
    wanted = {(n, first.of(n), end) for n, end in enumerate(last.next) if first.of(n) < end}
    assert {stretch for stretch in stretches if stretch[1] < stretch[2]} == wanted
    assert len(shares) <= TICK_TASKS_MAX
    total = last.total() - first.total()
    assert len(shares) <= max(1, total // KAFKA_PART_MESSAGES_MIN)
    assert all(any(start < end for _, start, end in share) for share in shares)

"""What of several topics is read in one tick: how it is cut to size and shared out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headwater.core.limits import KAFKA_PART_MESSAGES_MIN, TICK_TASKS_MAX
from headwater.sources.kafka.frontier import Place, Places
from headwater.sources.kafka.ranges import cut_to, shared_out

COUNTS = st.lists(st.integers(0, 300_000), max_size=8)
TOPICS = st.dictionaries(st.sampled_from("abcd"), st.tuples(COUNTS, COUNTS, st.booleans()), max_size=4)


def grown(topics: dict[str, tuple[list[int], list[int], bool]]) -> tuple[Places, Places, set[str]]:
    """A range; there may be more partitions at its end.  And the topics that have tables."""
    first, last = {}, {}
    for name, (counts, by, _) in sorted(topics.items()):
        ends = [(counts[n] if n < len(counts) else 0) + more for n, more in enumerate(by)]
        first[name] = Place("id", tuple(counts), epochs=(2,) * len(counts))
        last[name] = Place("id", (*ends, *counts[len(by) :]))
    tabled = {name for name, (_, _, has) in topics.items() if has}
    return Places(first, True), Places(last, True), tabled


def waiting(first: Places, last: Places, name: str) -> int:
    return sum(last.topics[name].next) - sum(first.topics[name].next)


@given(TOPICS, st.integers(1, 400_000))
def test_a_range_is_cut_to_size_and_gets_on(
    topics: dict[str, tuple[list[int], list[int], bool]], most: int
) -> None:
    first, last, tabled = grown(topics)
    cut = cut_to(first, last, tabled, most)
    assert first <= cut <= last
    partitions = sum(len(place.next) for place in cut.topics.values())
    assert sum(waiting(first, cut, name) for name in tabled) <= most + partitions
    assert all(cut.topics[name] == last.topics[name] for name in last.topics if name not in tabled)
    assert cut == last or any(waiting(first, cut, name) for name in tabled)


@given(TOPICS, st.integers(1, 400_000))
def test_a_busy_topic_takes_nothing_from_a_quiet_one(
    topics: dict[str, tuple[list[int], list[int], bool]], most: int
) -> None:
    first, last, tabled = grown(topics)
    cut = cut_to(first, last, tabled, most)
    for name in tabled:
        if waiting(first, last, name) <= most // len(tabled):
            assert cut.topics[name] == last.topics[name]


@given(TOPICS)
def test_shares_are_the_range_in_its_order(topics: dict[str, tuple[list[int], list[int], bool]]) -> None:
    first, last, tabled = grown(topics)
    shares = shared_out(first, last, tabled)
    stretches = [tuple(stretch) for share in shares for stretch in share]
    assert stretches == sorted(stretches)
    wanted = {
        (name, n, first.topics[name].of(n), end)
        for name in tabled
        for n, end in enumerate(last.topics[name].next)
        if first.topics[name].of(n) < end
    }
    assert {stretch[:4] for stretch in stretches if stretch[2] < stretch[3]} == wanted
    assert all(stretch[4] == first.topics[stretch[0]].epoch_of(stretch[1]) for stretch in stretches)
    assert len(shares) <= TICK_TASKS_MAX
    total = sum(waiting(first, last, name) for name in tabled)
    assert len(shares) <= max(1, total // KAFKA_PART_MESSAGES_MIN)
    assert all(any(start < end for _, _, start, end, _ in share) for share in shares)

"""Timestamps and the intervals they begin with."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headwater.core.time import interval_left, interval_start, to_text

MOMENTS = st.integers(min_value=0, max_value=2**53)
INTERVALS = st.integers(min_value=1, max_value=3_600_000)


@given(MOMENTS, INTERVALS, st.integers(min_value=0, max_value=3_600_000))
def test_whoever_looks_within_an_interval_finds_its_beginning(now: int, interval: int, later: int) -> None:
    start = interval_start(now, interval)
    assert start % interval == 0
    assert start <= now < start + interval
    assert interval_start(start + later % interval, interval) == start


@given(MOMENTS, INTERVALS, MOMENTS)
def test_who_waits_for_the_next_interval_waits_at_most_one(now: int, interval: int, after: int) -> None:
    start = interval_start(now, interval)
    left = interval_left(start, interval, now)
    assert 0 < left <= interval
    assert interval_start(now + left, interval) == start + interval
    # The clock may have been set meanwhile: back, and the wait has a bound; forward, and there is none.
    left = interval_left(start, interval, after)
    assert left <= interval
    assert (left <= 0) == (after >= start + interval)


def test_a_timestamp_is_shown_as_a_moment() -> None:
    assert to_text(1_794_829_589_007) == "2026-11-16 11:46:29.007 UTC"

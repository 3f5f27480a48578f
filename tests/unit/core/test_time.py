"""Timestamps and the intervals they begin with."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headwater.core.time import interval_start, to_text

MOMENTS = st.integers(min_value=0, max_value=2**53)
INTERVALS = st.integers(min_value=1, max_value=3_600_000)


@given(MOMENTS, INTERVALS, st.integers(min_value=0, max_value=3_600_000))
def test_whoever_looks_within_an_interval_finds_its_beginning(now: int, interval: int, later: int) -> None:
    start = interval_start(now, interval)
    assert start % interval == 0
    assert start <= now < start + interval
    assert interval_start(start + later % interval, interval) == start


def test_a_timestamp_is_shown_as_a_moment() -> None:
    assert to_text(1_794_829_589_007) == "2026-11-16 11:46:29.007 UTC"

"""Chunks of a table's pages: all of them once, as few as can be, of one size."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from headwater.sources.postgres.snapshot import _PAGES_MAX, _PAGES_MIN, _ranges, _step


@given(st.integers(0, 2_000_000), st.integers(1, 200), st.integers(1, 2_000_000))
def test_chunks_are_all_pages_once_and_of_one_size(pages: int, per_page: int, rows: int) -> None:
    step = _step(pages, pages * per_page, rows)
    chunks = _ranges(pages, pages * per_page, step)
    assert sum(end - start for start, end, _ in chunks) == pages
    assert all(before[1] == after[0] for before, after in pairwise(chunks))
    assert _PAGES_MIN <= step <= _PAGES_MAX
    sizes = [end - start for start, end, _ in chunks]
    # The last one is what is left, which is less than all others have by a page at most.
    assert not chunks or step == _PAGES_MIN or step - sizes[-1] < len(chunks)
    most = min(max(_PAGES_MIN, rows // max(per_page, 1)), _PAGES_MAX)
    assert len(chunks) <= -(-pages // most)


def test_a_table_of_a_little_more_than_some_chunks_has_one_more_of_the_same_size() -> None:
    assert [
        end - start for start, end, _ in _ranges(62_503, 5_000_240, _step(62_503, 5_000_240, 1_000_000))
    ] == [
        *[10_418] * 5,
        10_413,
    ]

"""Reading ahead changes when items are fetched, and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.cluster.ahead import ahead

WITHIN_S = 10


@given(st.lists(st.one_of(st.none(), st.integers(), st.just(()))))
def test_items_come_as_they_are(items: list[object]) -> None:
    assert list(ahead(iter(items))) == items


def test_an_item_is_fetched_while_the_one_before_is_used() -> None:
    fetched = threading.Event()

    def items() -> Iterator[int]:
        yield 1
        fetched.set()
        yield 2

    with closing(ahead(items())) as found:
        assert next(found) == 1
        assert fetched.wait(WITHIN_S)
        assert list(found) == [2]


def test_an_error_comes_after_the_items_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("cut")

    with closing(ahead(items())) as found:
        assert next(found) == 1
        with pytest.raises(ValueError, match="cut"):
            next(found)


def test_nothing_is_fetched_after_it_was_closed() -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def items() -> Iterator[int]:
        yield 1
        begun.set()
        go_on.wait(WITHIN_S)
        ended.set()
        yield 2
        raise AssertionError("one more than was under way")

    found = ahead(items())
    assert next(found) == 1
    assert begun.wait(WITHIN_S)
    threading.Timer(0.05, go_on.set).start()
    found.close()
    assert ended.is_set()

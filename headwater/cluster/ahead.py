"""Reading ahead: the next item is fetched by a thread of its own while the one before is used."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def ahead(items: Iterator[T]) -> Generator[T]:
    """The same items in the same order.

    Whoever may leave before the end closes it: an item under way is waited for, so that nobody
    uses `items` from then on.
    """

    def following() -> tuple[T, ...]:
        for item in items:
            return (item,)
        return ()

    with ThreadPoolExecutor(1, "ahead") as pool:
        coming = pool.submit(following)
        while found := coming.result():
            coming = pool.submit(following)
            yield found[0]

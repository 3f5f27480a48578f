"""What this process is making: claims on files that the ledger does not name yet.

A claim stands in the names of all files that a piece of work writes, wherever its tasks run, and the
sweeper leaves them alone while it is held.  It is given back when the ledger names what came of the work,
or when nobody will name any of it.  See persist/retention.py for why that is enough.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from headwater.persist.layout import claim_name


class Claims:
    """Of one process; any thread may take one."""

    def __init__(self, incarnation: int) -> None:
        self._incarnation = incarnation
        self._numbers = count(1)
        self._under_way: set[int] = set()
        self._lock = threading.Lock()

    @contextmanager
    def claim(self) -> Iterator[str]:
        """For files that are written and named, or given up, within; as their names have it."""
        with self._lock:
            number = next(self._numbers)
            self._under_way.add(number)
        try:
            yield claim_name(self._incarnation, number)
        finally:
            with self._lock:
                self._under_way.discard(number)

    def under_way(self) -> frozenset[int]:
        """Claims that are held."""
        with self._lock:
            return frozenset(self._under_way)

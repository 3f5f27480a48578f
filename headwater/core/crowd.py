"""Too many at a door: who has to make room for the next.

Clients on whom nobody has logged in are strangers.  When there is no room left, the client that has most of
these connections loses its oldest, so that one who opens thousands shuts nobody out but itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Protocol, TypeVar


class Stranger(Protocol):
    """A connection of somebody who has not logged in."""

    @property
    def host(self) -> str: ...


S = TypeVar("S", bound=Stranger)


def to_leave(strangers: Iterable[S]) -> S | None:
    """Which of them goes, the oldest being first; None if there are none."""
    present = list(strangers)
    if not present:
        return None
    counts = Counter(stranger.host for stranger in present)
    most = max(counts.values())
    return next(stranger for stranger in present if counts[stranger.host] == most)

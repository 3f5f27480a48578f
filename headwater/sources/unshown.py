"""A transaction that has arrived and does not show upstream yet: neither it nor what follows may be read.

One that waits for a standby does not show for as long as that takes.  As a rule that is a moment; of one
that lasts, whoever looks at the source is told.
"""

from __future__ import annotations

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.limits import UPSTREAM_HIDDEN_S_MAX


class Unshown:
    """The first transaction that does not show, and since when."""

    def __init__(self) -> None:
        self._first: tuple[object, float] | None = None

    def lasts(self, first: object | None) -> bool:
        """Whether this one has not shown for longer than a moment; None: all show."""
        now_s = SYSTEM_CLOCK.monotonic_s()
        if first is None:
            self._first = None
        elif self._first is None or self._first[0] != first:
            self._first = first, now_s
        return self._first is not None and now_s - self._first[1] > UPSTREAM_HIDDEN_S_MAX

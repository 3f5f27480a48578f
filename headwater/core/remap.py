"""Remap: the bindings of one source, from timestamps to source frontiers.

A source is read in ticks.  Each tick moves it from one frontier to the next and
mints one binding: "at timestamp ts the source had progressed exactly to upper".

    ts       1000      2000      3000
    upper    16        40        40      an idle tick may repeat its frontier
                  [16, 40) -> every change in here carries ts 2000

Bindings are durable in the same transaction as the changes that carry their
timestamp.  So a restart stamps the same upstream change the same way, and two
tables of one source cannot disagree about what had happened by `ts`.

Three promises, asserted on mint and again on load (a pair, so that a bug in the
writer is caught by the reader):

  1. timestamps strictly increase;
  2. frontiers never move backwards;
  3. a minted binding never changes.

Not here: reading the upstream (sources/), making it durable (persist/ledger.py),
choosing the read timestamp of a query (coordinator/timestamps.py).  `ts_of`
bisects, which is right while frontiers are totally ordered, as offsets and LSNs
are; a source with several lines of positions bisects each line by itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from headwater.core.errors import InvariantViolation
from headwater.core.frontier import Frontier

F = TypeVar("F", bound=Frontier)


@dataclass(frozen=True, slots=True)
class Binding(Generic[F]):
    """At `ts`, the source had progressed exactly to `upper`."""

    ts: int
    upper: F


class Remap(Generic[F]):
    """Bindings in order of timestamp.  Append-only, except that `forget` drops a prefix."""

    def __init__(self, bindings: Iterable[Binding[F]] = ()) -> None:
        self._bindings: list[Binding[F]] = []
        for binding in bindings:
            self.mint(binding.ts, binding.upper)

    def mint(self, ts: int, upper: F) -> Binding[F]:
        """Append the binding of the next tick and return it."""
        if self._bindings:
            last = self._bindings[-1]
            if not last.ts < ts:
                raise InvariantViolation(f"binding at {ts} follows one at {last.ts}")
            if not last.upper <= upper:
                raise InvariantViolation(f"frontier went back: {last.upper} to {upper}")
        binding = Binding(ts, upper)
        self._bindings.append(binding)
        return binding

    def upper_at(self, ts: int) -> F | None:
        """The frontier of the newest binding at or before `ts`, if there is one."""
        index = bisect_right(self._bindings, ts, key=lambda b: b.ts)
        return self._bindings[index - 1].upper if index else None

    def ts_of(self, position: int) -> int | None:
        """The timestamp a change at `position` carries: the first binding that covers it."""
        index = bisect_right(self._bindings, False, key=lambda b: b.upper.covers(position))
        return self._bindings[index].ts if index < len(self._bindings) else None

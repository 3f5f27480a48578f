"""Timestamps of reads and writes, and what keeps history readable.

Strict serializable reads take the freshest timestamp that every input can answer
without waiting, but never one before a timestamp that anyone was already shown and
never before a completed write (`floor`); only then does a read wait.

    inputs' uppers     105   110          every timestamp below is complete
    freshest           104                min(uppers) - 1
    floor              102 -> read at 104, at once
    floor              107 -> read at 107, when the first input has passed it

Reading at T raises the floor to T.  Serializable reads leave the floor alone.

Plain tables have no source whose ticks say how far they are complete.  They are `closed`
up to a timestamp when no write will come at or before it: a subscription closes them
with the clock, so that its progress goes on while nobody writes.  That is not the floor,
which would make reads of other tables wait.

A hold keeps the history of some collections readable from a timestamp on: every
read, transaction, cursor and subscription has one for as long as it lasts.  A
collection's `since` is the least of its holds and of its retention; it only rises,
and files are removed only below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from headwater.core.clock import Clock
from headwater.core.errors import InvariantViolation
from headwater.core.time import TIMESTAMP_END

Isolation = Literal["strict serializable", "serializable"]


@dataclass(frozen=True, slots=True)
class Choice:
    """A read's timestamp; it `waits` when some input is not there yet.  `first` is the earliest possible."""

    ts: int
    waits: bool
    first: int


def choose(
    floor: int, sinces: Sequence[int], uppers: Iterable[int], ends: Iterable[int], isolation: Isolation
) -> Choice:
    """The timestamp of a read over inputs with these frontiers.

    `ends` are the last timestamps of inputs that change no more.  Without inputs that advance
    by themselves (plain tables, finished sources, constants) nothing is fresher than the floor
    and those ends.
    """
    bounded = [upper for upper in uppers if upper != TIMESTAMP_END]
    lowest = max(sinces, default=0)
    freshest = min(bounded) - 1 if bounded else max(floor, lowest, *ends, 0)
    wanted = max(freshest, lowest)
    if isolation == "strict serializable":
        wanted = max(wanted, floor)
    return Choice(wanted, bool(bounded) and wanted > freshest, lowest if sinces else wanted)


class Oracle:
    """The server's notion of the present: what was shown and written last, and what was promised."""

    def __init__(self, clock: Clock, floor: int) -> None:
        self._clock = clock
        self.floor = floor
        self._closed = floor

    @property
    def closed(self) -> int:
        """No write will come at or before this; one that is under way may still have such a timestamp."""
        return max(self.floor, self._closed)

    def show(self, ts: int) -> None:
        """A client is about to see data as of `ts`."""
        if ts < TIMESTAMP_END:
            self.floor = max(self.floor, ts)

    def close(self, ts: int) -> None:
        """Let no write come at or before `ts`."""
        self._closed = max(self._closed, ts)

    def next_write(self) -> int:
        """A timestamp for a write: later than everything shown, written or closed."""
        return max(self._clock.now_ms(), self.closed + 1)


class Hold:
    """Keeps `ids` readable from `ts` on, until released.

    `states` are the states that plans under this hold were made from: their files must stay,
    although a later state would answer the same timestamp.
    """

    __slots__ = ("_holds", "_released", "ids", "states", "ts")

    def __init__(self, holds: Holds, ids: frozenset[str], ts: int) -> None:
        self._holds = holds
        self.ids = ids
        self.ts = ts
        self.states: dict[str, int] = {}
        self._released = False

    def add(self, ids: frozenset[str]) -> None:
        """Keep these as well, which somebody holds at `ts` already."""
        if not self._released:
            self._holds.add(self, ids)

    def uses(self, id_: str, state_as_of: int) -> None:
        """A plan under this hold reads the files of that state."""
        self.states[id_] = min(state_as_of, self.states.get(id_, state_as_of))

    def downgrade(self, ts: int) -> None:
        """Nothing before `ts` is needed any more."""
        if ts < self.ts:
            raise InvariantViolation(f"a hold went back: {self.ts} to {ts}")
        self.ts = ts

    @property
    def released(self) -> bool:
        return self._released

    def release(self) -> None:
        """Harmless when repeated."""
        self._released = True
        self._holds.release(self)


class Holds:
    """All holds of the environment, and each collection's `since`."""

    def __init__(self) -> None:
        self._held: dict[str, set[Hold]] = {}
        self._since: dict[str, int] = {}

    def since(self, id_: str) -> int:
        """The earliest timestamp at which this collection can be read."""
        return self._since.get(id_, 0)

    def start(self, id_: str, since: int) -> None:
        """A collection can be read from here on; what is known stays."""
        self._since[id_] = max(self._since.get(id_, 0), since)

    def acquire(self, ids: Iterable[str], ts: int) -> Hold:
        """Hold these at `ts`, which must not be before their since."""
        hold = Hold(self, frozenset(), ts)
        self.add(hold, frozenset(ids))
        return hold

    def add(self, hold: Hold, ids: frozenset[str]) -> None:
        """See `Hold.add`."""
        for id_ in ids:
            if hold.ts < self.since(id_):
                raise InvariantViolation(f"{id_} is held at {hold.ts}, before its since {self.since(id_)}")
        for id_ in ids:
            self._held.setdefault(id_, set()).add(hold)
        hold.ids |= ids

    def release(self, hold: Hold) -> None:
        for id_ in hold.ids:
            held = self._held.get(id_)
            if held is not None:
                held.discard(hold)
                if not held:
                    del self._held[id_]

    def held(self, id_: str) -> bool:
        """Whether anyone still reads it."""
        return id_ in self._held

    def uses_before(self, id_: str, as_of: int) -> bool:
        """Whether somebody reads files of a state older than the one as of `as_of`."""
        return any(hold.states.get(id_, as_of) < as_of for hold in self._held.get(id_, ()))

    def raise_since(self, id_: str, wanted: int) -> int:
        """Raise `since` towards `wanted`, as far as the holds allow; returns it."""
        allowed = min((hold.ts for hold in self._held.get(id_, ())), default=wanted)
        self._since[id_] = max(self.since(id_), min(allowed, wanted))
        return self._since[id_]

    def forget(self, id_: str) -> None:
        """The collection is gone."""
        self._since.pop(id_, None)

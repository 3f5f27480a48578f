"""The pace of long computations: how one that runs is stopped, or finds that it takes too long.

Parsing, binding, planning and generating are pure functions that may have much to do.  Their
loops call `step`, which costs next to nothing and looks every now and then at the pace that was set
for the computation around it:

    with pace.kept(Pace()) as own: ...     another thread calls own.stop(), and the next step raises Stopped
    with pace.kept(Pace(0.005)): ...       after 5 ms of processor time the next step raises TooSlow

Both are no `Exception`: whoever catches errors of users must not catch these.  The pace belongs to the
context (contextvars), so it never reaches another statement, and a computation without one is never
stopped.

Not here: threads, and who waits for them (coordinator/beside.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

from headwater.core.clock import processor_s

T = TypeVar("T")

_STEPS_PER_LOOK: Final = 64


class Stopped(BaseException):
    """Nobody waits for this computation any more."""


class TooSlow(BaseException):
    """This computation has taken more of the processor than it may here."""


class Pace:
    """What one computation may take."""

    __slots__ = ("_step_count", "_stopped", "_until_s")

    def __init__(self, processor_s_max: float | None = None) -> None:
        """Made in the thread that computes, because that is whose time is counted."""
        self._stopped = False
        self._step_count = 0
        self._until_s = None if processor_s_max is None else processor_s() + processor_s_max

    def stop(self) -> None:
        """From any thread."""
        self._stopped = True

    def step(self) -> None:
        """See `step` below."""
        self._step_count += 1
        if self._step_count % _STEPS_PER_LOOK == 0:
            if self._stopped:
                raise Stopped
            if self._until_s is not None and processor_s() > self._until_s:
                raise TooSlow

    def stride(self) -> None:
        """See `stride` below."""
        if self._stopped:
            raise Stopped
        if self._until_s is not None:
            raise TooSlow

    def look(self) -> None:
        """See `look` below."""
        if self._stopped:
            raise Stopped

    def paced(self, values: Iterable[T]) -> Iterator[T]:
        """See `paced` below."""
        for value in values:
            if self._stopped:
                raise Stopped
            yield value


_pace: ContextVar[Pace | None] = ContextVar("pace", default=None)


def step() -> None:
    """One more small piece of work begins: here a computation can be ended."""
    pace = _pace.get()
    if pace is not None:
        pace.step()


def stride() -> None:
    """What begins now takes long and has no steps: whoever is in a hurry does not begin it."""
    pace = _pace.get()
    if pace is not None:
        pace.stride()


def look() -> None:
    """What begins now takes some time, and a computation that was stopped does not begin it."""
    pace = _pace.get()
    if pace is not None:
        pace.look()


def paced(values: Iterable[T]) -> Iterable[T]:
    """The same values; what is done with each may take long, so before each it is looked who waits."""
    pace = _pace.get()
    return values if pace is None else pace.paced(values)


@contextmanager
def kept(pace: Pace) -> Iterator[Pace]:
    """Computes at this pace."""
    token = _pace.set(pace)
    try:
        yield pace
    finally:
        _pace.reset(token)

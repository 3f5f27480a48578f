"""Beside the event loop: whatever is pure and may take long, planning above all.

    at_once   in the loop's thread, for PLAN_AT_ONCE_S_MAX of processor time and not a moment longer
    run       at once if that will do; otherwise from the beginning, in one of a few threads
    encode    in one of a few other threads: rows for a client, who knows that they are large

Nearly all statements are planned in less than a millisecond, and each of a statement's steps would need a
hop to a thread and back: so it is tried without.  How long one takes cannot be told from its text, which may
be the name of a view; so it is not guessed, but counted while it is done (core/pace.py).  Beginning anew is
harmless because what is run here changes nothing.

Whoever is cancelled while they wait stops the thread's computation at its next step, and hears of it when
it has ended: then nobody looks at a session any more that goes on to something else.

Not here: DuckDB's threads (engine.py).
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from headwater.coordinator.turns import Turns
from headwater.core import pace
from headwater.core.limits import (
    ENCODINGS_CONCURRENT_MAX,
    PLAN_AT_ONCE_S_MAX,
    PLAN_KEPT_S,
    PLAN_STOP_S_MAX,
    PLANS_CONCURRENT_MAX,
    PLANS_OF_ALL_MAX,
)

T = TypeVar("T")


def at_once(work: Callable[[], T]) -> tuple[T] | None:
    """What the work makes, as the one element; None if it takes too long to be done here."""
    try:
        with pace.kept(pace.Pace(PLAN_AT_ONCE_S_MAX)):
            return (work(),)
    except pace.TooSlow:
        return None


class Beside:
    """A few threads.  Its methods belong to the event loop."""

    def __init__(self) -> None:
        self._threads = Turns("planning", PLANS_CONCURRENT_MAX, PLANS_OF_ALL_MAX)
        self._encoding = ThreadPoolExecutor(ENCODINGS_CONCURRENT_MAX, thread_name_prefix="encoding")
        self._forgiven: asyncio.TimerHandle | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """What the work makes."""
        made = at_once(work)
        return made[0] if made is not None else await self.in_thread(work)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """The same for work that is known to take long."""
        own = pace.Pace()
        begun = await self._threads.begin(_paced, own, work)
        submitted, running = begun.work, begun.running
        self._collect_nothing()
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            own.stop()
            while not running.done() and not submitted.cancel():
                with suppress(asyncio.CancelledError):  # once is enough
                    await asyncio.wait([running], timeout=PLAN_STOP_S_MAX)
            if running.done() and not running.cancelled():  # what had not begun is taken back, and not done
                running.exception()  # looked at, so that nobody complains
            raise
        finally:
            self._collect_again()

    async def encode(self, work: Callable[[], T]) -> T:
        """What the work makes of values that nobody changes; whoever is cancelled need not wait for it."""
        own = pace.Pace()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._encoding, _paced, own, work)
        except asyncio.CancelledError:
            own.stop()
            raise

    def _collect_nothing(self) -> None:
        """A look for cycles among a million objects of a plan, which has none, would stop all threads."""
        gc.disable()
        if self._forgiven is not None:
            self._forgiven.cancel()

    def _collect_again(self) -> None:
        """What is there now is not looked at until there was nothing to plan for a while."""
        gc.freeze()
        gc.enable()
        self._forgiven = asyncio.get_running_loop().call_later(PLAN_KEPT_S, gc.unfreeze)

    def close(self) -> None:
        self._threads.close()
        self._encoding.shutdown(wait=False, cancel_futures=True)


def _paced(own: pace.Pace, work: Callable[[], T]) -> T:
    with pace.kept(own):
        return work()

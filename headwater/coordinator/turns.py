"""Threads for what sessions run: few, and one role does not get all of them.

    a role's              `each` at a time, of `total` for all roles; others of the role wait for their turn
    the server's own      conditions of webhooks, subscriptions that several share; and the operator's:
                          threads that no role can take, so that whoever is asked to end something can

Whose work it is says the account of the task that asks (memory.py).  A place is free again when its thread
is, which may be later than somebody stops to wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from headwater.coordinator import memory
from headwater.coordinator.memory import Account


@dataclass(frozen=True, slots=True)
class Begun:
    """Work that has a thread, or is the next to have one."""

    work: Future[Any]
    running: asyncio.Future[Any]  # the same for those who wait in the event loop


class Turns:
    """Belongs to the event loop."""

    def __init__(self, name: str, each: int, total: int) -> None:
        self._each = each
        self._roles = ThreadPoolExecutor(total, thread_name_prefix=name)
        self._own = ThreadPoolExecutor(each, thread_name_prefix=f"{name}-own")
        self._places: dict[Account, asyncio.Semaphore] = {}

    async def begin(self, function: Callable[..., Any], *arguments: Any) -> Begun:
        """Run it in a thread, when it is this role's turn."""
        account = memory.current.get()
        if account is None:
            work = self._own.submit(function, *arguments)
            return Begun(work, asyncio.wrap_future(work))
        place = self._places.setdefault(account, asyncio.Semaphore(self._each))
        await place.acquire()
        work = self._roles.submit(function, *arguments)
        running = asyncio.wrap_future(work)
        running.add_done_callback(lambda _: place.release())
        return Begun(work, running)

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What it returns.  Whoever is cancelled does not wait for the thread, which has its place until it
        ends."""
        begun = await self.begin(function, *arguments)
        try:
            return await asyncio.shield(begun.running)
        except asyncio.CancelledError:
            if not begun.work.cancel():
                begun.running.add_done_callback(_look_at)
            raise

    def close(self) -> None:
        for threads in (self._roles, self._own):
            threads.shutdown(wait=False, cancel_futures=True)


def _look_at(running: asyncio.Future[Any]) -> None:
    """An error that nobody hears is no error of the loop's."""
    if not running.cancelled():
        running.exception()

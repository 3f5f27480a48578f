"""Advisory locks: numbers that clients agree on to keep out of each other's way.

A session holds a lock until it unlocks it as often as it has locked it, or until its end; one that it has
taken for its transaction until that ends, or is taken back to a savepoint before.  Each database has its own.

    shared      as many sessions as like
    exclusive   one alone

Who has to wait is served in turn.  One's own locks are in nobody's own way, and whoever holds one already
does not queue behind those who wait for it.  Sessions that would wait for each other are told so at once.

Not here: which calls take locks (acting.py), who says when a transaction ends (session.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from headwater.core.errors import UserError
from headwater.core.limits import ADVISORY_LOCKS_MAX

Key: TypeAlias = tuple[str, int, int, int]
"""Of a database: its name, the key's two halves as pg_locks shows them, and 1 for one number or 2 for two."""


@dataclass(frozen=True, slots=True)
class Lock:
    """What a session holds or waits for, once; `mark` is of its transaction, None if it is the session's."""

    pid: int
    key: Key
    exclusive: bool
    mark: int | None = None

    def blocks(self, other: Lock) -> bool:
        return self.pid != other.pid and self.key == other.key and (self.exclusive or other.exclusive)


class AdvisoryLocks:
    """Who holds what; belongs to the event loop."""

    def __init__(self) -> None:
        self._held: dict[Key, dict[Lock, int]] = {}  # and how often
        self._held_count = 0
        self._waiting: dict[Lock, asyncio.Future[None]] = {}  # in the order they came

    def shown(self) -> Iterator[tuple[Lock, bool]]:
        """All that are held (True) or waited for, those of sessions and transactions alike."""
        held = (replace(lock, mark=None) for locks in self._held.values() for lock in locks)
        yield from ((lock, True) for lock in dict.fromkeys(held))
        yield from ((lock, False) for lock in self._waiting)

    def waits(self, pid: int) -> bool:
        """Whether a session waits for one."""
        return any(lock.pid == pid for lock in self._waiting)

    def take_now(self, lock: Lock) -> bool:
        """If nobody has to be waited for."""
        if any(self._in_the_way(lock)):
            return False
        if self._held_count >= ADVISORY_LOCKS_MAX:
            raise UserError(
                "out of shared memory", "53200", detail=f"{ADVISORY_LOCKS_MAX} advisory locks are held."
            )
        self._add(lock)
        return True

    async def take(self, lock: Lock, within_s: float | None) -> None:
        """As soon as it is to be had."""
        if self.take_now(lock):
            return
        if self._would_wait_for_itself(lock):
            raise UserError(
                "deadlock detected", "40P01", hint="Let all sessions take their locks in the same order."
            )
        turn = self._waiting[lock] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(within_s):
                await turn
        except BaseException as error:
            if self._waiting.pop(lock, None) is None:
                self._remove(lock)  # it came at the same moment
            self._serve()
            if isinstance(error, TimeoutError):
                raise UserError("canceling statement due to lock timeout", "55P03") from None
            raise

    def release(self, lock: Lock) -> bool:
        """Once; whether it was held."""
        if lock not in self._held.get(lock.key, ()):
            return False
        self._remove(lock)
        self._serve()
        return True

    def release_session(self, pid: int) -> None:
        """What does not go with a transaction."""
        self._keep(lambda lock: lock.pid != pid or lock.mark is not None)

    def release_since(self, pid: int, mark: int) -> None:
        """What was taken for a transaction, after it had this mark."""
        self._keep(lambda lock: lock.pid != pid or lock.mark is None or lock.mark < mark)

    def end(self, pid: int) -> None:
        """A session is over."""
        self._keep(lambda lock: lock.pid != pid)

    def _in_the_way(self, lock: Lock) -> Iterator[Lock]:
        """What is held, and what others came for before."""
        held = self._held.get(lock.key, {})
        yield from (other for other in held if other.blocks(lock))
        if any(other.pid == lock.pid for other in held):
            return
        for other in self._waiting:
            if other == lock:
                return
            if other.blocks(lock):
                yield other

    def _would_wait_for_itself(self, lock: Lock) -> bool:
        """Whether those whom it would wait for wait, one for another, for its own session."""
        wants = {other.pid: other for other in self._waiting}
        met: set[int] = set()
        following = [other.pid for other in self._in_the_way(lock)]
        while following:
            pid = following.pop()
            if pid == lock.pid:
                return True
            if pid in wants and pid not in met:
                following += [other.pid for other in self._in_the_way(wants[pid])]
            met.add(pid)
        return False

    def _keep(self, kept: Callable[[Lock], bool]) -> None:
        gone = [(lock, times) for locks in self._held.values() for lock, times in locks.items()]
        for lock, times in gone:
            if not kept(lock):
                self._remove(lock, times)
        self._serve()

    def _add(self, lock: Lock) -> None:
        locks = self._held.setdefault(lock.key, {})
        self._held_count += lock not in locks
        locks[lock] = locks.get(lock, 0) + 1

    def _remove(self, lock: Lock, times: int = 1) -> None:
        locks = self._held[lock.key]
        locks[lock] -= times
        if not locks[lock]:
            del locks[lock]
            self._held_count -= 1
        if not locks:
            del self._held[lock.key]

    def _serve(self) -> None:
        """Those who wait get what is free by now."""
        for lock, turn in list(self._waiting.items()):
            if not turn.done() and not any(self._in_the_way(lock)):
                del self._waiting[lock]
                self._add(lock)
                turn.set_result(None)

"""How long a client that gets passwords wrong has to wait before the next is looked at.

    turn(address, user, now)     seconds to wait; None if so many wait already that it is refused
    failed, passed               what came of it

A few mistakes cost nothing.  After them the attempts of one client at one user are looked at one after
the other, at distances that double, however many connections it makes at once.  An address that
gets many users wrong waits at all users but those that have logged in from there before.  So a
program with an old password slows nobody but itself, and who goes through a list of names is slowed too.

What is kept is bounded and forgotten after a while.  Pure: time is handed in, waiting is the caller's.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from headwater.core.limits import (
    LOGIN_FAILURES_FREE,
    LOGIN_FAILURES_FREE_OF_ADDRESS,
    LOGIN_FAILURES_KEPT_MAX,
    LOGIN_FAILURES_S,
    LOGIN_SPACING_S_MAX,
    LOGIN_SPACING_S_MIN,
    LOGIN_WAIT_S_MAX,
)

_EVERY_USER: Final = ""


@dataclass(slots=True)
class _Failures:
    count: int = 0
    waiting: int = 0  # attempts that have been given a turn, and count as if they had failed
    tried_at_s: float = 0.0
    ready_at_s: float = 0.0  # when the next attempt may be looked at
    passed: bool = False


class Throttle:
    """Failed logins of a while, by address and user."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], _Failures] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def turn(self, address: str, user: str, now_s: float) -> float | None:
        """How long this attempt has to wait; its place in the row is taken."""
        own = self._known(address, user, now_s)
        every = self._known(address, _EVERY_USER, now_s)
        rows = [(own, LOGIN_FAILURES_FREE)]
        if not own.passed:
            rows.append((every, LOGIN_FAILURES_FREE_OF_ADDRESS))
        slowed = [(row, spacing) for row, free in rows if (spacing := _spacing(row, free))]
        wait_s = max((row.ready_at_s - now_s for row, _ in slowed), default=0.0)
        if wait_s > LOGIN_WAIT_S_MAX:
            return None
        for row, spacing in slowed:
            row.ready_at_s = max(row.ready_at_s, now_s) + spacing
            row.waiting += 1
            row.tried_at_s = now_s
        return max(wait_s, 0.0)

    def failed(self, address: str, user: str, now_s: float) -> None:
        """The password was another one."""
        own = self._keep(address, user, now_s)
        _count(own, LOGIN_FAILURES_FREE, now_s)
        if own.count == 1:
            _count(self._keep(address, _EVERY_USER, now_s), LOGIN_FAILURES_FREE_OF_ADDRESS, now_s)

    def passed(self, address: str, user: str, now_s: float) -> None:
        """The password was right."""
        own = self._keep(address, user, now_s)
        own.count, own.waiting, own.ready_at_s, own.passed = 0, 0, 0.0, True

    def _known(self, address: str, user: str, now_s: float) -> _Failures:
        """What is known now, which may be nothing."""
        found = self._kept.get((address, user), _Failures())
        if found.count and now_s - found.tried_at_s > LOGIN_FAILURES_S:
            found.count, found.waiting, found.ready_at_s = 0, 0, 0.0
        return found

    def _keep(self, address: str, user: str, now_s: float) -> _Failures:
        found = self._kept[address, user] = self._known(address, user, now_s)
        self._kept.move_to_end((address, user))
        while len(self._kept) > LOGIN_FAILURES_KEPT_MAX:
            self._kept.popitem(last=False)
        return found


def _count(row: _Failures, free: int, now_s: float) -> None:
    row.count += 1
    row.waiting = max(row.waiting - 1, 0)
    row.tried_at_s = now_s
    row.ready_at_s = max(row.ready_at_s, now_s + _spacing(row, free))


def _spacing(row: _Failures, free: int) -> float:
    """The distance between two attempts after so many failures."""
    count = row.count + row.waiting
    if row.count < free:
        return 0.0
    return min(LOGIN_SPACING_S_MIN * 2.0 ** min(count - free, 30), LOGIN_SPACING_S_MAX)

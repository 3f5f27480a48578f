"""Waiting for an answer, with a doubt after a while: does the server work, or can it not be heard?

    with Patience(session, "postgres"):
        ...ask and wait...

After some silence the session is asked about over another way; if nothing can come from it any more it is
hung up, so that whoever waits is told.

Not here: how a server is asked about one of its sessions; each kind of source says that itself.
"""

from __future__ import annotations

import threading
from math import inf
from typing import Final, Protocol

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import TransientError
from headwater.core.limits import UPSTREAM_ANSWER_S_MAX

AWAY: Final = "the server has stopped answering, and a new connection to it timed out"
LOST: Final = "the server has stopped answering: what was said last was lost on the way"
OVERDUE: Final = "the server has not answered for {:.0f} s"
_AT_LAST_S: Final = 0.5
"""For an answer that was on its way while it was asked about."""


class Session(Protocol):
    """A session upstream on which somebody waits."""

    def unheard(self) -> str | None:
        """Why nothing will come from it any more, as above; None if something may."""

    def hang_up(self) -> None:
        """Whoever waits on it, in this process, is told that it has ended."""


class Patience:
    """TransientError if nothing can come from a session any more, so that no thread waits for ever."""

    def __init__(self, session: Session, namespace: str, hint: str, seconds_max: float = inf) -> None:
        self._session = session
        self._namespace = namespace
        self._hint = hint
        self._seconds_max = seconds_max
        self._over = threading.Event()
        self._ending = threading.Lock()
        self._why: str | None = None
        self._since_s = 0.0
        self._doubts = threading.Timer(UPSTREAM_ANSWER_S_MAX, self._doubt)
        self._doubts.daemon = True

    def __enter__(self) -> None:
        self._since_s = SYSTEM_CLOCK.monotonic_s()
        self._doubts.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        self._doubts.cancel()
        with self._ending:  # or the line's number might be somebody else's when it is hung up
            self._over.set()
        if self._why is not None and isinstance(error, Exception):
            raise TransientError(f"{self._namespace}: {self._why}", self._hint) from error

    def _doubt(self) -> None:
        while not self._over.is_set():
            why = self._session.unheard()
            if SYSTEM_CLOCK.monotonic_s() - self._since_s >= self._seconds_max:
                why = OVERDUE.format(self._seconds_max)
            if self._over.wait(_AT_LAST_S if why else UPSTREAM_ANSWER_S_MAX):
                return
            with self._ending:
                if why is not None and not self._over.is_set():
                    self._why = why
                    self._session.hang_up()
                    return

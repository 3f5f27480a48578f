"""A watchdog over the event loop: whatever keeps it for long is named in the log, and counted.

    the loop      a beat every LOOP_BEAT_S; one that comes late knows by how much
    a thread      looks whether a beat is overdue, and if so at what the loop's thread is doing

All sessions wait for a callback that takes long, so this is how one finds out which it was.  A loop that is
late without being in a callback waited for the processor, or for a thread that kept Python to itself.

Not here: loops that fail (storage/loops.py).
"""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from types import FrameType

import structlog

from headwater.core.clock import Clock
from headwater.core.limits import LOOP_BEAT_S, LOOP_SLOW_S
from headwater.observe import metrics

log = structlog.get_logger("loops")


class Watchdog:
    """Watches the loop that it is made in, until closed."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._depth = 0  # of a callback's own frame in that thread's stack
        self._due_s = clock.monotonic_s() + LOOP_BEAT_S
        self._seen: tuple[str, str] | None = None  # the callback, and where in it
        self._closed = threading.Event()
        self._timer = self._loop.call_later(LOOP_BEAT_S, self._beat)
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._timer.cancel()
        self._closed.set()

    def _beat(self) -> None:
        self._depth = len(_stack(sys._getframe())) - 1
        late_s = self._clock.monotonic_s() - self._due_s
        seen, self._seen = self._seen, None
        if late_s > LOOP_SLOW_S and seen is not None:
            metrics.loop_slow()
            log.warning("event loop kept by a callback", callback=seen[0], at=seen[1], s=round(late_s, 3))
        elif late_s > LOOP_SLOW_S:
            log.debug("event loop waited for the processor", s=round(late_s, 3))
        self._due_s = self._clock.monotonic_s() + LOOP_BEAT_S
        self._timer = self._loop.call_later(LOOP_BEAT_S, self._beat)

    def _watch(self) -> None:
        while not self._closed.wait(LOOP_BEAT_S):
            overdue = self._clock.monotonic_s() - self._due_s > LOOP_SLOW_S / 2
            frame = sys._current_frames().get(self._loop_thread)
            if not overdue or self._seen is not None or frame is None or not self._depth:
                continue
            stack = _stack(frame)
            if len(stack) > self._depth:
                code, inner = stack[self._depth].f_code, stack[-1]
                place = f"{Path(inner.f_code.co_filename).name}:{inner.f_lineno}"
                self._seen = (code.co_qualname, f"{inner.f_code.co_qualname} {place}")


def _stack(frame: FrameType | None) -> list[FrameType]:
    """All frames, the outermost first."""
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames[::-1]

"""The only place that asks the machine for time or chance.

Everything that needs them takes a `Clock` or a `Random`, so that a test can
hand in its own.
"""

from __future__ import annotations

import random
import time
import uuid
from typing import Protocol


class Clock(Protocol):
    """Wall-clock milliseconds and a monotonic second counter."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""

    def monotonic_s(self) -> float:
        """Seconds that never go back, for measuring."""

    def sleep(self, seconds: float) -> None:
        """Block this thread."""


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


SYSTEM_CLOCK = SystemClock()


def processor_s() -> float:
    """Seconds that this thread has computed for."""
    return time.thread_time()


def unique_name() -> str:
    """32 hexadecimal digits that nobody else has."""
    return uuid.uuid4().hex


def seeded(seed: int) -> random.Random:
    """A reproducible source of chance."""
    return random.Random(seed)


def secret_number(bits: int) -> int:
    """A number nobody can guess (cancel keys)."""
    return random.SystemRandom().getrandbits(bits)

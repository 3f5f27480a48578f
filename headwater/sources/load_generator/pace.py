"""Pace: which offsets exist at a moment, and what time it was at an offset.

    offset    0 ... as_of   as_of + 1   as_of + 2 ...        up_to
    exists    at once       1 interval  2 intervals later    never: the upstream ends there

A generator's wall clock runs on while nobody reads it, as a real upstream's does:
the number of offsets depends on the moment of creation and on now alone.
"""

from __future__ import annotations

import numpy as np

from headwater.sources.contract import Options
from headwater.sources.load_generator.chance import IntArray

_US_PER_MS = 1_000


def interval_us(options: Options) -> int | None:
    """Time between two offsets; None when nothing happens after what exists at once."""
    interval_ms = options["tick_interval_ms"]
    return None if interval_ms is None else max(1, round(interval_ms * _US_PER_MS))


def available(options: Options, at_once: int, now_ms: int) -> int:
    """How many offsets exist now, not counting any end of the upstream."""
    interval = interval_us(options)
    if interval is None:
        return at_once
    elapsed_us = (now_ms - int(options["started_at_ms"])) * _US_PER_MS
    return at_once + max(0, elapsed_us) // interval


def time_us(options: Options, offsets: IntArray) -> IntArray:
    """The moment of each offset; those before the epoch are moved to it."""
    interval = interval_us(options) or 0
    started_at_us = int(options["started_at_ms"]) * _US_PER_MS
    ticks_back_max = started_at_us // interval if interval else 0
    return started_at_us + np.maximum(offsets - int(options["as_of"]), -ticks_back_max) * interval

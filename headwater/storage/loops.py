"""Loops in the background that must not end: what nobody foresaw is logged, and the loop begins again.

Without this an error that no loop expects would end it silently, and a server would look healthy that
does half of its work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any

import structlog

from headwater.core.limits import RETRY_DELAY_S_MAX, RETRY_DELAY_S_MIN, SHUTDOWN_S_MAX
from headwater.observe import metrics

log = structlog.get_logger("loops")


async def end_loops(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel them, and wait until they have let go of what they use."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=SHUTDOWN_S_MAX)


async def keep_running(name: str, loop: Callable[[], Awaitable[None]]) -> None:
    """Until cancelled; after each failure the next one begins later."""
    delay_s = RETRY_DELAY_S_MIN
    again = False
    while True:
        metrics.loop_begun(name, again)
        again = True
        try:
            await loop()
            log.error("a loop ended and begins again", loop=name, retry_in_s=delay_s)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Something that it waited for was cancelled, and not the loop.
            log.exception("a loop failed and begins again", loop=name, retry_in_s=delay_s)
        except Exception:
            log.exception("a loop failed and begins again", loop=name, retry_in_s=delay_s)
        await asyncio.sleep(delay_s)
        delay_s = min(delay_s * 2, RETRY_DELAY_S_MAX)

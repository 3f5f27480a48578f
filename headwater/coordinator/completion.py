"""What has begun to be durable is finished, whoever cancels.

A statement may be cancelled at any wait before it appends or commits; from there on its client must hear what
happened, so nothing in between can be cancelled any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """What `work` returns or raises; a cancellation meanwhile comes too late and is dropped."""
    task = asyncio.ensure_future(work)
    while True:
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise

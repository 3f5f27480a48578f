"""Patience: tries again to write to the metadata database while another process does.

The event loop's thread commits DDL, and must not stand still for as long as a cluster may write; so the
store gives up at once (catalog/store.py), and here it is waited between two tries.  A statement that waits
can be cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from headwater.catalog.store import MetadataBusy
from headwater.core.limits import METADATA_BUSY_MS_MAX, METADATA_RETRY_S

T = TypeVar("T")


async def patiently(attempt: Callable[[], Awaitable[T]]) -> T:
    """What an attempt brings that has found the database free; each begins with the catalog of then."""
    loop = asyncio.get_running_loop()
    until_s = loop.time() + METADATA_BUSY_MS_MAX / 1000
    while True:
        try:
            return await attempt()
        except MetadataBusy:
            if loop.time() > until_s:
                raise
        await asyncio.sleep(METADATA_RETRY_S)

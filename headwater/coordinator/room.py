"""Room in memory: a query that computes while the process has too much of it is ended.

DuckDB counts what its operators hold, and not the texts of the rows that it is working on: a hundred rows of
60 MB each are gigabytes that it knows nothing of.  So while anything computes the process is looked at.  Of
the queries that compute and under which it has grown, the one that has taken longest since its last rows is
ended; others are small.  Where it was large before, nobody is to blame who computes now.

Not here: how a query is ended (engine.py), and what one call of a function may make (sql/select/kernels).
"""

from __future__ import annotations

import asyncio
import resource
from pathlib import Path
from typing import Final, Protocol

import pyarrow as pa
import structlog

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import UserError
from headwater.core.limits import ROOM_BYTES_MAX, ROOM_CHECK_S, ROOM_GROWN_BYTES

log = structlog.get_logger("room")

_STATM: Final = Path("/proc/self/statm")


class Computing(Protocol):
    """What can be ended."""

    refused: bool

    def refuse(self) -> None:
        """End it; to be called until it has."""


def resident_bytes() -> int:
    """What this process has in memory."""
    return int(_STATM.read_text().split()[1]) * resource.getpagesize()


def no_room() -> UserError:
    """Of a query that was ended."""
    return UserError(
        "the query needs more memory than the server has for queries",
        "53200",
        detail=f"It was ended when the server had {ROOM_BYTES_MAX // 2**20} MiB in memory.",
        hint="Ask for shorter values, or for fewer rows at a time.",
    )


class Room:
    """Belongs to the event loop."""

    def __init__(self) -> None:
        self._since: dict[Computing, tuple[float, int]] = {}  # when it began, and how large the process was
        self._watch: asyncio.Task[None] | None = None

    def begin(self, query: Computing) -> None:
        """It computes from now on."""
        self._since[query] = SYSTEM_CLOCK.monotonic_s(), resident_bytes()
        if self._watch is None:
            self._watch = asyncio.get_running_loop().create_task(self._look())

    def end(self, query: Computing) -> None:
        """It rests, or is over."""
        self._since.pop(query, None)

    def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()

    async def _look(self) -> None:
        """As long as anything computes."""
        try:
            while self._since:
                await asyncio.sleep(ROOM_CHECK_S)
                if not self._since or resident_bytes() <= ROOM_BYTES_MAX:
                    continue
                pa.default_memory_pool().release_unused()
                found = resident_bytes()
                if found > ROOM_BYTES_MAX:
                    self._make(found)
        finally:
            self._watch = None

    def _make(self, found: int) -> None:
        """Room, now that so much is there."""
        grown = {
            query: since_s
            for query, (since_s, before) in self._since.items()
            if found - before >= ROOM_GROWN_BYTES
        }
        if not grown:
            return
        query = min(grown, key=grown.__getitem__)
        if not query.refused:
            log.warning("a query is ended for want of memory", resident_bytes=found)
        query.refuse()

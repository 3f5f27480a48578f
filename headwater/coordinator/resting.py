"""Results that are left half read: suspended portals, cursors between one FETCH and the next.

    flowing ──leave──► resting ──too many rest──► put aside ──► its engine is done with it
       ▲                  │                           │
       └──── taken up again, where it was left ───────┘

An engine that waits for somebody to take rows holds tens of megabytes: what it has read of its files,
and what it has computed.  So only a few results of a session rest like that.  When another one is left,
the one that has rested longest is run to its end, into a file (persist/aside.py).  An error that it meets
there is its own: it is told to whoever takes it up again.

A subscription has no end and does not rest here; what waits for it is bounded elsewhere (hubs.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pyarrow as pa

from headwater.core.errors import HeadwaterError, UserError
from headwater.core.limits import RESULTS_ASIDE_BYTES_MAX, RESULTS_RESTING_MAX
from headwater.persist.aside import Aside


class TooMuchAside(UserError):
    """A session has left too much half read."""


class Rows(AsyncIterator[pa.RecordBatch]):
    """A result's batches, which may be left and taken up again."""

    def __init__(self, resting: Resting, batches: AsyncIterator[pa.RecordBatch]) -> None:
        self._resting = resting
        self._batches = batches
        self._returned: list[pa.RecordBatch] = []
        self._aside: Aside | None = None
        self._broken: HeadwaterError | None = None
        self.finished = False
        self.closed = False

    @property
    def aside(self) -> bool:
        """Whether it was put aside."""
        return self._aside is not None

    async def __anext__(self) -> pa.RecordBatch:
        self._resting.forget(self)
        if self._broken is not None:
            raise self._broken
        if self._returned:
            return self._returned.pop(0)
        batch = await self._following()
        if batch is None:
            self.finished = True
            raise StopAsyncIteration
        return batch

    async def _following(self) -> pa.RecordBatch | None:
        if self._aside is not None:
            return await asyncio.to_thread(self._aside.next)
        return await anext(self._batches, None)

    async def begin(self) -> None:
        """Compute the first rows now, so that an error comes before anything else is said."""
        first = await anext(self, None)
        if first is not None:
            self._returned.insert(0, first)

    async def leave(self, rest: Sequence[pa.RecordBatch] = ()) -> None:
        """Nobody takes rows for a while; `rest` is what of the last batch was not used."""
        if self._aside is None:
            self._returned[:0] = rest
        else:
            self._aside.give_back(sum(batch.num_rows for batch in rest))
        await self._resting.add(self)

    async def put_aside(self) -> None:
        """Take what is left of it out of memory and be done with its engine."""
        if self.finished or self.closed or self._broken is not None or self._aside is not None:
            return
        aside = self._aside = Aside(self._resting.scratch)
        returned, self._returned = self._returned, []
        try:
            for batch in returned:
                await self._resting.put(aside, batch)
            while (following := await anext(self._batches, None)) is not None:
                await self._resting.put(aside, following)
            await asyncio.to_thread(aside.end)
        except TooMuchAside as error:
            self._break(error)
            raise
        except HeadwaterError as error:
            self._break(error)
        except BaseException:
            self._break(UserError("the result was given up while it was put aside", "57014"))
            raise

    def _break(self, error: HeadwaterError) -> None:
        self.close()
        self._broken = error

    async def aclose(self) -> None:
        """No more rows are wanted."""
        close = getattr(self._batches, "aclose", None)
        self.close()
        if close is not None:
            await close()

    def close(self) -> None:
        """Let go of what is kept of it, and of the engine behind it."""
        self.closed = True
        self._batches = _nothing()
        self._resting.forget(self)
        self._returned.clear()
        if self._aside is not None:
            self._resting.aside_bytes -= self._aside.size
            self._aside.close()
            self._aside = None


async def _nothing() -> AsyncIterator[pa.RecordBatch]:
    none: tuple[pa.RecordBatch, ...] = ()
    for batch in none:
        yield batch


class Resting:
    """One session's results that are left half read."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.aside_bytes = 0
        self._order: dict[Rows, None] = {}  # those that rest in their engines, the longest first

    def rows(self, batches: AsyncIterator[pa.RecordBatch]) -> Rows:
        """Batches that may be left."""
        return Rows(self, batches)

    def forget(self, rows: Rows) -> None:
        """It does not rest any more."""
        self._order.pop(rows, None)

    async def add(self, rows: Rows) -> None:
        """It rests from now on; another one may have to go."""
        if not rows.aside and not rows.closed:
            self._order[rows] = None
        while len(self._order) > RESULTS_RESTING_MAX:
            oldest = next(iter(self._order))
            del self._order[oldest]
            await oldest.put_aside()

    async def put(self, aside: Aside, batch: pa.RecordBatch) -> None:
        """Put rows aside; TooMuchAside if there are more than may be."""
        before = aside.size
        await asyncio.to_thread(aside.add, batch)
        self.aside_bytes += aside.size - before
        if self.aside_bytes > RESULTS_ASIDE_BYTES_MAX:
            raise TooMuchAside(
                f"results that were left half read take more than {RESULTS_ASIDE_BYTES_MAX >> 20} MiB",
                "53400",
                detail="All but a few portals and cursors of a session are kept on disk while they rest.",
                hint="Take their rows to the end, or close them, before others are begun.",
            )

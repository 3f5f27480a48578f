"""A loop that fails begins again; one that is cancelled ends.

Method: a loop that fails twice with what nobody would foresee, and then goes on until it is cancelled.
"""

from __future__ import annotations

import asyncio

import pytest

from headwater.observe import metrics
from headwater.storage.loops import keep_running

WAIT_S_MAX = 10.0


def test_a_loop_that_fails_begins_again() -> None:
    begun: list[int] = []

    async def main() -> None:
        going = asyncio.Event()

        async def loop() -> None:
            begun.append(len(begun))
            if len(begun) < 3:
                raise KeyError("nobody foresaw this")
            going.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(keep_running("of the test", loop))
        await asyncio.wait_for(going.wait(), WAIT_S_MAX)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert begun == [0, 1, 2]


def test_a_loop_begins_again_when_what_it_waits_for_is_cancelled() -> None:
    begun: list[int] = []

    async def main() -> None:
        going = asyncio.Event()

        async def loop() -> None:
            begun.append(len(begun))
            if len(begun) == 1:
                other: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                other.cancel()
                await other
            going.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(keep_running("that waits", loop))
        await asyncio.wait_for(going.wait(), WAIT_S_MAX)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert begun == [0, 1]
    assert metrics.value("headwater_loop_failures_total", loop="that waits") == 1

"""The watchdog: a callback that keeps the loop is named, and one that does not is not.

Method: a loop with a watchdog, and callbacks and coroutines that hold its thread; the lines of the log.
"""

from __future__ import annotations

import asyncio

import structlog.testing

from headwater.coordinator.watchdog import Watchdog
from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.limits import LOOP_BEAT_S, LOOP_SLOW_S
from headwater.observe import metrics


async def _beats(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(LOOP_BEAT_S)


async def _holds_the_loop() -> None:
    SYSTEM_CLOCK.sleep(3 * LOOP_SLOW_S)


def _watched(coroutine: bool) -> list[dict[str, object]]:
    async def run() -> None:
        watchdog = Watchdog(SYSTEM_CLOCK)
        try:
            await _beats(2)  # it knows the loop's stack from its first beat on
            if coroutine:
                await asyncio.create_task(_holds_the_loop())
            else:
                asyncio.get_running_loop().call_soon(SYSTEM_CLOCK.sleep, 3 * LOOP_SLOW_S)
            await _beats(3)
        finally:
            watchdog.close()

    with structlog.testing.capture_logs() as lines:
        asyncio.run(run())
    return [dict(line) for line in lines if line["event"] == "event loop kept by a callback"]


def test_a_coroutine_that_holds_the_loop_is_named() -> None:
    before = metrics.value("headwater_loop_slow_callbacks_total") or 0
    lines = _watched(coroutine=True)
    assert "_holds_the_loop" in [line["callback"] for line in lines]
    held = next(line for line in lines if line["callback"] == "_holds_the_loop")
    assert "SystemClock.sleep clock.py:" in str(held["at"])
    assert float(str(held["s"])) > 2 * LOOP_SLOW_S
    assert (metrics.value("headwater_loop_slow_callbacks_total") or 0) >= before + 1


def test_a_plain_callback_that_holds_the_loop_is_named() -> None:
    assert "SystemClock.sleep" in [line["callback"] for line in _watched(coroutine=False)]


def test_waiting_is_not_holding() -> None:
    async def run() -> None:
        watchdog = Watchdog(SYSTEM_CLOCK)
        await asyncio.sleep(3 * LOOP_SLOW_S)
        watchdog.close()

    with structlog.testing.capture_logs() as lines:
        asyncio.run(run())
    assert [line for line in lines if line["event"] == "event loop kept by a callback"] == []

"""A server in a thread of its own, with the coordinator of `fake_sessions` behind it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from types import TracebackType
from typing import Any, TypeVar

import uvloop

from headwater.pgwire.login import ANYBODY, Entrance
from headwater.pgwire.server import PgWireServer
from tests.support.wire.fake_sessions import FakeSessions

T = TypeVar("T")
WAIT_S_MAX = 20.0


class Running:
    """Starts a server on entering and stops it on leaving; `on_uvloop` chooses the event loop."""

    def __init__(self, on_uvloop: bool = False, entrance: Entrance = ANYBODY) -> None:
        self.loop = uvloop.new_event_loop() if on_uvloop else asyncio.new_event_loop()
        self.sessions = FakeSessions()
        self.server = PgWireServer(self.sessions, "127.0.0.1", 0, False, entrance)
        self._thread = threading.Thread(target=self.loop.run_forever)

    def __enter__(self) -> Running:
        self._thread.start()
        self.run(self.server.bind())
        self.run(self.server.open())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.run(self.server.stop(1.0))
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(WAIT_S_MAX)
        self.loop.close()

    @property
    def dsn(self) -> str:
        return f"host=127.0.0.1 port={self.server.port} user=me dbname=d sslmode=disable"

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run something in the server's loop."""
        return self.begin(coroutine).result(WAIT_S_MAX)

    def begin(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin something in the server's loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def wait_until(self, true: Callable[[], bool]) -> None:
        """Wait for a condition in the server's loop."""

        async def poll() -> None:
            while not true():
                await asyncio.sleep(0.005)

        self.run(asyncio.wait_for(poll(), WAIT_S_MAX))

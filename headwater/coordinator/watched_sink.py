"""Takes a COPY's data so that it can be cancelled."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from headwater.coordinator.api import CopyInSink


class WatchedSink:
    """The same sink, each of its steps run by a session's `cancellable`."""

    def __init__(self, cancellable: Callable[[Coroutine[Any, Any, Any]], Any], sink: CopyInSink) -> None:
        self._cancellable = cancellable
        self._sink = sink

    async def write(self, data: bytes) -> None:
        await self._cancellable(self._sink.write(data))

    async def finish(self) -> str:
        tag: str = await self._cancellable(self._sink.finish())
        return tag

    async def abort(self, reason: str) -> None:
        await self._sink.abort(reason)

"""What tests of webhooks share: an environment that is asked over HTTP, statements and requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.support.http import Answer, Served, serving

PATH = "/api/webhook/materialize/public/w"


def story(data_dir: Path, told: Callable[[Served], Awaitable[None]]) -> None:
    async def run() -> None:
        async with serving(data_dir) as served:
            await asyncio.wait_for(told(served), 60)

    asyncio.run(run())


async def made(served: Served, sql: str) -> Any:
    (result,) = await served.sql(sql)
    assert "error" not in result, result
    return result


async def sent(served: Served, body: bytes, path: str = PATH, **headers: str) -> Answer:
    return await served.ask(path, body, {name.replace("_", "-"): value for name, value in headers.items()})


async def refused(served: Served, sql: str) -> dict[str, Any]:
    (result,) = await served.sql(sql)
    error: dict[str, Any] = result["error"]
    return error

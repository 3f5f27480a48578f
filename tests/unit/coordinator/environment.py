"""An environment in this process, without a cluster: real catalog, ledger, files, engine and sessions.

What only a cluster does is done by hand: `follow` makes a source's table readable, `reach` moves its source.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from headwater.coordinator.session import SqlSession
from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import UserError
from headwater.formats.arrow import state_schema
from headwater.persist.combine import relation_sql
from headwater.persist.files import write_file
from headwater.persist.ledger import Filled
from headwater.persist.local import LocalStore
from tests.support.environment import ended, without_cluster


@dataclass(slots=True)
class Client:
    """A session, and statements as texts."""

    session: SqlSession

    async def run(self, text: str) -> list[tuple[Any, ...]]:
        """The rows of one statement; without rows its tag."""
        (parsed,) = await self.session.parse(text)
        failed = True
        try:
            result = await self.session.execute(await self.session.prepare(parsed))
            rows: list[tuple[Any, ...]] = []
            if result.batches is None:
                rows = [(result.tag(0),)]
            else:
                async for batch in result.batches:
                    rows += zip(*(column.to_pylist() for column in batch.columns), strict=True)
            result.close()
            failed = False
        finally:
            await self.session.finish(failed)
        return rows

    async def value(self, text: str) -> Any:
        """The first value of the first row."""
        return (await self.run(text))[0][0]

    async def close(self) -> None:
        await self.session.close()


class Environment:
    """A coordinator whose cluster never comes."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.coordinator = without_cluster(data_dir)
        self.catalog, self.ledger = self.coordinator.catalog, self.coordinator.ledger

    async def client(self, **settings: str) -> Client:
        return Client(await self.coordinator.open_session("materialize", settings, "here", internal=False))

    def id_of(self, name: str) -> str:
        return next(item.id for item in self.catalog.state.items.values() if item.name == name)

    def follow(self, name: str, columns: dict[str, pa.Array]) -> str:
        """The table of a source has these rows from now on; the source's id."""
        item = self.catalog.state.items[self.id_of(name)]
        source_id, ts = str(item.source_id), SYSTEM_CLOCK.now_ms() - 1
        self.ledger.open_writer(source_id)
        self.ledger.join(
            [(item.collection_id, "counted", item.relation, "b", None)], source_id, ts, hydrated=False
        )
        rows = pa.table(columns, schema=state_schema(item.relation))
        path = f"tables/{item.collection_id}/state/made.parquet"
        entry = write_file(LocalStore(self.data_dir), path, iter(rows.to_batches()), rows.schema)
        self.ledger.fill({item.collection_id: Filled(None, [entry], 0)}, ts)
        self.coordinator.controller.hydrated.add(item.collection_id)
        self.coordinator.controller.uppers[source_id] = ts + 1
        return source_id

    async def reach(self, source_id: str, upper: int) -> None:
        """A source has come so far."""
        self.coordinator.controller.uppers[source_id] = upper
        await self.coordinator.controller.notify()

    def fold(self, name: str) -> None:
        """Bring a plain table's state up to its tail, and forget what was before."""
        id_ = self.id_of(name)
        plan = self.ledger.read_plan(id_, self.coordinator.tables.last_ts)
        if not plan.tail:
            return
        schema = state_schema(plan.relation)
        found = duckdb.connect().sql(f"SELECT * FROM {relation_sql(plan, LocalStore(self.data_dir))}")
        rows = found.to_arrow_table().cast(schema)
        path = f"tables/{id_}/state/{plan.as_of}.parquet"
        entry = write_file(LocalStore(self.data_dir), path, iter(rows.to_batches()), schema)
        self.ledger.put_state(id_, plan.as_of, 0, [entry])
        since = self.coordinator.holds.raise_since(id_, plan.as_of)
        self.ledger.forget(id_, since)


@asynccontextmanager
async def environment(data_dir: Path) -> AsyncIterator[Environment]:
    """Started, and stopped at the end."""
    made = Environment(data_dir)
    made.coordinator.start()
    try:
        yield made
    finally:
        await ended(made.coordinator)


def in_environment(data_dir: Path, story: Callable[[Environment], Awaitable[None]]) -> None:
    """Run a test's story in an environment of its own, for two minutes at most."""

    async def told() -> None:
        async with environment(data_dir) as env, asyncio.timeout(120):
            await story(env)

    asyncio.run(told())


async def refused(client: Client, text: str, sqlstate: str = "40001") -> UserError:
    with pytest.raises(UserError) as told:
        await client.run(text)
    assert told.value.sqlstate == sqlstate, told.value
    return told.value


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.005)

"""A whole environment in this process, without a cluster: statements, plain tables, the wire.

What needs a source does not work; all else is what the server has, and it is there in a fraction of a
second.  It runs in a thread of its own; `run` does something in its event loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import psycopg

from headwater.catalog.opening import open_catalog
from headwater.coordinator.coordinator import Coordinator, initial_floor
from headwater.coordinator.engine import Engine
from headwater.coordinator.timestamps import Oracle
from headwater.core.clock import SYSTEM_CLOCK
from headwater.options import CLUSTER_NAME, LogOptions, SparkOptions, UnixAddress
from headwater.persist.layout import cluster_socket, scratch_folder
from headwater.persist.local import LocalStore
from headwater.persist.opening import open_ledger
from headwater.pgwire.server import PgWireServer
from headwater.storage.controller import Controller
from headwater.storage.supervisor import Supervisor

T = TypeVar("T")
WAIT_S_MAX = 30.0


def without_cluster(data_dir: Path) -> Coordinator:
    """A coordinator whose cluster never comes; to be started, and stopped by `ended`."""
    catalog, ledger = open_catalog(data_dir), open_ledger(data_dir)
    oracle = Oracle(SYSTEM_CLOCK, initial_floor(catalog, ledger))
    address = UnixAddress(cluster_socket(data_dir, CLUSTER_NAME))
    supervisor = Supervisor(data_dir, CLUSTER_NAME, address, SparkOptions(), LogOptions())
    controller = Controller(supervisor, address, catalog.bump_epoch(), lambda: oracle.floor, SYSTEM_CLOCK)
    engine = Engine(scratch_folder(data_dir))
    return Coordinator(LocalStore(data_dir), catalog, ledger, controller, engine, SYSTEM_CLOCK, oracle)


async def ended(coordinator: Coordinator) -> None:
    """Stop it, and close what it has opened."""
    await coordinator.stop()
    coordinator.close()
    coordinator.ledger.close()
    coordinator.catalog.close()


class Environment:
    """Starts on entering and stops on leaving."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self.coordinator: Coordinator
        self.server: PgWireServer
        self.internal: PgWireServer  # the operator's address

    def __enter__(self) -> Environment:
        self._thread.start()
        self.run(self._start())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.run(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WAIT_S_MAX)
        self._loop.close()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run something in the environment's loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(WAIT_S_MAX)

    @property
    def port(self) -> int:
        return self.server.port

    @property
    def internal_port(self) -> int:
        return self.internal.port

    def dsn(self) -> str:
        return f"host=127.0.0.1 port={self.port} user=materialize dbname=materialize sslmode=disable"

    def connect(self, user: str = "materialize") -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(f"{self.dsn()} user={user}", autocommit=True)

    async def _start(self) -> None:
        self.coordinator = without_cluster(self.data_dir)
        self.coordinator.start()
        self.server = PgWireServer(self.coordinator, "127.0.0.1", 0, internal=False)
        self.internal = PgWireServer(self.coordinator, "127.0.0.1", 0, internal=True)
        for server in (self.server, self.internal):
            await server.bind()
            await server.open()

    async def _stop(self) -> None:
        await self.server.stop(1.0)
        await self.internal.stop(1.0)
        await ended(self.coordinator)

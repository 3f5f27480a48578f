"""The DuckDB databases of this process: one for everybody, and one for each role whose memory is limited.

Another one, plainer, is for queries at which DuckDB had an internal error: less is done there to be fast.

They are in memory and have nothing in them: a database is a bound on memory, with threads of its own.  One
of a role is made when the role first runs something, and closed when there are too many and nothing runs
there.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb

from headwater.coordinator.memory import Account
from headwater.core.errors import UserError
from headwater.core.limits import (
    DUCKDB_MEMORY_MAX,
    DUCKDB_MEMORY_MIN_BYTES,
    DUCKDB_THREADS_MAX,
    LIMITED_DATABASES_MAX,
)
from headwater.sql.select.kernels import register_duckdb

_NOT_PLAIN: Final = (
    *("join_filter_pushdown", "materialized_cte", "statistics_propagation", "compressed_materialization"),
    *("late_materialization", "common_subplan", "join_elimination", "top_n_window_elimination"),
    *("window_self_join", "projection_pullup", "partial_aggregate_pushdown", "aggregate_reuse"),
)
"""What DuckDB's planner may leave out, and a query takes longer, but of no other order."""


def _opened(scratch: Path, memory: str, plain: bool = False) -> duckdb.DuckDBPyConnection:
    database = duckdb.connect(
        ":memory:",
        config={
            "memory_limit": memory,
            "threads": DUCKDB_THREADS_MAX,
            "temp_directory": str(scratch),
            # A defect in one query of the engine is that query's error, and nobody else's.
            "disable_database_invalidation": True,
            # Or what large texts took stays with DuckDB for ever.
            "allocator_background_threads": True,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        },
    )
    database.execute("SET TimeZone = 'UTC'")
    # DuckDB's caches remember every file they ever met, and ours come and go by the thousand; the
    # pages of local files are in the machine's own cache anyway, and footers cost 1 ms in 30 files.
    database.execute("SET enable_external_file_cache = false")
    if plain:
        database.execute(f"SET disabled_optimizers = '{','.join(_NOT_PLAIN)}'")
    register_duckdb(database)
    return database


def _memory(account: Account) -> str:
    return f"{max(DUCKDB_MEMORY_MIN_BYTES, account.left_bytes) >> 10}KiB"


@dataclass(slots=True)
class _Limited:
    """A role's database."""

    database: duckdb.DuckDBPyConnection
    cursors: int = 0  # that are open


class Lease:
    """A cursor, and whose memory it takes."""

    __slots__ = ("_limited", "_own", "account", "cursor")

    def __init__(
        self,
        database: duckdb.DuckDBPyConnection,
        account: Account | None = None,
        limited: _Limited | None = None,
        own: bool = False,
    ) -> None:
        self.cursor = database.cursor()
        self.account = account
        self._limited = limited
        self._own = database if own else None

    def begin(self) -> None:
        """In the thread that runs the query, before it: DuckDB may take what is left now."""
        if self.account is not None:
            self.cursor.execute(f"SET memory_limit = '{_memory(self.account)}'")

    def close(self) -> None:
        self.cursor.close()
        if self._limited is not None:
            self._limited.cursors -= 1
            self._limited = None
        if self._own is not None:
            self._own.close()


class Databases:
    """Belongs to the event loop."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self.everybodys = _opened(scratch, DUCKDB_MEMORY_MAX)
        self._plain: duckdb.DuckDBPyConnection | None = None  # everybody's too, once somebody needed it
        self._limited: dict[Account, _Limited] = {}
        self._making = asyncio.Lock()

    async def lease(self, account: Account | None) -> Lease:
        """A cursor of the database of this account."""
        if account is None:
            return Lease(self.everybodys)
        found = self._limited.get(account)
        if found is None:
            async with self._making:
                found = self._limited.get(account) or await self._made(account)
        found.cursors += 1
        return Lease(found.database, account, found)

    async def lease_plain(self, account: Account | None) -> Lease:
        """A cursor for a query once more, after an internal error."""
        if account is not None:
            own = await asyncio.to_thread(_opened, self._scratch, _memory(account), True)
            return Lease(own, account, own=True)
        async with self._making:
            if self._plain is None:
                self._plain = await asyncio.to_thread(_opened, self._scratch, DUCKDB_MEMORY_MAX, True)
        return Lease(self._plain)

    async def _made(self, account: Account) -> _Limited:
        if len(self._limited) >= LIMITED_DATABASES_MAX:
            self._close_idle()
        if len(self._limited) >= LIMITED_DATABASES_MAX:
            raise UserError(
                f"statements of {LIMITED_DATABASES_MAX} roles with max_statement_memory are running",
                "53300",
                hint="Try again when one of them has ended.",
            )
        database = await asyncio.to_thread(_opened, self._scratch, _memory(account))
        made = self._limited[account] = _Limited(database)
        return made

    def _close_idle(self) -> None:
        for account, each in list(self._limited.items()):
            if not each.cursors:
                del self._limited[account]
                each.database.close()

    def close(self) -> None:
        for each in self._limited.values():
            each.database.close()
        if self._plain is not None:
            self._plain.close()
        self.everybodys.close()

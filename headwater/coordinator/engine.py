"""DuckDB in this process: constants, system relations, small reads.

One in-memory database, and one for each role whose memory is limited (databases.py); one cursor per query,
two small pools of threads (turns.py): reads of files
have their own, so that whoever asks for something small does not wait behind them.  A query can
be interrupted from the event loop: DuckDB hears of it between two vectors, kernels between two rows
(kernels/stops.py).  One value may keep it for seconds, so whoever has stopped a query waits for it a
moment only: it ends by itself, with nobody there, and has its thread until then.  Relations are handed
in as table expressions over Parquet files or as Arrow tables under a name of their own.  A query that has an
internal error before its first rows is run once more, in a database where less is done to make it fast.

DuckDB hands rows over by number, and a batch of them has room for 2 GiB of one column's values.  A result
whose first rows have more is begun anew with fewer rows at a time; nobody has seen any of it then.

The SQL texts come from our own generator only; no user text ever reaches DuckDB.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import structlog

from headwater.coordinator import memory
from headwater.coordinator.databases import Databases, Lease
from headwater.coordinator.memory import OUT_OF_MEMORY, Account
from headwater.coordinator.room import Room, no_room
from headwater.coordinator.turns import Begun, Turns
from headwater.core.errors import UserError
from headwater.core.limits import (
    INTERRUPT_S,
    INTERRUPTED_S_MAX,
    PEEKS_CONCURRENT_MAX,
    PEEKS_OF_ALL_MAX,
    RESULT_BATCH_ROWS,
    RESULT_WIDE_BATCH_ROWS,
)
from headwater.sql.select.generate.duckdb.errors import translate_error
from headwater.sql.select.kernels import Stop

log = structlog.get_logger("engine")

_TOO_WIDE: Final = "maximum total string size"
_ENGINE_ERROR: Final = re.compile(r"(\w+(?: \w+)*) Error: ")


class Engine:
    """The in-process engine.  Its methods belong to the event loop."""

    def __init__(self, scratch: Path) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        self.scratch = scratch  # for all that the environment cannot keep in memory
        self.databases = Databases(scratch)
        self._for_files = Turns("duckdb-files", PEEKS_CONCURRENT_MAX, PEEKS_OF_ALL_MAX)
        self._for_others = Turns("duckdb", PEEKS_CONCURRENT_MAX, PEEKS_OF_ALL_MAX)
        self._room = Room()
        self.left: set[asyncio.Task[None]] = set()  # queries that nobody waits for, and that have not ended

    async def run(
        self, sql: str, schema: pa.Schema, tables: Mapping[str, pa.Table], *, files: bool = False
    ) -> AsyncIterator[pa.RecordBatch]:
        """Batches of the query's result in `schema`; interrupted when the iteration is closed.

        `files` says that it is a user's read of a table's files.
        """
        threads = self._for_files if files else self._for_others
        query = await self._query()
        try:
            try:
                reader, first = await query.begun(threads, sql, schema, tables)
            except (duckdb.Error, OSError) as error:
                if not _internal(error):
                    raise
                log.warn(
                    "a query is run again, plainer", engine="duckdb", error=str(error).partition("\n")[0]
                )
                query.close()
                query = await self._query(plain=True)
                reader, first = await query.begun(threads, sql, schema, tables)
            for batch in first or ():
                yield batch
            while reader is not None:
                batch = await query.ended(await threads.begin(_next, reader, schema))
                if batch is None:
                    break
                yield batch
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            refusal = no_room() if query.refused else translate(error, query.row_count, query.lease.account)
            raise refusal from error
        finally:
            query.close()

    async def _query(self, plain: bool = False) -> _Query:
        lease = self.databases.lease_plain if plain else self.databases.lease
        return _Query(await lease(memory.limited()), self._room, self.left)

    async def table(self, sql: str, schema: pa.Schema, tables: Mapping[str, pa.Table]) -> pa.Table:
        """The whole result at once."""
        batches = [batch async for batch in self.run(sql, schema, tables)]
        return pa.Table.from_batches(batches, schema)

    async def check(self, sql: str, tables: Mapping[str, pa.Table]) -> None:
        """Run a query of one row for its errors alone."""
        query = await self._query()
        try:
            told = query.stop.told(sql)
            await query.ended(await self._for_others.begin(_computed, query.lease, told, tables))
        except duckdb.Error as error:
            refusal = no_room() if query.refused else translate(error, account=query.lease.account)
            raise refusal from error
        finally:
            query.close()

    def close(self) -> None:
        self._room.close()
        self._for_files.close()
        self._for_others.close()
        for task in self.left:
            task.cancel()
        self.databases.close()


class _Query:
    """One query's cursor, and the means to end it."""

    def __init__(self, lease: Lease, room: Room, left: set[asyncio.Task[None]]) -> None:
        self.lease = lease
        self.stop = Stop()
        self.refused = False  # there is no room for it in memory
        self.row_count = RESULT_BATCH_ROWS  # at a time
        self._room = room
        self._left = left
        self._deaf: asyncio.Future[Any] | None = None  # what has not heard that it was stopped

    async def begun(
        self, threads: Turns, sql: str, schema: pa.Schema, tables: Mapping[str, pa.Table]
    ) -> tuple[Any, list[pa.RecordBatch] | None]:
        """Its first batches, and the reader if there are more."""
        told = self.stop.told(sql)
        for self.row_count in (RESULT_BATCH_ROWS, RESULT_WIDE_BATCH_ROWS, 1):
            work = await threads.begin(_start, self.lease, told, schema, tables, self.row_count)
            reader, first = await self.ended(work)
            if first is not None:
                break
        return reader, first

    async def ended(self, begun: Begun) -> Any:
        """What a thread has made; if we are cancelled, it is interrupted, or taken back if not begun."""
        work, running = begun.work, begun.running
        self._room.begin(self)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            self.stop.stop()
            for _ in range(round(INTERRUPTED_S_MAX / INTERRUPT_S)):
                if running.done() or work.cancel():
                    break
                await self._interrupt(running)
            else:
                self._deaf = running
            if running.done() and not running.cancelled():
                running.exception()  # looked at, so that nobody complains
            raise
        finally:
            self._room.end(self)

    def refuse(self) -> None:
        """There is no room for it: it ends with an error, once it has heard."""
        self.refused = True
        self.stop.stop()
        self.lease.cursor.interrupt()

    async def _interrupt(self, running: asyncio.Future[Any]) -> None:
        """To be called again and again: before the query has begun it is not heard."""
        self.lease.cursor.interrupt()
        with suppress(asyncio.CancelledError):  # once is enough
            await asyncio.wait([running], timeout=INTERRUPT_S)

    def close(self) -> None:
        """End it, wherever it is."""
        self.stop.stop()
        if self._deaf is None:
            self._let_go()
            return
        task = asyncio.get_running_loop().create_task(self._leave(self._deaf))
        self._left.add(task)
        task.add_done_callback(self._left.discard)

    async def _leave(self, running: asyncio.Future[Any]) -> None:
        """Once it has heard, which may be some seconds."""
        while not running.done():
            self.lease.cursor.interrupt()
            await asyncio.wait([running], timeout=INTERRUPT_S)
        if not running.cancelled():
            running.exception()
        self._let_go()

    def _let_go(self) -> None:
        """Closing waits for the kernels that run."""
        self.lease.close()
        self.stop.close()


def _computed(lease: Lease, sql: str, tables: Mapping[str, pa.Table]) -> None:
    """Computes the row and leaves it there: what Python cannot hold is no error of the query."""
    lease.begin()
    cursor = lease.cursor
    for name, table in tables.items():
        cursor.register(name, table)
    cursor.execute(sql)  # plans it once, where a relation would be planned again to be read


def _start(
    lease: Lease,
    sql: str,
    schema: pa.Schema,
    tables: Mapping[str, pa.Table],
    row_count: int,
) -> tuple[Any, list[pa.RecordBatch] | None]:
    """Run the query; its first batches, and the reader if there are more.

    Instead of batches None if so many rows at a time are too many.
    """
    lease.begin()
    cursor = lease.cursor
    for name, table in tables.items():
        cursor.register(name, table)
    reader = cursor.sql(sql).to_arrow_reader(row_count)
    # Most results are one batch: looking for the second here saves a trip to a thread.
    first: list[pa.RecordBatch] = []
    for _ in range(2):
        try:
            batch = _next(reader, schema)
        except OSError as error:
            if row_count == 1 or _TOO_WIDE not in str(error):
                raise
            return None, None
        if batch is None:
            return None, first
        first.append(batch)
    return reader, first


def _next(reader: Any, schema: pa.Schema) -> pa.RecordBatch | None:
    try:
        batch = reader.read_next_batch()
    except StopIteration:
        return None
    if batch.schema == schema:
        return batch
    if not schema.names:
        return batch.select([])  # rows without columns: DuckDB had to be given one
    columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _internal(error: Exception) -> bool:
    """Whether it is a defect of DuckDB, which its planner mostly makes."""
    found = _ENGINE_ERROR.match(str(error))
    return found is not None and found[1] == "INTERNAL"


def translate(error: Exception, row_count: int = 1, account: Account | None = None) -> UserError:
    """What a client is told about an error of the engine, which may come by way of Arrow.

    `row_count` is how many rows it hands over at a time, `account` whose memory the query had.
    """
    text = str(error)
    if _TOO_WIDE in text:
        rows = f"{row_count} rows of a result that follow each other" if row_count > 1 else "one row"
        return UserError(
            f"a column's values in {rows} have more than 2 GiB",
            "54000",
            hint="Select shorter parts of the values, or the rows that have long ones in a statement of their"
            " own.",
        )
    # By way of Arrow, after the first rows, every error of DuckDB is an OSError that begins with its kind.
    kind = found[1] if isinstance(error, OSError) and (found := _ENGINE_ERROR.match(text)) else None
    if isinstance(error, duckdb.IOException | OSError) and kind in (None, "IO"):
        return UserError(
            f"could not read a data file: {text.splitlines()[0].removeprefix('IO Error: ')}",
            "58030",
            hint="Restore the file from a backup, or drop the table and create it again.",
        )
    told = translate_error(text)
    if account is not None and told.sqlstate == OUT_OF_MEMORY:
        return account.exceeded()
    if told.sqlstate in ("0A000", "XX000"):
        log.warn("the engine refused a query", engine="duckdb", error=text.partition("\n")[0])
    return told

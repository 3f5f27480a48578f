"""DECLARE, FETCH, CLOSE: a statement's rows a few at a time, inside a transaction.

FETCH over a query sends rows as they come; the cursor rests between one FETCH and the next (resting.py).
FETCH over a SUBSCRIBE waits until there is at least one row, or with a timeout until
it has n rows or the time has passed.  An error ends it after the rows before it: they are what
the FETCH under way has, and the next one fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from headwater.coordinator.api import ParsedStatement, Prepared, Result
from headwater.coordinator.queries import batches_of
from headwater.coordinator.resting import Rows
from headwater.core.errors import InvariantViolation, UserError
from headwater.core.limits import FETCH_BYTES_MAX
from headwater.core.relation import Column, Relation
from headwater.core.types import SqlType
from headwater.formats.arrow import state_schema
from headwater.sql.statements.close import Close
from headwater.sql.statements.declare import Declare
from headwater.sql.statements.fetch import Fetch
from headwater.sql.statements.subscribe import Subscribe

if TYPE_CHECKING:
    from headwater.coordinator.session import SqlSession


@dataclass(slots=True)
class OpenCursor:
    """A declared cursor; its statement is started by the first FETCH that wants rows.

    Of a query it has `rows`; of a SUBSCRIBE, whose rows come when they come, what is ready and awaited.
    """

    name: str
    text: str
    columns: tuple[Column, ...]
    result: Result
    created_at_ms: int
    mark: int  # which savepoints are older
    rows: Rows | None  # of a query
    taking: _Taking | None = None  # the last FETCH over a query
    ready: list[pa.RecordBatch] = field(default_factory=list)
    waiting: asyncio.Task[pa.RecordBatch | None] | None = None
    finished: bool = False
    failure: UserError | None = None  # for when the rows before it are taken
    failed: bool = False

    def close(self) -> None:
        if self.waiting is not None:
            self.waiting.cancel()
        if self.rows is not None:
            self.rows.close()
        self.result.close()


@dataclass(slots=True, eq=False)
class _Taking:
    """One FETCH over a query: so many rows of a cursor, as they come."""

    cursor: OpenCursor
    left: int | None  # None is all
    rows: Rows | None = None  # what the client gets

    async def batches(self) -> AsyncIterator[pa.RecordBatch]:
        """The rows; the cursor has failed if they have."""
        source = self.cursor.rows
        if source is None:
            raise InvariantViolation("FETCH over a query without rows")
        try:
            while self.left != 0:
                batch = await anext(source, None)
                if batch is None:
                    self.left = 0
                    return
                if self.left is not None:
                    rest = batch.slice(self.left)
                    batch = batch.slice(0, self.left)
                    self.left -= batch.num_rows
                    if self.left == 0:
                        await source.leave([rest] if rest.num_rows else [])
                yield batch
        except GeneratorExit:
            raise
        except BaseException:
            self.cursor.failed = True  # what comes next of it is not what comes next of the query
            self.cursor.close()
            raise

    async def complete(self) -> None:
        """Another FETCH comes: what this one has not sent yet is kept for it, or else skipped."""
        if self.rows is not None and not self.rows.closed:
            await self.rows.put_aside()
        elif self.left != 0:
            async for _ in self.batches():
                pass


def describe_declare(
    session: SqlSession, parsed: ParsedStatement, parameter_types: tuple[SqlType | None, ...]
) -> Prepared:
    """The parameters of the statement; rows come by FETCH."""
    statement = parsed.statement
    if not isinstance(statement, Declare):
        raise UserError("DECLARE needs a query", "42601")
    wrapped = ParsedStatement(statement.statement, parsed.text, parsed.offset)
    inner = session.describe(wrapped, parameter_types)
    return Prepared(parsed, inner.parameters, None)


async def run_declare(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Plan and start the statement; rows are taken by FETCH."""
    statement = prepared.parsed.statement
    if not isinstance(statement, Declare):
        raise UserError("DECLARE needs a query", "42601")
    if session.transaction is None or not session.transaction.explicit:
        raise UserError(
            "DECLARE CURSOR can only be used in transaction blocks",
            "25P01",
            hint="BEGIN a transaction first.",
        )
    if statement.name in session.cursors:
        raise UserError(f'cursor "{statement.name}" already exists', "42P03")
    parsed = ParsedStatement(statement.statement, prepared.parsed.text, prepared.parsed.offset)
    inner = await session.planned(lambda: session.describe(parsed, prepared.parameters))
    result = await session.run(inner, arguments)
    rows = None
    if result.batches is not None and not isinstance(statement.statement, Subscribe):
        rows = result.batches = session.resting.rows(result.batches)  # nobody else keeps the engine open
    session.cursors[statement.name] = OpenCursor(
        statement.name,
        prepared.parsed.text,
        inner.columns or (),
        result,
        session.coordinator.clock.now_ms(),
        session.mark,
        rows,
    )
    return Result(lambda _: "DECLARE CURSOR")


def _find(session: SqlSession, name: str) -> OpenCursor:
    cursor = session.cursors.get(name)
    if cursor is None:
        raise UserError(f'cursor "{name}" does not exist', "34000")
    return cursor


def describe_fetch(
    session: SqlSession, parsed: ParsedStatement, parameter_types: tuple[SqlType | None, ...]
) -> Prepared:
    """The cursor's columns; that there is no such cursor is for the execution to say."""
    statement = parsed.statement
    return Prepared(
        parsed, (), session.cursor_columns(statement.name if isinstance(statement, Fetch) else "")
    )


async def run_fetch(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Take the next rows."""
    statement = prepared.parsed.statement
    if not isinstance(statement, Fetch):
        raise UserError("FETCH needs a cursor", "34000")
    cursor = _find(session, statement.name)
    if cursor.taking is not None:
        await cursor.taking.complete()
    if cursor.failed:
        raise UserError(f'portal "{cursor.name}" cannot be run', "55000", hint="DECLARE it again.")
    if cursor.rows is not None:
        taking = cursor.taking = _Taking(cursor, statement.count)
        taking.rows = session.resting.rows(taking.batches())
        await taking.rows.begin()
        return Result(lambda n: f"FETCH {n}", cursor.columns, taking.rows, names=cursor.result.names)
    timeout_s = None if statement.timeout is None else statement.timeout.milliseconds / 1000
    try:
        rows = await _take(cursor, statement.count, timeout_s)
    except BaseException:
        cursor.failed = True  # what comes next of it is not what comes next of the query
        cursor.close()
        raise
    return Result(lambda n: f"FETCH {n}", cursor.columns, batches_of(rows), names=cursor.result.names)


async def _take(cursor: OpenCursor, count: int | None, timeout_s: float | None) -> pa.RecordBatch:
    """At most `count` rows of a SUBSCRIBE; fewer when those are as much as may be kept in memory."""
    loop = asyncio.get_running_loop()
    deadline_s = None if timeout_s is None else loop.time() + timeout_s
    have = sum(batch.num_rows for batch in cursor.ready)
    size = sum(batch.nbytes for batch in cursor.ready)
    while (count is None or have < count) and size < FETCH_BYTES_MAX and not cursor.finished:
        if deadline_s is None and have:
            wait_s: float | None = 0.0  # something is there: take only what comes without waiting
        else:
            wait_s = None if deadline_s is None else max(0.0, deadline_s - loop.time())
        batch = await _next(cursor, wait_s)
        if batch is None:
            break
        cursor.ready.append(batch)
        have += batch.num_rows
        size += batch.nbytes
    if cursor.failure is not None and not have:
        raise cursor.failure
    schema = state_schema(Relation(cursor.columns))
    table = pa.Table.from_batches(cursor.ready, schema)
    wanted = table.num_rows if count is None else min(count, table.num_rows)
    cursor.ready = table.slice(wanted).to_batches()
    taken = table.slice(0, wanted).combine_chunks().to_batches()
    return taken[0] if taken else pa.RecordBatch.from_pylist([], schema)


async def _next(cursor: OpenCursor, wait_s: float | None) -> pa.RecordBatch | None:
    """The next batch; None at the end or when the time is up (then it is still awaited)."""
    if cursor.waiting is None:
        batches: AsyncIterator[pa.RecordBatch] | None = cursor.result.batches
        if batches is None:
            cursor.finished = True
            return None
        cursor.waiting = asyncio.ensure_future(_step(batches))
    done, _ = await asyncio.wait([cursor.waiting], timeout=wait_s)
    if not done:
        return None
    finished, cursor.waiting = cursor.waiting, None
    try:
        batch = finished.result()
    except UserError as error:
        batch, cursor.failure = None, error
    if batch is None:
        cursor.finished = True
    return batch


async def _step(batches: AsyncIterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    return await anext(batches, None)


async def run_close(session: SqlSession, prepared: Prepared, arguments: tuple[str | None, ...]) -> Result:
    """Close one cursor or all."""
    statement = prepared.parsed.statement
    if isinstance(statement, Close) and statement.name is not None:
        _find(session, statement.name).close()
        del session.cursors[statement.name]
        return Result(lambda _: "CLOSE CURSOR")
    for cursor in session.cursors.values():
        cursor.close()
    session.cursors.clear()
    return Result(lambda _: "CLOSE CURSOR ALL")

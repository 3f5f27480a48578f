"""Portals: a prepared statement with its arguments, on its way to the client.

A portal is executed at the first Execute and keeps its result: the batches still to
come.  The part of a batch that did not fit into a limit is given back to the coordinator, which
decides where it waits (coordinator/resting.py).  A simple query uses one too, without a limit.

    bound ──execute──► flowing ──last batch──► done
                        │   ▲
                        └───┘ limit reached: suspended

An error that it meets, or that its transaction meets, makes it `failed`: it keeps its name until
the transaction ends, and nothing else.

Not here: COPY (copy.py); which message leads to what (extended.py, query.py).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial

import pyarrow as pa

from headwater.coordinator.api import Prepared, Result
from headwater.core.relation import Column
from headwater.pgwire.decode import spread_formats
from headwater.pgwire.encode import data_rows, slices
from headwater.pgwire.encoding import encoded
from headwater.pgwire.steps import Steps, Write, call


class Waiting:
    """What the arguments of a connection's portals take that were not executed yet."""

    __slots__ = ("size",)

    def __init__(self) -> None:
        self.size = 0


class Portal:
    """One portal.  `result` is None until it has been executed."""

    __slots__ = (
        "_closed",
        "_rest",
        "_size",
        "_slices",
        "_waiting",
        "arguments",
        "done",
        "failed",
        "mark",
        "prepared",
        "result",
        "result_formats",
    )

    def __init__(
        self,
        prepared: Prepared,
        arguments: tuple[str | None, ...] = (),
        result_formats: tuple[int, ...] = (),
        mark: int = 0,
    ) -> None:
        self.prepared = prepared
        self.arguments = arguments
        self.result_formats = result_formats
        self.result: Result | None = None
        self.mark = mark
        self.done = False
        self.failed = False
        self._slices: Iterator[pa.RecordBatch] = iter(())
        self._rest: pa.RecordBatch | None = None
        self._closed = False
        self._waiting: Waiting | None = None
        self._size = 0

    def formats(self, columns: Sequence[Column]) -> tuple[int, ...]:
        """The format of each column."""
        given, count = len(self.result_formats), len(columns)
        mismatch = f"bind message has {given} result formats but query has {count} columns"
        return spread_formats(self.result_formats, count, mismatch)

    def close(self) -> None:
        """Let go of what it holds; again does nothing."""
        self.forget_arguments()
        if self.result is not None and not self._closed:
            self._closed = True
            self.result.close()

    def wait_with(self, waiting: Waiting, size: int) -> None:
        """Count its arguments until they are not needed any more."""
        self._waiting, self._size = waiting, size
        waiting.size += size

    def forget_arguments(self) -> None:
        """It has been run, and is run once only."""
        self.arguments = ()
        if self._waiting is not None:
            self._waiting.size -= self._size
            self._waiting = None

    def fail(self) -> None:
        """It cannot be run any more."""
        self.failed = True
        self.forget_arguments()
        self._slices, self._rest = iter(()), None
        self.close()

    def take_rest(self) -> list[pa.RecordBatch]:
        """What of the last batch was not sent; it is not kept here."""
        rest = [part for part in (self._rest, *self._slices) if part is not None]
        self._slices, self._rest = iter(()), None
        return rest

    def next_slice(self) -> Steps[pa.RecordBatch | None]:
        """The next rows in a portion that can be encoded at once; None after the last."""
        if self._rest is not None:
            part, self._rest = self._rest, None
            return part
        if self.result is None or self.result.batches is None:
            return None
        following = partial(_next_batch, self.result.batches)
        while True:
            part = next(self._slices, None)
            if part is not None:
                return part
            batch = yield from call(following)
            if batch is None:
                return None
            self._slices = slices(batch)

    def send_rows(self, columns: Sequence[Column], rows_max: int) -> Steps[int]:
        """Send rows, at most `rows_max` of them unless that is 0; how many there were.

        With fewer than `rows_max` there are no more: the portal is `done`.
        """
        formats = self.formats(columns)
        names = self.result.names if self.result else {}
        encode = partial(data_rows, columns=columns, formats=formats, names=names)
        sent = 0
        while not rows_max or sent < rows_max:
            part = yield from self.next_slice()
            if part is None:
                self.done = True
                break
            if rows_max and part.num_rows > rows_max - sent:
                self._rest = part.slice(rows_max - sent)
                part = part.slice(0, rows_max - sent)
            sent += part.num_rows
            yield Write((yield from encoded(self.result, part, encode)))
        return sent


async def _next_batch(batches: AsyncIterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    return await anext(batches, None)

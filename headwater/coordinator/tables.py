"""Writes to plain tables: change files and one append, at a timestamp of the oracle.

A write is durable and visible to the next read when the client is told: the
ledger's transaction comes first, then the floor of reads rises to it.  Writes go
one after another; a statement that reads what it changes (UPDATE, DELETE) keeps the
turn from its read to its append.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.coordinator.timestamps import Oracle
from headwater.core.change import DELETE, INSERT, OP, POSITION, SEQUENCE, FileEntry
from headwater.core.clock import unique_name
from headwater.core.errors import TransientError, UserError
from headwater.core.limits import WRITE_BYTES_MAX, WRITE_ROW_BYTES
from headwater.core.relation import Relation
from headwater.core.time import TIMESTAMP_END
from headwater.formats.arrow import change_schema
from headwater.observe.failpoints import failpoint
from headwater.persist.files import write_file
from headwater.persist.layout import change_file
from headwater.persist.ledger import TABLES, Ledger
from headwater.persist.ledger_tables import WriterState


class TableWrites:
    """The one writer of all plain tables."""

    def __init__(self, ledger: Ledger, data_dir: Path, oracle: Oracle) -> None:
        self._ledger = ledger
        self._data_dir = data_dir
        self._oracle = oracle
        self._writer: WriterState = ledger.open_writer(TABLES)
        self.turn = asyncio.Lock()
        self._doubtful = False  # the last append failed, and whether it is durable could not be asked
        self._in_flight_ts: int | None = None
        self._in_flight: frozenset[str] = frozenset()
        self._settled = asyncio.Condition()

    @property
    def last_ts(self) -> int:
        """The newest write's timestamp."""
        return self._writer.ts

    def create(self, collection_id: str, relation: Relation) -> None:
        """A new table, empty from now on."""
        ts = self._oracle.next_write()
        self._ledger.join(
            [(collection_id, "counted", relation, collection_id, None)], TABLES, ts, hydrated=True
        )
        self._oracle.show(ts)

    async def append(self, changes: Mapping[str, tuple[Relation, pa.Table]]) -> int:
        """Make changes of one or more tables durable at one timestamp; the caller has the turn."""
        await self.settled(TIMESTAMP_END)  # a write whose client has gone may still be under way
        ts = max(self._oracle.next_write(), self._writer.ts + 1)
        self._in_flight_ts, self._in_flight = ts, frozenset(changes)
        write = asyncio.ensure_future(self._commit(ts, changes))
        while True:
            try:
                return await asyncio.shield(write)
            except asyncio.CancelledError:
                # Too late: a thread cannot be stopped, and "cancelled" must mean that nothing was written.
                if write.cancelled():
                    raise

    async def _commit(self, ts: int, changes: Mapping[str, tuple[Relation, pa.Table]]) -> int:
        try:
            self._writer = await asyncio.to_thread(self._write, ts, changes)
            self._oracle.show(self._writer.ts)
        except TransientError as error:
            raise UserError(str(error), "58030", hint=error.hint) from error
        finally:
            self._in_flight_ts, self._in_flight = None, frozenset()
            async with self._settled:
                self._settled.notify_all()
        failpoint("tables.after_append")
        return ts

    def writing(self, collection_id: str) -> bool:
        """Whether a write of this table is under way."""
        return collection_id in self._in_flight

    async def settled(self, ts: int) -> None:
        """Until no write at or before `ts` is under way: a read there is then complete."""
        async with self._settled:
            await self._settled.wait_for(lambda: self._in_flight_ts is None or self._in_flight_ts > ts)

    def _write(self, ts: int, changes: Mapping[str, tuple[Relation, pa.Table]]) -> WriterState:
        writer = self._writer
        if self._doubtful:
            self._writer = writer = self._ledger.open_writer(TABLES)
            self._doubtful = False
            ts = max(ts, writer.ts + 1)
        files: dict[str, list[FileEntry]] = {}
        for collection_id, (relation, table) in changes.items():
            schema = change_schema(relation)
            path = change_file(collection_id, ts, 0, unique_name()[:8])
            stamped = _stamp(table, ts).select(schema.names).cast(schema)
            entry = write_file(self._data_dir, path, iter(stamped.to_batches()), schema)
            files[collection_id] = [entry]
        failpoint("tables.before_append")
        try:
            return self._ledger.append(TABLES, writer, ts, None, files)
        except TransientError:
            # Durable or not?  Asking as a new writer settles it: the old one cannot append any more.
            self._doubtful = True
            settled = self._ledger.open_writer(TABLES)
            self._writer, self._doubtful = settled, False
            if settled.ts != ts:
                raise
            return settled


def _stamp(table: pa.Table, ts: int) -> pa.Table:
    count = table.num_rows
    sequence = pa.array(np.arange(count, dtype=np.int64))
    position = pa.repeat(pa.scalar(ts, pa.int64()), count)
    return table.append_column(SEQUENCE, sequence).append_column(POSITION, position)


def inserted(table: pa.Table) -> pa.Table:
    """These rows come."""
    return table.append_column(OP, pa.repeat(pa.scalar(INSERT), table.num_rows))


def deleted(table: pa.Table) -> pa.Table:
    """These rows go."""
    return table.append_column(OP, pa.repeat(pa.scalar(DELETE), table.num_rows))


def written_size(rows: pa.Table | pa.RecordBatch) -> int:
    """What these take in memory while they are written."""
    return int(rows.nbytes) + WRITE_ROW_BYTES * int(rows.num_rows)


def check_written_size(size: int, table: str) -> None:
    """Refuse what could take the memory of all."""
    if size > WRITE_BYTES_MAX:
        raise UserError(
            f'cannot write more than {WRITE_BYTES_MAX >> 20} MiB of rows at once into table "{table}"',
            "53200",
            detail="They are in memory until all of them are durable.",
            hint="Write them in several parts, each in a transaction of its own.",
        )


def check_not_null(relation: Relation, table: pa.Table, name: str) -> None:
    """NOT NULL, column by column."""
    for column in relation.columns:
        if not column.nullable and pc.any(pc.is_null(table.column(column.name))).as_py():
            raise UserError(
                f'null value in column "{column.name}" of relation "{name}" violates not-null constraint',
                "23502",
                hint=f'Give "{column.name}" a value, or give the column a DEFAULT.',
            )

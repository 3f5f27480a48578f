"""Writes to plain tables: change files and one append, at a timestamp of the oracle.

A write is durable and visible to the next read when the client is told: the
ledger's transaction comes first, then the floor of reads rises to it.

Appends take turns.  A turn is short: nobody waits in it for anything but the disk.  What was computed
from plain tables is appended only if none of them has changed since it was read (`check_unchanged`);
that is asked in the turn, so the rows are what they would have been, had they been computed
at the timestamp of the append.  What decides is each table's newest append, which no fold forgets.

    compute          read at 104, no turn
    turn             newest append of each table read <= 104?   append at 109 : compute again, or 40001

Who was too late may `keep` tables while it computes again: others then wait before their turn, if they write
one of these.  It keeps all that it reads and writes, so that its own turn waits for nobody who keeps others.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.catalog.details import PlainTable
from headwater.catalog.state import Item
from headwater.coordinator.completion import to_the_end
from headwater.coordinator.timestamps import Oracle
from headwater.core.change import DELETE, INSERT, OP, SEQUENCE, TICK, FileEntry
from headwater.core.errors import TransientError, UserError
from headwater.core.limits import WRITE_BYTES_MAX, WRITE_ROW_BYTES
from headwater.core.relation import Relation
from headwater.formats.arrow import change_schema
from headwater.observe.failpoints import failpoint
from headwater.persist.files import write_file
from headwater.persist.layout import change_file, claim_name
from headwater.persist.ledger import TABLES, Accepted, Ledger, WriterState
from headwater.persist.store import DataStore


@dataclass(frozen=True, slots=True)
class Seen:
    """A plain table as somebody has read it."""

    ts: int
    name: str


@dataclass(frozen=True, slots=True)
class Meant:
    """A plain table as somebody has written to it."""

    name: str  # in full
    redefined_at: int  # since when that has been this table's


class WriteConflict(UserError):
    """A table is not what it was when it was read."""

    def __init__(self, table: str) -> None:
        super().__init__(
            f'could not serialize access due to concurrent update of table "{table}"',
            "40001",
            detail="It was changed after this transaction had read it.",
            hint="Run the transaction again.",
        )


def renamed_since(then: Meant, now: Meant) -> UserError:
    """Rows would go to a table under a name that they were not meant for."""
    return UserError(
        f'could not serialize access: table "{then.name}" was renamed or swapped after this transaction'
        " wrote to it",
        "40001",
        detail=f'It is called "{now.name}" now.',
        hint="Run the transaction again.",
    )


class TableWrites:
    """The one writer of all plain tables."""

    def __init__(self, ledger: Ledger, store: DataStore, oracle: Oracle) -> None:
        self._ledger = ledger
        self._store = store
        self._oracle = oracle
        self._writer: WriterState = ledger.open_writer(TABLES)
        self._claim = claim_name(ledger.incarnation, 0)  # the sweeper leaves alone what is this process's
        self._turn = asyncio.Lock()
        self._newest: dict[str, int] = {}  # by table: its last append, of those since the start
        self._kept: frozenset[str] = frozenset()
        self._freed = asyncio.Event()  # of now: whoever frees tables makes another one
        self._doubt: tuple[int, frozenset[str]] | None = (
            None  # an append of which nobody knows if it is durable
        )
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

    # Turns

    @asynccontextmanager
    async def turn(self, written: frozenset[str], mine: frozenset[str] = frozenset()) -> AsyncIterator[None]:
        """The right to append rows of these tables; `mine` are those that the caller keeps."""
        while True:
            while self.kept(written - mine):
                await self._freed.wait()
            async with self._turn:
                if self.kept(written - mine):
                    continue
                if self._doubt is not None:
                    await self._resolve_doubt()
                yield
                return

    def kept(self, ids: frozenset[str]) -> bool:
        """Whether somebody keeps others from writing one of these."""
        return not self._kept.isdisjoint(ids)

    @asynccontextmanager
    async def keep(self, ids: frozenset[str]) -> AsyncIterator[None]:
        """Nobody else writes these meanwhile.  All or none are taken, so that no two wait for each other."""
        while self.kept(ids):
            await self._freed.wait()
        self._kept |= ids
        try:
            yield
        finally:
            self._kept -= ids
            self._freed.set()
            self._freed = asyncio.Event()

    def check_unchanged(self, seen: Mapping[str, Seen]) -> None:
        """Whether these tables are what they were; the caller has the turn."""
        for id_, table in seen.items():
            if self._newest.get(id_, 0) > table.ts:
                raise WriteConflict(table.name)

    # Appends

    async def append(
        self,
        changes: Mapping[str, tuple[Relation, pa.Table]],
        accepted: Mapping[str, Accepted] = MappingProxyType({}),
    ) -> int:
        """Make changes of one or more tables durable at one timestamp; the caller has the turn.

        `accepted` is what the ledger is to remember of the requests they are from.

        A thread cannot be stopped, and "cancelled" must mean that nothing was written: so this
        goes on to its end, whoever cancels.
        """
        ts = max(self._oracle.next_write(), self._writer.ts + 1)
        self._in_flight_ts, self._in_flight = ts, frozenset(changes)
        return await to_the_end(self._commit(ts, changes, accepted))

    async def _commit(
        self,
        ts: int,
        changes: Mapping[str, tuple[Relation, pa.Table]],
        accepted: Mapping[str, Accepted],
    ) -> int:
        try:
            self._writer = await asyncio.to_thread(self._write, ts, changes, accepted)
            self._written(ts, changes)
        except TransientError as error:
            raise UserError(str(error), "58030", hint=error.hint) from error
        finally:
            self._in_flight_ts, self._in_flight = None, frozenset()
            async with self._settled:
                self._settled.notify_all()
        failpoint("tables.after_append")
        return ts

    def _written(self, ts: int, ids: Iterable[str]) -> None:
        self._newest.update(dict.fromkeys(ids, ts))
        self._oracle.show(ts)

    async def _resolve_doubt(self) -> None:
        """The last append failed and its outcome could not be asked: it is, before anybody goes on."""
        ts, ids = self._doubt or (0, frozenset())
        try:
            self._writer = await asyncio.to_thread(self._ledger.open_writer, TABLES)
        except TransientError as error:
            raise UserError(str(error), "58030", hint=error.hint) from error
        self._doubt = None
        if self._writer.ts == ts:
            self._written(ts, ids)

    def writing(self, collection_id: str) -> bool:
        """Whether a write of this table is under way."""
        return collection_id in self._in_flight

    async def settled(self, ts: int) -> None:
        """Until no write at or before `ts` is under way: a read there is then complete."""
        async with self._settled:
            await self._settled.wait_for(lambda: self._in_flight_ts is None or self._in_flight_ts > ts)

    def forget(self, collection_id: str) -> None:
        """The table is gone."""
        self._newest.pop(collection_id, None)

    def _write(
        self,
        ts: int,
        changes: Mapping[str, tuple[Relation, pa.Table]],
        accepted: Mapping[str, Accepted],
    ) -> WriterState:
        files: dict[str, list[FileEntry]] = {}
        try:
            for collection_id, (relation, table) in changes.items():
                schema = change_schema(relation)
                path = change_file(collection_id, ts, 0, self._claim)
                stamped = _stamp(table, ts).select(schema.names).cast(schema)
                entry = write_file(self._store, path, iter(stamped.to_batches()), schema)
                files[collection_id] = [entry]
            failpoint("tables.before_append")
        except BaseException:
            self._discard(files)
            raise
        try:
            return self._ledger.append(TABLES, self._writer, ts, None, files, accepted=accepted)
        except TransientError as error:
            return self._outcome(ts, files, error)

    def _outcome(
        self, ts: int, files: Mapping[str, Sequence[FileEntry]], error: TransientError
    ) -> WriterState:
        """Durable or not?  Asking as a new writer settles it: the old one cannot append any more."""
        try:
            self._writer = self._ledger.open_writer(TABLES)
        except TransientError:
            self._doubt = (ts, frozenset(files))
            raise UserError(
                f"it is not known whether the rows were written: {error}",
                "08007",
                hint="Look whether they are there before you write them again.",
            ) from error
        if self._writer.ts != ts:
            self._discard(files)
            raise error
        return self._writer

    def _discard(self, files: Mapping[str, Sequence[FileEntry]]) -> None:
        """No row will name these; best effort, since the next environment's begin gives them up too."""
        with suppress(OSError):
            self._store.remove(*(file.path for written in files.values() for file in written))


def _stamp(table: pa.Table, ts: int) -> pa.Table:
    count = table.num_rows
    sequence = pa.array(np.arange(count, dtype=np.int64))
    tick = pa.repeat(pa.scalar(ts, pa.int64()), count)
    return table.append_column(SEQUENCE, sequence).append_column(TICK, tick)


def written(table: Item) -> bool:
    """Whether statements write it.  What sources and webhooks bring comes at any time: it is no transaction
    of ours, and whoever waited until none comes would wait for ever, or let them wait."""
    return isinstance(table.details, PlainTable)


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

"""Snapshots of tables: rows as of one set of transactions, read by several sessions by ranges of keys.

    prepare    ranges of keys that have about as many rows; sessions that will read
    take       for a moment nobody may write to the tables (LOCK TABLES .. READ); what has been committed then
               is asked for, and the sessions begin transactions that show just that
    chunks     ranges of keys of each table; a table without a key is one
    Reading    in a Spark task: a query by way of the relay, whose answer is taken apart by columns

With the lock nobody is in the middle of a commit to these tables, so that the transactions that were
committed by then are those that the sessions show; the stream leaves these out.

If the process dies the sessions are gone.  A table with a key goes on all the same: ranges that were not read
yet are read at a later moment, and whatever has changed since the first one is in the stream, with its key
and as a whole, and wins.

Not here: leaving out of the stream what a snapshot shows (decode.py).
"""

from __future__ import annotations

import socket
from collections.abc import Generator, Iterator, Mapping, Sequence, Set
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pymysql.connections import Connection

from headwater.core.change import FLAWS, Received
from headwater.core.errors import DefiniteError, TransientError
from headwater.core.frontier import Frontier
from headwater.core.limits import (
    MYSQL_RELAY_WAIT_S_MAX,
    MYSQL_RESULT_BYTES,
    MYSQL_SNAPSHOT_LOCK_S_MAX,
    MYSQL_SNAPSHOT_SESSIONS,
    SNAPSHOT_CHUNK_ROWS,
)
from headwater.core.points import Point, Read
from headwater.core.quoting import backquoted
from headwater.formats.arrow import state_schema
from headwater.sources.contract import Export, Options, ReadChunk, Secrets, SnapshotChunk, Taken
from headwater.sources.flawed import RowFlaws
from headwater.sources.mysql.connection import close, connect, waited_on
from headwater.sources.mysql.facts import ColumnFacts
from headwater.sources.mysql.frontier import GtidFrontier, gtids_of
from headwater.sources.mysql.gtid import parse_gtids
from headwater.sources.mysql.ranges import Bounds, bounds_of, condition
from headwater.sources.mysql.relay import DONE, LENGTH, Relay
from headwater.sources.mysql.results import Refusal, answer
from headwater.sources.mysql.server import check_place, place_of
from headwater.sources.mysql.statements import Name
from headwater.sources.mysql.trouble import AGAIN, DRIVER_ERRORS, NAMESPACE, NO_PRIVILEGE, code_of, trouble
from headwater.sources.mysql.values import printed, selected
from headwater.sources.mysql.watch import table_of

_LOCK_TIMEOUT, _NO_TABLE, _NO_COLUMN = 1205, 1146, 1054
_LOCKED: Final = (
    "A transaction upstream has written to one of the tables and is still open: see"
    " information_schema.innodb_trx there. It is tried again."
)
_ELSEWHERE: Final = (
    f"{NAMESPACE}: a task on {{}} cannot read the snapshot, whose sessions are lent out on {{}} alone"
)
_ONE_MACHINE: Final = (
    "MySQL sources need a Spark whose executors run on the machine of its driver: --spark-master local[*]."
)
_FORBIDDEN: Final = "In the upstream: GRANT SELECT, LOCK TABLES ON `{}`.* TO {}"
_EXECUTED: Final = {"mysql": "SELECT @@global.gtid_executed", "mariadb": "SELECT @@global.gtid_binlog_pos"}


@dataclass(frozen=True, slots=True)
class Range:
    """A query for some rows of a table, and where it is to be asked."""

    query: str
    relay: str
    machine: str  # where that is


class MysqlPoint:
    """Sessions upstream that show several tables as of one moment."""

    def __init__(self, options: Options, secrets: Secrets, exports: tuple[Export, ...]) -> None:
        self._options = options
        self._secrets = secrets
        self._exports = exports
        self._holder = connect(options["connection"], secrets)
        self._sessions: list[Connection[Any]] = []
        self._relay: Relay | None = None
        try:
            self._bounds = {
                export.table_id: bounds_of(self._holder, export, SNAPSHOT_CHUNK_ROWS) for export in exports
            }
            chunks = sum(len(found.keys) + 1 for found in self._bounds.values())
            place = place_of(self._holder)
            for _ in range(min(MYSQL_SNAPSHOT_SESSIONS, chunks)):
                session = connect(options["connection"], secrets)
                self._sessions.append(session)
                check_place(session, place)
            self._run(f"SET SESSION lock_wait_timeout = {MYSQL_SNAPSHOT_LOCK_S_MAX}")
        except DRIVER_ERRORS as error:
            self.close()
            raise self._trouble(error) from error
        except BaseException:
            self.close()
            raise

    def _run(self, query: str) -> str:
        with self._holder.cursor() as cursor:
            cursor.execute(query)
            row = cursor.fetchone()
        return str(row[0]) if row else ""

    def take(self, frontier: Frontier, before: Mapping[str, Read], rows: int) -> Taken:
        tables = sorted({table_of(export) for export in self._exports})
        flavour = self._options["flavour"]
        try:
            self._run("LOCK TABLES " + ", ".join(f"{quoted(table)} READ" for table in tables))
            try:
                gtids = self._run(_EXECUTED[flavour]).replace("\n", "")
                for session in self._sessions:
                    with session.cursor() as cursor:
                        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
            finally:
                self._run("UNLOCK TABLES")
        except DRIVER_ERRORS as error:
            raise self._trouble(error) from error
        if not GtidFrontier(gtids_of(frontier)) <= GtidFrontier(parse_gtids(flavour, gtids)):
            raise TransientError(f"{NAMESPACE}: the server has not all that was read of it", AGAIN)
        self._relay = Relay(self._sessions, self._unheard)
        points: dict[str, Read] = {}
        kept: set[str] = set()
        for export in self._exports:
            id_ = export.table_id
            if id_ in before and export.discipline == "keyed":
                points[id_] = Read({**before[id_].at, "until": gtids}, before[id_].seen)
                kept.add(id_)
            else:
                bounds = self._bounds[id_].to_json()
                at = {"flavour": flavour, "gtids": gtids, "until": gtids, **bounds}
                points[id_] = Read(at, {"flavour": flavour, "gtids": gtids})
        return Taken(points, frozenset(kept))

    def _unheard(self, session: Connection[Any]) -> str | None:
        return waited_on(session, self._options["connection"], self._secrets).unheard()

    def _trouble(self, error: BaseException) -> TransientError:
        code = code_of(error)
        if code == _LOCK_TIMEOUT:
            return trouble(error, _LOCKED)
        if code in NO_PRIVILEGE:
            schema = table_of(self._exports[0])[0]
            return trouble(error, _FORBIDDEN.format(schema, self._options["connection"]["user"]))
        return trouble(error)

    def settle(self) -> None:
        """What was committed is in the log."""

    def chunks(self, export: Export, point: Point, done: Set[int]) -> tuple[SnapshotChunk, ...]:
        if self._relay is None:
            raise TransientError(f"{NAMESPACE}: the snapshot is not there any more", AGAIN)
        bounds = Bounds.from_json(point.at)
        columns = [ColumnFacts.from_json(column) for column in export.pinned.columns]
        asked = [
            selected(column, pinned["text"])
            for column, pinned in zip(columns, export.pinned.columns, strict=True)
        ]
        query = f"SELECT {', '.join(asked) or '1'} FROM {quoted(table_of(export))}"
        return tuple(
            SnapshotChunk(
                *(NAMESPACE, self._options, point, export, index, bounds.rows // (len(bounds.keys) + 1)),
                Range(query + condition(bounds, index), self._relay.address, socket.gethostname()),
            )
            for index in range(len(bounds.keys) + 1)
            if index not in done
        )

    def held(self) -> None:
        """Some of the sessions were there to the end; what was read of others was read of the same moment."""
        if self._relay is None or not self._relay.whole:
            raise TransientError(f"{NAMESPACE}: the sessions of the snapshot were lost", AGAIN)

    def close(self) -> None:
        if self._relay is not None:
            self._relay.close()
        for session in self._sessions:
            session._force_close()
        close(self._holder)


def quoted(name: Name) -> str:
    """A table's name in statements."""
    return ".".join(map(backquoted, name))


def covers(frontier: Frontier, at: Any) -> bool:
    """Whether the source has read everything that the snapshot shows."""
    return GtidFrontier(parse_gtids(at["flavour"], at["until"])) <= GtidFrontier(gtids_of(frontier))


class Reading:
    """Chunks one after the other, over one way to the relay as long as they are of one snapshot."""

    def __init__(self, secrets: Secrets) -> None:
        self._way: socket.socket | None = None
        self._address = ""

    def __enter__(self) -> ReadChunk:
        return self._read

    def __exit__(self, *_: object) -> None:
        self._close()

    def _read(self, chunk: SnapshotChunk) -> Iterator[pa.RecordBatch | Received]:
        # Whatever becomes of the rows: the way is not gone again with some of them left in it.
        with closing(self._columns(chunk)) as columns:
            for arrays in columns:
                yield from _stored(chunk, arrays)

    def _columns(self, chunk: SnapshotChunk) -> Generator[Sequence[pa.Array], None, None]:
        """As they come."""
        asked: Range = chunk.details
        _check_machine(asked.machine)
        width = max(len(chunk.export.pinned.columns), 1)
        try:
            way = self._to(asked.relay)
            query = asked.query.encode()
            way.sendall(LENGTH.pack(len(query)) + query)
            yield from answer(lambda size: _some(way, size), width)
            way.sendall(DONE)
        except Refusal as error:
            self._close()
            raise _refused(chunk, error) from error
        except (OSError, EOFError) as error:
            self._close()
            raise TransientError(f"{NAMESPACE}: a session of the snapshot was lost", AGAIN) from error
        except BaseException:
            self._close()
            raise

    def _to(self, address: str) -> socket.socket:
        if self._way is None or self._address != address:
            self._close()
            self._way, self._address = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), address
            self._way.settimeout(MYSQL_RELAY_WAIT_S_MAX)
            self._way.connect(address)
        return self._way

    def _close(self) -> None:
        if self._way is not None:
            self._way.close()
            self._way = None


def _check_machine(machine: str) -> None:
    """Before the way to the relay is looked for where it cannot be."""
    here = socket.gethostname()
    if here != machine:
        raise TransientError(_ELSEWHERE.format(here, machine), _ONE_MACHINE)


def _some(way: socket.socket, size: int) -> bytes:
    data = way.recv(min(size, MYSQL_RESULT_BYTES))
    if not data:
        raise EOFError
    return data


def _refused(chunk: SnapshotChunk, error: Refusal) -> DefiniteError | TransientError:
    schema, table = table_of(chunk.export)
    if error.code == _NO_TABLE:
        return _definite(chunk, f"table was dropped: `{schema}`.`{table}`")
    if error.code == _NO_COLUMN:
        return _definite(chunk, f"incompatible schema change: {error.args[1]}")
    if error.code in NO_PRIVILEGE:
        user = chunk.options["connection"]["user"]
        return TransientError(f"{NAMESPACE}: {error.args[1]}", _FORBIDDEN.format(schema, user))
    return TransientError(f"{NAMESPACE}: {error.args[1]}", AGAIN)


def _definite(chunk: SnapshotChunk, message: str) -> DefiniteError:
    return DefiniteError(".".join(chunk.export.reference), str(chunk.point.at["until"]), message)


def _stored(chunk: SnapshotChunk, arrays: Sequence[pa.Array]) -> Iterator[pa.RecordBatch | Received]:
    export = chunk.export
    made, flaws = [], RowFlaws(export)
    for position, column in enumerate(export.relation.columns):
        values, found = printed(arrays[position], column.type)
        flaws.add(position, found)
        made.append(values)
    told = flaws.columns(len(arrays[0]), lambda _: str(chunk.point.at["until"]))
    fields = [*state_schema(export.kept), *([pa.field(FLAWS, pa.string())] if flaws else [])]
    batch = pa.RecordBatch.from_arrays([*made, *told], schema=pa.schema(fields))
    yield batch
    yield Received(batch.num_rows, batch.nbytes, flaws.defects)

"""Snapshots of tables: rows as of one moment, read in parallel by ranges of pages.

    prepare    a transaction that keeps the tables as they are (ACCESS SHARE: no TRUNCATE, no rewrite)
    take       its snapshot is taken and exported; quick, and no other transaction is waited for
    chunks     ranges of pages of each table or partition
    Reading    in a Spark task: imports the snapshot, COPY in binary to Arrow, typed columns

Nothing is asked of the replication slot.  The stream says the number of each transaction,
and a snapshot says of each number whether it shows it; so a change is in exactly one of
the two, whatever the order in which commits became visible (docs/decisions).  What the stream
has had before the tables join shows: nothing is read before it does.

If the process dies the exported snapshot is gone.  A table with a key goes on all the same:
the stream leaves out what the first snapshot shows, pages that were not read yet are read at a
new one, and in the pages that were read the rows of later transactions are read again.  What has
changed since the first snapshot is in the stream too, and wins.

Not here: leaving out of the stream what a snapshot shows (decode.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import adbc_driver_manager
import adbc_driver_postgresql.dbapi as adbc
import psycopg
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.calendar import (
    DAY_INFINITE,
    DAY_MIN,
    DAY_US,
    DAYS_1970_TO_2000,
    DAYS_OF_400_YEARS,
    MOMENT_INFINITE,
)
from headwater.core.change import FLAWS, Received
from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import DefiniteError, TransientError, UserError
from headwater.core.flaws import Flaw
from headwater.core.frontier import Frontier
from headwater.core.limits import (
    SNAPSHOT_LOCK_S_MAX,
    SNAPSHOT_SETTLE_CHECK_S,
    SNAPSHOT_SETTLE_S_MAX,
    SNAPSHOT_YIELD_S_MAX,
)
from headwater.core.points import Point, Read
from headwater.core.quoting import quoted
from headwater.core.types import SqlType
from headwater.formats.arrow import arrow_type, state_schema
from headwater.formats.text import to_text
from headwater.sources.contract import Export, Options, ReadChunk, Secrets, SnapshotChunk, Taken
from headwater.sources.flawed import RowFlaws, as_far
from headwater.sources.postgres.connection import PORT_DEFAULT, conninfo
from headwater.sources.postgres.facts import another_system
from headwater.sources.postgres.flaws import check_text, printed, typed
from headwater.sources.postgres.frontier import PAGE_BYTES, LsnFrontier, last_end, lsn_of, lsn_text
from headwater.sources.postgres.reader import SOURCE_TYPE
from headwater.sources.postgres.session_settings import UNCHECKED_TEXT, settings_query, startup_options
from headwater.sources.postgres.silence import Session, bounded, listening, sockets_to
from headwater.sources.postgres.slot import reach
from headwater.sources.postgres.trouble import AGAIN, trouble
from headwater.sources.postgres.visibility import Snapshot
from headwater.sources.postgres.watch import TREE, first_seen

_AS_IT_IS: Final = frozenset(
    ("bool", "int2", "int4", "int8", "float4", "float8", "text", "varchar", "char", "bytea")
)
"""Types whose Arrow form is the stored one."""
_PAGES_MIN: Final = 512
_PAGES_MAX: Final = 32_768
"""Of a chunk, whatever its rows: 4 MiB at least, 256 MiB at most, which a death may make to be read again."""


@dataclass(frozen=True, slots=True)
class PageRange:
    """Pages [start, end) of one table or partition, as an exported snapshot shows them."""

    schema: str
    table: str
    start: int
    end: int
    snapshot: str
    since: int | None = None  # only rows of this transaction and later ones


@dataclass(frozen=True, slots=True)
class Leaf:
    """A table with rows of its own: the export's, or one of its partitions."""

    schema: str
    table: str
    file: int  # TRUNCATE and rewrites give it another
    pages: int
    rows: int


class PostgresPoint:
    """A transaction upstream in which several tables are read."""

    def __init__(self, options: Options, secrets: Secrets, exports: tuple[Export, ...]) -> None:
        self._options = options
        self._secrets = secrets
        self._holder = reach(options, secrets)
        self._exports = exports
        self._snapshot = ""
        self._until = 0
        self._leaves: dict[int, dict[int, Leaf]] = {}  # by oid of the export's table, by oid
        try:
            # Each statement has a snapshot of its own; those that are exported are kept to the end.
            self._ask("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY")
            self._check_server()
            self._ask(f"SET LOCAL lock_timeout = '{SNAPSHOT_LOCK_S_MAX}s'")
            # Locks come before the snapshot: what changes the tables' files is then before or after both.
            for reference in {
                export.pinned.reference["oid"]: export.pinned.reference for export in exports
            }.values():
                self._lock(reference)
            self._check_published()
        except psycopg.Error as error:
            self.close()
            raise trouble(error) from error
        except BaseException:
            self.close()
            raise

    def _check_server(self) -> None:
        """Rows of another server are no rows of the source, although tables may have the same names there."""
        row = self._ask("SELECT system_identifier::text FROM pg_control_system()").fetchone()
        wanted = str(self._options["identity"]["system_id"])
        if row is not None and row[0] != wanted:
            raise TransientError(
                f"postgres: {another_system(wanted, row[0])}",
                "Let the connection lead to the server that the source was made with.",
            )

    def _lock(self, reference: Mapping[str, Any]) -> None:
        only = "ONLY " if reference["relkind"] == "r" else ""
        schema, table = reference["schema"], reference["table"]
        try:
            self._ask(f"LOCK TABLE {only}{_name(schema, table)} IN ACCESS SHARE MODE")
        except psycopg.Error as error:
            raise trouble(error, _hint(error, self._options, schema, table)) from error

    def _check_published(self) -> None:
        """All changes from now on will be in the stream, as when the tables were made."""
        name = self._options["publication"]
        row = self._ask(_LEFT_OUT, {"publication": name}).fetchone()
        known = set.intersection(*(set(export.pinned.reference["left_out"]) for export in self._exports))
        left_out = [] if row is None else [operation for operation in row[0] if operation not in known]
        if left_out:
            raise TransientError(
                f'postgres: publication "{name}" does not publish {", ".join(left_out)} any more',
                f"In the upstream: ALTER PUBLICATION {_name(name)}"
                " SET (publish = 'insert, update, delete, truncate')",
            )
        oids = sorted({export.pinned.reference["oid"] for export in self._exports})
        for schema, table in self._ask(_UNLOGGED, {"oids": oids}):
            raise TransientError(
                f"postgres: table {schema}.{table} is UNLOGGED, and its changes cannot be followed",
                f"In the upstream: ALTER TABLE {_name(schema, table)} SET LOGGED",
            )

    def _ask(self, text: str, values: Mapping[str, Any] | None = None) -> psycopg.Cursor[Any]:
        with bounded(self._holder):
            return self._holder.execute(text.encode(), values)

    def take(self, frontier: Frontier, before: Mapping[str, Read], rows: int) -> Taken:
        roots = sorted({export.pinned.reference["oid"] for export in self._exports})
        try:
            # Before the snapshot: what happens between the two is then noticed by the next look.
            with bounded(self._holder):
                seen = first_seen(self._holder, self._options["publication"], self._exports)
            exported, shows, written = self._export()
            leaves = self._ask(_LEAVES, {"oids": roots}).fetchall()
        except psycopg.Error as error:
            raise trouble(error) from error
        self._snapshot = exported
        for root, oid, *facts in leaves:
            self._leaves.setdefault(root, {})[oid] = Leaf(*facts)
        self._until = until = last_end(lsn_of(written))
        points: dict[str, Read] = {}
        kept: set[str] = set()
        for export in self._exports:
            id_ = export.table_id
            now = self._leaves.get(export.pinned.reference["oid"], {})
            if id_ in before and export.discipline == "keyed" and _files(before[id_].at) == _files_of(now):
                points[id_] = Read({**before[id_].at, "until": until, "again": True}, before[id_].seen)
                kept.add(id_)
            else:
                listed = [
                    [oid, leaf.file, leaf.pages, leaf.rows, _step(leaf.pages, leaf.rows, rows)]
                    for oid, leaf in now.items()
                ]
                at = {"snapshot": shows, "until": until, "leaves": listed}
                points[id_] = Read(at, seen.get(id_, {}))
        return Taken(points, frozenset(kept))

    def _export(self) -> tuple[str, str, str]:
        """(name of a snapshot, what it shows, where the log ends)"""
        row = self._ask(
            "SELECT pg_export_snapshot(), pg_current_snapshot()::text, pg_current_wal_insert_lsn()::text"
        ).fetchone()
        if row is None:
            raise TransientError("postgres: the server gave no snapshot", AGAIN)
        exported, shows, written = row
        return exported, shows, written

    def settle(self) -> None:
        """The log is on disk as far as the snapshot shows anything of it.

        With synchronous_commit = off a transaction shows before it is; and a log that nobody waits for
        stays in memory, from where it is not sent either.  A commit makes the server write it soon.
        """
        deadline_s = SYSTEM_CLOCK.monotonic_s() + SNAPSHOT_SETTLE_S_MAX
        beside = reach(self._options, self._secrets)
        try:
            with bounded(beside):
                beside.execute("SELECT pg_current_xact_id()")
            while SYSTEM_CLOCK.monotonic_s() < deadline_s:
                with bounded(beside):
                    row = beside.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone()
                if row is not None and lsn_of(row[0]) >= self._until:
                    return
                SYSTEM_CLOCK.sleep(SNAPSHOT_SETTLE_CHECK_S)
        except psycopg.Error as error:
            raise trouble(error) from error
        finally:
            beside.close()
        raise TransientError("postgres: the server does not write its log to disk", AGAIN)

    def chunks(self, export: Export, point: Point, done: Set[int]) -> tuple[SnapshotChunk, ...]:
        at = point.at
        leaves = self._leaves.get(export.pinned.reference["oid"], {})
        planned = [
            (leaves[oid], start, end, share)
            for oid, _, pages, tuples, step in at["leaves"]
            for start, end, share in _ranges(pages, tuples, step)
        ]
        found = [
            SnapshotChunk(
                *(SOURCE_TYPE, self._options, point, export, index, share),
                PageRange(leaf.schema, leaf.table, start, end, self._snapshot),
            )
            for index, (leaf, start, end, share) in enumerate(planned)
            if index not in done
        ]
        if at.get("again"):
            since = Snapshot.from_text(at["snapshot"]).xmin
            read = [(leaf, start, end) for n, (leaf, start, end, _) in enumerate(planned) if n in done]
            # Pages that a table has got since were written since.
            read += [(leaves[oid], pages, leaves[oid].pages) for oid, _, pages, *_ in at["leaves"]]
            found += [
                SnapshotChunk(
                    *(SOURCE_TYPE, self._options, point, export, -1 - n, 0),
                    PageRange(leaf.schema, leaf.table, start, end, self._snapshot, since),
                )
                for n, (leaf, start, end) in enumerate(read)
                if start < end
            ]
        return tuple(found)

    def held(self) -> None:
        """Its session was there to the end: without its locks a table may have been rewritten meanwhile.

        Rows that were rewritten do not show to a snapshot from before, as if there were none.
        """
        try:
            self._ask("SELECT 1")
        except psycopg.Error as error:
            raise trouble(error) from error

    def close(self) -> None:
        self._holder.close()


_LOCKED: Final = "A statement upstream may hold a lock on one of the tables; see pg_locks there."


def _hint(error: Exception, options: Options, schema: str, table: str) -> str:
    """What lets a table be read that could not be."""
    sqlstate = getattr(error, "sqlstate", None)
    if sqlstate == "55P03":
        return _LOCKED
    if sqlstate != "42501":
        return AGAIN
    name, user = _name(schema, table), _name(options["connection"]["user"])
    if "permission denied" in str(error):
        return (
            f"In the upstream: GRANT USAGE ON SCHEMA {_name(schema)} TO {user};"
            f" GRANT SELECT ON {name} TO {user}"
        )
    return (
        f"Row security hides rows of it. In the upstream: ALTER ROLE {user} BYPASSRLS;"
        f" or, if that user is the owner: ALTER TABLE {name} NO FORCE ROW LEVEL SECURITY"
    )


_LEFT_OUT: Final = """
SELECT array_remove(ARRAY[
    CASE WHEN NOT pubinsert THEN 'insert' END, CASE WHEN NOT pubupdate THEN 'update' END,
    CASE WHEN NOT pubdelete THEN 'delete' END, CASE WHEN NOT pubtruncate THEN 'truncate' END
], NULL) FROM pg_publication WHERE pubname = %(publication)s
"""

_UNLOGGED: Final = f"""{TREE}
SELECT n.nspname, c.relname FROM tree JOIN pg_class c ON c.oid = tree.oid AND c.relkind = 'r'
JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relpersistence = 'u' LIMIT 1
"""

_LEAVES: Final = f"""{TREE}
SELECT tree.root, c.oid, n.nspname, c.relname, pg_relation_filenode(c.oid)::int8,
       (pg_relation_size(c.oid) / current_setting('block_size')::int)::int8, greatest(c.reltuples, 0)::int8
FROM tree JOIN pg_class c ON c.oid = tree.oid AND c.relkind = 'r'
JOIN pg_namespace n ON n.oid = c.relnamespace
ORDER BY c.oid
"""


def _files(at: Any) -> dict[int, int]:
    """By oid: the files in which the rows of a table were at a point."""
    return {oid: file for oid, file, *_ in at["leaves"]}


def _files_of(leaves: Mapping[int, Leaf]) -> dict[int, int]:
    return {oid: leaf.file for oid, leaf in leaves.items()}


def _per_page(pages: int, tuples: int) -> float:
    return max(tuples / pages, 1) if tuples and pages else PAGE_BYTES / 100


def _step(pages: int, tuples: int, rows: int) -> int:
    """How many pages are about `rows` rows, and not too many or too few to be worth a chunk.

    Chunks of a table are of one size: with a small one at its end others would wait for the one before.
    """
    most = min(max(_PAGES_MIN, int(rows / _per_page(pages, tuples))), _PAGES_MAX)
    return max(_PAGES_MIN, -(-pages // max(-(-pages // most), 1)))


def _ranges(pages: int, tuples: int, step: int) -> list[tuple[int, int, int]]:
    """(first page, page after the last, rows in it as far as known) of chunks of `step` pages."""
    if pages == 0:
        return []
    cuts = [*range(0, pages, step), pages]
    known = tuples or int(pages * _per_page(pages, tuples))
    return [(start, end, known * (end - start) // pages) for start, end in pairwise(cuts)]


def covers(frontier: Frontier, at: Any) -> bool:
    """Whether the source has read everything that the snapshot shows."""
    return isinstance(frontier, LsnFrontier) and frontier.lsn >= at["until"]


class Reading:
    """Chunks one after the other, over one connection as long as they are of one snapshot."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._connection: Any = None
        self._of: tuple[str, str] = ("", "")  # the upstream and the snapshot that it shows
        self._session: Session | None = None

    def __enter__(self) -> ReadChunk:
        return self._read

    def __exit__(self, *_: object) -> None:
        self._close()

    def _read(self, chunk: SnapshotChunk) -> Iterator[pa.RecordBatch | Received]:
        pages: PageRange = chunk.details
        for batch in self._batches(chunk, pages):
            yield from _stored(chunk, pages, batch)

    def _batches(self, chunk: SnapshotChunk, pages: PageRange) -> Iterator[pa.RecordBatch]:
        """As they come."""
        try:
            session = self._connected(chunk, pages)
            with self._connection.cursor() as cursor:
                with listening(session):
                    cursor.execute(_query(chunk.export, pages))
                    batches = cursor.fetch_record_batch()
                while True:
                    with listening(session):
                        batch = next(batches, None)
                    if batch is None:
                        return
                    if batch.num_rows:
                        yield batch
        # A stream that ends is Arrow's OSError, one that the driver does not understand Arrow's own.
        except (adbc_driver_manager.Error, OSError, pa.ArrowException) as error:
            raise trouble(error, _hint(error, chunk.options, pages.schema, pages.table)) from error

    def _connected(self, chunk: SnapshotChunk, pages: PageRange) -> Session:
        # Who wants to change the table waits for the snapshot's own lock, and we would wait for them.
        own = {"lock_timeout": f"{SNAPSHOT_YIELD_S_MAX}s"}
        text = conninfo(chunk.options["connection"], self._secrets, options=startup_options(**own))
        if self._session is not None and self._of == (text, pages.snapshot):
            return self._session
        self._close()
        port = chunk.options["connection"].get("port", PORT_DEFAULT)
        before = sockets_to(port)
        session = Session(text, 0, lambda: sockets_to(port) - before)
        with listening(session):
            self._connection, self._of = adbc.connect(text, autocommit=True), (text, pages.snapshot)
        with self._connection.cursor() as cursor, listening(session):
            cursor.execute(settings_query(UNCHECKED_TEXT, "pg_catalog.pg_backend_pid()", **own))
            (row,) = cursor.fetchall()
            self._connection.adbc_connection.set_autocommit(False)
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            cursor.execute(f"SET TRANSACTION SNAPSHOT '{pages.snapshot}'")
        self._session = replace(session, pid=row[-1])
        return self._session

    def _close(self) -> None:
        if self._connection is not None:
            connection, self._connection, self._session = self._connection, None, None
            with suppress(adbc_driver_manager.Error, OSError):
                connection.close()


def _query(export: Export, pages: PageRange) -> str:
    columns = ", ".join(
        _selected(column["name"], sql_column.type, column["text"])
        for column, sql_column in zip(export.pinned.columns, export.relation.columns, strict=True)
    )
    row_filter = export.pinned.reference.get("row_filter")
    where = f" AND ({row_filter})" if row_filter else ""
    if pages.since is not None:
        where += f" AND age(xmin) <= age('{pages.since % 2**32}'::xid)"
    # With nothing selected COPY would have no columns to tell rows apart by.
    return (
        f"SELECT {columns or 'true'} FROM ONLY {_name(pages.schema, pages.table)}"
        f" WHERE ctid >= '({pages.start},0)'::tid AND ctid < '({pages.end},0)'::tid{where}"
    )


def _selected(name: str, type_: SqlType, as_text: bool) -> str:
    column = quoted(name)
    if as_text:
        # As the stream prints it: a cast to text is another function for some types (inet, boolean).  A
        # composite value with a NULL in it is neither NULL nor NOT NULL, but it is distinct from NULL.
        return f"CASE WHEN {column} IS DISTINCT FROM NULL THEN format('%s', {column}) END"
    return column if _arrives_typed(type_) else f"{column}::text"


def _arrives_typed(type_: SqlType) -> bool:
    if type_.kind == "numeric":
        # With a scale it has a thousand digits at most.  The driver counts digits by fours in 16 bits with a
        # sign: of a number that has more than 131,068 it makes 0, and loses its place in the row.
        return type_.scale is not None
    return type_.kind in _AS_IT_IS or type_.kind in ("date", "timestamp", "timestamptz")


def _stored(
    chunk: SnapshotChunk, pages: PageRange, batch: pa.RecordBatch
) -> Iterator[pa.RecordBatch | Received]:
    export = chunk.export
    _check_nulls(export, pages, batch)
    arrays, flaws = [], RowFlaws(export)
    for position, column in enumerate(export.relation.columns):
        values, found = _as_far(batch.column(position), column.type)
        flaws.add(position, found, batch.column(position))
        arrays.append(values)
    told = flaws.columns(batch.num_rows, lambda _: lsn_text(chunk.point.at["until"]))
    fields = [*state_schema(export.kept), *([pa.field(FLAWS, pa.string())] if flaws else [])]
    made = pa.RecordBatch.from_arrays([*arrays, *told], schema=pa.schema(fields))
    yield made
    yield Received(made.num_rows, made.nbytes, flaws.defects)


def _as_far(array: pa.Array, type_: SqlType) -> tuple[pa.Array, dict[int, Flaw]]:
    def shown(one: pa.Array) -> str:
        return printed(one) if pa.types.is_string(one.type) else _far_text(one, type_)

    return as_far(array, lambda some: _column(some, type_), arrow_type(type_), shown)


def _far_text(one: pa.Array, type_: SqlType) -> str:
    """As PostgreSQL prints a moment after those that can be stored."""
    wrapped = one.cast(pa.int64())[0].as_py()
    days = DAYS_OF_400_YEARS
    earlier = pa.array([wrapped + 2**64 - days * DAY_US], pa.int64())
    year, rest = str(to_text(earlier.cast(arrow_type(type_)), type_)[0].as_py()).split("-", 1)
    return f"{int(year) + 400}-{rest}"


def _column(array: pa.Array, type_: SqlType) -> pa.Array:
    wanted = arrow_type(type_)
    match type_.kind:
        case "date":
            return _moments(array.cast(pa.int32()), 1, DAY_INFINITE).cast(wanted)
        case "timestamp" | "timestamptz":
            return _moments(array.cast(pa.int64()), DAY_US, MOMENT_INFINITE).cast(wanted)
        case kind if kind in _AS_IT_IS:
            if pa.types.is_string(array.type):
                check_text(array)
            return array.cast(wanted)
    return typed(array.cast(pa.string()), type_)


def _moments(numbers: pa.Array, day: int, infinite: int) -> pa.Array:
    """Days or moments in stored form.

    The driver adds the days between 1970 and 2000 to whatever it gets, and what is then beyond the last
    number begins again at the first one: there the two infinities are, next to each other, and before them
    the last years of PostgreSQL's calendar.
    """
    beyond = pc.or_(pc.less(numbers, DAY_MIN * day), pc.equal(numbers, infinite))
    if not pc.any(beyond).as_py():
        return numbers
    first = -infinite - 1 + DAYS_1970_TO_2000 * day
    above, below = pc.equal(numbers, first - 1), pc.equal(numbers, first)
    beyond = pc.and_(beyond, pc.invert(pc.or_(above, below)))
    if pc.any(beyond).as_py():
        raise UserError("timestamp out of range", "22008")
    return pc.if_else(
        above,
        pa.scalar(infinite, numbers.type),
        pc.if_else(below, pa.scalar(-infinite, numbers.type), numbers),
    )


def _definite(export: Export, pages: PageRange, message: str) -> DefiniteError:
    where = f"snapshot, pages {pages.start} to {pages.end} of {pages.schema}.{pages.table}"
    return DefiniteError(".".join(export.reference), where, message)


def _check_nulls(export: Export, pages: PageRange, batch: pa.RecordBatch) -> None:
    for place, column in enumerate(export.pinned.columns):
        if column["not_null"] and batch.column(place).null_count:
            name = f"{export.pinned.reference['schema']}.{export.pinned.reference['table']}.{column['name']}"
            what = f"PG column {name} contained NULL data, despite having NOT NULL constraint"
            raise _definite(export, pages, what)


def _name(*parts: str) -> str:
    return ".".join(quoted(part) for part in parts)

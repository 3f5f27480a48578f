"""Snapshots of tables: rows as of one moment, read in parallel by ranges of pages.

    prepare    a transaction that keeps the tables as they are (ACCESS SHARE: no TRUNCATE, no rewrite)
    take       its snapshot is taken and exported; quick, and no other transaction is waited for
    chunks     ranges of pages of each table or partition
    Reading    in a Spark task: imports the snapshot, COPY in binary to Arrow, typed columns

Nothing is asked of the replication slot.  The stream says the number of each transaction,
and a snapshot says of each number whether it shows it; so a change is in exactly one of
the two, whatever the order in which commits became visible (docs/decisions).  What the stream
has had before the tables join must show; a snapshot that does not show it yet is taken again.

If the process dies the exported snapshot is gone.  A table with a key goes on all the same:
the stream leaves out what the first snapshot shows, pages that were not read yet are read at a
new one, and in the pages that were read the rows of later transactions are read again.  What has
changed since the first snapshot is in the stream too, and wins.

Not here: leaving out of the stream what a snapshot shows (decode.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import adbc_driver_manager
import adbc_driver_postgresql.dbapi as adbc
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import DefiniteError, TransientError, UserError
from headwater.core.frontier import Frontier
from headwater.core.limits import (
    SNAPSHOT_LOCK_S_MAX,
    SNAPSHOT_SETTLE_CHECK_S,
    SNAPSHOT_SETTLE_S_MAX,
    SNAPSHOT_SHOWN_S_MAX,
    SNAPSHOT_YIELD_S_MAX,
)
from headwater.core.types import SqlType
from headwater.formats.arrow import arrow_type, state_schema
from headwater.sources.contract import SEEN, Export, Options, ReadChunk, Secrets, SnapshotChunk, Taken
from headwater.sources.postgres.connection import bounded, conninfo
from headwater.sources.postgres.decode import check_text, first_error, typed
from headwater.sources.postgres.frontier import PAGE_BYTES, LsnFrontier, last_end, lsn_of
from headwater.sources.postgres.reader import SOURCE_TYPE
from headwater.sources.postgres.session_settings import UNCHECKED_TEXT, settings_query, startup_options
from headwater.sources.postgres.slot import reach
from headwater.sources.postgres.trouble import AGAIN, trouble
from headwater.sources.postgres.visibility import Snapshot
from headwater.sources.postgres.watch import TREE, first_seen

_AS_IT_IS: Final = frozenset(
    ("bool", "int2", "int4", "int8", "float4", "float8", "text", "varchar", "char", "bytea")
)
"""Types whose Arrow form is the stored one."""
_DAYS_MIN: Final = -2_440_588
_MICROSECONDS_MIN: Final = _DAYS_MIN * 86_400_000_000
"""4714 BC, where PostgreSQL's calendar begins.  Infinities arrive as something before that."""
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
            self._ask(f"SET LOCAL lock_timeout = '{SNAPSHOT_LOCK_S_MAX}s'")
            # Locks come before the snapshot: what changes the tables' files is then before or after both.
            for details in {export.details["oid"]: export.details for export in exports}.values():
                self._lock(details)
        except psycopg.Error as error:
            self.close()
            raise trouble(error) from error
        except BaseException:
            self.close()
            raise

    def _lock(self, details: Mapping[str, Any]) -> None:
        only = "ONLY " if details["relkind"] == "r" else ""
        schema, table = details["schema"], details["table"]
        try:
            self._ask(f"LOCK TABLE {only}{_name(schema, table)} IN ACCESS SHARE MODE")
        except psycopg.Error as error:
            raise trouble(error, _hint(error, self._options, schema, table)) from error

    def _ask(self, text: str, values: Mapping[str, Any] | None = None) -> psycopg.Cursor[Any]:
        with bounded(self._holder):
            return self._holder.execute(text.encode(), values)

    def take(self, frontier: Frontier, before: Mapping[str, Any], rows: int) -> Taken:
        roots = sorted({export.details["oid"] for export in self._exports})
        try:
            # Before the snapshot: what happens between the two is then noticed by the next look.
            with bounded(self._holder):
                seen = first_seen(self._holder, self._exports)
            exported, shows, written = self._export(frontier)
            leaves = self._ask(_LEAVES, {"oids": roots}).fetchall()
        except psycopg.Error as error:
            raise trouble(error) from error
        self._snapshot = exported
        for root, oid, *facts in leaves:
            self._leaves.setdefault(root, {})[oid] = Leaf(*facts)
        self._until = until = last_end(lsn_of(written))
        points: dict[str, Any] = {}
        kept: set[str] = set()
        for export in self._exports:
            id_ = export.table_id
            now = self._leaves.get(export.details["oid"], {})
            if id_ in before and export.discipline == "keyed" and _files(before[id_]) == _files_of(now):
                points[id_] = {**before[id_], "until": until, "again": True}
                kept.add(id_)
            else:
                listed = [
                    [oid, leaf.file, leaf.pages, leaf.rows, _step(leaf.pages, leaf.rows, rows)]
                    for oid, leaf in now.items()
                ]
                points[id_] = {"snapshot": shows, "until": until, "leaves": listed, SEEN: seen.get(id_, {})}
        return Taken(points, frozenset(kept))

    def _export(self, frontier: Frontier) -> tuple[str, str, str]:
        """(name of a snapshot, what it shows, where the log ends) once it shows all that was read."""
        unshown = np.array(frontier.unshown if isinstance(frontier, LsnFrontier) else (), np.int64)
        deadline_s = SYSTEM_CLOCK.monotonic_s() + SNAPSHOT_SHOWN_S_MAX
        while True:
            row = self._ask(
                "SELECT pg_export_snapshot(), pg_current_snapshot()::text, pg_current_wal_insert_lsn()::text"
            ).fetchone()
            if row is None:
                raise TransientError("postgres: the server gave no snapshot", AGAIN)
            unshown = unshown[~Snapshot.from_text(row[1]).shows(unshown)]
            if not len(unshown):
                exported, shows, written = row
                return exported, shows, written
            if SYSTEM_CLOCK.monotonic_s() > deadline_s:
                raise TransientError(
                    f"postgres: transaction {unshown[0]} has committed and does not show yet", _UNSHOWN
                )
            SYSTEM_CLOCK.sleep(SNAPSHOT_SETTLE_CHECK_S)

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

    def chunks(self, export: Export, point: Any, done: Set[int]) -> tuple[SnapshotChunk, ...]:
        leaves = self._leaves.get(export.details["oid"], {})
        planned = [
            (leaves[oid], start, end, share)
            for oid, _, pages, tuples, step in point["leaves"]
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
        if point.get("again"):
            since = Snapshot.from_text(point["snapshot"]).xmin
            read = [(leaf, start, end) for n, (leaf, start, end, _) in enumerate(planned) if n in done]
            # Pages that a table has got since were written since.
            read += [(leaves[oid], pages, leaves[oid].pages) for oid, _, pages, *_ in point["leaves"]]
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


_UNSHOWN: Final = (
    "Its session probably waits for a synchronous standby: see synchronous_standby_names and"
    " pg_stat_replication upstream. The table is made once that is over."
)
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


_LEAVES: Final = f"""{TREE}
SELECT tree.root, c.oid, n.nspname, c.relname, pg_relation_filenode(c.oid)::int8,
       (pg_relation_size(c.oid) / current_setting('block_size')::int)::int8, greatest(c.reltuples, 0)::int8
FROM tree JOIN pg_class c ON c.oid = tree.oid AND c.relkind = 'r'
JOIN pg_namespace n ON n.oid = c.relnamespace
ORDER BY c.oid
"""


def _files(point: Any) -> dict[int, int]:
    """By oid: the files in which the rows of a table were at a point."""
    return {oid: file for oid, file, *_ in point["leaves"]}


def _files_of(leaves: Mapping[int, Leaf]) -> dict[int, int]:
    return {oid: leaf.file for oid, leaf in leaves.items()}


def _per_page(pages: int, tuples: int) -> float:
    return max(tuples / pages, 1) if tuples and pages else PAGE_BYTES / 100


def _step(pages: int, tuples: int, rows: int) -> int:
    """How many pages are about `rows` rows, and not too many or too few to be worth a chunk."""
    return min(max(_PAGES_MIN, int(rows / _per_page(pages, tuples))), _PAGES_MAX)


def _ranges(pages: int, tuples: int, step: int) -> list[tuple[int, int, int]]:
    """(first page, page after the last, rows in it as far as known) of chunks of `step` pages."""
    if pages == 0:
        return []
    cuts = [*range(0, pages, step), pages]
    known = tuples or int(pages * _per_page(pages, tuples))
    return [(start, end, known * (end - start) // pages) for start, end in pairwise(cuts)]


def covers(frontier: Frontier, point: Any) -> bool:
    """Whether the source has read everything that the snapshot shows."""
    return isinstance(frontier, LsnFrontier) and frontier.lsn >= point["until"]


class Reading:
    """Chunks one after the other, over one connection as long as they are of one snapshot."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._connection: Any = None
        self._of: tuple[str, str] = ("", "")  # the upstream and the snapshot that it shows

    def __enter__(self) -> ReadChunk:
        return self._read

    def __exit__(self, *_: object) -> None:
        self._close()

    def _read(self, chunk: SnapshotChunk) -> Iterator[pa.RecordBatch]:
        pages: PageRange = chunk.details
        try:
            with self._connected(chunk, pages).cursor() as cursor:
                cursor.execute(_query(chunk.export, pages))
                for batch in cursor.fetch_record_batch():
                    if batch.num_rows:
                        yield _stored(chunk.export, pages, batch)
        except (adbc_driver_manager.Error, OSError) as error:  # a stream that ends is Arrow's OSError
            raise trouble(error, _hint(error, chunk.options, pages.schema, pages.table)) from error

    def _connected(self, chunk: SnapshotChunk, pages: PageRange) -> Any:
        # Who wants to change the table waits for the snapshot's own lock, and we would wait for them.
        own = {"lock_timeout": f"{SNAPSHOT_YIELD_S_MAX}s"}
        text = conninfo(chunk.options["connection"], self._secrets, options=startup_options(**own))
        if self._connection is None or self._of != (text, pages.snapshot):
            self._close()
            self._connection, self._of = adbc.connect(text, autocommit=True), (text, pages.snapshot)
            with self._connection.cursor() as cursor:
                cursor.execute(settings_query(UNCHECKED_TEXT, **own))
                cursor.fetchall()
                self._connection.adbc_connection.set_autocommit(False)
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                cursor.execute(f"SET TRANSACTION SNAPSHOT '{pages.snapshot}'")
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            with suppress(adbc_driver_manager.Error, OSError):
                connection.close()


def _query(export: Export, pages: PageRange) -> str:
    columns = ", ".join(
        _selected(column["name"], sql_column.type, column["text"])
        for column, sql_column in zip(export.details["columns"], export.relation.columns, strict=True)
    )
    row_filter = export.details.get("row_filter")
    where = f" AND ({row_filter})" if row_filter else ""
    if pages.since is not None:
        where += f" AND age(xmin) <= age('{pages.since % 2**32}'::xid)"
    # With nothing selected COPY would have no columns to tell rows apart by.
    return (
        f"SELECT {columns or 'true'} FROM ONLY {_name(pages.schema, pages.table)}"
        f" WHERE ctid >= '({pages.start},0)'::tid AND ctid < '({pages.end},0)'::tid{where}"
    )


def _selected(name: str, type_: SqlType, as_text: bool) -> str:
    quoted = '"' + name.replace('"', '""') + '"'
    if as_text:
        # As the stream prints it: a cast to text is another function for some types (inet, boolean).
        return f"CASE WHEN {quoted} IS NOT NULL THEN format('%s', {quoted}) END"
    return quoted if _arrives_typed(type_) else f"{quoted}::text"


def _arrives_typed(type_: SqlType) -> bool:
    return type_.kind in _AS_IT_IS or type_.kind in ("date", "timestamp", "timestamptz", "numeric")


def _stored(export: Export, pages: PageRange, batch: pa.RecordBatch) -> pa.RecordBatch:
    arrays = []
    for position, column in enumerate(export.relation.columns):
        array = batch.column(position)
        try:
            arrays.append(_column(array, column.type))
        except (UserError, pa.ArrowInvalid) as error:
            raise _definite(export, pages, position, array, error) from None
    _check_nulls(export, pages, arrays)
    return pa.RecordBatch.from_arrays(arrays, schema=state_schema(export.relation))


def _column(array: pa.Array, type_: SqlType) -> pa.Array:
    wanted = arrow_type(type_)
    match type_.kind:
        case "date":
            days = array.cast(pa.int32())
            _check_finite(days, _DAYS_MIN)
            return array.cast(wanted)
        case "timestamp" | "timestamptz":
            _check_finite(array.cast(pa.int64()), _MICROSECONDS_MIN)
            return array.cast(wanted)
        case kind if kind in _AS_IT_IS:
            if pa.types.is_string(array.type):
                check_text(array)
            return array.cast(wanted)
    return typed(array.cast(pa.string()), type_)


def _check_finite(numbers: pa.Array, least: int) -> None:
    if pc.any(pc.less(numbers, least)).as_py():
        raise UserError("a date or time out of range, or infinite, cannot be stored", "22008")


def _definite(
    export: Export, pages: PageRange, position: int, array: pa.Array, error: Exception
) -> DefiniteError:
    type_ = export.relation.columns[position].type
    if pa.types.is_string(array.type):
        _, error = first_error(array, type_)
    return DefiniteError(
        ".".join(export.reference),
        f"snapshot, pages {pages.start} to {pages.end} of {pages.schema}.{pages.table}",
        f'column "{export.columns[position]}": {error}',
    )


def _check_nulls(export: Export, pages: PageRange, arrays: Sequence[pa.Array]) -> None:
    for column, array in zip(export.details["columns"], arrays, strict=True):
        if column["not_null"] and array.null_count:
            name = f"{export.details['schema']}.{export.details['table']}.{column['name']}"
            raise DefiniteError(
                ".".join(export.reference),
                f"snapshot, pages {pages.start} to {pages.end}",
                f"PG column {name} contained NULL data, despite having NOT NULL constraint",
            )


def _name(*parts: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)

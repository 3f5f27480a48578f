"""The ledger: what exists.  Bindings, change files, states, snapshots, in SQLite.

Every durable step of the engine is one transaction in here:

    begin            a process takes its name; whichever had it before can no longer write
    open_writer      a new epoch for a writer; an older one is refused from now on
    append           a tick: one binding, change files and errors of every table, compare-and-append
    join, rejoin     a table joins its source's reader: where its snapshot stands
    add_chunks       finished chunks of snapshots
    hydrate          all chunks are there: the first state; the table may be read
    put_state        a fold: a later state over a shorter tail
    poison           a definite error: reads at or after its timestamp fail
    forget           history before a table's `since`
    drop             a table or source and everything of it
    settle           nothing but a durable step, before files that nobody names are removed

A writer is a source, or `TABLES` for all plain tables together.  Its (epoch,
ts) is compared on every append: two writers cannot interleave, and a process
that was thought dead cannot write once another has opened the same writer.

All SQL text about data is in this module; its tables are in ledger_tables.py.  The
catalog (objects) lives in the same file but in other tables; see catalog/store.py.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headwater.core.change import Discipline, FileEntry, ReadPlan
from headwater.core.errors import InvariantViolation, TransientError
from headwater.core.relation import Relation
from headwater.observe.failpoints import failpoint
from headwater.persist.ledger_tables import SCHEMA, CollectionState, TailSize, WriterState, collection_of

TABLES = "tables"
"""The writer of all plain tables."""

_BUSY_TIMEOUT_S = 30.0


class LedgerConflict(InvariantViolation):
    """Another process writes what this one thought was its own."""


class Ledger:
    """One connection, one lock: calls are short and come from several threads."""

    def __init__(self, path: Path, process: str | None = None) -> None:
        """`process` is the name under which files are written; whoever only looks needs none."""
        self.path = path
        self._lock = threading.RLock()
        self._process = process
        self.incarnation = 0  # in the names of this process's files; no other process ever had it
        try:
            self._db = sqlite3.connect(
                path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(SCHEMA)
        except sqlite3.DatabaseError as error:
            raise TransientError(
                f'could not open the metadata database "{path}": {error}',
                hint="Restore this file from a backup, or start with an empty data directory.",
            ) from error
        if process is not None:
            self._begin(process)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    self._check_current()
                    yield self._db
                    failpoint("ledger.before_commit")
                    self._db.execute("COMMIT")
                except BaseException:
                    if self._db.in_transaction:  # SQLite ends it by itself when the disk is full
                        self._db.execute("ROLLBACK")
                    raise
            except sqlite3.DatabaseError as error:
                raise TransientError(
                    f'could not write the metadata database "{self.path}": {error}',
                    hint="Check the disk's free space and the file's permissions.",
                ) from error
        failpoint("ledger.after_commit")

    def _rows(self, sql: str, *arguments: object) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._db.execute(sql, arguments).fetchall()
            except sqlite3.DatabaseError as error:
                raise TransientError(
                    f'could not read the metadata database "{self.path}": {error}'
                ) from error

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """Several reads that see the ledger at one moment, whatever other processes commit."""
        self._rows("BEGIN")
        try:
            yield
        finally:
            self._rows("COMMIT")

    # Processes

    def _begin(self, process: str) -> None:
        with self._transaction() as db:
            db.execute(
                "INSERT INTO ledger_process SELECT ?, 1 + coalesce(max(incarnation), 0), 0"
                " FROM ledger_process WHERE true"
                " ON CONFLICT (name) DO UPDATE SET incarnation = excluded.incarnation",
                (process,),
            )
            begun = db.execute("SELECT incarnation FROM ledger_process WHERE name = ?", (process,)).fetchone()
        self.incarnation = begun[0]

    def _check_current(self) -> None:
        """Files of a process whose name another has taken are nobody's, so it must name none."""
        if not self.incarnation:
            return
        sql = "SELECT incarnation FROM ledger_process WHERE name = ?"
        if self._db.execute(sql, (self._process,)).fetchone() != (self.incarnation,):
            raise LedgerConflict(f"another process has begun as {self._process}")

    def incarnations(self) -> frozenset[int]:
        """Of all processes that may name files."""
        return frozenset(row[0] for row in self._rows("SELECT incarnation FROM ledger_process"))

    def settle(self) -> None:
        """Take a durable step.

        A commit that failed may have left its pages in SQLite's log, and a crash could bring them back
        as long as nothing was written over them.  After this, what the ledger says is what it will say.
        """
        if not self.incarnation:
            raise InvariantViolation("a process without a name does not remove files")
        with self._transaction() as db:
            db.execute("UPDATE ledger_process SET sweeps = sweeps + 1 WHERE name = ?", (self._process,))

    # Writers

    def open_writer(self, writer_id: str, upstream: object = None) -> WriterState:
        """Become the one writer; whoever was it before can no longer append.

        `upstream` is what must be known to leave nothing behind there, when the source is gone.
        """
        with self._transaction() as db:
            db.execute(
                "INSERT INTO ledger_writer VALUES (?, 1, 0, 'null', ?)"
                " ON CONFLICT (writer_id) DO UPDATE SET epoch = epoch + 1, upstream = excluded.upstream",
                (writer_id, json.dumps(upstream)),
            )
            row = db.execute(
                "SELECT epoch, ts, frontier FROM ledger_writer WHERE writer_id = ?", (writer_id,)
            ).fetchone()
        return WriterState(row[0], row[1], json.loads(row[2]))

    def append(
        self,
        writer_id: str,
        expected: WriterState,
        ts: int,
        frontier: object,
        files: Mapping[str, Sequence[FileEntry]],
        errors: Sequence[tuple[str, str, str]] = (),
        seen: Mapping[str, object] = {},
    ) -> WriterState:
        """One tick: the binding, every table's change files, and definite errors, or nothing.

        `expected` is where the caller believes the writer stands.  Errors are (table, position,
        message).  `seen` is by table what the upstream showed beside the changes.  Files of a table that
        has been dropped meanwhile are not kept.
        """
        if ts <= expected.ts:
            raise InvariantViolation(f"binding of {writer_id} at {ts} follows one at {expected.ts}")
        text = json.dumps(frontier)
        with self._transaction() as db:
            moved = db.execute(
                "UPDATE ledger_writer SET ts = ?, frontier = ? WHERE writer_id = ? AND epoch = ? AND ts = ?",
                (ts, text, writer_id, expected.epoch, expected.ts),
            ).rowcount
            if moved != 1:
                raise LedgerConflict(
                    f"another process writes {writer_id}: epoch {expected.epoch} at {expected.ts}"
                    " is not current"
                )
            if writer_id != TABLES:
                db.execute("INSERT INTO ledger_binding VALUES (?, ?, ?)", (writer_id, ts, text))
            db.executemany(
                "INSERT INTO ledger_change_file SELECT collection_id, ?, ?, ?, ?, ?, ?, ?"
                " FROM ledger_collection WHERE collection_id = ?",
                [
                    (
                        *(ts, file.path, file.rows, file.bytes, file.deletes),
                        *(file.resets, file.partials, collection_id),
                    )
                    for collection_id, entries in files.items()
                    for file in entries
                ],
            )
            db.executemany(
                "INSERT OR REPLACE INTO ledger_seen SELECT collection_id, ? FROM ledger_collection"
                " WHERE collection_id = ?",
                [(json.dumps(value), collection_id) for collection_id, value in seen.items()],
            )
            for collection_id, position, message in errors:
                self._poison(db, collection_id, ts, position, message)
        return WriterState(expected.epoch, ts, frontier)

    def writer(self, writer_id: str) -> WriterState | None:
        """Where a writer stands, without becoming it."""
        rows = self._rows("SELECT epoch, ts, frontier FROM ledger_writer WHERE writer_id = ?", writer_id)
        return WriterState(rows[0][0], rows[0][1], json.loads(rows[0][2])) if rows else None

    def writers(self) -> dict[str, WriterState]:
        """Every writer by id."""
        rows = self._rows("SELECT writer_id, epoch, ts, frontier FROM ledger_writer")
        return {row[0]: WriterState(row[1], row[2], json.loads(row[3])) for row in rows}

    def binding_at(self, writer_id: str, ts: int) -> tuple[int, Any] | None:
        """The newest binding at or before `ts`, as (ts, frontier)."""
        rows = self._rows(
            "SELECT ts, frontier FROM ledger_binding"
            " WHERE writer_id = ? AND ts <= ? ORDER BY ts DESC LIMIT 1",
            writer_id,
            ts,
        )
        return (rows[0][0], json.loads(rows[0][1])) if rows else None

    def first_binding_ts(self, writer_id: str) -> int:
        """The timestamp of the oldest binding that is kept, 0 without one."""
        rows = self._rows("SELECT coalesce(min(ts), 0) FROM ledger_binding WHERE writer_id = ?", writer_id)
        return int(rows[0][0])

    def bindings(self, writer_id: str, after: int = 0, until: int | None = None) -> list[tuple[int, Any]]:
        """Bindings in (after, until], oldest first."""
        rows = self._rows(
            "SELECT ts, frontier FROM ledger_binding WHERE writer_id = ? AND ts > ? AND ts <= ? ORDER BY ts",
            writer_id,
            after,
            2**62 if until is None else until,
        )
        return [(ts, json.loads(frontier)) for ts, frontier in rows]

    def upstreams(self) -> dict[str, Any]:
        """By writer: what it said of its upstream."""
        rows = self._rows("SELECT writer_id, upstream FROM ledger_writer")
        return {writer_id: json.loads(upstream) for writer_id, upstream in rows}

    # Collections

    def join(
        self,
        collections: Iterable[tuple[str, Discipline, Relation, str, object]],
        writer_id: str,
        ts: int,
        hydrated: bool,
    ) -> None:
        """Tables begin here, at the binding `ts`: (id, discipline, relation, batch, snapshot's point).

        A table that is there already stays as it is.  Plain tables are born hydrated, with an
        empty state at `ts`.
        """
        with self._transaction() as db:
            for collection_id, discipline, relation, batch, point in collections:
                made = db.execute(
                    "INSERT INTO ledger_collection VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
                    " ON CONFLICT (collection_id) DO NOTHING",
                    (
                        collection_id,
                        writer_id,
                        discipline,
                        json.dumps(relation.to_json()),
                        ts,
                        ts,
                        json.dumps(point),
                        batch,
                        int(hydrated),
                    ),
                ).rowcount
                if made and hydrated:
                    db.execute("INSERT INTO ledger_state VALUES (?, ?, -1)", (collection_id, ts))

    def rejoin(self, points: Mapping[str, object], ts: int) -> None:
        """Snapshots that were not complete begin anew, at other points; what was read is let go."""
        with self._transaction() as db:
            for collection_id, point in points.items():
                moved = db.execute(
                    "UPDATE ledger_collection SET joined_ts = ?, since = ?, point = ?"
                    " WHERE collection_id = ? AND NOT hydrated",
                    (ts, ts, json.dumps(point), collection_id),
                ).rowcount
                if moved:
                    db.execute("DELETE FROM ledger_chunk WHERE collection_id = ?", (collection_id,))
                    db.execute("DELETE FROM ledger_seen WHERE collection_id = ?", (collection_id,))

    def repoint(self, points: Mapping[str, object]) -> None:
        """Snapshots that were not complete go on at other points; chunks below zero are let go."""
        with self._transaction() as db:
            for collection_id, point in points.items():
                moved = db.execute(
                    "UPDATE ledger_collection SET point = ? WHERE collection_id = ? AND NOT hydrated",
                    (json.dumps(point), collection_id),
                ).rowcount
                if moved:
                    db.execute(
                        "DELETE FROM ledger_chunk WHERE collection_id = ? AND chunk < 0", (collection_id,)
                    )

    def collections(self, writer_id: str | None = None) -> dict[str, CollectionState]:
        """All collections, or those of one writer, by id."""
        rows = self._rows(
            "SELECT collection_id, writer_id, discipline, relation, since, joined_ts, point, batch,"
            " hydrated FROM ledger_collection WHERE ?1 IS NULL OR writer_id = ?1 ORDER BY collection_id",
            writer_id,
        )
        return {row[0]: collection_of(row) for row in rows}

    def collection(self, collection_id: str) -> CollectionState | None:
        """One collection."""
        rows = self._rows(
            "SELECT collection_id, writer_id, discipline, relation, since, joined_ts, point, batch,"
            " hydrated FROM ledger_collection WHERE collection_id = ?",
            collection_id,
        )
        return collection_of(rows[0]) if rows else None

    def seen(self, collection_id: str) -> Any:
        """What the upstream showed of a table beside its changes, at the newest binding; None: nothing."""
        rows = self._rows("SELECT seen FROM ledger_seen WHERE collection_id = ?", collection_id)
        return json.loads(rows[0][0]) if rows else None

    def add_chunks(self, chunks: Iterable[tuple[str, int, FileEntry]]) -> None:
        """Finished chunks: table, number, file.  Nothing is kept of a table that has gone or is readable."""
        with self._transaction() as db:
            db.executemany(
                "INSERT OR REPLACE INTO ledger_chunk SELECT collection_id, ?, ?, ?, ? FROM ledger_collection"
                " WHERE collection_id = ? AND NOT hydrated",
                [(number, file.path, file.rows, file.bytes, id_) for id_, number, file in chunks],
            )

    def chunks(self, collection_id: str) -> dict[int, FileEntry]:
        """Finished chunks of a snapshot that is not complete yet."""
        rows = self._rows(
            "SELECT chunk, path, rows, bytes FROM ledger_chunk WHERE collection_id = ? ORDER BY chunk",
            collection_id,
        )
        return {row[0]: FileEntry(row[1], row[2], row[3]) for row in rows}

    def hydrate(self, states: Mapping[str, tuple[int, Sequence[FileEntry]]], since: int) -> None:
        """The snapshots of these tables are complete: together they become readable, from `since` on.

        A table's Delta version and files are its state as of the binding at which it joined; `since` is
        the first binding that covers the snapshot's point.  One that is readable already stays as it is.
        """
        with self._transaction() as db:
            for collection_id, (delta_version, files) in states.items():
                made = db.execute(
                    "INSERT INTO ledger_state SELECT collection_id, joined_ts, ? FROM ledger_collection"
                    " WHERE collection_id = ? AND NOT hydrated",
                    (delta_version, collection_id),
                ).rowcount
                if not made:
                    continue
                db.executemany(
                    "INSERT INTO ledger_state_file SELECT collection_id, joined_ts, ?, ?, ?"
                    " FROM ledger_collection WHERE collection_id = ?",
                    [(file.path, file.rows, file.bytes, collection_id) for file in files],
                )
                db.execute("DELETE FROM ledger_chunk WHERE collection_id = ?", (collection_id,))
                db.execute(
                    "UPDATE ledger_collection SET hydrated = 1, since = max(since, ?)"
                    " WHERE collection_id = ?",
                    (since, collection_id),
                )

    def put_state(
        self, collection_id: str, as_of: int, delta_version: int, files: Sequence[FileEntry]
    ) -> None:
        """A fold's outcome.  Refused when the table has gone or has a later state."""
        with self._transaction() as db:
            newest = db.execute(
                "SELECT max(as_of) FROM ledger_state WHERE collection_id = ?", (collection_id,)
            ).fetchone()[0]
            if newest is None or newest >= as_of:
                raise LedgerConflict(f"state of {collection_id} as of {as_of} follows one as of {newest}")
            db.execute("INSERT INTO ledger_state VALUES (?, ?, ?)", (collection_id, as_of, delta_version))
            db.executemany(
                "INSERT INTO ledger_state_file VALUES (?, ?, ?, ?, ?)",
                [(collection_id, as_of, file.path, file.rows, file.bytes) for file in files],
            )

    def poison(self, collection_id: str, ts: int, position: str, message: str) -> None:
        """A definite error: from `ts` on this table cannot be read."""
        with self._transaction() as db:
            self._poison(db, collection_id, ts, position, message)

    @staticmethod
    def _poison(db: sqlite3.Connection, collection_id: str, ts: int, position: str, message: str) -> None:
        db.execute(
            "INSERT OR IGNORE INTO ledger_error SELECT collection_id, ?, ?, ? FROM ledger_collection"
            " WHERE collection_id = ?",
            (ts, position, message, collection_id),
        )

    def errors(self, collection_id: str) -> list[tuple[int, str, str]]:
        """(ts, position, message), oldest first."""
        return self._rows(
            "SELECT ts, position, message FROM ledger_error WHERE collection_id = ? ORDER BY ts",
            collection_id,
        )

    # Reading

    def read_plan(self, collection_id: str, as_of: int) -> ReadPlan:
        """The files that are this collection at `as_of`.  The caller holds `since` at or below it."""
        with self._lock, self._snapshot():
            collection = self.collection(collection_id)
            if collection is None or not collection.hydrated:
                raise InvariantViolation(f"{collection_id} is read before it is hydrated")
            newest = self._rows(
                "SELECT max(as_of) FROM ledger_state WHERE collection_id = ? AND as_of <= ?",
                collection_id,
                as_of,
            )[0][0]
            if newest is None:
                raise InvariantViolation(f"{collection_id} has no state at or before {as_of}")
            state = self._state_files(collection_id, newest)
            tail = self.change_files(collection_id, newest, as_of)
        reset_ts = max((file.ts for file in tail if file.resets), default=None)
        if reset_ts is not None:
            state, tail = [], [file for file in tail if file.ts >= reset_ts]
        return ReadPlan(
            collection_id,
            collection.relation,
            collection.discipline,
            as_of,
            newest,
            tuple(state),
            tuple(tail),
        )

    def _state_files(self, collection_id: str, as_of: int) -> list[FileEntry]:
        rows = self._rows(
            "SELECT path, rows, bytes FROM ledger_state_file"
            " WHERE collection_id = ? AND as_of = ? ORDER BY path",
            collection_id,
            as_of,
        )
        return [FileEntry(*row) for row in rows]

    def change_files(self, collection_id: str, after: int, until: int) -> list[FileEntry]:
        """Change files in (after, until], oldest first."""
        rows = self._rows(
            "SELECT path, rows, bytes, deletes, ts, resets, partials FROM ledger_change_file"
            " WHERE collection_id = ? AND ts > ? AND ts <= ? ORDER BY ts, path",
            collection_id,
            after,
            until,
        )
        return [
            FileEntry(path, n, size, deletes, ts, bool(resets), partials)
            for path, n, size, deletes, ts, resets, partials in rows
        ]

    def state_at(self, collection_id: str, as_of: int) -> int:
        """The timestamp of the state that a plan at `as_of` begins with; `as_of` where there is none."""
        rows = self._rows(
            "SELECT coalesce(max(as_of), ?2) FROM ledger_state WHERE collection_id = ?1 AND as_of <= ?2",
            collection_id,
            as_of,
        )
        return int(rows[0][0])

    def tails(self) -> list[TailSize]:
        """Every hydrated collection with a tail, for the fold's policy."""
        rows = self._rows(
            "WITH s AS (SELECT collection_id, max(as_of) AS as_of FROM ledger_state GROUP BY collection_id)"
            " SELECT f.collection_id, count(*), sum(f.bytes), sum(f.rows), max(f.ts), s.as_of,"
            " (SELECT coalesce(sum(rows), 0) FROM ledger_state_file x"
            "  WHERE x.collection_id = s.collection_id AND x.as_of = s.as_of)"
            " FROM s JOIN ledger_change_file f ON f.collection_id = s.collection_id AND f.ts > s.as_of"
            " GROUP BY f.collection_id"
        )
        return [TailSize(*row) for row in rows]

    def superseded(self) -> list[tuple[str, int]]:
        """(collection, as_of) of every state that follows an older one."""
        return self._rows(
            "SELECT s.collection_id, s.as_of FROM ledger_state s WHERE EXISTS (SELECT 1 FROM ledger_state o"
            " WHERE o.collection_id = s.collection_id AND o.as_of < s.as_of) ORDER BY 1, 2"
        )

    # Forgetting

    def forget(self, collection_id: str, since: int) -> list[str]:
        """Raise `since`; returns the paths that no longer belong to anything.

        Kept: the newest state at or before `since` and everything after it.
        """
        with self._transaction() as db:
            db.execute(
                "UPDATE ledger_collection SET since = max(since, ?) WHERE collection_id = ?",
                (since, collection_id),
            )
            kept = db.execute(
                "SELECT max(as_of) FROM ledger_state WHERE collection_id = ? AND as_of <= ?",
                (collection_id, since),
            ).fetchone()[0]
            if kept is None:
                return []
            before = self._paths(db, collection_id)
            for table in ("ledger_state", "ledger_state_file"):
                db.execute(
                    f"DELETE FROM {table} WHERE collection_id = ? AND as_of < ?", (collection_id, kept)
                )
            db.execute(
                "DELETE FROM ledger_change_file WHERE collection_id = ? AND ts <= ?", (collection_id, kept)
            )
            return sorted(before - self._paths(db, collection_id))

    def forget_bindings(self, writer_id: str, since: int) -> None:
        """Drop bindings before the newest one at or before `since`."""
        with self._transaction() as db:
            db.execute(
                "DELETE FROM ledger_binding WHERE writer_id = ?1 AND ts <"
                " (SELECT max(ts) FROM ledger_binding WHERE writer_id = ?1 AND ts <= ?2)",
                (writer_id, since),
            )

    def drop(self, collection_id: str) -> None:
        """Forget a collection; its folder is then nobody's."""
        with self._transaction() as db:
            for table in _COLLECTION_TABLES:
                db.execute(f"DELETE FROM {table} WHERE collection_id = ?", (collection_id,))

    def drop_writer(self, writer_id: str) -> None:
        """Forget a source."""
        with self._transaction() as db:
            db.execute("DELETE FROM ledger_writer WHERE writer_id = ?", (writer_id,))
            db.execute("DELETE FROM ledger_binding WHERE writer_id = ?", (writer_id,))

    def named_paths(self, collection_id: str) -> set[str]:
        """Every path the ledger names for a collection."""
        with self._lock:
            return self._paths(self._db, collection_id)

    @staticmethod
    def _paths(db: sqlite3.Connection, collection_id: str) -> set[str]:
        rows = db.execute(
            "SELECT path FROM ledger_change_file WHERE collection_id = ?1"
            " UNION SELECT path FROM ledger_state_file WHERE collection_id = ?1"
            " UNION SELECT path FROM ledger_chunk WHERE collection_id = ?1",
            (collection_id,),
        ).fetchall()
        return {row[0] for row in rows}


_COLLECTION_TABLES = (
    "ledger_seen",
    "ledger_collection",
    "ledger_change_file",
    "ledger_state",
    "ledger_state_file",
    "ledger_chunk",
    "ledger_error",
)

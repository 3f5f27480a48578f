"""The ledger in SQLite: what ledger.py promises, as SQL.

All SQL text about data is in this module and in sqlite_tables.py; its tables are in ledger_migrations.  The
catalog (objects) lives in the same file but in other tables; see catalog/sqlite_store.py.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headwater.core.change import Discipline, FileEntry, ReadPlan
from headwater.core.errors import DefiniteError, InvariantViolation
from headwater.core.points import Point, point_text
from headwater.core.relation import Relation
from headwater.persist.ledger import (
    TABLES,
    Accepted,
    CollectionState,
    ErrorSpan,
    Filled,
    Ledger,
    LedgerConflict,
    TailSize,
    Taken,
    WriterState,
)
from headwater.persist.sqlite_file import LedgerFile
from headwater.persist.sqlite_tables import FILE_BYTES, FLAWED, PUT_STATE_FILE, collection_of, state_rows

_FILLING = "(NOT hydrated OR refilling)"


class SqliteLedger(LedgerFile, Ledger):
    """The ledger in the metadata database of a data directory."""

    # Writers

    def open_writer(self, writer_id: str, upstream: object = None) -> WriterState:
        with self._transaction() as db:
            db.execute(
                "INSERT INTO ledger_writer VALUES (?, 1, 0, 'null', ?, NULL, NULL)"
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
        errors: Mapping[str, DefiniteError] = {},
        seen: Mapping[str, object] = {},
        accepted: Mapping[str, Accepted] = {},
    ) -> WriterState:
        with self._transaction() as db:
            moved = self._bind(db, writer_id, expected, ts, frontier)
            db.executemany(
                "INSERT INTO ledger_change_file SELECT collection_id, ?, ?, ?, ?, ?, ?, ?, ?, ?"
                " FROM ledger_collection WHERE collection_id = ?",
                [
                    (
                        *(ts, file.path, file.rows, file.bytes, file.deletes),
                        *(file.resets, file.partials, file.carriers, file.flawed, collection_id),
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
            db.executemany(
                "INSERT OR REPLACE INTO ledger_taken SELECT collection_id, ?, ?, ? FROM ledger_collection"
                " WHERE collection_id = ?",
                [
                    (ts, one.key, one.content, collection_id)
                    for collection_id, some in accepted.items()
                    for one in some.taken
                ],
            )
            db.executemany(
                "INSERT OR REPLACE INTO ledger_counters SELECT collection_id, ? FROM ledger_collection"
                " WHERE collection_id = ?",
                [
                    (json.dumps(dict(some.counters)), collection_id)
                    for collection_id, some in accepted.items()
                    if some.counters
                ],
            )
            for collection_id, error in errors.items():
                self._poison(db, collection_id, ts, error)
        return moved

    @staticmethod
    def _bind(
        db: sqlite3.Connection, writer_id: str, expected: WriterState, ts: int, frontier: object
    ) -> WriterState:
        """The writer goes on to another place; refused unless it stood where the caller believes."""
        if ts <= expected.ts:
            raise InvariantViolation(f"binding of {writer_id} at {ts} follows one at {expected.ts}")
        text = json.dumps(frontier)
        moved = db.execute(
            "UPDATE ledger_writer SET ts = ?, frontier = ?, failure = NULL, failure_hint = NULL"
            " WHERE writer_id = ? AND epoch = ? AND ts = ?",
            (ts, text, writer_id, expected.epoch, expected.ts),
        ).rowcount
        if moved != 1:
            raise LedgerConflict(
                f"another process writes {writer_id}: epoch {expected.epoch} at {expected.ts} is not current"
            )
        if writer_id != TABLES:
            db.execute("INSERT INTO ledger_binding VALUES (?, ?, ?)", (writer_id, ts, text))
        return WriterState(expected.epoch, ts, frontier)

    def restart(
        self, writer_id: str, expected: WriterState, ts: int, frontier: object, error: DefiniteError
    ) -> WriterState:
        with self._transaction() as db:
            moved = self._bind(db, writer_id, expected, ts, frontier)
            rows = db.execute(
                "SELECT collection_id FROM ledger_collection WHERE writer_id = ?", (writer_id,)
            ).fetchall()
            for (collection_id,) in rows:
                self._poison(db, collection_id, ts, error)
        return moved

    def fail(self, writer_id: str, message: str, hint: str | None) -> None:
        with self._transaction() as db:
            db.execute(
                "UPDATE ledger_writer SET failure = ?, failure_hint = ? WHERE writer_id = ?",
                (message, hint, writer_id),
            )

    def failure(self, writer_id: str) -> tuple[str, str | None] | None:
        sql = "SELECT failure, failure_hint FROM ledger_writer WHERE writer_id = ? AND failure IS NOT NULL"
        rows = self._rows(sql, writer_id)
        return (rows[0][0], rows[0][1]) if rows else None

    def writer(self, writer_id: str) -> WriterState | None:
        rows = self._rows("SELECT epoch, ts, frontier FROM ledger_writer WHERE writer_id = ?", writer_id)
        return WriterState(rows[0][0], rows[0][1], json.loads(rows[0][2])) if rows else None

    def writers(self) -> dict[str, WriterState]:
        rows = self._rows("SELECT writer_id, epoch, ts, frontier FROM ledger_writer")
        return {row[0]: WriterState(row[1], row[2], json.loads(row[3])) for row in rows}

    def binding_at(self, writer_id: str, ts: int) -> tuple[int, Any] | None:
        rows = self._rows(
            "SELECT ts, frontier FROM ledger_binding"
            " WHERE writer_id = ? AND ts <= ? ORDER BY ts DESC LIMIT 1",
            writer_id,
            ts,
        )
        return (rows[0][0], json.loads(rows[0][1])) if rows else None

    def first_binding_ts(self, writer_id: str) -> int:
        rows = self._rows("SELECT coalesce(min(ts), 0) FROM ledger_binding WHERE writer_id = ?", writer_id)
        return int(rows[0][0])

    def bindings(self, writer_id: str, after: int = 0, until: int | None = None) -> list[tuple[int, Any]]:
        rows = self._rows(
            "SELECT ts, frontier FROM ledger_binding WHERE writer_id = ? AND ts > ? AND ts <= ? ORDER BY ts",
            writer_id,
            after,
            2**62 if until is None else until,
        )
        return [(ts, json.loads(frontier)) for ts, frontier in rows]

    def upstreams(self) -> dict[str, Any]:
        rows = self._rows("SELECT writer_id, upstream FROM ledger_writer")
        return {writer_id: json.loads(upstream) for writer_id, upstream in rows}

    # Collections

    def join(
        self,
        collections: Iterable[tuple[str, Discipline, Relation, str, Point | None]],
        writer_id: str,
        ts: int,
        hydrated: bool,
    ) -> None:
        with self._transaction() as db:
            for collection_id, discipline, relation, batch, point in collections:
                made = db.execute(
                    "INSERT INTO ledger_collection VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)"
                    " ON CONFLICT (collection_id) DO NOTHING",
                    (
                        collection_id,
                        writer_id,
                        discipline,
                        json.dumps(relation.to_json()),
                        ts,
                        ts,
                        point_text(point),
                        batch,
                        int(hydrated),
                    ),
                ).rowcount
                if made and hydrated:
                    db.execute("INSERT INTO ledger_state VALUES (?, ?, -1)", (collection_id, ts))

    def rejoin(self, points: Mapping[str, Point], ts: int) -> None:
        with self._transaction() as db:
            for collection_id, point in points.items():
                db.execute(
                    "DELETE FROM ledger_change_file WHERE collection_id = ?1 AND ts <= ?2 AND ts >="
                    " (SELECT min(e.ts) FROM ledger_error e JOIN ledger_collection c USING (collection_id)"
                    " WHERE collection_id = ?1 AND e.until IS NULL AND c.refilling)",
                    (collection_id, ts),
                )
                moved = db.execute(
                    "UPDATE ledger_collection SET joined_ts = ?1, point = ?2,"
                    " since = iif(hydrated, since, ?1)"
                    f" WHERE collection_id = ?3 AND {_FILLING}",
                    (ts, point_text(point), collection_id),
                ).rowcount
                if moved:
                    db.execute("DELETE FROM ledger_chunk WHERE collection_id = ?", (collection_id,))
                    db.execute("DELETE FROM ledger_seen WHERE collection_id = ?", (collection_id,))

    def repoint(self, points: Mapping[str, Point]) -> None:
        with self._transaction() as db:
            for collection_id, point in points.items():
                moved = db.execute(
                    f"UPDATE ledger_collection SET point = ? WHERE collection_id = ? AND {_FILLING}",
                    (point_text(point), collection_id),
                ).rowcount
                if moved:
                    db.execute(
                        "DELETE FROM ledger_chunk WHERE collection_id = ? AND chunk < 0", (collection_id,)
                    )

    def collections(self, writer_id: str | None = None) -> dict[str, CollectionState]:
        rows = self._rows(
            "SELECT collection_id, writer_id, discipline, relation, since, joined_ts, point, batch,"
            " hydrated, refilling FROM ledger_collection WHERE ?1 IS NULL OR writer_id = ?1"
            " ORDER BY collection_id",
            writer_id,
        )
        return {row[0]: collection_of(row) for row in rows}

    def collection(self, collection_id: str) -> CollectionState | None:
        rows = self._rows(
            "SELECT collection_id, writer_id, discipline, relation, since, joined_ts, point, batch,"
            " hydrated, refilling FROM ledger_collection WHERE collection_id = ?",
            collection_id,
        )
        return collection_of(rows[0]) if rows else None

    def refilling(self, collection_id: str) -> bool:
        rows = self._rows("SELECT refilling FROM ledger_collection WHERE collection_id = ?", collection_id)
        return bool(rows and rows[0][0])

    def seen(self, collection_id: str) -> Any:
        rows = self._rows("SELECT seen FROM ledger_seen WHERE collection_id = ?", collection_id)
        return json.loads(rows[0][0]) if rows else None

    def taken(self, collection_id: str) -> list[tuple[int, Taken]]:
        rows = self._rows(
            "SELECT ts, key, content FROM ledger_taken WHERE collection_id = ? ORDER BY ts", collection_id
        )
        return [(ts, Taken(key, content)) for ts, key, content in rows]

    def counters(self) -> dict[str, dict[str, int]]:
        rows = self._rows("SELECT collection_id, counters FROM ledger_counters")
        return {collection_id: json.loads(counters) for collection_id, counters in rows}

    def forget_taken(self, collection_id: str, until: int) -> None:
        with self._transaction() as db:
            db.execute("DELETE FROM ledger_taken WHERE collection_id = ? AND ts <= ?", (collection_id, until))

    def add_chunks(self, chunks: Iterable[tuple[str, Point | None, int, FileEntry]]) -> None:
        with self._transaction() as db:
            db.executemany(
                "INSERT OR REPLACE INTO ledger_chunk SELECT collection_id, ?, ?, ?, ?, ?"
                f" FROM ledger_collection WHERE collection_id = ? AND {_FILLING} AND point = ?",
                [
                    (number, file.path, file.rows, file.bytes, file.flawed, id_, point_text(point))
                    for id_, point, number, file in chunks
                ],
            )

    def chunks(self, collection_id: str) -> dict[int, FileEntry]:
        rows = self._rows(
            "SELECT chunk, path, rows, bytes, flawed FROM ledger_chunk WHERE collection_id = ?"
            " ORDER BY chunk",
            collection_id,
        )
        return {row[0]: FileEntry(row[1], row[2], row[3], flawed=row[4]) for row in rows}

    def fill(self, filled: Mapping[str, Filled], since: int) -> None:
        with self._transaction() as db:
            for collection_id, made in filled.items():
                row = db.execute(
                    "SELECT joined_ts, hydrated FROM ledger_collection"
                    f" WHERE collection_id = ? AND {_FILLING} AND point = ?",
                    (collection_id, point_text(made.point)),
                ).fetchone()
                if row is None:
                    continue
                joined_ts, hydrated = row
                if hydrated:
                    self._put_difference(db, collection_id, joined_ts, made.files)
                else:
                    self._put_first_state(db, collection_id, joined_ts, made)
                db.execute("DELETE FROM ledger_chunk WHERE collection_id = ?", (collection_id,))
                db.execute(
                    "UPDATE ledger_error SET until = ? WHERE collection_id = ? AND until IS NULL AND ?",
                    (since, collection_id, hydrated),
                )
                db.execute(
                    "UPDATE ledger_collection SET hydrated = 1, refilling = 0,"
                    " since = iif(hydrated, since, max(since, ?)) WHERE collection_id = ?",
                    (since, collection_id),
                )

    @staticmethod
    def _put_first_state(db: sqlite3.Connection, collection_id: str, ts: int, made: Filled) -> None:
        db.execute("INSERT INTO ledger_state VALUES (?, ?, ?)", (collection_id, ts, made.version))
        db.executemany(PUT_STATE_FILE, state_rows(collection_id, ts, made.files))

    @staticmethod
    def _put_difference(
        db: sqlite3.Connection, collection_id: str, ts: int, files: Sequence[FileEntry]
    ) -> None:
        db.executemany(
            "INSERT INTO ledger_change_file VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, ?)",
            [
                (collection_id, ts, file.path, file.rows, file.bytes, file.deletes, file.resets, file.flawed)
                for file in files
            ],
        )

    def put_state(
        self, collection_id: str, as_of: int, delta_version: int, files: Sequence[FileEntry]
    ) -> None:
        with self._transaction() as db:
            newest = db.execute(
                "SELECT max(as_of) FROM ledger_state JOIN ledger_collection USING (collection_id)"
                " WHERE collection_id = ? AND NOT refilling",
                (collection_id,),
            ).fetchone()[0]
            if newest is None or newest >= as_of:
                raise LedgerConflict(f"state of {collection_id} as of {as_of} follows one as of {newest}")
            db.execute("INSERT INTO ledger_state VALUES (?, ?, ?)", (collection_id, as_of, delta_version))
            db.executemany(PUT_STATE_FILE, state_rows(collection_id, as_of, files))

    def poison(self, collection_id: str, ts: int, error: DefiniteError) -> None:
        with self._transaction() as db:
            self._poison(db, collection_id, ts, error)

    @staticmethod
    def _poison(db: sqlite3.Connection, collection_id: str, ts: int, error: DefiniteError) -> None:
        """What is being read of the table is worth nothing any more; whether it is to be read again."""
        db.execute(
            "INSERT OR IGNORE INTO ledger_error SELECT collection_id, ?, ?, ?, ?, NULL FROM ledger_collection"
            " WHERE collection_id = ? AND (hydrated OR NOT ?)",
            (ts, error.position, error.message, error.hint, collection_id, error.heals),
        )
        if error.heals:
            db.execute(
                "UPDATE ledger_collection SET refilling = hydrated, point = 'null' WHERE collection_id = ?",
                (collection_id,),
            )
            for table in ("ledger_chunk", "ledger_seen"):
                db.execute(f"DELETE FROM {table} WHERE collection_id = ?", (collection_id,))
        else:
            db.execute("UPDATE ledger_collection SET refilling = 0 WHERE collection_id = ?", (collection_id,))

    def errors(self, collection_id: str) -> list[ErrorSpan]:
        rows = self._rows(
            "SELECT ts, position, message, hint, until FROM ledger_error WHERE collection_id = ? ORDER BY ts",
            collection_id,
        )
        return [ErrorSpan(*row) for row in rows]

    def stopped(self, collection_id: str) -> ErrorSpan | None:
        rows = self._rows(
            "SELECT e.ts, e.position, e.message, e.hint, e.until FROM ledger_error e"
            " JOIN ledger_collection c USING (collection_id)"
            " WHERE collection_id = ? AND e.until IS NULL AND NOT c.refilling ORDER BY e.ts DESC LIMIT 1",
            collection_id,
        )
        return ErrorSpan(*rows[0]) if rows else None

    # Reading

    def read_plan(self, collection_id: str, as_of: int) -> ReadPlan:
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
            "SELECT path, rows, bytes, flawed FROM ledger_state_file"
            " WHERE collection_id = ? AND as_of = ? ORDER BY path",
            collection_id,
            as_of,
        )
        return [FileEntry(path, n, size, flawed=flawed) for path, n, size, flawed in rows]

    def change_files(self, collection_id: str, after: int, until: int) -> list[FileEntry]:
        rows = self._rows(
            "SELECT path, rows, bytes, deletes, ts, resets, partials, carriers, flawed"
            " FROM ledger_change_file WHERE collection_id = ? AND ts > ? AND ts <= ? ORDER BY ts, path",
            collection_id,
            after,
            until,
        )
        return [
            FileEntry(path, n, size, deletes, ts, bool(resets), *partials)
            for path, n, size, deletes, ts, resets, *partials in rows
        ]

    def flawed(self) -> list[str]:
        return [row[0] for row in self._rows(FLAWED)]

    def state_at(self, collection_id: str, as_of: int) -> int:
        rows = self._rows(
            "SELECT coalesce(max(as_of), ?2) FROM ledger_state WHERE collection_id = ?1 AND as_of <= ?2",
            collection_id,
            as_of,
        )
        return int(rows[0][0])

    def tails(self) -> list[TailSize]:
        rows = self._rows(
            "WITH s AS (SELECT collection_id, max(as_of) AS as_of FROM ledger_state GROUP BY collection_id)"
            " SELECT f.collection_id, count(*), sum(f.bytes), sum(f.rows), max(f.ts), s.as_of,"
            " (SELECT coalesce(sum(rows), 0) FROM ledger_state_file x"
            "  WHERE x.collection_id = s.collection_id AND x.as_of = s.as_of)"
            " FROM s JOIN ledger_change_file f ON f.collection_id = s.collection_id AND f.ts > s.as_of"
            # One that is read again may still get changes before those that it has.
            " JOIN ledger_collection c ON c.collection_id = s.collection_id AND NOT c.refilling"
            " GROUP BY f.collection_id"
        )
        return [TailSize(*row) for row in rows]

    def superseded(self) -> list[tuple[str, int]]:
        return self._rows(
            "SELECT s.collection_id, s.as_of FROM ledger_state s WHERE EXISTS (SELECT 1 FROM ledger_state o"
            " WHERE o.collection_id = s.collection_id AND o.as_of < s.as_of) ORDER BY 1, 2"
        )

    # Forgetting

    def forget(self, collection_id: str, since: int) -> list[str]:
        with self._transaction() as db:
            db.execute(
                "UPDATE ledger_collection SET since = max(since, ?) WHERE collection_id = ?",
                (since, collection_id),
            )
            kept = db.execute(
                "SELECT max(as_of) FROM ledger_state WHERE collection_id = ? AND as_of <= ?",
                (collection_id, since),
            ).fetchone()[0]
            db.execute(
                "DELETE FROM ledger_error WHERE collection_id = ? AND until <= ?", (collection_id, since)
            )
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
        with self._transaction() as db:
            db.execute(
                "DELETE FROM ledger_binding WHERE writer_id = ?1 AND ts <"
                " (SELECT max(ts) FROM ledger_binding WHERE writer_id = ?1 AND ts <= ?2)",
                (writer_id, since),
            )

    def drop(self, collection_id: str) -> None:
        with self._transaction() as db:
            for table in _COLLECTION_TABLES:
                db.execute(f"DELETE FROM {table} WHERE collection_id = ?", (collection_id,))

    def drop_writer(self, writer_id: str) -> None:
        with self._transaction() as db:
            db.execute("DELETE FROM ledger_writer WHERE writer_id = ?", (writer_id,))
            db.execute("DELETE FROM ledger_binding WHERE writer_id = ?", (writer_id,))

    def file_bytes(self) -> dict[str, int]:
        return dict(self._rows(FILE_BYTES))

    def named_paths(self, collection_id: str) -> set[str]:
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
    "ledger_taken",
    "ledger_counters",
    "ledger_collection",
    "ledger_change_file",
    "ledger_state",
    "ledger_state_file",
    "ledger_chunk",
    "ledger_error",
)

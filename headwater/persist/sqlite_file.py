"""The ledger's file: one SQLite connection, its transactions, and whose file it is to write.

A process that writes has a name.  Beginning takes the name: whichever process had it before can no longer
write, and files that it wrote and nobody names are nobody's.

Not here: what the transactions are (sqlite_ledger.py).
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headwater.core.clock import SYSTEM_CLOCK
from headwater.core.errors import InvariantViolation, TransientError
from headwater.core.limits import METADATA_BUSY_MS_MAX, METADATA_RETRY_S, METADATA_TRY_MS_MAX
from headwater.metadata.migrations import load_migrations
from headwater.observe.failpoints import failpoint
from headwater.persist import ledger_migrations
from headwater.persist.ledger import LedgerConflict

MIGRATIONS = load_migrations("ledger", ledger_migrations)


class LedgerFile:
    """One connection, one lock: calls are short and come from several threads."""

    def __init__(self, path: Path, process: str | None = None) -> None:
        """`process` is the name under which files are written; whoever only looks needs none."""
        self._path = path
        self._lock = threading.RLock()
        self._process = process
        self.incarnation = 0
        try:
            self._db = sqlite3.connect(
                path, timeout=METADATA_BUSY_MS_MAX / 1000, isolation_level=None, check_same_thread=False
            )
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._migrate()
        except sqlite3.DatabaseError as error:
            raise TransientError(
                f'could not open the metadata database "{path}": {error}',
                hint="Restore this file from a backup, or start with an empty data directory.",
            ) from error
        if process is not None:
            self._begin(process)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _migrate(self) -> None:
        """Bring the tables up to date; whoever finds them so writes nothing."""
        MIGRATIONS.refuse_newer(self._db, self._path)
        if MIGRATIONS.applied(self._db) < MIGRATIONS.newest:
            self._take_turn()
            try:
                MIGRATIONS.apply(self._db, SYSTEM_CLOCK.now_ms())
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                self._lock.release()

    def _take_turn(self) -> None:
        """Begin a transaction, with the lock; while another process writes, others may have the lock."""
        until_s = SYSTEM_CLOCK.monotonic_s() + METADATA_BUSY_MS_MAX / 1000
        while True:
            self._lock.acquire()
            begun = False
            try:
                self._db.execute(f"PRAGMA busy_timeout = {METADATA_TRY_MS_MAX}")
                self._db.execute("BEGIN IMMEDIATE")
                begun = True
                return
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorcode == sqlite3.SQLITE_BUSY
                if not busy or SYSTEM_CLOCK.monotonic_s() > until_s:
                    raise
            finally:
                # Reads wait for another process only while it begins or ends.
                self._db.execute(f"PRAGMA busy_timeout = {METADATA_BUSY_MS_MAX}")
                if not begun:
                    self._lock.release()
            SYSTEM_CLOCK.sleep(METADATA_RETRY_S)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self._take_turn()
            try:
                self._check_current()
                yield self._db
                failpoint("ledger.before_commit")
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # SQLite ends it by itself when the disk is full
                    self._db.execute("ROLLBACK")
                raise
            finally:
                self._lock.release()
        except sqlite3.DatabaseError as error:
            raise TransientError(
                f'could not write the metadata database "{self._path}": {error}',
                hint="Check the disk's free space and the file's permissions.",
            ) from error
        failpoint("ledger.after_commit")

    def _rows(self, sql: str, *arguments: object) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._db.execute(sql, arguments).fetchall()
            except sqlite3.DatabaseError as error:
                raise TransientError(
                    f'could not read the metadata database "{self._path}": {error}'
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
        return frozenset(row[0] for row in self._rows("SELECT incarnation FROM ledger_process"))

    def settle(self) -> None:
        """By a durable step.

        A commit that failed may have left its pages in SQLite's log, and a crash could bring them back
        as long as nothing was written over them.  After this, what the ledger says is what it will say.
        """
        if not self.incarnation:
            raise InvariantViolation("a process without a name does not remove files")
        with self._transaction() as db:
            db.execute("UPDATE ledger_process SET sweeps = sweeps + 1 WHERE name = ?", (self._process,))

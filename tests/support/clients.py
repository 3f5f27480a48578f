"""Clients that keep at it while the server is killed under them, and remember what they were told.

    PlainWriter   INSERT, UPDATE, DELETE and small transactions on one plain table.  Knows which
                  were acknowledged; the fate of the one that was cut off is looked up afterwards
                  and must be all or nothing.
    Follower      a SUBSCRIBE that resumes where its last progress was; its changes add up to the table.

Both run in a thread of their own until `stop`; an error that is not a lost connection
is kept and raised by `stop`.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from typing import Any

import psycopg

from headwater.core.clock import seeded
from tests.support.expected import plain
from tests.support.server import HeadwaterServer

_RECONNECT_S = 0.1
STOP_S_MAX = 60.0


class Client(ABC):
    """A thread with a session that is opened again whenever it breaks."""

    def __init__(self, server: HeadwaterServer) -> None:
        self._server = server
        self._stopping = threading.Event()
        self._error: BaseException | None = None
        self._connection: psycopg.Connection[Any] | None = None
        self.reconnects = -1
        self._thread = threading.Thread(target=self._run, name=type(self).__name__, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End it; raises what it met."""
        self._stopping.set()
        self._interrupt()
        self._thread.join(STOP_S_MAX)
        if self._thread.is_alive():
            raise AssertionError(f"{type(self).__name__} does not end")
        if self._error is not None:
            raise self._error

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def check_alive(self) -> None:
        """Raise what ended it, if anything did."""
        if self._error is not None:
            raise self._error

    def _interrupt(self) -> None:
        """Make a blocking read return."""
        if self._connection is not None and not self._connection.closed:
            self._connection.cancel()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._server.connect(connect_timeout=5) as connection:
                    self._connection = connection
                    self.reconnects += 1
                    self._work(connection)
            except psycopg.OperationalError as error:
                # A connection that broke has no SQLSTATE; the server's own errors have, and only
                # those that say it is going away are forgiven.
                if error.sqlstate is not None and not error.sqlstate.startswith(("57", "08")):
                    self._error = error
                    return
                time.sleep(_RECONNECT_S)  # a client's own pace; whoever waits for it has a bound
            except BaseException as error:
                self._error = error
                return

    @abstractmethod
    def _work(self, connection: psycopg.Connection[Any]) -> None:
        """Until `_stopping` or an error."""


class PlainWriter(Client):
    """Writes a table `name (id bigint, value bigint)` and knows what must be in it."""

    def __init__(self, server: HeadwaterServer, name: str, seed: int) -> None:
        super().__init__(server)
        self._name = name
        self._random = seeded(seed)
        self.rows: dict[int, int] = {}
        self._in_doubt: dict[int, int] | None = None  # the rows if the write that was cut off has happened
        self._next_id = 0
        self.acknowledged = 0
        self.doubts = 0

    def _work(self, connection: psycopg.Connection[Any]) -> None:
        while not self._stopping.is_set():
            if self._in_doubt is not None:
                self._resolve(connection)
            statements, after = self._choose()
            self._in_doubt = after
            if len(statements) == 1:
                connection.execute(statements[0].encode())
            else:
                with connection.transaction():
                    for statement in statements:
                        connection.execute(statement.encode())
            self.rows, self._in_doubt = after, None
            self.acknowledged += 1
            time.sleep(0.01)  # a client's own pace, not a wait for anything

    def _choose(self) -> tuple[list[str], dict[int, int]]:
        after = dict(self.rows)
        kind = self._random.choice(("insert", "insert", "block", "update", "delete"))
        if kind in ("update", "delete") and not after:
            kind = "insert"
        if kind == "insert" or kind == "block":
            statements = []
            for _ in range(1 if kind == "insert" else 3):
                ids = range(self._next_id, self._next_id + 3)
                self._next_id += 3
                after.update({id_: id_ * 10 for id_ in ids})
                values = ", ".join(f"({id_}, {id_ * 10})" for id_ in ids)
                statements.append(f"INSERT INTO {self._name} VALUES {values}")
            return statements, after
        chosen = self._random.sample(sorted(after), min(5, len(after)))
        listed = ", ".join(map(str, chosen))
        if kind == "delete":
            return [f"DELETE FROM {self._name} WHERE id IN ({listed})"], {
                id_: value for id_, value in after.items() if id_ not in chosen
            }
        after.update({id_: after[id_] + 1 for id_ in chosen})
        return [f"UPDATE {self._name} SET value = value + 1 WHERE id IN ({listed})"], after

    def _resolve(self, connection: psycopg.Connection[Any]) -> None:
        """The write that was cut off has happened wholly or not at all; everything else is there."""
        got = self.read(connection)
        before, after = self.rows, self._in_doubt
        if got not in (Counter(before.items()), Counter((after or {}).items())):
            raise AssertionError(
                f"{self._name} holds {got.total()} rows: neither the {len(before)} before nor the"
                f" {len(after or {})} after the write that was cut off"
            )
        self.doubts += 1
        self.rows = dict(got.keys())  # pairs of id and value, each there once
        self._in_doubt = None

    def read(self, connection: psycopg.Connection[Any]) -> Counter[tuple[Any, ...]]:
        return Counter(connection.execute(f"SELECT * FROM {self._name}".encode()).fetchall())

    def check(self, connection: psycopg.Connection[Any]) -> None:
        """After `stop`: acknowledged writes are there exactly once."""
        if self._in_doubt is not None:
            self._resolve(connection)
        assert self.read(connection) == Counter(self.rows.items())


class Follower(Client):
    """Follows a table by SUBSCRIBE from its first moment on; `changes` are complete below `complete`."""

    def __init__(self, server: HeadwaterServer, name: str, remembers: bool = True) -> None:
        super().__init__(server)
        self._name = name
        self._remembers = remembers  # or only adds up, for those who follow for hours
        self.rows: Counter[tuple[Any, ...]] = Counter()  # the sum of all changes below `complete`
        self.complete = 0
        self.began_at = 0
        self.changes: list[tuple[int, int, tuple[Any, ...]]] = []  # (timestamp, diff, row)
        self._pending: list[tuple[int, int, tuple[Any, ...]]] = []
        self._interrupted: Counter[tuple[int, int, tuple[Any, ...]]] = Counter()

    def _work(self, connection: psycopg.Connection[Any]) -> None:
        if self.complete:
            sql = f"SUBSCRIBE {self._name} WITH (PROGRESS, SNAPSHOT false) AS OF {self.complete - 1}"
            # What had come beyond the last progress comes again, at the same timestamps.
            self._interrupted, self._pending = Counter(self._pending), []
        else:
            sql = f"SUBSCRIBE {self._name} WITH (PROGRESS)"
            self.began_at, self._pending = 0, []
        try:
            for row in connection.cursor().stream(sql.encode()):
                self._hear(int(row[0]), bool(row[1]), row[2], plain(row[3:]))
                if self._stopping.is_set():
                    return
        except psycopg.errors.QueryCanceled:
            if not self._stopping.is_set():
                raise

    def _hear(self, ts: int, progressed: bool, diff: int | None, row: tuple[Any, ...]) -> None:
        if ts < self.complete - (1 if progressed else 0):
            raise AssertionError(f"{self._name}: time went back to {ts} after progress {self.complete}")
        if not progressed:
            assert diff is not None
            self._pending.append((ts, diff, row))
            return
        if not self.began_at:
            self.began_at = ts  # the snapshot comes next; it is complete at the progress after it
            return
        done = [change for change in self._pending if change[0] < ts]
        self._pending = [change for change in self._pending if change[0] >= ts]
        again = Counter({change: n for change, n in self._interrupted.items() if change[0] < ts})
        if again - Counter(done):
            raise AssertionError(
                f"{self._name}: changes came with another timestamp: {again - Counter(done)}"
            )
        self._interrupted = self._interrupted - again
        if self._remembers:
            self.changes += done
        for _, change, changed in done:
            self.rows[changed] += change
            if not self.rows[changed]:
                del self.rows[changed]
        self.complete = max(self.complete, ts)

    def rows_at(self, ts: int) -> Counter[tuple[Any, ...]]:
        """The sum of the changes up to `ts`, which must be complete."""
        assert ts < self.complete, f"{ts} is not complete, {self.complete} is"
        total: Counter[tuple[Any, ...]] = Counter()
        for at, diff, row in self.changes:
            if at <= ts:
                total[row] += diff
        assert all(n >= 0 for n in total.values()), "a row went more often than it came"
        return +total

    def check_rows(self, connection: psycopg.Connection[Any]) -> None:
        """The sum of all changes is the table at the last timestamp that is complete."""
        ts = self.complete - 1
        rows = connection.execute(f"SELECT * FROM {self._name} AS OF {ts}".encode()).fetchall()
        got = Counter(plain(row) for row in rows)
        assert got == self.rows, (
            f"{self._name} AS OF {ts}: {got.total()} rows, changes say {self.rows.total()}"
        )

    def check_history(self, connection: psycopg.Connection[Any], at: list[int]) -> None:
        """The sums equal the table at these timestamps; the history asked for again is the same."""
        for ts in at:
            rows = connection.execute(f"SELECT * FROM {self._name} AS OF {ts}".encode()).fetchall()
            got, wanted = Counter(plain(row) for row in rows), self.rows_at(ts)
            assert got == wanted, f"{self._name} AS OF {ts}: {got.total()} rows, changes say {wanted.total()}"
        again: Counter[tuple[int, int, tuple[Any, ...]]] = Counter()
        until = self.complete
        sql = f"SUBSCRIBE {self._name} AS OF {self.began_at} UP TO {until}"
        for row in connection.cursor().stream(sql.encode()):
            again[(int(row[0]), int(row[1]), plain(row[2:]))] += 1
        first = Counter(self.changes)
        assert again == first, (
            f"{self._name}: history from {self.began_at} to {until} differs when asked again:"
            f" {list((again - first).items())[:3]} {list((first - again).items())[:3]}"
        )

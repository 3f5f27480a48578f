"""Changes of a query fit what was said before, also where SQL leaves the result to chance.

Method: queries with ties under LIMIT, DISTINCT ON, window functions, lists and sums of floats are
followed while rows come and go and the table is folded.  Later the same piece of the past is asked for
again, some with the snapshot from Spark, and from its middle on: other runs, over other files, on another
engine.  All must tell the same changes, and no row may ever go that has not come.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import psycopg

from tests.support.files import states_of
from tests.support.server import HeadwaterServer, eventually

QUERIES = (
    "SELECT k, x, t FROM r LIMIT 25",
    "SELECT DISTINCT ON (k) k, x, i FROM r ORDER BY k, t",
    "SELECT t, row_number() OVER (PARTITION BY k ORDER BY t) AS n, last_value(x) OVER (ORDER BY k) FROM r",
    "SELECT k, sum(x) AS s, avg(x) AS a, stddev(x) AS d, array_agg(t) AS l, max(i) AS i FROM r GROUP BY k",
    "SELECT DISTINCT i, -x * 0 AS z FROM r",
    "SELECT q.k, l.x FROM (VALUES (1), (2)) q (k), LATERAL (SELECT x FROM r WHERE r.k = q.k LIMIT 3) l",
)  # fmt: skip
WRITES = 40
FOLD_S_MAX = 120.0

Change = tuple[int, int, tuple[Any, ...]]


def told(server: HeadwaterServer, query: str, bounds: str, engine: str = "auto") -> list[Change]:
    """A piece of the past: (timestamp, diff, row)."""
    with server.connect() as session:
        session.execute(f"SET read_engine = {engine}".encode())
        rows = session.execute(f"SUBSCRIBE ({query}) {bounds}".encode()).fetchall()
    return [(int(row[0]), int(row[1]), printed(row[2:])) for row in rows]


def printed(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(repr, row))  # which tells 0.0 from -0.0


def add_up(changes: list[Change]) -> Counter[tuple[Any, ...]]:
    """The rows in the end; at no timestamp has one gone that was not there."""
    rows: Counter[tuple[Any, ...]] = Counter()
    for moment in sorted({ts for ts, _, _ in changes}):
        for ts, diff, row in changes:
            if ts == moment:
                rows[row] += diff
        assert all(count >= 0 for count in rows.values()), f"at {moment}: {-rows}"
    return +rows


class Following:
    """A query that is followed while things change."""

    def __init__(self, server: HeadwaterServer, query: str, as_of: int) -> None:
        self._session = server.connect()
        self._sql = f"SUBSCRIBE ({query}) WITH (PROGRESS) AS OF {as_of}"
        self.changes: list[Change] = []
        self.complete = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for row in self._session.cursor().stream(self._sql.encode()):
                if row[1]:
                    self.complete = int(row[0])
                else:
                    self.changes.append((int(row[0]), int(row[2]), printed(row[3:])))
        except psycopg.errors.QueryCanceled:
            pass

    def close(self) -> None:
        self._session.cancel_safe()
        self._thread.join(FOLD_S_MAX)
        self._session.close()


def now(server: HeadwaterServer) -> int:
    return int(server.query("SELECT mz_now()::text FROM r LIMIT 1")[0][0])


def write(server: HeadwaterServer, count: int) -> None:
    """Rows that are tied with others come and go, each write in a file of its own."""
    with server.connect() as session:
        for n in range(count):
            session.execute(
                f"INSERT INTO r SELECT {n} % 4, ({n} % 7) * 0.1, 't' || {n} % 3, '1 mon'".encode()
                if n % 3
                else f"DELETE FROM r WHERE k = {n % 4} AND t = 't{n % 3}' AND x < 0.{n % 7 + 2}".encode()
            )


def test_changes_fit_what_was_said_before_however_often_it_is_computed(busy_server: HeadwaterServer) -> None:
    server = busy_server
    server.query("CREATE TABLE r (k int, x float8, t text, i interval) WITH (RETAIN HISTORY FOR '1h')")
    server.query(
        "INSERT INTO r SELECT n % 4, (n % 11) * 0.1 + (n % 5) * 1e9, 't' || n % 5,"
        " CASE n % 3 WHEN 0 THEN INTERVAL '1 mon' WHEN 1 THEN INTERVAL '30 days' END"
        " FROM generate_series(1, 200) AS g (n)"
    )
    id_ = str(server.query("SELECT id FROM mz_tables WHERE name = 'r'")[0][0])
    began = now(server)
    states = len(states_of(server.data_dir, id_))
    live = [Following(server, query, began) for query in QUERIES]
    try:
        write(server, WRITES)
        middle = now(server)
        eventually(lambda: len(states_of(server.data_dir, id_)) > states, within_s=FOLD_S_MAX)
        write(server, WRITES // 4)
        end = now(server) + 1
        for follower in live:
            eventually(lambda one=follower: one.complete >= end, within_s=FOLD_S_MAX)  # type: ignore[misc]
    finally:
        for follower in live:
            follower.close()
    for number, (query, follower) in enumerate(zip(QUERIES, live, strict=True)):
        heard = [change for change in follower.changes if change[0] < end]
        whole = add_up(heard)
        again = told(server, query, f"AS OF {began} UP TO {end}", ("duckdb", "spark")[number % 2])
        assert sorted(again) == sorted(heard), query
        assert add_up(told(server, query, f"AS OF {end - 1} UP TO {end}")) == whole, query
        rest = told(server, query, f"WITH (SNAPSHOT = false) AS OF {middle} UP TO {end}")
        assert sorted(rest) == sorted(change for change in heard if change[0] > middle), query
    server.query("DROP TABLE r")

"""Many tables are one stream, many subscribers one hub: what they use does not grow with their number.

Method: connections and slots are counted where they are, in the upstream's own statistics
(pg_stat_activity, pg_replication_slots, and pg_stat_database, which also counts those that have come and
gone).  That many tables have one snapshot is read in the ledger, that they came at once in the audit log and
by a session that looks all the time.  That subscribers share a hub shows in the number of queries that the
server has run (`headwater_queries_total`): a hub of a query runs one for each change, however many listen.
"""

from __future__ import annotations

import re
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Any

from headwater.core.limits import UPSTREAM_LOG_CHECK_S
from headwater.persist.ledger import CollectionState
from headwater.persist.opening import open_ledger
from tests.support.clients import Follower
from tests.support.database import Database
from tests.support.files import rows_about
from tests.support.following import Following, following
from tests.support.repeated import Repeated, wait_turns
from tests.support.server import HeadwaterServer, eventually

SETTLE_S_MAX = 240.0
REFERENCES = tuple("abcd")
UPSTREAM = tuple(
    statement
    for name in REFERENCES
    for statement in (
        f"CREATE TABLE {name} (id int PRIMARY KEY, n int)",
        f"INSERT INTO {name} SELECT g, 0 FROM generate_series(1, 50) AS g",
    )
)
OURS = "datname = current_database() AND application_name = 'headwater'"


def backends(database: Database) -> Counter[str]:
    """What we have open upstream: `walsender` for streams, `client backend` for the rest."""
    return Counter(kind for kind, _ in _activity(database))


def pids(database: Database) -> set[int]:
    return {pid for _, pid in _activity(database)}


def _activity(database: Database) -> list[tuple[str, int]]:
    return database.connection.execute(
        f"SELECT backend_type, pid FROM pg_stat_activity WHERE {OURS}".encode()
    ).fetchall()


def sessions(database: Database) -> int:
    """All that were ever opened to the database."""
    count: int = database.value("SELECT sessions FROM pg_stat_database WHERE datname = current_database()")
    return count


ONE_STREAM = Counter({"walsender": 1, "client backend": 1})
"""Of a source that runs: the stream, and the connection beside it that looks at references and the slot."""


def check_one_stream(here: Following) -> set[int]:
    """Wait until backfills, and whoever asked what the slot holds, have let go of theirs; who is left."""
    found: set[int] = set()

    def one() -> bool:
        activity = _activity(here.database)
        assert Counter(kind for kind, _ in activity) == ONE_STREAM
        found.clear()
        found.update(pid for _, pid in activity)
        return len(here.slots()) == 1

    eventually(one, within_s=SETTLE_S_MAX)
    return found


def read_once(here: Following, names: Sequence[str]) -> None:
    """Wait until all of these can be read."""
    here.run("SET statement_timeout = '240s'")
    for name in names:
        here.rows(f"SELECT count(*) FROM {name}")


def ids(here: Following) -> dict[str, str]:
    """Of the tables and sources, by name."""
    return dict(
        here.rows(
            "SELECT o.name, o.id FROM mz_objects o JOIN mz_schemas s ON s.id = o.schema_id"
            f" WHERE s.name = '{here.schema}' AND o.type IN ('table', 'source')"
        )
    )


def ledger_of(here: Following) -> dict[str, CollectionState]:
    """What the ledger knows of each table, by id."""
    with closing(open_ledger(here.server.data_dir)) as ledger:
        return ledger.collections()


def test_twelve_tables_need_what_one_needs(server: HeadwaterServer, database: Database) -> None:
    with following(server, database, *UPSTREAM) as here:
        here.create_table("first", "a")
        read_once(here, ["first"])
        stream = check_one_stream(here)
        tables = {f"{reference}{number}": reference for reference in REFERENCES for number in range(3)}
        for name, reference in tables.items():
            here.create_table(name, reference)
        read_once(here, list(tables))
        # Not only as many as before: the same ones.
        assert check_one_stream(here) == stream
        for name, reference in tables.items():
            database.run(f"UPDATE {reference} SET n = n + 1 WHERE id % 2 = 0")
            here.follows(name, reference)
        assert check_one_stream(here) == stream


def test_a_table_that_comes_late_needs_the_upstream_only_to_be_filled(
    server: HeadwaterServer, database: Database
) -> None:
    with following(server, database, *UPSTREAM) as here:
        here.create_table("a")
        read_once(here, ["a"])
        stream = check_one_stream(here)
        here.create_table("late", "b")
        read_once(here, ["late"])
        check_one_stream(here)
        began_s, opened = time.monotonic(), sessions(database)  # who has gone has been counted as well
        for number in range(20):
            database.run(f"INSERT INTO b VALUES ({100 + number}, 0)", f"UPDATE a SET n = {number}")
            here.follows("late", "b")
        here.follows("a")
        # What the slot holds is asked from time to time, each time in a session of its own, and nothing else.
        questions = 1 + int((time.monotonic() - began_s) / UPSTREAM_LOG_CHECK_S)
        assert sessions(database) - opened <= questions
        eventually(lambda: pids(database) == stream)


def test_a_drop_gives_back_what_nobody_else_uses(server: HeadwaterServer, database: Database) -> None:
    with following(server, database, *UPSTREAM) as here:
        tables = {"a1": "a", "a2": "a", "b1": "b"}
        for name, reference in tables.items():
            here.create_table(name, reference)
        read_once(here, list(tables))
        stream = check_one_stream(here)
        known = ids(here)
        here.run("DROP TABLE a1")
        eventually(lambda: rows_about(server.data_dir, known["a1"]) == 0, within_s=SETTLE_S_MAX)
        database.run("UPDATE a SET n = n + 1", "UPDATE b SET n = n + 1")
        here.follows("a2", "a")
        here.follows("b1", "b")
        here.run("DROP TABLE a2, b1")
        for name in ("a2", "b1"):
            eventually(partial(_forgotten, server, known[name]), within_s=SETTLE_S_MAX)
        # The source is still there, and with it its place in the log: a table can come at any time.
        assert check_one_stream(here) == stream
        here.create_table("b2", "b")
        here.follows("b2", "b")
        here.run("DROP SOURCE src CASCADE")
        eventually(lambda: not here.slots(), within_s=SETTLE_S_MAX)
        eventually(lambda: not pids(database), within_s=SETTLE_S_MAX)
        eventually(partial(_forgotten, server, known["src"]), within_s=SETTLE_S_MAX)


def _forgotten(server: HeadwaterServer, id_: str) -> bool:
    return rows_about(server.data_dir, id_) == 0


def test_two_sources_over_one_connection_have_nothing_in_common(
    server: HeadwaterServer, database: Database
) -> None:
    with following(server, database, *UPSTREAM) as here:
        here.run("CREATE SOURCE other FROM POSTGRES CONNECTION pg (PUBLICATION 'p')")
        here.create_table("a")
        here.run("CREATE TABLE a_other FROM SOURCE other (REFERENCE a)")
        read_once(here, ["a", "a_other"])
        both = Counter({kind: 2 * count for kind, count in ONE_STREAM.items()})
        eventually(lambda: backends(database) == both, within_s=SETTLE_S_MAX)
        slots = set(here.slots())
        assert len(slots) == 2
        here.run("DROP SOURCE other CASCADE")
        check_one_stream(here)
        assert set(here.slots()) < slots
        database.run("UPDATE a SET n = 7")
        here.follows("a")


class Looking(Repeated):
    """Counts the tables of a schema all the time."""

    def __init__(self, here: Following) -> None:
        super().__init__(here.server.connect())
        self._query = (
            "SELECT count(*) FROM mz_tables t JOIN mz_schemas s ON s.id = t.schema_id"
            f" WHERE s.name = '{here.schema}'"
        ).encode()
        self.counts: set[int] = set()

    def turn(self) -> None:
        self.counts.add(self.connection.execute(self._query).fetchall()[0][0])


def test_a_hundred_tables_of_one_transaction_come_at_once(
    server: HeadwaterServer, database: Database
) -> None:
    names = [f"t{number}" for number in range(100)]
    with following(server, database, *UPSTREAM) as here:
        # Alone, so that there is a binding: what is created with a source joins at its first one anyway.
        here.create_table("a")
        read_once(here, ["a"])
        with Looking(here) as looking:
            here.run("BEGIN")
            for number, name in enumerate(names):
                here.create_table(name, REFERENCES[number % len(REFERENCES)])
            here.run("COMMIT")
            wait_turns([looking])
        assert looking.counts == {1, 101}
        read_once(here, names)
        known = ids(here)
        created = (
            "SELECT count(*), count(DISTINCT occurred_at) FROM mz_audit_events WHERE event_type = 'create'"
            f" AND object_type = 'table' AND details->>'schema' = '{here.schema}'"
            f" AND details->>'item' <> 'a'"
        )
        assert here.rows(created) == [(100, 1)]
        check_one_snapshot([ledger_of(here)[known[name]] for name in names])
        since = ledger_of(here)[known["t0"]].since
        counts = ", ".join(f"(SELECT sum(n) FROM {name})" for name in names[:8])
        assert here.rows(f"SELECT {counts} AS OF {since}") == [(0,) * 8]
        check_one_stream(here)


def check_one_snapshot(collections: Sequence[CollectionState]) -> None:
    """All joined at one binding, by one snapshot of the upstream, and can be read from one moment on."""
    assert {collection.hydrated for collection in collections} == {True}
    assert len({(at.joined_ts, at.since, at.batch) for at in collections}) == 1
    moments: list[Any] = [collection.point.at for collection in collections if collection.point is not None]
    assert len(moments) == len(collections)
    assert len({(at["snapshot"], at["until"]) for at in moments}) == 1


def queries_run(server: HeadwaterServer) -> int:
    """How many queries have read tables since the server was started."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.http_port}/metrics", timeout=60) as page:
        text = page.read().decode()
    return sum(
        int(float(n)) for n in re.findall(r'^headwater_queries_total\{engine="duckdb".*\} (\S+)$', text, re.M)
    )


def test_subscribers_of_one_query_share_what_is_computed(server: HeadwaterServer, database: Database) -> None:
    listeners = 8
    with following(server, database, *UPSTREAM) as here:
        here.create_table("a")
        here.run("CREATE VIEW sums AS SELECT count(*) AS c, sum(n) AS s FROM a")
        read_once(here, ["sums"])
        followers = [Follower(server, f"{here.schema}.sums") for _ in range(listeners)]
        for follower in followers:
            follower.start()
        for follower in followers:
            eventually(partial(_hears, follower, {(50, 0)}), within_s=SETTLE_S_MAX)
        before = queries_run(server)
        for number in range(1, 11):
            database.run(f"UPDATE a SET n = {number}")
            for follower in followers:
                eventually(partial(_hears, follower, {(50, 50 * number)}), within_s=SETTLE_S_MAX)
        run = queries_run(server) - before
        stamps = {
            ts for follower in followers for ts, diff, row in follower.changes if row[1] != 0 and diff > 0
        }
        # One at each timestamp, and one for the result that the first of them was compared with.
        assert len(stamps) <= run <= len(stamps) + 1, f"{run} queries for {len(stamps)} changes"
        heard = [[change for change in follower.changes if change[0] in stamps] for follower in followers]
        assert all(sorted(changes) == sorted(heard[0]) for changes in heard)
        # The last one out ends the hub: nothing of it keeps the table.
        for follower in followers:
            follower.stop()
        table = ids(here)["a"]
        here.run("DROP TABLE a CASCADE")
        eventually(partial(_forgotten, server, table), within_s=SETTLE_S_MAX)


def _hears(follower: Follower, rows: set[tuple[Any, ...]]) -> bool:
    follower.check_alive()
    return set(follower.rows) == rows

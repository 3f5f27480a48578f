"""Subscriptions end with the definite error that reads are given, where it is, after all that was before it.

Method: a column is dropped upstream, which stops one table for good.  Whoever follows it, or something over
it, then has the changes before, progress up to the error and never beyond, and the error.  What was followed
is compared with a SELECT as of the millisecond before the error, and the error with that of a SELECT there.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import psycopg
import pytest

from tests.support.database import Database
from tests.support.following import Following, following
from tests.support.server import HeadwaterServer

HISTORY = "RETAIN HISTORY FOR '1 hour'"
TABLES = (
    "CREATE TABLE a (id int PRIMARY KEY, v int, w int)",
    "CREATE TABLE b (id int PRIMARY KEY, v int)",
    "INSERT INTO a VALUES (1, 10, 0), (2, 20, 0)",
    "INSERT INTO b VALUES (1, 100), (2, 200)",
)


class Told:
    """What one subscription has said: rows with their counts, the last progress, the error it ended with."""

    def __init__(self, here: Following, target: str, more: str = "") -> None:
        self.rows: Counter[tuple[Any, ...]] = Counter()
        self.progress = 0
        self.error: psycopg.Error | None = None
        self._session = here.connect()
        self._session.execute(b"BEGIN")
        self._session.execute(f"DECLARE c CURSOR FOR SUBSCRIBE {target} WITH (PROGRESS) {more}".encode())

    def fetch(self) -> bool:
        """Whether there may be more."""
        try:
            found = self._session.execute(b"FETCH ALL c").fetchall()
        except psycopg.Error as error:
            self.error = error
            return False
        for ts, progressed, diff, *row in found:
            if progressed:
                assert ts >= self.progress
                self.progress = int(ts)
            else:
                assert ts >= self.progress, "it was said that nothing more comes there"
                self.rows[tuple(row)] += diff
        return bool(found)

    def follow(self) -> Told:
        """To its end, whichever it is."""
        while self.fetch():
            pass
        self._session.close()
        self.rows = Counter({row: count for row, count in self.rows.items() if count})
        return self


def ends_like_reads(here: Following, told: Told, query: str) -> None:
    """The subscription has all that was complete, and ended as reads end from there on."""
    assert told.error is not None, "ended as if all were well"
    assert told.rows == Counter(here.rows(f"{query} AS OF {told.progress - 1}"))
    with pytest.raises(psycopg.errors.InternalError_) as read:
        here.rows(f"{query} AS OF {told.progress}")
    said, wanted = told.error.diag, read.value.diag
    assert (said.message_primary, said.sqlstate, said.message_detail, said.message_hint) == (
        *(wanted.message_primary, wanted.sqlstate, wanted.message_detail, wanted.message_hint),
    )
    assert "has been altered" in str(said.message_primary)


def copy_to(here: Following, query: str, copied: list[bytes]) -> None:
    with here.session.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT".encode()) as copy:
        copied.extend(map(bytes, copy))


def test_a_subscription_ends_with_its_tables_error(server: HeadwaterServer, database: Database) -> None:
    join = "SELECT a.id, a.v + b.v FROM a JOIN b ON a.id = b.id"
    with following(server, database, *TABLES) as here:
        for name in ("a", "b"):
            here.create_table(name, options=HISTORY)
        here.run("CREATE VIEW x AS SELECT v, w FROM a WHERE v > 0")
        here.follows("a")
        began = here.value("SELECT mz_now() FROM a LIMIT 1")
        subscriptions = {
            "SELECT * FROM a": Told(here, "a"),
            "SELECT * FROM x": Told(here, "x"),
            join: Told(here, f"({join})"),
        }
        healthy = Told(here, "b")
        for told in (*subscriptions.values(), healthy):
            told.fetch()
        database.run("UPDATE a SET v = 11 WHERE id = 1", "INSERT INTO a VALUES (3, 30, 0)")
        here.follows("a")
        database.run("ALTER TABLE a DROP COLUMN w", "INSERT INTO a VALUES (4, 40)")
        message = here.error_of("a")
        for query, told in subscriptions.items():
            ends_like_reads(here, told.follow(), query)
            assert told.error is not None
            assert told.error.diag.message_primary == message
        ended = subscriptions["SELECT * FROM a"].progress
        # Who comes later: from before the error, and up to it.
        ends_like_reads(here, Told(here, "a", f"AS OF {began}").follow(), "SELECT * FROM a")
        ends_like_reads(here, Told(here, f"({join})", f"AS OF {began}").follow(), join)
        before = Told(here, "a", f"AS OF {began} UP TO {ended}").follow()
        assert before.error is None
        assert before.rows == subscriptions["SELECT * FROM a"].rows
        beyond = Told(here, "a", f"AS OF {began} UP TO {ended + 1}").follow()
        assert beyond.error is not None
        # At or after it: at once, also where nothing has come so far yet.
        for moment in ("", f"AS OF {ended}", f"AS OF {ended + 3_600_000}"):
            with pytest.raises(psycopg.errors.InternalError_, match="has been altered"):
                Told(here, "a", moment)
        copied: list[bytes] = []
        with pytest.raises(psycopg.errors.InternalError_, match="has been altered"):
            copy_to(here, f"SUBSCRIBE a AS OF {began}", copied)
        assert b"\t3\t30\t0" in b"".join(copied)
        # The others of its source go on.
        database.run("INSERT INTO b VALUES (3, 300)")
        while not healthy.rows[(3, 300)]:
            assert healthy.fetch()


def test_narrower_and_wider_subscriptions_end_with_the_error_of_what_they_read(
    server: HeadwaterServer, database: Database
) -> None:
    with following(server, database, *TABLES) as here:
        here.create_table("a", options=f"EXCLUDE COLUMNS (w), {HISTORY}")
        here.follows("a", columns="id, v")
        narrower = Told(here, "a")
        narrower.fetch()
        here.run("ALTER TABLE a ADD COLUMN w")
        here.follows("a")
        wider = Told(here, "a")
        wider.fetch()
        database.run("INSERT INTO a VALUES (3, 30, 3)")
        here.follows("a")
        database.run("ALTER TABLE a DROP COLUMN v")
        here.error_of("a")
        ends_like_reads(here, wider.follow(), "SELECT * FROM a")
        narrower.follow()
        assert narrower.error is not None
        assert "has been altered" in str(narrower.error)
        assert narrower.rows == Counter([(1, 10), (2, 20), (3, 30)])

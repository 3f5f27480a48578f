"""Reads that show what their upstream had committed when they began, or when an application had written.

Method: the source ticks slowly, so that a read which does not wait is stale; a row is written upstream and
read at once, again and again, with the upstream busy, idle, committing without waiting for its disk, and
waiting for a standby that is not there.
"""

from __future__ import annotations

import psycopg
import pytest

from tests.support.database import Database
from tests.support.faulty import committing, waiting_for_a_standby
from tests.support.following import Following, following
from tests.support.server import HeadwaterServer

TABLE = "CREATE TABLE t (id int PRIMARY KEY)"
VIEW = "CREATE VIEW v AS SELECT max(id) AS newest FROM t"
TIMES = 5


def _recent(here: Following) -> None:
    here.run("SET real_time_recency = on", "SET real_time_recency_timeout = '60s'")


def test_a_read_shows_what_was_committed_when_it_began(server: HeadwaterServer, database: Database) -> None:
    with following(server, database, TABLE, "INSERT INTO t VALUES (0)") as here:
        here.create_table("t")
        here.run(VIEW, "ALTER SOURCE src SET (TIMESTAMP INTERVAL '1s')")
        assert here.value("SELECT newest FROM v") == 0
        _recent(here)
        for i in range(1, TIMES):
            database.run(f"INSERT INTO t VALUES ({i})")
            assert here.value("SELECT newest FROM v") == i
        # Committed, and nobody has waited for the disk; then records that nobody commits.
        database.run("SET synchronous_commit = off", f"INSERT INTO t VALUES ({TIMES})")
        assert here.value("SELECT newest FROM v") == TIMES
        with psycopg.connect(database.server.dsn(database.name)) as other:
            other.execute("INSERT INTO t SELECT generate_series(1000, 1100)")
            assert here.value("SELECT newest FROM v") == TIMES
            other.rollback()
        # Nothing happens that concerns us, and the log goes on all the same.
        database.run("SELECT pg_logical_emit_message(false, 'other', repeat('x', 10000))", "CHECKPOINT")
        assert here.value("SELECT newest FROM v") == TIMES
        database.run(f"INSERT INTO t VALUES ({TIMES + 1})")
        here.run("BEGIN")
        assert here.value("SELECT newest FROM v") == TIMES + 1
        database.run(f"INSERT INTO t VALUES ({TIMES + 2})")
        assert here.value("SELECT newest FROM v") == TIMES + 1, "a transaction stays where it began"
        here.run("COMMIT")
        assert here.value("SELECT newest FROM v") == TIMES + 2


def test_an_application_reads_its_own_writes(server: HeadwaterServer, database: Database) -> None:
    with following(server, database, TABLE, "INSERT INTO t VALUES (0)") as here:
        here.create_table("t")
        here.run(VIEW, "ALTER SOURCE src SET (TIMESTAMP INTERVAL '1s')")
        for i in range(1, TIMES):
            database.run(f"INSERT INTO t VALUES ({i})")
            written = database.value("SELECT pg_current_wal_insert_lsn()::text")
            assert here.value(f"SELECT newest FROM v AS OF AT LEAST POSITION '{written}'") == i
        # The same in the other direction: what a read has shown, as a position.
        shown = int(here.value("SELECT lsn FROM src"))
        assert here.value(f"SELECT newest FROM v AS OF AT LEAST POSITION {shown} OF src") == TIMES - 1
        assert database.value(f"SELECT '{written}'::pg_lsn - '0/0'") <= shown
        seen = here.value("SELECT mz_now()::text FROM t LIMIT 1")
        text = f"SELECT mz_upstream_position('{here.schema}.src', {seen})"
        assert database.value(f"SELECT '{here.value(text)}'::pg_lsn >= '{written}'::pg_lsn")
        with pytest.raises(psycopg.Error, match=r'invalid position of source ".*src": "yesterday"'):
            here.rows("SELECT newest FROM v AS OF AT LEAST POSITION 'yesterday'")
        here.run("SET real_time_recency_timeout = '100ms'")
        with pytest.raises(psycopg.errors.QueryCanceled) as told:
            here.rows("SELECT newest FROM v AS OF AT LEAST POSITION 'FFFF/0'")
        assert "the query waits for FFFF/0" in str(told.value.diag.message_detail)


def test_a_commit_that_waits_for_a_standby_is_waited_for_as_long_as_may_be(
    server: HeadwaterServer, database: Database
) -> None:
    with following(server, database, TABLE, "INSERT INTO t VALUES (0)") as here:
        here.create_table("t")
        assert here.value("SELECT max(id) FROM t") == 0
        _recent(here)
        with waiting_for_a_standby(database) as go_on, committing(database, "INSERT INTO t VALUES (1)"):
            here.run("SET real_time_recency_timeout = '3s'")
            with pytest.raises(psycopg.errors.QueryCanceled) as told:
                here.value("SELECT count(*) FROM t")
            assert "has committed and does not show yet" in str(told.value.diag.message_detail)
            here.run("SET real_time_recency_timeout = '60s'")
            go_on()
        assert here.value("SELECT max(id) FROM t") == 1

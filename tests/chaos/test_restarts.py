"""While the cluster is away: sessions stay, system queries and DDL go on, reads wait.

Method: one session is opened before the cluster is killed and used throughout.  A write
after the kill makes the present later than anything the sources have reached, so a strict
read of a source's table must wait for the next cluster, and a timeout must end the wait.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from headwater.storage.supervisor import ADOPTED_ENDED
from tests.support.expected import check_equals_upstream, fed
from tests.support.server import HeadwaterServer, eventually

RESTART_S_MAX = 240.0


@pytest.mark.timeout(600)
def test_a_session_goes_on_while_the_cluster_is_restarted(busy_server: HeadwaterServer) -> None:
    server = busy_server
    with server.connect() as session:
        session.execute("CREATE SOURCE r FROM LOAD GENERATOR COUNTER (MAX CARDINALITY 10)")
        session.execute("CREATE TABLE r_numbers FROM SOURCE r (REFERENCE counter)")
        session.execute("CREATE TABLE r_plain (n int)")
        backend = session.execute("SELECT pg_backend_pid()").fetchall()
        tables = [fed(server.data_dir, "r_numbers")]
        session.execute("SET statement_timeout = '200s'")
        before = check_equals_upstream(session, tables)
        old = server.cluster_pid()
        own = server.started_cluster()
        server.kill_cluster()

        # The machine is busy starting Spark, but what needs no cluster needs no waiting for it.
        names = session.execute(
            "SELECT name FROM mz_tables WHERE name IN ('r_numbers', 'r_plain') ORDER BY name"
        ).fetchall()
        assert names == [("r_numbers",), ("r_plain",)]
        session.execute("INSERT INTO r_plain VALUES (1)")
        assert session.execute("SELECT * FROM r_plain").fetchall() == [(1,)]
        session.execute("CREATE TABLE r_more FROM SOURCE r (REFERENCE counter)")
        assert server.cluster_pid() != old

        session.execute("SET statement_timeout = '300ms'")
        began = time.monotonic()
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            session.execute("SELECT count(*) FROM r_numbers")
        assert time.monotonic() - began < RESTART_S_MAX / 4, "the timeout came late"
        status = session.execute(
            "SELECT status, details->'hints' FROM mz_internal.mz_source_statuses WHERE name = 'r'"
        ).fetchall()
        assert status[0][0] == "starting"

        session.execute("SET statement_timeout = '200s'")
        assert session.execute("SELECT count(*) > 0 FROM r_numbers").fetchall() == [(True,)]
        tables.append(fed(server.data_dir, "r_more"))
        after = check_equals_upstream(session, tables)
        assert after["r"] >= before["r"]
        replica = session.execute(
            "SELECT status, reason FROM mz_internal.mz_cluster_replica_status_history"
            " WHERE replica_id = 'u1' ORDER BY occurred_at DESC LIMIT 2"
        ).fetchall()
        how = "the process was ended by signal 9" if own else ADOPTED_ENDED
        assert replica == [("online", None), ("offline", how)]
        told = session.execute(
            "SELECT h.status FROM mz_internal.mz_source_status_history h"
            " JOIN mz_tables t ON t.id = h.source_id WHERE t.name = 'r_numbers' ORDER BY h.occurred_at"
        ).fetchall()
        assert [word for (word,) in told][-2:] == ["starting", "running"], "its source was away"
        assert session.execute("SELECT pg_backend_pid()").fetchall() == backend
        session.execute("DROP SOURCE r CASCADE")
        session.execute("DROP TABLE r_plain")


@pytest.mark.timeout(600)
def test_a_read_on_spark_survives_the_death_of_the_driver(busy_server: HeadwaterServer) -> None:
    """The JVM is killed, the Python process notices and ends, the next one runs the query again."""
    server = busy_server
    with server.connect() as session:
        session.execute("CREATE TABLE s (n int)")
        session.execute("INSERT INTO s SELECT * FROM generate_series(1, 1000)")
        session.execute("SET read_engine = spark")
        session.execute("SET statement_timeout = '240s'")
        assert session.execute("SELECT sum(n) FROM s").fetchall() == [(500500,)]
        pid = server.cluster_pid()
        assert pid is not None
        server.kill_children(pid, "java")
        assert session.execute("SELECT sum(n) FROM s").fetchall() == [(500500,)]
        eventually(lambda: server.cluster_pid() not in (None, pid), within_s=RESTART_S_MAX)
        session.execute("DROP TABLE s")


@pytest.mark.timeout(600)
def test_a_query_that_ends_the_driver_every_time_does_not_stop_everything(
    busy_server: HeadwaterServer,
) -> None:
    """Its client is told after the second time it was sent; the source goes on."""
    server = busy_server
    with server.connect() as session, ThreadPoolExecutor(1) as threads:
        session.execute("CREATE SOURCE e FROM LOAD GENERATOR COUNTER (TICK INTERVAL '100ms')")
        session.execute("CREATE TABLE e_numbers FROM SOURCE e (REFERENCE counter)")
        session.execute("CREATE TABLE e_plain (n int)")
        session.execute("INSERT INTO e_plain SELECT * FROM generate_series(1, 20000)")
        session.execute("SET read_engine = spark")
        endless = "SELECT count(*) FROM e_plain a, e_plain b, e_plain c WHERE a.n + b.n + c.n < 0"
        running = threads.submit(session.execute, endless)
        ended: set[int] = set()
        while not running.done():
            eventually(
                lambda: running.done() or server.connected_cluster_pid() not in {None, *ended},
                within_s=RESTART_S_MAX,
            )
            pid = server.connected_cluster_pid()
            if pid is not None and pid not in ended:
                server.kill_children(pid, "java")
                ended.add(pid)
        assert len(ended) <= 3, "once more than it is sent, if the first cluster ended before it was"
        with pytest.raises(psycopg.OperationalError, match="has ended 2 times while it ran") as raised:
            running.result(timeout=RESTART_S_MAX)
        assert "spark.driver.memory" in str(raised.value.diag.message_hint)
        session.execute("RESET read_engine")
        tables = [fed(server.data_dir, "e_numbers")]
        before = check_equals_upstream(session, tables)["e"]
        eventually(lambda: check_equals_upstream(session, tables)["e"] > before, within_s=RESTART_S_MAX)
        session.execute("DROP SOURCE e CASCADE")
        session.execute("DROP TABLE e_plain")

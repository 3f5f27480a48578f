"""Executors in processes of their own: the same promises, also when one of them is killed.

Method: `local-cluster[2,1,1024]` is Spark's own cluster on one machine, with a scheduler
and two executors in separate JVMs, so tasks are pickled, files are shared only through the
data directory, and an executor can die alone.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.expected import check_equals_upstream, fed
from tests.support.files import check_files, states_of
from tests.support.server import QUICK_SPARK, HeadwaterServer, descendants, eventually

WAIT_S_MAX = 300.0


@pytest.fixture
def spread_server(tmp_path: Path) -> Iterator[HeadwaterServer]:
    settings = [*QUICK_SPARK, *(setting.replace("driver", "executor") for setting in QUICK_SPARK)]
    server = HeadwaterServer(
        tmp_path / "data",
        spark_master="local-cluster[2,1,1024]",
        spark_conf=["spark.executor.memory=768m", *settings],
    )
    yield server
    server.stop()


def executors(server: HeadwaterServer) -> list[int]:
    """The executors' processes."""
    pid = server.cluster_pid()
    return [
        child
        for child in (descendants(pid) if pid is not None else [])
        if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


@pytest.mark.timeout(900)
def test_backfill_ticks_folds_and_reads_go_on_when_an_executor_is_killed(
    spread_server: HeadwaterServer,
) -> None:
    server = spread_server.start()
    with server.connect() as session:
        session.execute(f"SET statement_timeout = '{int(WAIT_S_MAX)}s'".encode())
        session.execute(
            "CREATE SOURCE kv FROM LOAD GENERATOR KEY VALUE (KEYS 20000, SNAPSHOT ROUNDS 1, VALUE SIZE 8,"
            " SEED 5, PARTITIONS 2, BATCH SIZE 50, TRANSACTIONAL SNAPSHOT true, TICK INTERVAL '50ms')"
            " WITH (TIMESTAMP INTERVAL '100ms')"
        )
        session.execute("CREATE TABLE pairs FROM SOURCE kv (REFERENCE key_value)")
        id_ = session.execute("SELECT id FROM mz_tables WHERE name = 'pairs'").fetchall()[0][0]
        tables = [fed(server.data_dir, "pairs")]
        check_equals_upstream(session, tables)
        first = states_of(server.data_dir, id_)[-1]
        eventually(lambda: states_of(server.data_dir, id_)[-1] > first, within_s=WAIT_S_MAX)

        session.execute("SET read_engine = spark")
        before = check_equals_upstream(session, tables)
        pids = executors(server)
        assert len(pids) == 2
        os.kill(pids[0], signal.SIGKILL)
        after = check_equals_upstream(session, tables)
        assert after["kv"] >= before["kv"]
        eventually(lambda: check_equals_upstream(session, tables)["kv"] > after["kv"], within_s=WAIT_S_MAX)
        folded = states_of(server.data_dir, id_)[-1]
        eventually(lambda: states_of(server.data_dir, id_)[-1] > folded, within_s=WAIT_S_MAX)
        eventually(lambda: len(executors(server)) == 2, within_s=WAIT_S_MAX)
        check_equals_upstream(session, tables)
        assert session.execute(
            "SELECT status FROM mz_internal.mz_source_statuses WHERE name = 'kv'"
        ).fetchall() == [("running",)]
    server.stop()
    check_files(server.data_dir)

"""A data directory may have almost any name, and be as deep as directories are.

Method: a real server in a directory whose path has every letter that is not refused and is too
long for a Unix socket.  Rows go in and out through each engine and through a Delta version.
What is refused is tested with the command line.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.server import QUICK_SPARK, HeadwaterServer, eventually

NAME = 'it\'s a "dir" #1 of 100% $x&y; ünïcödé = (ok) <|>^`~]}+@!'
ROWS = 35  # enough for a fold


@pytest.mark.timeout(300)
def test_everything_works_in_a_directory_with_an_odd_name(tmp_path: Path) -> None:
    data_dir = tmp_path / NAME / ("deep" * 20) / "data"
    data_dir.mkdir(parents=True)
    # As in many containers: Java would take paths to be ASCII.
    server = HeadwaterServer(data_dir, spark_conf=QUICK_SPARK, environment={"LC_ALL": "C"})
    try:
        server.start()
        server.query("CREATE TABLE t (n int)")
        for number in range(ROWS):
            server.query(f"INSERT INTO t VALUES ({number})")
        server.query("CREATE SOURCE s FROM LOAD GENERATOR COUNTER (TICK INTERVAL '100ms')")
        server.query("CREATE TABLE c FROM SOURCE s (REFERENCE counter)")
        eventually(lambda: list(data_dir.glob("tables/u1/_delta_log/*.json")), within_s=90)
        with server.connect() as session:
            session.execute("SET statement_timeout = '60s'")
            for engine in (b"duckdb", b"spark"):
                session.execute(b"SET read_engine = " + engine)
                assert session.execute("SELECT count(*), sum(n) FROM t").fetchall() == [
                    (ROWS, ROWS * (ROWS - 1) // 2)
                ]
                assert session.execute("SELECT count(*) > 0 FROM c").fetchall() == [(True,)]
    finally:
        server.stop()

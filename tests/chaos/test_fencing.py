"""One writer at a time: a second process is refused, an older one can no longer write.

Method: real second processes on the data directory of a running server; two ingestions
of one source in this process, over one ledger, their tasks run here instead of on Spark;
and a bare socket that greets the cluster with a newer epoch, as the next environment would.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from headwater.cluster.ingestion import Ingestion
from headwater.core import protocol
from headwater.core.clock import SYSTEM_CLOCK
from headwater.persist.layout import cluster_socket
from headwater.persist.opening import open_ledger
from headwater.sources.load_generator import resolve_options
from tests.support.cluster_messages import receive
from tests.support.ingesting import shared_of, status_of
from tests.support.metadata import metadata_rows
from tests.support.ports import free_port
from tests.support.server import HeadwaterServer, eventually

REFUSED_S_MAX = 120.0
TOLD_S_MAX = 10.0


def run_headwater(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "headwater", *arguments],
        capture_output=True,
        text=True,
        timeout=REFUSED_S_MAX,
        check=False,
    )


def test_a_second_server_is_refused_and_told_who_has_the_directory(busy_server: HeadwaterServer) -> None:
    assert busy_server.process is not None
    ports = [
        f"--{name}=127.0.0.1:{free_port()}"
        for name in ("sql-address", "internal-sql-address", "http-address")
    ]
    second = run_headwater("server", "--data-dir", str(busy_server.data_dir), *ports)
    assert second.returncode == 1
    assert f"is in use by process {busy_server.process.pid}" in second.stderr
    assert "Traceback" not in second.stderr
    assert busy_server.query("SELECT 1") == [(1,)]


def test_a_second_cluster_is_refused_and_told_who_runs(busy_server: HeadwaterServer, tmp_path: Path) -> None:
    pid = eventually(busy_server.cluster_pid, within_s=REFUSED_S_MAX)
    second = run_headwater(
        "cluster", "--data-dir", str(busy_server.data_dir), "--listen", f"unix:{tmp_path / 'second.sock'}"
    )
    assert second.returncode == 1
    assert "another process runs this cluster" in second.stdout + second.stderr
    assert str(pid) in second.stdout + second.stderr
    assert busy_server.cluster_pid() == pid


def test_an_ingestion_with_an_old_epoch_stops_and_writes_nothing_more(tmp_path: Path) -> None:
    options = resolve_options("COUNTER", {"TICK INTERVAL": "1ms"}, SYSTEM_CLOCK.now_ms() - 1_000)
    wanted = protocol.RunIngestion("u1", "load-generator", options, 20, [], "quickstart", False)
    heard: dict[str, list[Any]] = {"old": [], "new": []}
    ledgers = {name: open_ledger(tmp_path) for name in heard}
    runs = {
        name: Ingestion(shared_of(tmp_path, ledgers[name], heard[name]), wanted, lambda _: None)
        for name in heard
    }

    def ts() -> int:
        writer = ledgers["new"].writer("u1")
        return 0 if writer is None else writer.ts

    try:
        runs["old"].start()
        eventually(lambda: ts() > 0)
        runs["new"].start()
        eventually(runs["old"].finished)
        assert status_of(heard["old"], "u1") == "failed"
        assert "one server alone" in heard["old"][-1].hint
        reached = ts()
        eventually(lambda: ts() > reached)
        bindings = ledgers["new"].bindings("u1")
        offsets = [offset for _, offset in bindings]
        assert offsets == sorted(set(offsets)), "two writers have interleaved"
    finally:
        for run in runs.values():
            run.stop()
            run.join(10.0)
        for ledger in ledgers.values():
            ledger.close()


@pytest.mark.timeout(600)
def test_a_newer_environment_takes_the_cluster_and_the_older_one_ends(busy_server: HeadwaterServer) -> None:
    server = busy_server
    server.query("CREATE SOURCE IF NOT EXISTS fenced FROM LOAD GENERATOR COUNTER")
    pid = eventually(server.cluster_pid, within_s=REFUSED_S_MAX) or 0
    eventually(lambda: server.query("SELECT * FROM fenced"), within_s=REFUSED_S_MAX)
    epoch = metadata_rows(server.data_dir, "SELECT epoch FROM catalog_head")[0][0]
    with socket.socket(socket.AF_UNIX) as older, socket.socket(socket.AF_UNIX) as newer:
        for sock in (older, newer):
            sock.settimeout(REFUSED_S_MAX)
            sock.connect(str(cluster_socket(server.data_dir, "quickstart")))
        older.sendall(protocol.encode(protocol.Hello(epoch - 1, protocol.PROTOCOL_VERSION, 0)))
        assert receive(older) == protocol.Refused(epoch)
        newer.sendall(protocol.encode(protocol.Hello(epoch + 1, protocol.PROTOCOL_VERSION, 0)))
        assert receive(newer) == protocol.Welcome(protocol.PROTOCOL_VERSION, pid)
        process = server.process
        assert process is not None
        assert process.wait(TOLD_S_MAX) is not None
        assert "a newer server has taken over the cluster" in server.log_tail()
        # The cluster is the newer one's now: the older environment leaves it alone.
        assert server.cluster_pid() == pid
        os.kill(pid, 0)
    server.process = None
    began = time.monotonic()
    server.start()
    eventually(lambda: server.query("SELECT * FROM fenced"), within_s=REFUSED_S_MAX)
    assert server.cluster_pid() == pid, f"found its cluster after {time.monotonic() - began:.1f} s"
    server.query("DROP SOURCE fenced")

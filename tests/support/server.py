"""A real server for tests: started as a user starts it, stopped by pid.

Its diagnostics go to a file that is printed when a test fails (`conftest.py`).
Waiting is for a condition with a bound, never for time to pass.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.request import urlopen

import psycopg

from tests.support.ports import free_port

T = TypeVar("T")

START_S_MAX = 60.0
QUICK_SPARK = (
    "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC",
)
"""For tests that start Spark again and again: half the processor time until it is there."""
STOP_S_MAX = 20.0


def eventually(check: Callable[[], T], within_s: float = 30.0, every_s: float = 0.05) -> T:
    """The first true answer of `check`; its last answer or error is shown when time is up."""
    deadline = time.monotonic() + within_s
    last: object = None
    while True:
        try:
            answer = check()
            if answer:
                return answer
            last = answer
        except (psycopg.Error, AssertionError, OSError) as error:
            last = error
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s} s: {last!r}")
        time.sleep(every_s)


def alive(pid: int) -> bool:
    """Whether a process runs (and is not a zombie)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def descendants(pid: int) -> list[int]:
    """Children of a process, their children, and so on."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        parents.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, waiting = [], [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


class HeadwaterServer:
    """`headwater server` on a data directory of its own."""

    def __init__(
        self,
        data_dir: Path,
        *,
        spark_master: str = "local[2]",
        spark_conf: Sequence[str] = (),
        environment: dict[str, str] | None = None,
    ) -> None:
        self.data_dir = data_dir
        self.sql_port, self.internal_port, self.http_port = free_port(), free_port(), free_port()
        self.log_path = data_dir.parent / f"{data_dir.name}.log"
        self._spark = ["--spark-master", spark_master]
        for setting in spark_conf:
            self._spark += ["--spark-conf", setting]
        self._environment = environment or {}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, environment: dict[str, str] | None = None) -> HeadwaterServer:
        """Start and wait for the line that says it can serve."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        begin = self.log_path.stat().st_size if self.log_path.exists() else 0
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "headwater", "server"),
                    *("--data-dir", str(self.data_dir)),
                    *("--sql-address", f"127.0.0.1:{self.sql_port}"),
                    *("--internal-sql-address", f"127.0.0.1:{self.internal_port}"),
                    *("--http-address", f"127.0.0.1:{self.http_port}"),
                    *self._spark,
                ],
                stdout=log,
                stderr=log,
                env={**os.environ, **self._environment, **(environment or {})},
            )
        deadline = time.monotonic() + START_S_MAX
        while not any(
            line.startswith(b"headwater ready") for line in self.log_path.read_bytes()[begin:].splitlines()
        ):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"the server did not start:\n{self.log_tail()}")
            time.sleep(0.05)
        return self

    def log_tail(self, lines: int = 80) -> str:
        """The end of the diagnostics."""
        return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-lines:])

    def dsn(self, **options: str) -> str:
        """For psycopg and others."""
        more = "".join(f" {key}={value}" for key, value in options.items())
        return f"host=127.0.0.1 port={self.sql_port} user=materialize dbname=materialize{more}"

    def connect(self, **options: Any) -> psycopg.Connection[Any]:
        """A session in autocommit."""
        return psycopg.connect(self.dsn(), autocommit=True, **options)

    def connect_operator(self) -> psycopg.Connection[Any]:
        """A session on the operator's address."""
        return psycopg.connect(f"{self.dsn()} port={self.internal_port}", autocommit=True)

    def operate(self, sql: str) -> None:
        """One statement as the operator."""
        with self.connect_operator() as connection:
            connection.execute(sql.encode())

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """One statement in a session of its own."""
        with self.connect() as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def psql(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """The real client."""
        return subprocess.run(
            ["psql", "-X", "-h", "127.0.0.1", "-p", str(self.sql_port), "-U", "materialize", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    # Processes

    def cluster_pid(self) -> int | None:
        """The cluster's process, if it runs."""
        lock = self.data_dir / "cluster-quickstart.lock"
        text = lock.read_text().strip() if lock.exists() else ""
        return int(text) if text and alive(int(text)) else None

    def connected_cluster_pid(self) -> int | None:
        """The cluster's process, if the server has been welcomed by it."""
        pid = self.cluster_pid()
        try:
            with urlopen(f"http://127.0.0.1:{self.http_port}/api/readyz", timeout=5):
                return pid if pid == self.cluster_pid() else None
        except OSError:
            return None

    def started_cluster(self) -> bool:
        """Whether the cluster is a child of this server, and not of one that ran before it."""
        assert self.process is not None
        status = Path(f"/proc/{self.cluster_pid()}/status").read_text()
        return f"PPid:\t{self.process.pid}\n" in status

    def kill_cluster(self) -> None:
        """As a power cut would."""
        pid = self.cluster_pid()
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            eventually(lambda: not alive(pid))

    def kill_children(self, pid: int, name: str) -> list[int]:
        """Kill the descendants of a process whose program has this name; returns their pids."""
        found = [
            child for child in descendants(pid) if Path(f"/proc/{child}/comm").read_text().strip() == name
        ]
        for child in found:
            os.kill(child, signal.SIGKILL)
        return found

    def kill_environment(self) -> None:
        """Leaves the cluster running."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self) -> None:
        """As an administrator would; then make sure that nothing is left."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_S_MAX)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None
        self.kill_cluster()

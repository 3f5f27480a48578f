"""Keeps the default cluster's process running.

A cluster that outlived the environment before us is found by its socket and used
as it is.  Otherwise one is started, and started again whenever it ends, with a
growing delay.  It runs in a session of its own, so a Ctrl-C meant for the server
does not reach it: the server tells it to end.

It is not asyncio that starts it.  That forks, and goes on in the child with the interpreter of a
process whose other threads are gone: a lock that one of them held, as DuckDB's do when they call
Python, is held for ever, and the event loop waits for the child.  `subprocess` runs nothing
of Python between fork and exec.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import structlog

from headwater.core.limits import CLUSTER_RESTART_DELAY_S_MAX, RETRY_DELAY_S_MIN, SHUTDOWN_S_MAX
from headwater.observe import metrics
from headwater.options import LogOptions, SparkOptions, UnixAddress
from headwater.persist.layout import cluster_lock

log = structlog.get_logger("supervisor")


class Supervisor:
    """Starts `headwater cluster` and watches it."""

    def __init__(
        self, data_dir: Path, name: str, address: UnixAddress, spark: SparkOptions, logging: LogOptions
    ) -> None:
        self._name = name
        self._lock_path = cluster_lock(data_dir, name)
        self._arguments = [
            *("--data-dir", str(data_dir)),
            *("--name", name),
            *("--listen", str(address)),
            *("--spark-master", spark.master),
            *(part for key, value in spark.conf for part in ("--spark-conf", f"{key}={value}")),
            *("--log-level", logging.level),
            *("--log-format", logging.format),
        ]
        self._process: subprocess.Popen[bytes] | None = None
        self._delay_s = RETRY_DELAY_S_MIN
        self.adopted_pid: int | None = None  # a cluster that somebody else started

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    async def ensure(self) -> None:
        """Start the process unless it runs; waits out the delay after a failure."""
        if self.running or self._starting_elsewhere():
            return
        ended = self._process
        if ended is not None:
            log.warning("cluster ended", status=ended.returncode, restart_in_s=self._delay_s)
            await asyncio.sleep(self._delay_s)
            self._delay_s = min(self._delay_s * 2, CLUSTER_RESTART_DELAY_S_MAX)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "headwater", "cluster", *self._arguments],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        metrics.cluster_started(self._name, again=ended is not None)
        log.info("cluster started", pid=self._process.pid)

    def _starting_elsewhere(self) -> bool:
        """Whether a cluster that we have not started has the lock: it listens soon, or ends."""
        try:
            with self._lock_path.open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def healthy(self) -> None:
        """The cluster has answered: the next failure is not a continuation of earlier ones."""
        self._delay_s = RETRY_DELAY_S_MIN

    async def stop(self, told: bool) -> None:
        """Wait for the process to end, having been `told` to; one that could not be told is sent a signal."""
        if self._process is not None and self._process.poll() is None:
            if not told:
                self._process.terminate()
            try:
                await asyncio.to_thread(self._process.wait, SHUTDOWN_S_MAX)
            except subprocess.TimeoutExpired:
                self._process.kill()
                await asyncio.to_thread(self._process.wait)
        elif self.adopted_pid is not None:
            await self._stop_adopted(self.adopted_pid)
        elif self._starting_elsewhere():
            pid = int(self._lock_path.read_text().strip() or 0)
            if pid and _alive(pid):
                os.kill(pid, signal.SIGTERM)
                await self._stop_adopted(pid)

    async def _stop_adopted(self, pid: int) -> None:
        """A cluster that is not our child cannot be waited for, only looked at."""
        waited_s = 0.0
        while _alive(pid):
            if waited_s > SHUTDOWN_S_MAX:
                os.kill(pid, signal.SIGKILL)
                return
            await asyncio.sleep(0.05)
            waited_s += 0.05


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True

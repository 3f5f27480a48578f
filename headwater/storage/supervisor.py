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
import contextlib
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

ADOPTED_ENDED = "the process has ended; an earlier server had started it, so how it ended is not known"


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

    def why_ended(self) -> str | None:
        """How the process has ended, if it has."""
        if self.adopted_pid is not None:
            return None if self._lock_held() else ADOPTED_ENDED
        status = None if self._process is None else self._process.poll()
        if status is None:
            return None
        return (
            f"the process was ended by signal {-status}" if status < 0 else f"the process has ended: {status}"
        )

    async def ensure(self) -> str | None:
        """Start the process unless it runs; waits out the delay after a failure.

        How the one before has ended, if one was started in its place.
        """
        if self.running or self._lock_held():
            return None
        ended, why = self._process, self.why_ended()
        if ended is not None:
            log.warning("cluster ended", status=ended.returncode, restart_in_s=self._delay_s)
            await asyncio.sleep(self._delay_s)
            self._delay_s = min(self._delay_s * 2, CLUSTER_RESTART_DELAY_S_MAX)
        self.adopted_pid = None
        self._process = subprocess.Popen(
            [sys.executable, "-m", "headwater", "cluster", *self._arguments],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        metrics.cluster_started(self._name, again=ended is not None)
        log.info("cluster started", pid=self._process.pid)
        return why

    def _lock_held(self) -> bool:
        """Whether a cluster lives: it holds the lock from before it listens until it has ended.

        A pid says less: it stays until somebody has waited for the process, and may be another's then.
        """
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
        elif self._lock_held():
            pid = int(self._lock_path.read_text().strip() or 0)
            if pid:
                _signal(pid, signal.SIGTERM)
                await self._stop_adopted(pid)

    async def _stop_adopted(self, pid: int) -> None:
        """A cluster that is not our child cannot be waited for, only looked at."""
        waited_s = 0.0
        while self._lock_held():
            if waited_s > SHUTDOWN_S_MAX:
                _signal(pid, signal.SIGKILL)
                return
            await asyncio.sleep(0.05)
            waited_s += 0.05


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)

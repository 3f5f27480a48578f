"""The supervisor: a cluster's process is started, started again, and ended.

Method: a shell script stands in the interpreter's place, so that no Spark is started.  It holds the
cluster's lock while it lives, as a cluster does.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
import uvloop

from headwater.observe import metrics
from headwater.options import LogOptions, SparkOptions, UnixAddress
from headwater.persist.layout import cluster_lock
from headwater.storage import supervisor as module
from headwater.storage.supervisor import ADOPTED_ENDED, Supervisor
from tests.support.server import alive, eventually


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in which every process writes a line: its number, then what it was given."""
    path = tmp_path / "started"
    script = tmp_path / "interpreter"
    script.write_text(
        f"""#!/bin/sh
[ -e {tmp_path}/deaf ] && trap "" TERM
exec 9>>{cluster_lock(tmp_path, "quickstart")}
flock --nonblock 9 || exit 3
echo "$$ $*" >>{path}
exec sleep 600  # no child, which would hold the lock for a moment longer
"""
    )
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    monkeypatch.setattr(module, "RETRY_DELAY_S_MIN", 0.0)
    return path


def supervisor(tmp_path: Path) -> Supervisor:
    return Supervisor(tmp_path, "quickstart", UnixAddress(tmp_path / "socket"), SparkOptions(), LogOptions())


def pids(started: Path) -> list[int]:
    return [int(line.split()[0]) for line in started.read_text().splitlines()] if started.exists() else []


def restarts() -> float | None:
    return metrics.REGISTRY.get_sample_value("headwater_cluster_restarts_total", {"cluster": "quickstart"})


def run(work: Coroutine[Any, Any, None]) -> None:
    """As the environment does."""
    uvloop.run(asyncio.wait_for(work, 30))


def test_a_process_that_ends_is_started_again_in_a_session_of_its_own(tmp_path: Path, started: Path) -> None:
    async def work() -> None:
        watched = supervisor(tmp_path)
        counted = restarts() or 0
        for number in range(1, 4):
            await watched.ensure()
            await watched.ensure()
            assert restarts() == counted + number - 1
            assert len(eventually(lambda n=number: len(pids(started)) == n and pids(started))) == number  # type: ignore[misc]
            assert watched.running
            pid = pids(started)[-1]
            assert os.getsid(pid) == pid
            os.kill(pid, signal.SIGKILL)
            eventually(lambda: not watched.running)
        await watched.stop(told=False)

    run(work())
    assert "-m headwater cluster --data-dir" in started.read_text()


@pytest.mark.parametrize("deaf", [False, True])
def test_a_process_is_ended_also_when_it_does_not_listen(
    tmp_path: Path, started: Path, monkeypatch: pytest.MonkeyPatch, deaf: bool
) -> None:
    if deaf:
        (tmp_path / "deaf").touch()
        monkeypatch.setattr(module, "SHUTDOWN_S_MAX", 0.3)

    async def work() -> None:
        watched = supervisor(tmp_path)
        await watched.ensure()
        eventually(lambda: pids(started))
        await watched.stop(told=False)
        assert not watched.running

    run(work())
    assert not alive(pids(started)[0])


def test_how_a_process_ended_is_told_as_far_as_it_can_be_known(tmp_path: Path, started: Path) -> None:
    async def work() -> None:
        watched = supervisor(tmp_path)
        assert watched.why_ended() is None
        await watched.ensure()
        pid = eventually(lambda: pids(started))[0]
        earlier = supervisor(tmp_path)
        earlier.adopted_pid = pid
        assert earlier.why_ended() is None
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: earlier.why_ended() == ADOPTED_ENDED)
        os.kill(pid, 0)  # nobody has waited for it: its number is still there, and says nothing
        assert await earlier.ensure() == ADOPTED_ENDED
        eventually(lambda: len(pids(started)) == 2)
        assert earlier.why_ended() is None
        await earlier.stop(told=False)
        assert await watched.ensure() == "the process was ended by signal 9"
        await watched.stop(told=False)

    run(work())

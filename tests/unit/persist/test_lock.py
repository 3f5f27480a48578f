"""DataDirectoryLock: one environment per directory, and no lock outlives its process.

Method: locks are taken in this process and in a child, which is then ended.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.core.errors import InvariantViolation, UserError
from headwater.persist.lock import DataDirectoryLock

HOLD = (
    "import sys; from pathlib import Path\n"
    "from headwater.persist.lock import DataDirectoryLock\n"
    "DataDirectoryLock(Path(sys.argv[1])).acquire()\n"
    "sys.stdout.write('held\\n'); sys.stdout.flush(); sys.stdin.read()\n"
)


def test_a_second_server_is_refused_and_told_who_holds_the_directory(tmp_path: Path) -> None:
    with (
        DataDirectoryLock(tmp_path / "data"),
        pytest.raises(UserError, match=f"is in use by process {os.getpid()}") as caught,
    ):
        DataDirectoryLock(tmp_path / "data").acquire()
    assert str(tmp_path / "data") in caught.value.message
    assert caught.value.hint is not None


def test_a_released_directory_can_be_taken_again(tmp_path: Path) -> None:
    with DataDirectoryLock(tmp_path):
        pass
    with DataDirectoryLock(tmp_path):
        pass


def test_a_lock_is_not_taken_twice_by_one_holder(tmp_path: Path) -> None:
    with DataDirectoryLock(tmp_path) as lock, pytest.raises(InvariantViolation):
        lock.acquire()


def test_the_lock_goes_with_the_process_that_held_it(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with pytest.raises(UserError, match=f"in use by process {child.pid}"):
            DataDirectoryLock(tmp_path).acquire()
    finally:
        child.kill()
        child.communicate(timeout=30)
    with DataDirectoryLock(tmp_path):
        pass

"""Python workers that have grown over their share are replaced between two tasks, and only those.

Method: a Spark of its own, in a process of its own, runs one task after the other.  Some keep memory
for ever, as a library might; each tells in which worker it ran.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from headwater.core.limits import WORKER_BYTES_MAX

SCRIPT = """
import json, os, sys
from pathlib import Path
from headwater.cluster.spark import build_session
from headwater.options import SparkOptions

kept_bytes = json.loads(sys.argv[2])
session = build_session(SparkOptions("local[1]"), Path(sys.argv[1]))

def task(size):
    import builtins
    builtins.__dict__.setdefault("kept", []).append(b"x" * size)
    return os.getpid()

context = session.sparkContext
pids = [context.parallelize([size], 1).map(task).collect()[0] for size in kept_bytes]
print(json.dumps(pids))
session.stop()
"""


def pids_of(scratch: Path, kept_bytes: list[int]) -> list[int]:
    """In which worker each of these tasks ran."""
    command = [sys.executable, "-c", SCRIPT, str(scratch), json.dumps(kept_bytes)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found: list[int] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_a_worker_over_its_share_is_replaced_and_the_next_task_works(tmp_path: Path) -> None:
    half = WORKER_BYTES_MAX * 6 // 10
    first, second, third, fourth = pids_of(tmp_path, [half, half, 1, 1])
    assert first == second  # the second task ends over the share
    assert third != second
    assert fourth == third

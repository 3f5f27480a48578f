"""What Spark forks its Python workers from: all that tasks need is imported once, before the first.

Started by Spark (`spark.python.daemon.module`), on every machine that runs tasks.  Without it each
worker would import the same for itself, a second of processor time and 100 MiB that are not shared.

After each task a worker gives back what was freed in it; without that it grew with the number of tasks.  One
that has more than its share all the same says so, and Spark uses another one for the next task.

Spark puts its own copy of PySpark, an archive without compiled modules, before the installed one, and every
worker would read the archive's directory again; here the installed one is used.
"""

from __future__ import annotations

import ctypes
import re
import resource
import sys
from pathlib import Path
from typing import Any

from headwater.core.lasting import lasting
from headwater.core.limits import WORKER_BYTES_MAX
from headwater.persist.private import write_privately

OWN_COPIES = re.compile(r"(pyspark|py4j\b.*)\.zip")

for archive in [place for place in sys.path if OWN_COPIES.fullmatch(Path(place).name)]:
    sys.path.remove(archive)
    sys.path_importer_cache.pop(archive, None)

with lasting():
    import pyarrow as pa
    import pyspark.worker  # noqa: F401
    from pyspark.daemon import manager
    from pyspark.messages import SparkSocketMessageReceiver

    from headwater.cluster import compare, results, tasks  # noqa: F401


class OverShare(Exception):
    """What makes PySpark end a worker after its task, as if that had left the connection in doubt."""


def own_bytes() -> int:
    """What this process has in memory beside files: its own, and what it was forked with."""
    _, resident, shared, *_ = map(int, Path("/proc/self/statm").read_text().split())
    return (resident - shared) * resource.getpagesize()


def give_back() -> None:
    """Let the machine have what was freed: each task's threads leave memory of their own behind."""
    pa.default_memory_pool().release_unused()
    malloc_trim(0)


def finish(receiver: Any) -> None:
    """Take the last message of a task; the only place where a worker may end and no task with it."""
    take_last(receiver)
    give_back()
    if own_bytes() - inherited_bytes > WORKER_BYTES_MAX:
        raise OverShare


malloc_trim = ctypes.CDLL(None).malloc_trim
inherited_bytes = own_bytes()
take_last = SparkSocketMessageReceiver.get_finish_signal_from_stream
SparkSocketMessageReceiver.get_finish_signal_from_stream = finish

if __name__ == "__main__":
    write_privately()  # also where Spark was started by somebody else
    manager()

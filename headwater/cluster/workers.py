"""What Spark forks its Python workers from: all that tasks need is imported once, before the first.

Started by Spark (`spark.python.daemon.module`), on every machine that runs tasks.  Without it each
worker would import the same for itself, a second of processor time and 100 MiB that are not shared.
"""

from __future__ import annotations

import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

from headwater.cluster import compare, tasks  # noqa: F401

if __name__ == "__main__":
    manager()

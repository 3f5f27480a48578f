"""What Spark forks its Python workers from: all that tasks need is imported once, before the first.

Started by Spark (`spark.python.daemon.module`), on every machine that runs tasks.  Without it each
worker would import the same for itself, a second of processor time and 100 MiB that are not shared.

Spark puts its own copy of PySpark, an archive without compiled modules, before the installed one, and every
worker would read the archive's directory again; here the installed one is used.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from headwater.core.lasting import lasting

OWN_COPIES = re.compile(r"(pyspark|py4j\b.*)\.zip")

for archive in [place for place in sys.path if OWN_COPIES.fullmatch(Path(place).name)]:
    sys.path.remove(archive)
    sys.path_importer_cache.pop(archive, None)

with lasting():
    import pyspark.worker  # noqa: F401
    from pyspark.daemon import manager

    from headwater.cluster import compare, results, tasks  # noqa: F401

if __name__ == "__main__":
    manager()

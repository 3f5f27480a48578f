"""An archive of the Java classes that Spark loads, from which it starts in half the time.

Made once for an installation (`python -m headwater.cluster.classes`, which `make setup` does); Java looks
itself whether it fits, and does without it where it does not.  Everything works without it.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark import SparkContext
from pyspark.sql import SparkSession

from headwater.cluster.spark import archive_folder, archive_name, build_session
from headwater.core.limits import CLASS_ARCHIVE_S_MAX
from headwater.options import SPARK_MASTER, SparkOptions


def make_archive() -> Path:
    """Start Spark, let it do a little of everything, and keep what it has loaded."""
    folder = archive_folder()
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("spark-*.jsa"):
        old.unlink()
    made = folder / "spark.new"
    with TemporaryDirectory(prefix="headwater-") as scratch:
        option = (
            f"-XX:ArchiveClassesAtExit={made} -Xlog:cds=off -Xlog:cds+dynamic=off"
            " -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
        )
        options = SparkOptions(SPARK_MASTER, (("spark.driver.extraJavaOptions", option),))
        session = build_session(options, Path(scratch) / "spark")
        _exercise(session, Path(scratch))
        session.stop()
        # Java writes the archive when it ends, and it ends when nobody writes to it any more.
        process = SparkContext._gateway.proc
        process.stdin.close()
        process.wait(CLASS_ARCHIVE_S_MAX)
    with made.open("rb") as file:
        os.fsync(file.fileno())
    return made.rename(folder / archive_name(made.stat().st_size))


def _exercise(session: SparkSession, folder: Path) -> None:
    session.sparkContext.parallelize([1, 2], 2).map(str).collect()
    rows = session.range(1000).selectExpr("id", "id % 7 AS n", "CAST(id AS STRING) AS text")
    rows.write.parquet(str(folder / "rows"))
    read = session.read.parquet(str(folder / "rows"))
    read.where("id > 10").groupBy("n").agg({"id": "sum", "text": "max"}).orderBy("n").toArrow()
    read.join(read.withColumnRenamed("text", "other"), "id", "left_anti").toArrow()


if __name__ == "__main__":
    make_archive()

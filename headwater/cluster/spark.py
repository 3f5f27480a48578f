"""The one place a SparkSession is built."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.core.errors import UserError
from headwater.core.limits import RESULT_BATCH_BYTES_MAX
from headwater.options import SPARK_MASTER, SparkOptions

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_DEFAULTS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.session.timeZone": "UTC",
    # Of moments that a filter compares with, which java.sql.Timestamp cannot be near the ends of their range.
    "spark.sql.datetime.java8API.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.filterPushdown": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(RESULT_BATCH_BYTES_MAX),
    "spark.sql.caseSensitive": "true",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.scheduler.mode": "FAIR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": "headwater.cluster.workers",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.locality.wait": "0s",
    "spark.cleaner.periodicGC.interval": "10min",
}


def archive_folder() -> Path:
    """Where the archive of Java's classes is kept, if one has been made (classes.py)."""
    return Path(sys.prefix) / "var"


def archive_name(size_bytes: int) -> str:
    """An archive's name tells its size: Java dies of one that was cut short."""
    return f"spark-{pyspark.__version__}-{size_bytes}.jsa"


def find_archive(folder: Path) -> Path | None:
    """The archive of this PySpark, unless it is absent or damaged."""
    found = folder.glob(f"spark-{pyspark.__version__}-*.jsa")
    return next((path for path in found if path.name == archive_name(path.stat().st_size)), None)


def build_session(
    options: SparkOptions, scratch: Path, begun: Callable[[SparkContext], None] = lambda _: None
) -> SparkSession:
    """Start the driver; the options' settings override any default of ours.

    `begun` is called once there can be jobs; what queries need takes longer.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("SPARK_WORKER_DIR", str(scratch / "executors"))
    if os.environ.get("LC_ALL") in ("C", "POSIX"):
        os.environ["LC_ALL"] = "C.UTF-8"  # or Java finds no path that has letters beyond ASCII
    scratch.mkdir(parents=True, exist_ok=True)
    # One place more than processors: a tick then never waits for the end of a chunk of a snapshot.
    places = f"local[{(os.cpu_count() or 1) + 1}]"
    master = places if options.master == SPARK_MASTER else options.master
    conf = SparkConf().setMaster(master).setAppName("headwater")
    settings = {
        **_DEFAULTS,
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        **dict(options.conf),
    }
    archive = find_archive(archive_folder())
    if archive is not None:
        given = settings.get(_JAVA_OPTIONS, "")
        settings[_JAVA_OPTIONS] = f"-XX:SharedArchiveFile={archive} {given}".rstrip()
    conf.setAll(list(settings.items()))
    try:
        context = SparkContext.getOrCreate(conf)
        context.setLogLevel("FATAL")  # errors reach users and our own log in words
        begun(context)
        session = SparkSession.builder.config(conf=conf).getOrCreate()
    except (PySparkException, Py4JError) as error:
        cause = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UserError(
            f'Spark could not be started with master "{options.master}": {cause}',
            "58000",
            hint="Run `headwater doctor`; if all is well there, look at --spark-master and --spark-conf.",
        ) from error
    return session

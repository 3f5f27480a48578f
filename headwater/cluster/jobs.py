"""How work gets to the executors: one Spark job over picklable tasks.

A job is `parallelize(tasks).map(run_task).collect()`: no query planning, no
conversion of rows, results are a few descriptions.  Measured, that is a third
cheaper per tick than going through a DataFrame.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any, Final

import structlog
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from headwater.cluster.tasks import Failed, GroupTask, run_aside, run_task
from headwater.core.errors import HeadwaterError, TransientError

log = structlog.get_logger("jobs")

SEE_LOG: Final = "It is tried again; the cluster's log says more."


class Pool(StrEnum):
    """For whom a job is; Spark shares its places fairly among them."""

    TICKS = "ticks"
    FOLDS = "folds"
    BACKFILLS = "backfills"


class DriverLost(Exception):
    """The JVM behind this process has gone; only a new process helps."""


class Jobs:
    """Runs tasks on Spark."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context

    def run(self, tasks: Sequence[Any], pool: Pool) -> list[Any]:
        """The results in the order of the tasks; the first error of ours is raised."""
        if not tasks:
            return []
        function = run_aside if pool is Pool.BACKFILLS else run_task
        try:
            self._context.setLocalProperty("spark.scheduler.pool", pool.value)
            results = self._context.parallelize(tasks, len(tasks)).map(function).collect()
        except (Py4JNetworkError, ConnectionError, EOFError) as error:
            raise DriverLost(str(error)) from error
        except (PySparkException, UnboundLocalError, TimeoutError) as error:
            # On a starved machine the results' socket may time out, and PySpark then stumbles over its
            # own clean-up.  Nothing was committed, so the tasks can simply be run again.
            log.warning("job lost", error=str(error))
            raise TransientError(f"a job on the cluster was lost: {_last_words(error)}", SEE_LOG) from error
        except OSError as error:  # tasks are handed over in a file
            raise TransientError(
                f"could not hand tasks to Spark: {error.strerror or error}",
                hint="Free space in the data directory, where Spark keeps its files; it is tried again.",
            ) from error
        except Py4JJavaError as error:
            if driver_gone(self._context):
                raise DriverLost(root_cause(error)) from error
            log.warning("task failed", error=str(error))
            raise TransientError(f"a task failed on the cluster: {root_cause(error)}", SEE_LOG) from error
        except Py4JError as error:
            raise DriverLost(str(error)) from error
        for result in results:
            if isinstance(result, Failed):
                raise result.error
        return list(results)


def warm(context: SparkContext) -> None:
    """Begin what Spark begins with its first job, all Python workers among it, before anybody waits for it.

    Beside whatever else is started: most of the time it is Python that imports what tasks need.
    """
    tasks = [GroupTask("", ())] * context.defaultParallelism

    def run() -> None:
        with suppress(HeadwaterError, DriverLost):  # whoever has work to do will say it
            Jobs(context).run(tasks, Pool.TICKS)

    threading.Thread(target=run, name="warm", daemon=True).start()


def driver_gone(context: SparkContext) -> bool:
    """Whether Spark has ended, or is about to."""
    try:
        return bool(context._jsc.sc().isStopped())
    except (Py4JError, OSError, EOFError):
        return True


def _last_words(error: Exception) -> str:
    """What is said last: a task's error comes with all lines of where it happened, which are for the log."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines or [type(error).__name__])[-1][:500]


def root_cause(error: Py4JJavaError) -> str:
    """One line that says what went wrong, without Java class names."""
    lines = [
        line.strip() for line in str(error.java_exception.getMessage() or "").splitlines() if line.strip()
    ]
    python = [
        line for line in lines if ": " in line and not line.startswith(("at ", "File ", "org.", "java."))
    ]
    text = (python or lines or ["no message"])[-1]
    return text.rsplit("Exception: ", 1)[-1][:500]


__all__ = ["DriverLost", "HeadwaterError", "Jobs", "Pool", "driver_gone", "root_cause", "warm"]

"""Errors between this process and Spark become ours: tried again, or the end of the process."""

from __future__ import annotations

import errno
import os

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkRuntimeError

from headwater.cluster.jobs import DriverLost, Jobs, Pool
from headwater.cluster.tasks import GroupTask
from headwater.core.errors import TransientError


class Refusing:
    """A Spark that takes no tasks."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def setLocalProperty(self, key: str, value: str) -> None:
        assert (key, value) == ("spark.scheduler.pool", "ticks")

    def parallelize(self, tasks: object, slices: int) -> None:
        raise self._error


def run(error: Exception) -> None:
    Jobs(Refusing(error)).run([GroupTask("", ())], Pool.TICKS)


def test_a_full_disk_is_waited_out() -> None:
    with pytest.raises(TransientError, match="could not hand tasks to Spark: No space left") as caught:
        run(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert "space" in str(caught.value.hint)


@pytest.mark.parametrize("error", [ConnectionResetError("reset"), Py4JNetworkError("gone"), EOFError("end")])
def test_a_driver_that_is_gone_is_lost(error: Exception) -> None:
    with pytest.raises(DriverLost):
        run(error)


@pytest.mark.parametrize("error", [TimeoutError("slow"), PySparkRuntimeError("lost")])
def test_results_that_did_not_come_are_asked_for_again(error: Exception) -> None:
    with pytest.raises(TransientError, match="a job on the cluster was lost"):
        run(error)

"""Makes the kernels of the SELECT language callable in a Spark session.

As Arrow functions: a whole batch goes to a Python worker and comes back as Arrow, which needs
no pandas, and a million short texts take about a second a core.  Which kernels there are,
and how each answers Spark, is in sql/select/kernels.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Final

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udf

from headwater.sql.select.generate.spark.query import SESSION_SETTINGS
from headwater.sql.select.kernels import KERNELS, KERNELS_BY_NAME, Kernel, spark_function


def prepare(spark: SparkSession) -> None:
    """Make a session ready for the texts of sql/select/generate/spark: the settings they rely on.

    Sessions made of this one have their own registry, so each must be made ready.  Kernels
    come with `register_used`: to register all of them takes seconds, and most queries use none.
    """
    for name, value in SESSION_SETTINGS.items():
        spark.conf.set(name, value)
    # Spark's Python side prints every failed query with its Java trace, the user's data in it.
    logging.getLogger("SQLQueryContextLogger").disabled = True


def register_used(spark: SparkSession, sql: str, registered: set[str]) -> None:
    """Register the kernels that a text names and that are not in `registered` yet; adds them there."""
    for name in sorted({match.group() for match in _NAME.finditer(sql)} - registered):
        kernel = KERNELS_BY_NAME.get(name)
        if kernel is not None:
            _, returns = spark_function(kernel)
            spark.udf.register(name, arrow_udf(globals()[name], returns))
            registered.add(name)


_NAME: Final = re.compile(r"\bhw_[a-z0-9_]+")


def _function(kernel: Kernel) -> Callable[..., pa.Array]:
    """What a worker runs; pickled by its name in this module, so that a task carries no code."""
    function, _ = spark_function(kernel)

    def run(*arrays: pa.Array) -> pa.Array:
        return function(*arrays)

    # Spark tells the kinds of Arrow functions apart by their annotations, which must be types.
    run.__annotations__ = {"arrays": pa.Array, "return": pa.Array}
    run.__name__ = run.__qualname__ = kernel.name
    return run


globals().update((kernel.name, _function(kernel)) for kernel in KERNELS)

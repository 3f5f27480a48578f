"""Makes the kernels of the SELECT language callable in a Spark session.

As Arrow functions: a whole batch goes to a Python worker and comes back as Arrow, which needs
no pandas, and a million short texts take about a second a core.  Which kernels there are,
and how each answers Spark, is in sql/select/kernels.
"""

from __future__ import annotations

import logging
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udf

from headwater.sql.select.kernels import KERNELS, Kernel, spark_function
from headwater.sql.select.spark import SESSION_SETTINGS


def register(spark: SparkSession) -> None:
    """Make a session ready for the texts of sql/select/spark.py: kernels, and settings they rely on.

    Sessions made of this one have their own registry, so each must be registered.
    """
    for name, value in SESSION_SETTINGS.items():
        spark.conf.set(name, value)
    # Spark's Python side prints every failed query with its Java trace, the user's data in it.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    for kernel in KERNELS:
        spark.udf.register(kernel.name, _arrow_function(kernel))


def _arrow_function(kernel: Kernel) -> Any:
    function, returns = spark_function(kernel)

    def run(*arrays: pa.Array) -> pa.Array:
        return function(*arrays)

    # Spark tells the kinds of Arrow functions apart by their annotations, which must be types.
    run.__annotations__ = {"arrays": pa.Array, "return": pa.Array}
    return arrow_udf(run, returns)

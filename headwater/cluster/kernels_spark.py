"""Makes the kernels of the SELECT language callable in a Spark session.

As Arrow functions: a whole batch goes to a Python worker and comes back as Arrow, which needs
no pandas, and a million short texts take about a second a core.  Which kernels there are,
and how each answers Spark, is in sql/select/kernels.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udf

from headwater.sql.select.kernels import KERNELS, Kernel, spark_function


def register(spark: SparkSession) -> None:
    """Register every kernel under its name; sessions made of this one have their own registry."""
    for kernel in KERNELS:
        spark.udf.register(kernel.name, _arrow_function(kernel))


def _arrow_function(kernel: Kernel) -> Any:
    function, returns = spark_function(kernel)

    def run(*arrays: pa.Array) -> pa.Array:
        return function(*arrays)

    # Spark tells the kinds of Arrow functions apart by their annotations, which must be types.
    run.__annotations__ = {"arrays": pa.Array, "return": pa.Array}
    return arrow_udf(run, returns)

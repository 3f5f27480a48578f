"""Kernels: our own column-wise functions inside both engines.

Where DuckDB or Spark differ from PostgreSQL, or from each other, one piece of Python gives
one answer in both.  A kernel takes and gives Arrow arrays in stored form, is described
without any engine (kernel.py), and is registered under the same name everywhere.

    function table --form--> SQL text calling hw_... --engine--> Arrow batch --> kernel

Of 325 kernels 137 are Python once per row and nothing else (`row_wise`); a test keeps that number from
growing.  Those that ordinary queries meet do ordinary rows by columns (`columnar`, the *_columns.py).

In DuckDB a kernel runs in our own process, and looks between rows whether its statement was stopped
(stops.py).

Kernels fail with a `UserError`; it travels through the engine as marked text and is found
again by `user_error_of`.  Spark is not imported here: the cluster registers
`spark_function(kernel)` for each of KERNELS.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import duckdb
from duckdb.func import FunctionNullHandling, PythonUDFType
from duckdb.sqltypes import DuckDBPyType

from headwater.core.errors import InvariantViolation
from headwater.formats.engine_types import duckdb_working
from headwater.sql.select.kernels import (
    aggregates,
    arrays,
    casts,
    digests,
    documents,
    fields,
    intervals,
    letters,
    number_patterns,
    numbers,
    numerics,
    patterns,
    system,
    texts,
    times,
    times_made,
    zones,
)
from headwater.sql.select.kernels.errors import KernelError, user_error_of
from headwater.sql.select.kernels.kernel import (
    Kernel,
    duckdb_function,
    spark_function,
    type_of,
)
from headwater.sql.select.kernels.stops import Stop, told

__all__ = [
    "KERNELS",
    "KERNELS_BY_NAME",
    "Kernel",
    "KernelError",
    "Stop",
    "register_duckdb",
    "spark_function",
    "told",
    "user_error_of",
]

KERNELS: Final[tuple[Kernel, ...]] = (
    *numbers.KERNELS,
    *numerics.KERNELS,
    *casts.KERNELS,
    *aggregates.KERNELS,
    *intervals.KERNELS,
    *fields.KERNELS,
    *times.KERNELS,
    *times_made.KERNELS,
    *zones.KERNELS,
    *texts.KERNELS,
    *letters.KERNELS,
    *digests.KERNELS,
    *documents.KERNELS,
    *arrays.KERNELS,
    *patterns.KERNELS,
    *number_patterns.KERNELS,
    *system.KERNELS,
)

KERNELS_BY_NAME: Final[dict[str, Kernel]] = {kernel.name: kernel for kernel in KERNELS}

if len(KERNELS_BY_NAME) != len(KERNELS):
    twice = [name for name, count in Counter(kernel.name for kernel in KERNELS).items() if count > 1]
    raise InvariantViolation(f"kernels with the same name: {', '.join(twice)}")


def register_duckdb(connection: duckdb.DuckDBPyConnection) -> None:
    """Make every kernel callable in a DuckDB database, with its statement's number; cursors share them."""
    for kernel in KERNELS:
        # DuckDB takes arguments of any type only where none are declared.
        free = "any" in kernel.arguments
        parameters: list[Any] | None = (
            None
            if free
            else [DuckDBPyType(duckdb_working(type_of(name))) for name in ("int8", *kernel.arguments)]
        )
        connection.create_function(
            kernel.name,
            duckdb_function(kernel),
            parameters,
            DuckDBPyType(duckdb_working(type_of(kernel.returns))),
            type=PythonUDFType.ARROW,
            null_handling=FunctionNullHandling.SPECIAL,
        )

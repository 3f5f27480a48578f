"""From Spark's words to ours: what to tell the user when a query failed there.

Kernels mark their errors, Spark names its own by a class in brackets with an SQLSTATE.
Nothing else of a Java or Python trace is ever shown.
"""

from __future__ import annotations

import re
from typing import Final

from headwater.core.errors import UserError, not_supported
from headwater.sql.select.kernels.errors import user_error_of

_CLASS: Final = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z][A-Z0-9_]*)*)\]")
_SUBQUERY: Final = ("SUBQUERY", "CORRELATED", "OUTER_REFERENCE", "LATERAL")
_BAD_CAST: Final = re.compile(r'The value (.+?) of the type .+? cannot be cast to "([A-Z_ ]+)')
_TYPES: Final = {
    "SMALLINT": "smallint",
    "INT": "integer",
    "BIGINT": "bigint",
    "FLOAT": "real",
    "DOUBLE": "double precision",
    "DECIMAL": "numeric",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "timestamp with time zone",
    "TIMESTAMP_NTZ": "timestamp",
}


def translate_error(text: str) -> UserError:
    """The user's error in the text of a Spark, Py4J or Python worker exception."""
    marked = user_error_of(text)
    if marked is not None:
        return marked
    found = _CLASS.search(text)
    name = "" if found is None else found.group(1)
    if name.startswith("SCALAR_SUBQUERY_TOO_MANY_ROWS"):
        return UserError("more than one row returned by a subquery used as an expression", "21000")
    if name.startswith("CAST_INVALID_INPUT"):
        return _bad_cast(text)
    if name.startswith(("DATETIME_OVERFLOW", "DATETIME_FIELD_OUT_OF_BOUNDS")):
        return UserError("timestamp out of range", "22008")
    if any(word in name for word in _SUBQUERY):
        return not_supported(
            "this form of correlated subquery on Spark",
            hint="SET read_engine = duckdb, or write it as a join.",
        )
    if name.startswith(("UNSUPPORTED", "NOT_SUPPORTED")):
        return not_supported("a part of this query on Spark", hint="SET read_engine = duckdb.")
    if "OutOfMemoryError" in text or name.startswith("UNABLE_TO_ACQUIRE_MEMORY"):
        return UserError(
            "the query needs more memory than the cluster has",
            "53200",
            hint="Start the server with --spark-conf spark.driver.memory=4g, or ask for less.",
        )
    if "cancelled" in text or "canceled" in text:
        return UserError("canceling statement due to user request", "57014")
    detail = f"Spark reports {name}." if name else None
    return UserError("the query failed on the cluster", "XX000", detail=detail)


def _bad_cast(text: str) -> UserError:
    found = _BAD_CAST.search(text)
    if found is None:
        return UserError("invalid input syntax", "22P02")
    value, target = found.group(1).strip("'"), found.group(2).strip()
    return UserError(
        f'invalid input syntax for type {_TYPES.get(target, target.lower())}: "{value}"', "22P02"
    )

"""Types as Arrow, DuckDB and Spark name them: one table of stored forms, and what is made of them.

    arrow_form       the Arrow type of a stored form
    duckdb_stored    what DuckDB calls a type's stored form: what is in files
    duckdb_working   what it computes with; another one where it knows a better (`TypeFacts.duckdb`)
    spark_type       what Spark calls either: it computes with the stored forms themselves

Containers are resolved through what they hold.

Not here: which form a type has (core/types.py), schemas (arrow.py), values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import pyarrow as pa

from headwater.core.quoting import backquoted, quoted
from headwater.core.types import FACTS, SqlType, stored
from headwater.formats.arrays import ELEMENTS, SHAPE

INTERVAL_TYPE: Final = pa.struct([("months", pa.int32()), ("days", pa.int32()), ("microseconds", pa.int64())])


@dataclass(frozen=True, slots=True)
class StoredForm:
    """What a stored form is called."""

    arrow: pa.DataType
    duckdb: str
    spark: str


_FORMS: Final[dict[str, StoredForm]] = {
    "bool": StoredForm(pa.bool_(), "BOOLEAN", "BOOLEAN"),
    "int16": StoredForm(pa.int16(), "SMALLINT", "SMALLINT"),
    "int32": StoredForm(pa.int32(), "INTEGER", "INT"),
    "int64": StoredForm(pa.int64(), "BIGINT", "BIGINT"),
    "float": StoredForm(pa.float32(), "FLOAT", "FLOAT"),
    "double": StoredForm(pa.float64(), "DOUBLE", "DOUBLE"),
    "string": StoredForm(pa.string(), "VARCHAR", "STRING"),
    "binary": StoredForm(pa.binary(), "BLOB", "BINARY"),
    "date": StoredForm(pa.date32(), "DATE", "DATE"),
    "timestamp": StoredForm(pa.timestamp("us"), "TIMESTAMP", "TIMESTAMP_NTZ"),
    "timestamptz": StoredForm(pa.timestamp("us", tz="UTC"), "TIMESTAMPTZ", "TIMESTAMP"),
    "interval": StoredForm(
        INTERVAL_TYPE,
        "STRUCT(months INTEGER, days INTEGER, microseconds BIGINT)",
        "STRUCT<months: INT, days: INT, microseconds: BIGINT>",
    ),
    "int16 list": StoredForm(pa.list_(pa.int16()), "SMALLINT[]", "ARRAY<SMALLINT>"),
}


@lru_cache
def _form(name: str) -> StoredForm:
    if name.startswith("decimal("):
        precision, scale = name[8:-1].split(",")
        return StoredForm(pa.decimal128(int(precision), int(scale)), name.upper(), name.upper())
    return _FORMS[name]


def arrow_form(type_: SqlType) -> pa.DataType:
    """The Arrow type of a scalar's stored form."""
    return _form(stored(type_)).arrow


def duckdb_stored(type_: SqlType) -> str:
    """DuckDB's name for a stored form."""
    return _spelled(type_, _DUCKDB, lambda scalar: _form(stored(scalar)).duckdb)


def duckdb_working(type_: SqlType) -> str:
    """DuckDB's working type."""
    return _spelled(type_, _DUCKDB, lambda scalar: FACTS[scalar.kind].duckdb or _form(stored(scalar)).duckdb)


def spark_type(type_: SqlType) -> str:
    """Spark's name for a stored form, which is its working type."""
    return _spelled(type_, _SPARK, lambda scalar: _form(stored(scalar)).spark)


@dataclass(frozen=True, slots=True)
class _Spelling:
    """How an engine writes the types of containers."""

    list_of: Callable[[str], str]
    map_of: Callable[[str], str]
    struct_of: Callable[[Iterable[tuple[str, str]]], str]
    quoted: Callable[[str], str]
    whole: str  # what the numbers of a shape are


_DUCKDB: Final = _Spelling(
    "{}[]".format,
    "MAP(VARCHAR, {})".format,
    lambda fields: f"STRUCT({', '.join(f'{name} {type_}' for name, type_ in fields)})",
    quoted,
    "INTEGER",
)
_SPARK: Final = _Spelling(
    "ARRAY<{}>".format,
    "MAP<STRING, {}>".format,
    lambda fields: f"STRUCT<{', '.join(f'{name}: {type_}' for name, type_ in fields)}>",
    backquoted,
    "INT",
)


def _spelled(type_: SqlType, engine: _Spelling, scalar: Callable[[SqlType], str]) -> str:
    if type_.element is not None:
        inner = _spelled(type_.element, engine, scalar)
        match type_.kind:
            case "array":
                parts = ((ELEMENTS, inner), (SHAPE, engine.whole))
                return engine.struct_of((name, engine.list_of(part)) for name, part in parts)
            case "map":
                return engine.map_of(inner)
        return engine.list_of(inner)
    if type_.kind == "record":
        return engine.struct_of(
            (engine.quoted(name), _spelled(field, engine, scalar)) for name, field in type_.fields
        )
    return scalar(type_)

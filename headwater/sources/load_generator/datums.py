"""DATUMS: values of every type a table can hold, to try clients and queries with.

All of it is offset 0; then the upstream ends.  Five rows, by `rowid`:

    1 something ordinary   2 about the least   3 about the greatest   4 empty or odd   5 NULL
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa

from headwater.core.calendar import DAY_US
from headwater.core.relation import Column
from headwater.core.types import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    JSONB,
    MZ_TIMESTAMP,
    NUMERIC,
    OID,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UINT2,
    UINT4,
    UINT8,
    UUID,
    SqlType,
    array_of,
    list_of,
    map_of,
    numeric,
)
from headwater.formats.arrays import ordinary
from headwater.formats.arrow import arrow_type
from headwater.sources.contract import Options
from headwater.sources.load_generator import columns
from headwater.sources.load_generator.generator import Fill, Generator, Rows, fixed_output

_INF = float("inf")
_NAN = float("nan")
_FLOAT4_MAX = 3.4028234663852886e38
_FLOAT8_MAX = 1.7976931348623157e308


def _interval(months: int, days: int, us: int) -> dict[str, int]:
    return {"months": months, "days": days, "microseconds": us}


# Name, type, and the stored forms of rows 1 to 4; row 5 is NULL throughout.
_DATUMS: tuple[tuple[str, SqlType, tuple[Any, Any, Any, Any]], ...] = (
    ("bool", BOOL, (True, False, True, False)),
    ("int2", INT2, (42, -(2**15), 2**15 - 1, 0)),
    ("int4", INT4, (-1_234_567, -(2**31), 2**31 - 1, 0)),
    ("int8", INT8, (1_234_567_890_123, -(2**63), 2**63 - 1, 0)),
    ("uint2", UINT2, (42, 0, 2**16 - 1, 1)),
    ("uint4", UINT4, (1_234_567, 0, 2**32 - 1, 1)),
    ("uint8", UINT8, (Decimal(1_234_567), Decimal(0), Decimal(2**64 - 1), Decimal(1))),
    ("float4", FLOAT4, (1.5, -_FLOAT4_MAX, _FLOAT4_MAX, _NAN)),
    ("float8", FLOAT8, (-2.25, -_FLOAT8_MAX, _FLOAT8_MAX, _INF)),
    ("numeric", NUMERIC, ("3.14159", "-" + "9" * 39, "9" * 39, "NaN")),
    (
        "numeric_scaled",
        numeric(2),
        (Decimal("19.99"), Decimal("-" + "9" * 36 + ".99"), Decimal("9" * 36 + ".99"), Decimal("0.00")),
    ),
    ("text", TEXT, ("a river", "!", "\U0001f30a" * 3, "")),
    ("varchar", SqlType("varchar", length=10), ("brook", " ", "~~~~~~~~~~", "")),
    ("char", SqlType("char", length=3), ("sea", "!  ", "~~~", "   ")),
    ("bytea", BYTEA, (b"\xde\xad\xbe\xef", b"\x00", b"\xff" * 16, b"")),
    ("date", DATE, (date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1))),
    ("time", TIME, (45_296_789_000, 0, DAY_US - 1, DAY_US)),
    (
        "timestamp",
        TIMESTAMP,
        (
            datetime(2024, 2, 29, 12, 34, 56, 789_000),
            datetime(1, 1, 1),
            datetime(9999, 12, 31, 23, 59, 59, 999_999),
            datetime(1970, 1, 1),
        ),
    ),
    (
        "timestamptz",
        TIMESTAMPTZ,
        (
            datetime(2024, 2, 29, 12, 34, 56, 789_000, UTC),
            datetime(1, 1, 1, tzinfo=UTC),
            datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC),
            datetime(1970, 1, 1, tzinfo=UTC),
        ),
    ),
    (
        "interval",
        INTERVAL,
        (
            _interval(14, 3, 14_706_000_000),
            _interval(-1_200, 0, 0),
            _interval(1_200, 0, 0),
            _interval(0, 0, 0),
        ),
    ),
    (
        "uuid",
        UUID,
        (
            "6ba7b810-9dad-41d1-80b4-00c04fd430c8",
            "00000000-0000-0000-0000-000000000001",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
            "00000000-0000-0000-0000-000000000000",
        ),
    ),
    ("jsonb", JSONB, ('{"a": 1, "b": [true, null]}', "null", '"text"', "{}")),
    ("oid", OID, (26, 0, 2**32 - 1, 1)),
    ("mz_timestamp", MZ_TIMESTAMP, (1_709_210_096_789, 0, 2**63 - 1, 1)),
    ("bool_array", array_of(BOOL), ([True, False], [False], [True] * 3, [])),
    ("int4_array", array_of(INT4), ([1, 2, 3], [-(2**31)], [2**31 - 1], [])),
    ("int8_array", array_of(INT8), ([1, None, 3], [-(2**63)], [2**63 - 1], [None])),
    ("float8_array", array_of(FLOAT8), ([0.5, 1.5], [-_INF], [_INF], [_NAN])),
    ("text_array", array_of(TEXT), (["a", "b c"], [""], ['"', "\\", "{}"], ["NULL", None])),
    ("text_list", list_of(TEXT), (["x", "y"], [""], ["z" * 20], [])),
    ("int4_map", map_of(INT4), ([("a", 1), ("b", 2)], [("", 0)], [("z", 2**31 - 1)], [])),
)

ROW_COUNT = 5


@lru_cache(maxsize=1)
def _pools() -> dict[str, pa.Array]:
    return {name: _pool([*values, None], type_) for name, type_, values in _DATUMS}


def _pool(values: list[Any], type_: SqlType) -> pa.Array:
    if type_.kind == "array" and type_.element is not None:
        return ordinary(pa.array(values, pa.list_(arrow_type(type_.element))))
    return pa.array(values, arrow_type(type_))


def _fill(name: str) -> Fill:
    def fill(options: Options, rows: Rows) -> pa.Array:
        return _pools()[name].take(pa.array(rows[0]))

    return fill


_OUTPUT = fixed_output(
    name="datums",
    columns=(
        (Column("rowid", INT8, False), lambda options, rows: columns.int8(rows[0] + 1)),
        *((Column(name, type_), _fill(name)) for name, type_, _ in _DATUMS),
    ),
    count=lambda options: ROW_COUNT,
)

DATUMS = Generator("datums", lambda options: (_OUTPUT,), length=lambda options: 1)

"""MySQL's and MariaDB's types in ours: which column can be taken as it is, and as what.

    upstream                                    here
    tinyint smallint mediumint int bigint       int2 int2 int4 int4 int8, unsigned ones uint2 uint2 uint4 ...
    bool, bit(n), serial                        int2, uint8, uint8
    float double                                float4 float8
    decimal(p,s)                                numeric(39,s), or numeric beyond 38 digits
    char(n) varchar(n), the family of text      the same, with the length; text
    binary(n) varbinary(n), the family of blob  bytea
    date time                                   the same
    datetime(p) timestamp(p)                    timestamp(p): a timestamp in UTC
    json (of MySQL; MariaDB's is longtext)      jsonb
    uuid inet4 inet6 (of MariaDB)               uuid, text
    year enum                                   nothing; TEXT COLUMNS takes them as text
    set, geometry, vector, what comes           nothing
    any text in the character set eucjpms       nothing

Not here: values (values.py).
"""

from __future__ import annotations

from typing import Final

from headwater.core.types import (
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    JSONB,
    NUMERIC,
    NUMERIC_DIGITS_MAX,
    TEXT,
    TIME,
    UINT2,
    UINT4,
    UINT8,
    UUID,
    SqlType,
    numeric,
)
from headwater.sources.mysql.charsets import readable
from headwater.sources.mysql.facts import ColumnFacts

_INTEGERS: Final[dict[str, tuple[SqlType, SqlType]]] = {
    "tinyint": (INT2, UINT2),
    "smallint": (INT2, UINT2),
    "mediumint": (INT4, UINT4),
    "int": (INT4, UINT4),
    "bigint": (INT8, UINT8),
}

_PLAIN: Final[dict[str, SqlType]] = {
    "bit": UINT8,
    "float": FLOAT4,
    "double": FLOAT8,
    **dict.fromkeys(("tinytext", "text", "mediumtext", "longtext", "inet4", "inet6"), TEXT),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), BYTEA),
    "date": DATE,
    "time": TIME,
    "json": JSONB,
    UUID.kind: UUID,
}

_TEXT_ALLOWED: Final = frozenset(("date", "datetime", "enum", "json", "timestamp", "year"))


def sql_type(column: ColumnFacts) -> SqlType | None:
    """Our type for a column; None when there is none."""
    kind = column.data_type
    if column.charset is not None and not readable(column.charset):
        return None
    if kind in _INTEGERS:
        signed, unsigned = _INTEGERS[kind]
        return unsigned if column.unsigned else signed
    if kind == "decimal":
        return numeric(column.scale) if (column.precision or 0) <= NUMERIC_DIGITS_MAX else NUMERIC
    if kind in ("char", "varchar"):
        # Nothing but the empty text fits into char(0), for which there is no type here.
        return SqlType(kind, length=column.length) if column.length else TEXT
    if kind in ("datetime", "timestamp"):
        return SqlType("timestamp", scale=column.fraction or 0)
    return _PLAIN.get(kind)


def text_allowed(column: ColumnFacts) -> bool:
    """Whether TEXT COLUMNS may name a column."""
    return column.data_type in _TEXT_ALLOWED

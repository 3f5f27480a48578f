"""Values of scalar types outside of engines: one record a kind, in a file of its own or its family's.

    kind.py     what a record is
    the others  the records, and the functions in them
    KINDS       all of them

A new type is its facts (core/types.py), a record here and a line below; who shows, reads, sends or
receives values looks them up.  Containers are no kinds: their forms are made of those of what they
hold (text.py, binary.py).
"""

from __future__ import annotations

from typing import Final

from headwater.core.types import REGISTERED
from headwater.formats.kinds import bytea, documents, intervals, numbers, ranges, texts, times, uuids, vectors
from headwater.formats.kinds.kind import Kind

__all__ = ["KINDS", "Kind"]

KINDS: Final[dict[str, Kind]] = {
    "bool": numbers.BOOL,
    "int2": numbers.INT2,
    "int4": numbers.INT4,
    "int8": numbers.INT8,
    "uint2": numbers.UINT2,
    "uint4": numbers.UINT4,
    "uint8": numbers.UINT8,
    "float4": numbers.FLOAT4,
    "float8": numbers.FLOAT8,
    "numeric": numbers.NUMERIC,
    "text": texts.TEXT,
    "varchar": texts.VARCHAR,
    "char": texts.CHAR,
    "name": texts.TEXT,
    '"char"': texts.BYTE,
    "bytea": bytea.BYTEA,
    "date": times.DATE,
    "time": times.TIME,
    "timestamp": times.TIMESTAMP,
    "timestamptz": times.TIMESTAMPTZ,
    "interval": intervals.INTERVAL,
    "uuid": uuids.UUID,
    "json": documents.JSON,
    "jsonb": documents.JSONB,
    "oid": numbers.OID,
    **dict.fromkeys(REGISTERED, numbers.REGISTERED),
    "int4range": ranges.INT4RANGE,
    "int8range": ranges.INT8RANGE,
    "numrange": ranges.NUMRANGE,
    "daterange": ranges.DATERANGE,
    "tsrange": ranges.TSRANGE,
    "tstzrange": ranges.TSTZRANGE,
    "mz_timestamp": numbers.MZ_TIMESTAMP,
    "mz_aclitem": texts.TEXT,
    "int2vector": vectors.INT2VECTOR,
    "unknown": texts.TEXT,
    "void": texts.VOID,
}

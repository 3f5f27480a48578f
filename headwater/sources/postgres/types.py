"""PostgreSQL's types in ours: which column can be taken as it is, and as what.

    upstream                                  here
    bool int2/4/8 float4/8 oid                the same
    text name "char" bytea uuid int2vector    the same
    char(n) varchar(n)                        the same, with the length
    numeric numeric(p,s)                      numeric, numeric(39,s), or numeric beyond 38 digits
    date time timestamp timestamptz interval  the same, with the precision
    json jsonb                                jsonb
    arrays of these                           arrays
    enums, domains, arrays of them            text
    everything else                           nothing; TEXT COLUMNS takes it as text

"Everything else" needs no list: an oid that is not in the table below is not known, and
what users define has oids of its own (which of these are text is said by
`ColumnFacts.labelled`).  Only the types that name objects of the upstream's catalog
(regclass and so on) are told apart, because their numbers would look like data and mean
nothing here.

Not here: values (decode.py).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from headwater.core.types import (
    BOOL,
    BYTEA,
    DATE,
    FACTS,
    FLOAT4,
    FLOAT8,
    INT2,
    INT2VECTOR,
    INT4,
    INT8,
    INTERVAL,
    JSON,
    JSONB,
    NAME,
    NUMERIC,
    NUMERIC_DIGITS_MAX,
    OID,
    RANGES,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    SqlType,
    array_of,
    numeric,
    oid_of,
)

_AS_THEY_ARE: Final = (
    *(BOOL, BYTEA, INT2, INT4, INT8, FLOAT4, FLOAT8, NUMERIC, OID, UUID, JSONB),
    *(TEXT, NAME, SqlType("char"), SqlType("varchar"), SqlType('"char"')),
    *(DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL),
    *map(SqlType, RANGES),
)
# Upstream's oid, its array's oid, our type.
_PLAIN: Final[tuple[tuple[int, int, SqlType], ...]] = (
    *((FACTS[type_.kind].oid, FACTS[type_.kind].array_oid, type_) for type_ in _AS_THEY_ARE),
    (FACTS[JSON.kind].oid, FACTS[JSON.kind].array_oid, JSONB),
)

_SCALARS: Final[dict[int, SqlType]] = {
    **{oid: type_ for oid, _, type_ in _PLAIN},
    oid_of(INT2VECTOR): INT2VECTOR,
}
_ELEMENTS: Final[dict[int, SqlType]] = {array_oid: type_ for _, array_oid, type_ in _PLAIN}

_OBJECT_NAMES: Final[dict[int, str]] = {
    24: "regproc",
    2202: "regprocedure",
    2203: "regoper",
    2204: "regoperator",
    2205: "regclass",
    2206: "regtype",
    3734: "regconfig",
    3769: "regdictionary",
    4089: "regnamespace",
    4096: "regrole",
    4191: "regcollation",
    1008: "regproc[]",
    2207: "regprocedure[]",
    2208: "regoper[]",
    2209: "regoperator[]",
    2210: "regclass[]",
    2211: "regtype[]",
    3735: "regconfig[]",
    3770: "regdictionary[]",
    4090: "regnamespace[]",
    4097: "regrole[]",
    4192: "regcollation[]",
}


def sql_type(type_oid: int, typmod: int = -1) -> SqlType | None:
    """Our type for an upstream's; None when there is none."""
    scalar = _SCALARS.get(type_oid)
    if scalar is not None:
        return _modified(scalar, typmod)
    element = _ELEMENTS.get(type_oid)
    if element is None:
        return None
    return array_of(_modified(element, typmod))


def object_type_name(type_oid: int) -> str | None:
    """The name of a type whose values are objects of the upstream's catalog; None for others."""
    return _OBJECT_NAMES.get(type_oid)


def _modified(type_: SqlType, typmod: int) -> SqlType:
    """With length or precision, as pg_attribute.atttypmod packs them."""
    if typmod < 0:
        return type_
    match FACTS[type_.kind].modifier:
        case "length":
            return replace(type_, length=typmod - 4)
        case "precision":
            return replace(type_, scale=typmod)
        case "scale":
            return _numeric(typmod - 4)
        case _:
            return type_  # an interval's fields and precision say nothing about how it is kept


def _numeric(packed: int) -> SqlType:
    """A decimal if all digits fit into one, otherwise without a scale, which is text and holds any."""
    precision = (packed >> 16) & 0xFFFF
    scale = ((packed & 0x7FF) ^ 0x400) - 0x400  # eleven bits with a sign
    digits = max(precision, precision - scale, scale)
    return numeric(max(scale, 0)) if digits <= NUMERIC_DIGITS_MAX else NUMERIC

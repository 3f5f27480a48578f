"""Values of PostgreSQL that cannot be stored.

Not here: how they are found among others, and told of (sources/flawed.py).
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from headwater.core.errors import UserError
from headwater.core.types import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT2VECTOR,
    INT4,
    INT8,
    INTERVAL,
    NAME,
    NUMERIC,
    OID,
    TEXT,
    TIME,
    UUID,
    SqlType,
)
from headwater.formats.text import from_text

_ALL_STORED: Final = frozenset(
    type_.kind
    for type_ in (BOOL, BYTEA, DATE, FLOAT4, FLOAT8, INT2, INT2VECTOR, INT4, INT8, INTERVAL, OID, TIME, UUID)
)
_TEXTS: Final = frozenset((TEXT.kind, NAME.kind, "varchar", "char"))


def typed(texts: pa.Array, type_: SqlType) -> pa.Array:
    """Values that PostgreSQL has printed, in stored form; UserError if one cannot be."""
    check_text(texts)
    return from_text(texts, type_)


def check_text(texts: pa.Array) -> None:
    """UserError unless all of it is UTF-8, which an upstream with the encoding SQL_ASCII does not see to."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid as error:
        raise UserError("it is not text in UTF-8", "22021") from error


def printed(texts: pa.Array) -> str:
    """A single text; bytes that are no UTF-8 as \\xff."""
    return bytes(texts.cast(pa.binary())[0].as_py()).decode("utf-8", "backslashreplace")


def may_be_odd(type_: SqlType, unchecked: bool) -> bool:
    """Whether a column may have values that cannot be stored; `unchecked`: a text may be any bytes."""
    if type_.kind == NUMERIC.kind:
        return type_.scale is not None  # one of its numbers stands for NaN
    if type_.kind in _TEXTS:
        return unchecked
    return type_.kind not in _ALL_STORED

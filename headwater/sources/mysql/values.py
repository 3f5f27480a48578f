"""Values of MySQL and MariaDB in stored form: as they come in events, and as servers print them.

    stored    columns that rows.py has made of row events
    printed   texts of a query, which a snapshot reads

Both come to the same for the same value, also where it cannot be stored: NULL then, and a flaw with what the
server prints of it.

Not here: which type a column has here (types.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import UserError
from headwater.core.flaws import Flaw
from headwater.core.quoting import backquoted
from headwater.core.types import BYTEA, FLOATS, SIGNED, UNSIGNED, SqlType
from headwater.formats.arrow import arrow_type
from headwater.formats.text import from_text
from headwater.formats.text_numbers import decimal_nan
from headwater.sources.flawed import as_far
from headwater.sources.mysql.facts import ColumnFacts

Flaws = dict[int, Flaw]

_DAY_US: Final = 86_400_000_000
_ODD: Final = {
    "date": "it is no date",
    "timestamp": "it is no moment",
    "time": "it is no time of day",
}
_NUMBERS: Final = frozenset((*SIGNED, *UNSIGNED))
_PLAIN: Final = _NUMBERS | {*FLOATS, "date", "timestamp", BYTEA.kind}


def stored(values: pa.Array, odd: Mapping[int, str], type_: SqlType) -> tuple[pa.Array, Flaws]:
    """A column of row events; `odd`: by row, what a value was of which there is NULL."""
    array, found = as_far(values, lambda some: _converted(some, type_), arrow_type(type_), _shown)
    return array, found | {
        row: Flaw(text, _ODD.get(type_.kind, "it is out of range")) for row, text in odd.items()
    }


def _converted(values: pa.Array, type_: SqlType) -> pa.Array:
    wanted = arrow_type(type_)
    match type_.kind:
        case "numeric" if type_.scale is None:
            return from_text(values.cast(pa.string()), type_)
        case "numeric":
            return _not_nan(values.cast(wanted), type_.scale or 0)
        case "time":
            return values.cast(pa.time64("us")).cast(pa.int64())
        case kind if kind in _PLAIN:
            return values.cast(wanted)
    return from_text(values, type_)


def _shown(one: pa.Array) -> str:
    return str(one.cast(pa.string())[0].as_py())


def _not_nan(values: pa.Array, scale: int) -> pa.Array:
    """The greatest number stands for NaN here, so that it is no number any more."""
    if pc.any(pc.equal(values, pa.scalar(decimal_nan(scale), values.type))).as_py():
        raise UserError("it is out of range", "22003")
    return values


def selected(column: ColumnFacts, as_text: bool) -> str:
    """What is asked of a column, so that its text says all of the value."""
    name = backquoted(column.name)
    if column.data_type == "bit":
        return f"{name}+0"
    # A float is printed with six digits, and a double with all that it needs.  Adding 0 would make -0 a 0.
    return f"{name}*1e0" if column.data_type == "float" and not as_text else name


def printed(texts: pa.Array, type_: SqlType) -> tuple[pa.Array, Flaws]:
    """A column of bytes that a server has sent, which are text unless the type is that of bytes."""
    if type_ == BYTEA:
        return texts, {}
    return as_far(texts, lambda some: _read(some, type_), arrow_type(type_), _bytes_shown)


def _read(some: pa.Array, type_: SqlType) -> pa.Array:
    texts, wanted = _text(some), arrow_type(type_)
    try:
        match type_.kind:
            case "numeric" if type_.scale is not None:
                return _not_nan(texts.cast(wanted), type_.scale)
            case "float4":
                return texts.cast(pa.float64()).cast(wanted)
            case kind if kind in _PLAIN:
                return texts.cast(wanted)
    except pa.ArrowInvalid as error:
        raise UserError(_ODD.get(type_.kind, "it is out of range"), "22000") from error
    if type_.kind == "time":
        return _time(texts, type_)
    return from_text(texts, type_)


def _time(texts: pa.Array, type_: SqlType) -> pa.Array:
    try:
        values = from_text(texts, type_)
    except UserError as error:
        raise UserError(_ODD["time"], "22008") from error
    if pc.any(pc.greater_equal(values, _DAY_US)).as_py():
        raise UserError(_ODD["time"], "22008")
    return values


def _text(some: pa.Array) -> pa.Array:
    try:
        return some.cast(pa.string())
    except pa.ArrowInvalid as error:
        raise UserError("it is not text in UTF-8", "22021") from error


def _bytes_shown(one: pa.Array) -> str:
    return bytes(one[0].as_py()).decode("utf-8", "backslashreplace")

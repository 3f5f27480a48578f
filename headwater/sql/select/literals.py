"""Constants: what a literal's text means as a value of a type.

A constant in a plan has PostgreSQL's canonical text, so a literal is read and printed once
here, with PostgreSQL's errors for text that is no such value, and a generator never meets
a text it cannot read.

Not here: reading and printing themselves (formats/text.py), casts of columns (coerce.py).
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

import pyarrow as pa

from headwater.core.errors import UserError
from headwater.core.interval import DAY_US, HOUR_US, MINUTE_US
from headwater.core.names import Names, SessionFacts
from headwater.core.types import (
    INT4,
    INT8,
    INTERVAL,
    NUMERIC_DIGITS_MAX,
    REGISTERED,
    TEXT,
    SqlType,
    format_type,
    numeric,
)
from headwater.formats.text import from_text, to_text
from headwater.formats.text_numbers import numeric_value
from headwater.sql.select.plan import Cast, Constant, Expression
from headwater.sql.select.syntax import INTERVAL_FIELDS

_MOMENTS: Final = {"now": 0, "today": 0, "yesterday": -1, "tomorrow": 1}
_FIELD_US: Final = {"hour": HOUR_US, "minute": MINUTE_US}
_DIGITS_MAX: Final = 16_383
_TEXTS: Final = ("text", "unknown", "mz_aclitem")


def number(text: str) -> Expression:
    """A number as written: int4, int8 or numeric, the first that holds it."""
    if re.fullmatch(r"-?\d+", text):
        whole = int(text)
        if -(2**31) <= whole < 2**31:
            return Constant(str(whole), INT4)
        if -(2**63) <= whole < 2**63:
            return Constant(str(whole), INT8)
    value = Decimal(text)
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or max(value.adjusted(), -exponent) > _DIGITS_MAX:
        raise UserError("value overflows numeric format", "22003")
    return numeric_constant(value)


def numeric_constant(value: Decimal) -> Expression:
    """A numeric with the scale it is written with, or unconstrained when that would not fit."""
    written = shown = format(value, "f")
    digits = shown.lstrip("-").replace(".", "").lstrip("0")
    scale = len(shown.partition(".")[2])
    fits = len(digits) <= NUMERIC_DIGITS_MAX and scale <= NUMERIC_DIGITS_MAX
    if "." in shown:
        shown = shown.rstrip("0").rstrip(".")
    shown = "0" if shown in ("-0", "") else shown
    if not fits and shown != written:  # as text, which alone can keep the zeros
        return Cast(Constant(written, TEXT), numeric())
    return Constant(shown, numeric(scale if fits else None))


def canonical(text: str, type_: SqlType) -> str:
    """The canonical text of a value given as text; UserError when it is no such value."""
    if type_.kind in _TEXTS:
        return text
    array = pa.array([text], pa.string())
    value = to_text(from_text(array, type_), type_)[0].as_py()
    return str(value)


def literal(
    text: str, type_: SqlType, names: Names, facts: SessionFacts, at: int, explicit: bool
) -> Expression:
    """A string literal as a constant of a type."""
    try:
        if type_.kind in REGISTERED:
            return Constant(_registered(text, type_, names), type_)
        if type_.kind in ("date", "timestamp", "timestamptz"):
            moment = _moment(text, type_, facts)
            if moment is not None:
                return Constant(moment, type_)
        if explicit and type_.kind in ("char", "varchar") and type_.length is not None:
            text = text[: type_.length]
        if type_.kind == "numeric" and type_.scale is None:
            return _numeric(text, explicit)
        return Constant(canonical(text, type_), type_)
    except UserError as error:
        if not error.position:
            error.position = at + 1
        raise


def _numeric(text: str, explicit: bool) -> Expression:
    """An unknown literal where a numeric is wanted keeps the scale it is written with.

    With a cast that was written it is unconstrained, but its zeros still count.
    """
    shown = canonical(text, numeric())
    if shown in ("NaN", "Infinity", "-Infinity"):
        return Constant(shown, numeric())
    value = numeric_value(text.strip())
    if not explicit:
        return numeric_constant(value)
    return (
        Constant(shown, numeric())
        if shown == format(value, "f")
        else Cast(numeric_constant(value), numeric())
    )


def _moment(text: str, type_: SqlType, facts: SessionFacts) -> str | None:
    """'now', 'today' and their kin, of the statement's own time."""
    word = text.strip().lower()
    if word not in _MOMENTS:
        return None
    micros = facts.now_us
    if word != "now":
        micros = (micros // DAY_US + _MOMENTS[word]) * DAY_US
    return timestamp_text(micros, type_)


def timestamp_text(micros: int, type_: SqlType) -> str:
    """A moment in microseconds since the epoch, as text of a date or timestamp."""
    if type_.kind == "date":
        array = pa.array([micros // DAY_US], pa.int32()).cast(pa.date32())
    else:
        if type_.scale is not None:
            unit = 10 ** (6 - type_.scale)
            micros = (micros + unit // 2) // unit * unit
        zone = "UTC" if type_.kind == "timestamptz" else None
        array = pa.array([micros], pa.int64()).cast(pa.timestamp("us", tz=zone))
    return str(to_text(array, type_)[0].as_py())


def _registered(text: str, type_: SqlType, names: Names) -> str:
    """The oid behind a name given for regclass or regtype; digits are an oid already."""
    if text.isdigit():
        return text
    if text == "-":
        return "0"
    if type_.kind == "regclass":
        oid = names.regclass(text)
        if oid is None:
            raise UserError(f'relation "{text}" does not exist', "42P01")
        return str(oid)
    if type_.kind == "regtype":
        oid = names.type_oid(text)
        if oid is None:
            raise UserError(f'type "{text}" does not exist', "42704")
        return str(oid)
    raise UserError(f"{format_type(type_)} of a name not yet supported", "0A000")


def interval_literal(text: str, fields: str | None, at: int) -> Constant:
    """INTERVAL '...' with the fields that follow it: a bare number counts the last of them."""
    if fields is None:
        return Constant(_interval(text, at), INTERVAL)
    last = fields.rpartition(" ")[2]
    if re.fullmatch(r"\s*[-+]?\d+(\.\d+)?\s*", text):
        text = f"{text} {last}"
    array = from_text(pa.array([_interval(text, at)]), INTERVAL)
    months, days, micros = (array.field(i)[0].as_py() for i in range(3))
    index = INTERVAL_FIELDS.index(last)
    if index == 0:
        months = _cut(months, 12)
    days = days if index >= 2 else 0
    if last in _FIELD_US:
        micros = _cut(micros, _FIELD_US[last])
    elif index < 3:
        micros = 0
    kept = pa.array([{"months": months, "days": days, "microseconds": micros}], array.type)
    return Constant(str(to_text(kept, INTERVAL)[0].as_py()), INTERVAL)


def _cut(value: int, unit: int) -> int:
    """Toward zero."""
    return value // unit * unit if value >= 0 else -(-value // unit * unit)


def _interval(text: str, at: int) -> str:
    try:
        return canonical(text, INTERVAL)
    except UserError as error:
        error.position = at + 1
        raise

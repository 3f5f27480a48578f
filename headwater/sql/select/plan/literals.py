"""Constants: what a literal's text means as a value of a type.

A constant in a plan has PostgreSQL's canonical text, so a literal is read and printed once
here, with PostgreSQL's errors for text that is no such value, and a generator never meets
a text it cannot read.

Not here: reading and printing themselves (formats/text.py), casts of columns (coerce.py).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa

from headwater.core import pace
from headwater.core.calendar import DAY_US
from headwater.core.errors import UserError
from headwater.core.interval import parse_interval
from headwater.core.names import Names, SessionFacts, cut_name
from headwater.core.types import (
    INT4,
    INT8,
    INTERVAL,
    NUMERIC_DIGITS_MAX,
    REGISTERED,
    TEXT,
    SqlType,
    format_type,
    in_zone,
    numeric,
)
from headwater.formats.arrow import arrow_type
from headwater.formats.engine_types import INTERVAL_TYPE
from headwater.formats.text import from_text, to_text, written_alike
from headwater.formats.text_numbers import numeric_value
from headwater.formats.zones import zone as find
from headwater.sql.select.kernels.intervals import fitted
from headwater.sql.select.plan.nodes import Cast, Constant, Expression

_MOMENTS: Final = {"now": 0, "today": 0, "yesterday": -1, "tomorrow": 1}


def number(text: str) -> Expression:
    """A number as written: int4, int8 or numeric, the first that holds it."""
    if re.fullmatch(r"-?0*\d{1,19}", text):
        whole = int(text)
        if -(2**31) <= whole < 2**31:
            return Constant(str(whole), INT4)
        if -(2**63) <= whole < 2**63:
            return Constant(str(whole), INT8)
    return numeric_constant(numeric_value(text))


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


def canonical(text: str, type_: SqlType, zone: str = "") -> str:
    """The canonical text of a value given as text; UserError when it is no such value.

    A clock without an offset is one of the zone; in canonical text it is one of UTC.
    """
    return canonicals([text], type_, zone)[0]


def canonicals(texts: list[str], type_: SqlType, zone: str = "") -> list[str]:
    """The same of many texts at once, in hardly more time; UserError if any is no such value."""
    if written_alike(type_):
        return texts
    read = from_text(pa.array(texts, pa.string()), in_zone(type_, zone))
    return [str(value) for value in to_text(read, type_).to_pylist()]


def constants(texts: Collection[str], type_: SqlType, zone: str = "") -> dict[str, Constant]:
    """String literals as constants of a type, all at once; none if one of them needs a closer look."""
    if not texts or type_.kind in REGISTERED or (type_.kind == "numeric" and type_.scale is None):
        return {}
    pace.stride()
    listed = list(texts)
    try:
        shown = canonicals(listed, type_, zone)
    except UserError:
        return {}  # `literal` says which, and where it stands
    return {text: Constant(value, type_) for text, value in zip(listed, shown, strict=True)}


def literal(
    text: str, type_: SqlType, names: Names, facts: SessionFacts, at: int, explicit: bool
) -> Expression:
    """A string literal as a constant of a type."""
    try:
        if type_.kind in REGISTERED:
            return Constant(_registered(text, type_, names), type_)
        if type_.kind in ("date", "time", "timestamp", "timestamptz"):
            moment = _moment(text, type_, facts)
            if moment is not None:
                return Constant(moment, type_)
        if explicit and type_.length is not None:
            text = text[: type_.length]
        if explicit and type_.kind == "name":  # a name that is looked for may be longer
            text = cut_name(text)
        if type_.kind == "numeric" and type_.scale is None:
            return _numeric(text, explicit)
        return Constant(canonical(text, type_, facts.zone), type_)
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
        if type_.kind == "time":
            return None
        clock = _clock(micros, facts.zone)
        micros = _moment_of(((clock // DAY_US) + _MOMENTS[word]) * DAY_US, facts.zone)
    return timestamp_text(micros, type_, facts.zone)


def _clock(micros: int, zone: str) -> int:
    return int(find(zone).to_clock(np.array([micros]))[0]) if zone else micros


def _moment_of(clock: int, zone: str) -> int:
    return int(find(zone).from_clock(np.array([clock]))[0]) if zone else clock


def timestamp_text(micros: int, type_: SqlType, zone: str) -> str:
    """A moment in microseconds since the epoch, as canonical text of a timestamp, or of a date or time
    as the clocks of a zone show it."""
    clock = micros if type_.kind == "timestamptz" else _clock(micros, zone)
    if type_.kind == "date":
        array = pa.array([clock // DAY_US], pa.int32()).cast(pa.date32())
        return str(to_text(array, type_)[0].as_py())
    if type_.scale is not None:
        unit = 10 ** (6 - type_.scale)
        clock = (clock + unit // 2) // unit * unit
    clock = clock % DAY_US if type_.kind == "time" else clock
    array = pa.array([clock], pa.int64()).cast(arrow_type(type_))
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


def interval_literal(text: str, fields: str, digits: int, at: int) -> Constant:
    """INTERVAL '...' with the fields that follow it: a bare number counts the last of them."""
    last = fields.rpartition(" ")[2]
    try:
        value = parse_interval(text, last, minutes_first=fields == "minute to second")
    except UserError as error:
        error.position = at + 1
        raise
    parts = {"months": value.months, "days": value.days, "microseconds": value.microseconds}
    fitting = fitted(pa.array([parts], INTERVAL_TYPE), last, digits)
    return Constant(str(to_text(fitting, INTERVAL)[0].as_py()), INTERVAL)

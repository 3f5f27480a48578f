"""Days, times of day and moments: counted from 1970 here, from 2000 on PostgreSQL's wire."""

from __future__ import annotations

import struct
from datetime import datetime, timedelta
from typing import Final

import pyarrow as pa

from headwater.core import types
from headwater.core.errors import UserError
from headwater.core.types import SqlType
from headwater.formats import text_times
from headwater.formats.arrow import arrow_type
from headwater.formats.byte_columns import fixed, validity_of, values_of
from headwater.formats.kinds.kind import Convert, Kind, Receive, unmodified
from headwater.formats.kinds.numbers import number_to_binary
from headwater.formats.text_times import DAY_INFINITE, MOMENT_INFINITE, infinite_text

_DAYS_1970_TO_2000: Final = 10_957
_MICROSECONDS_PER_DAY: Final = 86_400_000_000
_MICROSECONDS_1970_TO_2000: Final = _DAYS_1970_TO_2000 * _MICROSECONDS_PER_DAY


def _moment(stored: str, sent: str, shift: int, infinite: int) -> Convert:
    """A day or moment, which PostgreSQL counts from 2000; infinite ones are the outermost numbers."""

    def send(array: pa.Array, type_: SqlType) -> pa.Array:
        values = values_of(array, stored)
        sent_values = (values - shift).astype(sent)
        sent_values[values == infinite] = infinite
        sent_values[values == -infinite] = -infinite - 1
        return fixed(sent_values, validity_of(array))

    return send


# Days


def _date_received(data: bytes, type_: SqlType) -> str:
    (days,) = struct.unpack(">i", data)
    if days in (2**31 - 1, -(2**31)):
        return infinite_text(days)
    stored = pa.array([days + _DAYS_1970_TO_2000], pa.int32()).cast(pa.date32())
    return str(text_times.date_to_text(stored)[0].as_py())


DATE: Final = Kind(
    unmodified(text_times.date_to_text),
    unmodified(text_times.date_from_text),
    _moment("<i4", ">i4", _DAYS_1970_TO_2000, DAY_INFINITE),
    _date_received,
)


# Times of day


def _time_from_text(array: pa.Array, type_: SqlType) -> pa.Array:
    return text_times.time_from_text(array, type_.scale)


def _time_received(data: bytes, type_: SqlType) -> str:
    (microseconds,) = struct.unpack(">q", data)
    if not 0 <= microseconds <= _MICROSECONDS_PER_DAY:
        raise ValueError("not a time of day")
    return clock_text(microseconds)


def clock_text(microseconds: int) -> str:
    """Hours, minutes and seconds, of any number."""
    seconds, fraction = divmod(microseconds, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02d}:{minute:02d}:{second:02d}" + (f".{fraction:06d}" if fraction else "")


TIME: Final = Kind(
    unmodified(text_times.time_to_text), _time_from_text, number_to_binary("<i8", ">i8"), _time_received
)


# Moments


def _timestamp_from_text(array: pa.Array, type_: SqlType) -> pa.Array:
    return text_times.timestamp_from_text(array, type_.scale)


def _timestamptz_to_text(array: pa.Array, type_: SqlType) -> pa.Array:
    return text_times.timestamptz_to_text(array, type_.zone)


def _timestamptz_from_text(array: pa.Array, type_: SqlType) -> pa.Array:
    return text_times.timestamptz_from_text(array, type_.scale, type_.zone)


def _moment_received(type_: SqlType, zone: str, to_text: Convert) -> Receive:
    def receive(data: bytes, _: SqlType) -> str:
        (microseconds,) = struct.unpack(">q", data)
        if microseconds in (2**63 - 1, -(2**63)):
            return infinite_text(microseconds)
        try:
            return f"{datetime(2000, 1, 1) + timedelta(microseconds=microseconds)}{zone}"
        except OverflowError:  # before Christ, or after the year 9999
            since_1970 = microseconds + _DAYS_1970_TO_2000 * _MICROSECONDS_PER_DAY
            if since_1970 >= MOMENT_INFINITE:
                raise UserError("timestamp out of range", "22008") from None
            moment = pa.array([since_1970], pa.int64()).cast(arrow_type(type_))
            return str(to_text(moment, type_)[0].as_py())

    return receive


_TIMESTAMP_TO_TEXT: Final = unmodified(text_times.timestamp_to_text)
_MOMENT_TO_BINARY: Final = _moment("<i8", ">i8", _MICROSECONDS_1970_TO_2000, MOMENT_INFINITE)

TIMESTAMP: Final = Kind(
    _TIMESTAMP_TO_TEXT,
    _timestamp_from_text,
    _MOMENT_TO_BINARY,
    _moment_received(types.TIMESTAMP, "", _TIMESTAMP_TO_TEXT),
)
TIMESTAMPTZ: Final = Kind(
    _timestamptz_to_text,
    _timestamptz_from_text,
    _MOMENT_TO_BINARY,
    _moment_received(types.TIMESTAMPTZ, "+00", _timestamptz_to_text),
)

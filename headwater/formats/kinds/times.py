"""Days, times of day and moments: counted from 1970 here, from 2000 on PostgreSQL's wire."""

from __future__ import annotations

import struct
from typing import Final

import pyarrow as pa

from headwater.core.calendar import (
    DATE_MAX,
    DAY_INFINITE,
    DAY_US,
    DAYS_1970_TO_2000,
    MIDNIGHT_2000_US,
    MOMENT_INFINITE,
)
from headwater.core.errors import UserError
from headwater.core.types import SqlType
from headwater.formats import text_times
from headwater.formats.byte_columns import fixed, validity_of, values_of
from headwater.formats.kinds.kind import Convert, Kind, Receive, unmodified
from headwater.formats.kinds.numbers import number_to_binary
from headwater.formats.text_times import clock_text, day_text, infinite_text, moment_text


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
    since_1970 = days + DAYS_1970_TO_2000
    if since_1970 > DATE_MAX:
        raise UserError("date out of range", "22008")
    return day_text(since_1970)


DATE: Final = Kind(
    unmodified(text_times.date_to_text),
    unmodified(text_times.date_from_text),
    _moment("<i4", ">i4", DAYS_1970_TO_2000, DAY_INFINITE),
    _date_received,
)


# Times of day


def _time_from_text(array: pa.Array, type_: SqlType) -> pa.Array:
    return text_times.time_from_text(array, type_.scale)


def _time_received(data: bytes, type_: SqlType) -> str:
    (microseconds,) = struct.unpack(">q", data)
    if not 0 <= microseconds <= DAY_US:
        raise ValueError("not a time of day")
    return clock_text(microseconds)


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


def _moment_received(zone: str) -> Receive:
    def receive(data: bytes, _: SqlType) -> str:
        (microseconds,) = struct.unpack(">q", data)
        if microseconds in (2**63 - 1, -(2**63)):
            return infinite_text(microseconds)
        since_1970 = microseconds + MIDNIGHT_2000_US
        if since_1970 >= MOMENT_INFINITE:
            raise UserError("timestamp out of range", "22008")
        return moment_text(since_1970, zone)

    return receive


_MOMENT_TO_BINARY: Final = _moment("<i8", ">i8", MIDNIGHT_2000_US, MOMENT_INFINITE)

TIMESTAMP: Final = Kind(
    unmodified(text_times.timestamp_to_text),
    _timestamp_from_text,
    _MOMENT_TO_BINARY,
    _moment_received(""),
)
TIMESTAMPTZ: Final = Kind(
    _timestamptz_to_text,
    _timestamptz_from_text,
    _MOMENT_TO_BINARY,
    _moment_received("+00"),
)

"""interval: months, days and microseconds, which are none of each other."""

from __future__ import annotations

import struct
from typing import Final

import numpy as np
import pyarrow as pa

from headwater.core.types import SqlType
from headwater.formats import text_intervals
from headwater.formats.byte_columns import fixed, validity_of, values_of
from headwater.formats.kinds.kind import Kind, unmodified
from headwater.formats.text_times import clock_text

_SENT: Final = np.dtype([("microseconds", ">i8"), ("days", ">i4"), ("months", ">i4")])


def _to_binary(array: pa.Array, type_: SqlType) -> pa.Array:
    rows = np.zeros(len(array), _SENT)
    rows["microseconds"] = values_of(array.field("microseconds"), "<i8")
    rows["days"] = values_of(array.field("days"), "<i4")
    rows["months"] = values_of(array.field("months"), "<i4")
    return fixed(rows, validity_of(array))


def _received(data: bytes, type_: SqlType) -> str:
    microseconds, days, months = struct.unpack(">qii", data)
    sign = "-" if microseconds < 0 else ""
    return f"{months} mons {days} days {sign}{clock_text(abs(microseconds))}"


INTERVAL: Final = Kind(
    unmodified(text_intervals.interval_to_text),
    unmodified(text_intervals.interval_from_text),
    _to_binary,
    _received,
)

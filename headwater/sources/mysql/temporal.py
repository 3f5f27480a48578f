"""Dates and times as they lie in rows.

    date        3 bytes    year:15 month:4 day:5, little-endian; all else is big-endian
    datetime    5 bytes    1:1 year*13+month:17 day:5 hour:5 minute:6 second:6, then its fraction
    timestamp   4 bytes    seconds since 1970, then its fraction
    time        3 bytes    1:1 0:1 hour:10 minute:6 second:6 with its fraction, all of it turned below zero
    fraction    a byte for each two digits

MySQL keeps what is no date or not within a day: zero dates, days that a month has not, times of 838 hours.
They are NULL here, and what the server prints of them is told beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.sources.mysql.events import Booleans, Bytes, Integers

_DAY_US: Final = 86_400_000_000
_DIGITS: Final = 6


@dataclass(frozen=True, slots=True)
class Moments:
    """Parts of dates and times."""

    year: Integers
    month: Integers
    day: Integers
    second: Integers  # of the day
    micro: Integers

    def days(self) -> tuple[Integers, Booleans]:
        """Since 1970, and whether there is such a day."""
        months = np.clip((self.year - 1970) * 12 + self.month - 1, -30_000, 200_000)
        first = months.astype("M8[M]").astype("M8[D]")
        days = first + (self.day - 1).astype("m8[D]")
        real = (self.year > 0) & (self.month >= 1) & (self.month <= 12) & (self.day >= 1)
        real &= days.astype("M8[M]").astype(np.int64) == months
        return days.astype(np.int64), real

    def microseconds(self) -> tuple[Integers, Booleans]:
        """Since 1970, and whether there is such a day."""
        days, real = self.days()
        return days * _DAY_US + self.second * 1_000_000 + self.micro, real

    def texts(self, digits: int | None) -> npt.NDArray[np.uint8]:
        """As the server prints them, all of a size; without a time, or with so many digits of seconds."""
        pieces: list[Integers | str] = [
            *_two(self.year // 100),
            *_two(self.year % 100),
            "-",
            *_two(self.month),
            "-",
            *_two(self.day),
        ]
        if digits is not None:
            hour, minute = self.second // 3600, self.second // 60 % 60
            pieces += [" ", *_two(hour), ":", *_two(minute), ":", *_two(self.second % 60)]
            if digits:
                pieces += [".", *(self.micro // 10 ** (_DIGITS - 1 - place) % 10 for place in range(digits))]
        texts = np.empty((len(self.year), len(pieces)), np.uint8)
        for place, piece in enumerate(pieces):
            texts[:, place] = ord(piece) if isinstance(piece, str) else piece + ord("0")
        return texts


def _two(number: Integers) -> tuple[Integers, Integers]:
    return number // 10 % 10, number % 10


def _big(raw: Bytes, start: int, end: int) -> Integers:
    number = np.zeros(len(raw), np.int64)
    for place in range(start, end):
        number = number << 8 | raw[:, place]
    return number


def _micros(raw: Bytes, start: int) -> Integers:
    size = raw.shape[1] - start
    micros: Integers = _big(raw, start, start + size) * 10 ** (_DIGITS - 2 * size)
    return micros


def dates(raw: Bytes) -> Moments:
    """Of the bytes of each, row by row; their time is midnight."""
    number = raw[:, 0].astype(np.int64) | raw[:, 1].astype(np.int64) << 8 | raw[:, 2].astype(np.int64) << 16
    zero = np.zeros(len(raw), np.int64)
    return Moments(number >> 9, number >> 5 & 15, number & 31, zero, zero)


def datetimes(raw: Bytes) -> Moments:
    """Of the bytes of each, row by row."""
    number = _big(raw, 0, 5) & ((1 << 39) - 1)
    return _unpacked(number, _micros(raw, 5))


def _unpacked(number: Integers, micro: Integers) -> Moments:
    months = number >> 22
    second = (number >> 12 & 31) * 3600 + (number >> 6 & 63) * 60 + (number & 63)
    return Moments(months // 13, months % 13, number >> 17 & 31, second, micro)


def packed_datetimes(number: Integers) -> Moments:
    """As they lie in documents: with 24 bits of microseconds."""
    return _unpacked(number >> 24, number & 0xFFFFFF)


def timestamps(raw: Bytes) -> Moments:
    """Of the bytes of each, row by row; in UTC."""
    number, micro = _big(raw, 0, 4), _micros(raw, 4)
    days = (number // 86_400).astype("M8[D]")
    months = days.astype("M8[M]")
    day = (days - months.astype("M8[D]")).astype(np.int64) + 1
    since = months.astype(np.int64)
    none = (number == 0) & (micro == 0)
    parts = (since // 12 + 1970, since % 12 + 1, day, number % 86_400)
    year, month, date, second = (np.where(none, 0, part) for part in parts)
    return Moments(year, month, date, second, micro)


def times(raw: Bytes) -> tuple[Integers, Integers]:
    """Microseconds, which may be below zero or beyond a day; and as they lie in documents."""
    size = raw.shape[1]
    bits = 8 * (size - 3)
    number = _big(raw, 0, size) - (1 << bits + 23)
    fraction = np.abs(number) & (1 << bits) - 1
    micro = fraction * 10 ** (_DIGITS - 2 * (size - 3))
    whole = np.abs(number) >> bits
    sign = np.where(number < 0, -1, 1)
    return _time(whole, micro) * sign, sign * (whole << 24 | micro)


def packed_times(number: Integers) -> Integers:
    """Microseconds of what lies in documents."""
    size = np.abs(number)
    return _time(size >> 24, size & 0xFFFFFF) * np.where(number < 0, -1, 1)


def _time(whole: Integers, micro: Integers) -> Integers:
    seconds = (whole >> 12 & 0x3FF) * 3600 + (whole >> 6 & 63) * 60 + (whole & 63)
    microseconds: Integers = seconds * 1_000_000 + micro
    return microseconds


def time_text(microseconds: int, digits: int) -> str:
    """As the server prints it."""
    second, micro = divmod(abs(microseconds), 1_000_000)
    text = f"{'-' if microseconds < 0 else ''}{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    return f"{text}.{f'{micro:06}'[:digits]}" if digits else text


def fixed_texts(texts: Bytes, missing: Booleans) -> pa.Array:
    """Texts that are all of a size."""
    count, size = texts.shape
    return pa.StringArray.from_buffers(
        count,
        pa.py_buffer(np.arange(0, (count + 1) * size, size, dtype=np.int32)),
        pa.py_buffer(np.ascontiguousarray(texts)),
        pa.py_buffer(np.packbits(~missing, bitorder="little")),
    )


def within_a_day(microseconds: Integers) -> Booleans:
    """Whether they are times of a day."""
    inside: Booleans = (microseconds >= 0) & (microseconds < _DAY_US)
    return inside

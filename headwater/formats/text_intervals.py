"""Intervals as PostgreSQL writes and reads them (IntervalStyle postgres).

Reads the verbose form (`1 year 2 mons -3 days 04:05:06`), ISO 8601
(`P1Y2M3DT4H5M6S`), SQL's (`1-2`, `3 4:05:06`) and `... ago`.
"""

from __future__ import annotations

import re
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import UserError
from headwater.formats.arrow import INTERVAL_TYPE
from headwater.formats.columns import joined, map_distinct

_HOUR_US = 3_600_000_000
_DAY_US = 24 * _HOUR_US

# Months, days and microseconds of one unit.
_UNITS: dict[str, tuple[int, int, int]] = {}
for _words, _size in (
    (("microsecond", "us", "usec", "microsecon", "usecs"), (0, 0, 1)),
    (("millisecond", "ms", "msec", "millisecon", "msecs"), (0, 0, 1_000)),
    (("second", "s", "sec", "secs"), (0, 0, 1_000_000)),
    (("minute", "m", "min", "mins"), (0, 0, 60_000_000)),
    (("hour", "h", "hr", "hrs"), (0, 0, _HOUR_US)),
    (("day", "d"), (0, 1, 0)),
    (("week", "w"), (0, 7, 0)),
    (("month", "mon", "mons"), (1, 0, 0)),
    (("year", "y", "yr", "yrs"), (12, 0, 0)),
    (("decade", "dec", "decs"), (120, 0, 0)),
    (("century", "c", "cent", "centuries"), (1_200, 0, 0)),
    (("millennium", "mil", "mils", "millennia"), (12_000, 0, 0)),
):
    for _word in _words:
        _UNITS[_word] = _size
        _UNITS.setdefault(f"{_word}s", _size)
_ISO_DATE = {"Y": "year", "M": "month", "W": "week", "D": "day"}
_ISO_TIME = {"H": "hour", "M": "minute", "S": "second"}


# Values to text


def interval_to_text(array: pa.Array) -> pa.Array:
    """`1 year 2 mons -3 days +04:05:06`; a part that follows a negative one shows its plus."""
    months, days, us = (pc.struct_field(array, index).cast(pa.int64()) for index in range(3))
    years = pc.divide(months, 12)
    rest = pc.subtract(months, pc.multiply(years, 12))
    nothing = pa.scalar(None, pa.string())
    parts: list[pa.Array] = []
    negative = pc.less(months, months)  # false, or NULL where the interval is
    zero = pc.invert(negative)
    for count, unit in ((years, "year"), (rest, "mon"), (days, "day")):
        present = pc.not_equal(count, 0)
        sign = pc.if_else(pc.and_(negative, pc.greater(count, 0)), "+", "")
        plural = pc.if_else(pc.equal(count, 1), unit, f"{unit}s")
        text = joined(" ", joined("", sign, pc.cast(count, pa.string())), plural)
        parts.append(pc.if_else(present, text, nothing))
        negative = pc.if_else(present, pc.less(count, 0), negative)
        zero = pc.and_(zero, pc.invert(present))
    sign = pc.if_else(pc.less(us, 0), "-", pc.if_else(negative, "+", ""))
    clock = joined("", sign, _clock_text(pc.abs(us)))
    clock = pc.if_else(pc.or_(zero, pc.not_equal(us, 0)), clock, nothing)
    # Joining drops a row all of whose parts are skipped, so that no row may be like that.
    parts.append(pc.if_else(array.is_null(), "", clock))
    text = pc.binary_join_element_wise(*parts, " ", null_handling="skip")
    return pc.if_else(array.is_valid(), text, nothing)


def _clock_text(us: pa.Array) -> pa.Array:
    hours = pc.divide(us, _HOUR_US)
    within = pc.subtract(us, pc.multiply(hours, _HOUR_US))
    # Always six digits after the point, so trimming zeros stops there.
    rest = pc.utf8_slice_codeunits(pc.cast(within.cast(pa.time64("us")), pa.string()), 2)
    rest = pc.utf8_rtrim(pc.utf8_rtrim(rest, "0"), ".")
    digits = pc.cast(hours, pa.string())
    padded = pc.if_else(pc.less(hours, 10), pc.utf8_lpad(digits, 2, "0"), digits)
    return joined("", padded, rest)


# Text to values


def interval_from_text(array: pa.Array) -> pa.Array:
    """Stored intervals of their texts."""
    return map_distinct(array, _one_interval, INTERVAL_TYPE)


def _one_interval(text: str) -> dict[str, int]:
    months, days, us = parse_interval(text)
    return {"months": months, "days": days, "microseconds": us}


def _bad(text: str) -> UserError:
    return UserError(f'invalid input syntax for type interval: "{text}"', "22007")


def parse_interval(text: str) -> tuple[int, int, int]:
    """Months, days and microseconds of any of PostgreSQL's spellings."""
    stripped = text.strip(" \t\n\r\v\f")
    total = _Total(text)
    if re.match(r"[Pp][\d.+-tT]", stripped):
        _read_iso(stripped[1:].upper(), total)
    else:
        _read_verbose(stripped.lower(), total)
    return total.checked()


class _Total:
    """The sum of an interval's parts; fractions flow down to the next smaller unit."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.months = 0
        self.days = 0
        self.us = 0
        self.empty = True
        self.sizes: set[tuple[int, int, int]] = set()

    def add(self, amount: Decimal, unit: str) -> None:
        size = months, days, us = _UNITS[unit]
        if size in self.sizes:
            raise _bad(self.text)
        self.sizes.add(size)
        self.empty = False
        whole = int(amount)
        fraction = amount - whole
        self.months += whole * months
        self.days += whole * days
        self.us += whole * us
        if months:
            if months >= 12:
                self.months += round(fraction * months)
            else:
                self._add_days(fraction * months * 30)
        elif days:
            self._add_days(fraction * days)
        else:
            self.us += round(fraction * us)

    def _add_days(self, days: Decimal) -> None:
        whole = int(days)
        self.days += whole
        self.us += round((days - whole) * _DAY_US)

    def negate(self) -> None:
        self.months, self.days, self.us = -self.months, -self.days, -self.us

    def checked(self) -> tuple[int, int, int]:
        if self.empty:
            raise _bad(self.text)
        if max(abs(self.months), abs(self.days)) >= 2**31 or abs(self.us) >= 2**63:
            raise UserError(f'interval field value out of range: "{self.text}"', "22015")
        return self.months, self.days, self.us


def _read_iso(text: str, total: _Total) -> None:
    date, _, time = text.partition("T")
    total.empty = not text
    for part, units in ((date, _ISO_DATE), (time, _ISO_TIME)):
        if re.fullmatch(r"(?:[+-]?\d*\.?\d+\.?[A-Z])*", part, re.ASCII) is None:
            raise _bad(total.text)
        for amount, unit in re.findall(r"([+-]?\d*\.?\d+)\.?([A-Z])", part, re.ASCII):
            if unit not in units:
                raise _bad(total.text)
            total.add(Decimal(amount), units[unit])


_PART = re.compile(
    r"""
      (?P<clock>[+-]?\d+:\d{1,2}(?::\d{1,2})?(?:\.\d*)?)
    | (?P<years>[+-]?\d+-\d{1,2}(?![\d.]))
    | (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?!e[+-]?\d))
    | (?P<word>[a-z]+)
    | (?P<space>\s+|@)
    """,
    re.VERBOSE | re.ASCII,
)


def _read_verbose(text: str, total: _Total) -> None:
    pending: Decimal | None = None
    ago = False
    place = 0
    while place < len(text):
        match = _PART.match(text, place)
        if match is None or ago:
            raise _bad(total.text)
        place = match.end()
        word = match.group()
        match match.lastgroup:
            case "number":
                if pending is not None:
                    raise _bad(total.text)
                pending = Decimal(word)
            case "clock":
                if pending is not None:  # SQL's form: days, then a time of day
                    total.add(pending, "day")
                    pending = None
                _add_clock(word, total)
            case "years":
                sign = -1 if word.startswith("-") else 1
                years, months = word.lstrip("+-").split("-")
                total.add(Decimal(sign * (int(years) * 12 + int(months))), "month")
            case "word" if word == "ago" and not total.empty and pending is None:
                ago = True
            case "word":
                if pending is None or word not in _UNITS:
                    raise _bad(total.text)
                total.add(pending, word)
                pending = None
    if pending is not None:
        total.add(pending, "second")
    if ago:
        total.negate()


def _add_clock(word: str, total: _Total) -> None:
    sign = -1 if word.startswith("-") else 1
    pieces = word.lstrip("+-").split(":")
    if len(pieces) == 2 and "." in pieces[1]:
        pieces.insert(0, "0")
    hour, minute, second = (*pieces, "0")[:3]
    if int(minute) > 59 or Decimal(second or "0") >= 61:
        raise UserError(f'interval field value out of range: "{total.text}"', "22015")
    us = int(hour) * _HOUR_US + int(minute) * 60_000_000 + round(Decimal(second) * 1_000_000)
    total.us += sign * us
    total.empty = False

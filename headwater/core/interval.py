"""Interval text, as PostgreSQL reads it.

    1 day 02:03:04.5       units and a time of day
    1 year 2 mons -3 d     any part may be negative
    1-2 3 4:05:06          the standard's form: years-months days time
    100ms, 30d, 1h30m      units need no space
    P1Y2M3DT4H5M6.5S       ISO 8601, also P0001-02-03T04:05:06
    2 hours ago            everything turned round

An `@` means nothing, and of a unit's name only the first ten letters count.

Fractions trickle down: half a year is 6 months, half a month 15 days, half a day
12 hours.  Rounding to a microsecond is to the nearest, half to even.

Not here: whole columns and printing (formats/text_intervals.py), arithmetic (sql/select).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from headwater.core.calendar import (
    DAY_US,
    DAYS_PER_MONTH,
    DAYS_PER_WEEK,
    HOUR_US,
    MINUTE_US,
    MONTHS_PER_YEAR,
    SECOND_US,
)
from headwater.core.errors import UserError
from headwater.core.limits import INTERVAL_CHARACTERS_MAX


@dataclass(frozen=True, slots=True)
class Interval:
    """Three parts that do not add up: months and days have no fixed length."""

    months: int = 0
    days: int = 0
    microseconds: int = 0

    def total_microseconds(self) -> int:
        """One number, with a month of 30 days and a day of 24 hours."""
        return (self.months * DAYS_PER_MONTH + self.days) * DAY_US + self.microseconds


def parse_interval(text: str, unit: str = "second", minutes_first: bool = False) -> Interval:
    """The interval a text means; UserError 22007 when it means none, 22015 out of range.

    `unit` is that of a number at the end which has none; with `minutes_first`, 1:02 are minutes and seconds.
    """
    if len(text) > INTERVAL_CHARACTERS_MAX:
        raise _refusal(text[:40] + "...")
    body = text.strip().lower()
    sum_ = _iso(body) if body.startswith("p") else _units(body, unit, minutes_first)
    if sum_ is None:
        raise _refusal(text)
    fitting = (
        -(2**31) <= sum_.months < 2**31
        and -(2**31) <= sum_.days < 2**31
        and -(2**63) <= sum_.microseconds < 2**63
    )
    if sum_.overflowing or not fitting:
        raise UserError(f'interval field value out of range: "{text}"', "22015")
    return Interval(sum_.months, sum_.days, sum_.microseconds)


def _refusal(text: str) -> UserError:
    return UserError(f'invalid input syntax for type interval: "{text}"', "22007")


@dataclass(slots=True)
class _Sum:
    """Parts added so far; `overflowing` when one was larger than its place allows, as in 00:60."""

    months: int = 0
    days: int = 0
    microseconds: int = 0
    overflowing: bool = False

    def add_months(self, count: Fraction, months: int) -> None:
        """`count` times a number of months; what is left of a single month becomes days."""
        if months > 1:
            self.months += round(count * months)
            return
        whole = int(count)
        self.months += whole
        self.add_days((count - whole) * DAYS_PER_MONTH)

    def add_days(self, count: Fraction) -> None:
        whole = int(count)
        self.days += whole
        self.add_microseconds((count - whole) * DAY_US)

    def add_microseconds(self, count: Fraction) -> None:
        self.microseconds += round(count)

    def negate(self) -> None:
        self.months, self.days, self.microseconds = -self.months, -self.days, -self.microseconds


# unit -> what it is measured in, how many of it, and all its spellings
_UNITS: Final[dict[str, tuple[str, int, str]]] = {
    "microsecond": ("microseconds", 1, "us usec usecs usecond useconds microsecond microseconds"),
    "millisecond": ("microseconds", 1_000, "ms msec msecs msecond mseconds millisecond milliseconds"),
    "second": ("microseconds", SECOND_US, "s sec secs second seconds"),
    "minute": ("microseconds", MINUTE_US, "m min mins minute minutes"),
    "hour": ("microseconds", HOUR_US, "h hr hrs hour hours"),
    "day": ("days", 1, "d day days"),
    "week": ("days", DAYS_PER_WEEK, "w week weeks"),
    "month": ("months", 1, "mon mons month months"),
    "year": ("months", MONTHS_PER_YEAR, "y yr yrs year years"),
    "decade": ("months", 120, "dec decs decade decades"),
    "century": ("months", 1_200, "c cent century centuries"),
    "millennium": ("months", 12_000, "mil mils millennium millennia"),
}
_UNIT_CHARACTERS: Final = 10
_BY_SPELLING: Final = {
    spelling[:_UNIT_CHARACTERS]: unit
    for unit, (_, _, spellings) in _UNITS.items()
    for spelling in spellings.split()
}


def _add(sum_: _Sum, unit: str, count: Fraction) -> None:
    measure, size, _ = _UNITS[unit]
    match measure:
        case "months":
            sum_.add_months(count, size)
        case "days":
            sum_.add_days(count * size)
        case _:
            sum_.add_microseconds(count * size)


_FIELD: Final = re.compile(
    r"""
    (?P<time>   (?P<time_sign>[+-])?\s*(?P<first>[0-9]+):(?P<second>[0-9]+)
                (?::(?P<third>[0-9]+))?(?P<fraction>\.[0-9]*)? )
  | (?P<years>  (?P<years_sign>[+-])?\s*(?P<year>[0-9]+)-(?P<month>[0-9]+) )
  | (?P<number> (?P<sign>[+-])?\s*(?P<digits>[0-9]+\.?[0-9]*|\.[0-9]+) )
  | (?P<word>   [a-z]+ )
    """,
    re.VERBOSE | re.ASCII,
)


def _units(body: str, last: str, minutes_first: bool) -> _Sum | None:
    """Everything but ISO 8601; None when it is not an interval."""
    body = body.replace("@", " ")
    fields = list(_FIELD.finditer(body))
    if not fields or _FIELD.sub("", body).strip(" \t\n\r\f\v"):
        return None
    ago = fields[-1].group() == "ago"
    if ago:
        fields.pop()
        if not fields or fields[-1]["number"]:  # a number without a unit cannot be turned round
            return None
    sum_ = _Sum()
    seen: set[str] = set()
    index = 0
    while index < len(fields):
        found, following = fields[index], fields[index + 1] if index + 1 < len(fields) else None
        index += 1
        if found["time"]:
            parts = _time(found, sum_, minutes_first)
        elif found["years"]:
            parts = _years(found, sum_)
        elif found["number"]:
            unit, named = _unit_of(following, last)
            if unit is None:
                return None
            index += named
            _add(sum_, unit, (-1 if found["sign"] == "-" else 1) * Fraction(found["digits"]))
            parts = {unit}
        else:
            return None
        if seen & parts:
            return None
        seen |= parts
    if ago:
        sum_.negate()
    return sum_


def _unit_of(following: re.Match[str] | None, last: str) -> tuple[str | None, int]:
    """The unit of a number by what follows it, and how many fields that takes."""
    if following is None:
        return last, 0
    if following["word"]:
        return _BY_SPELLING.get(following["word"][:_UNIT_CHARACTERS]), 1
    if following["time"] or (following["number"] and last == "hour"):
        return "day", 0
    return None, 0


def _time(found: re.Match[str], sum_: _Sum, minutes_first: bool) -> set[str]:
    """`h:m`, `h:m:s`, or `m:s.f` when two parts have a fraction or say minutes and seconds."""
    first, second = int(found["first"]), int(found["second"])
    third, fraction = found["third"], found["fraction"]
    if third is None and (fraction is not None or minutes_first):
        hours, minutes, seconds = 0, first, second
    else:
        hours, minutes, seconds = first, second, int(third or 0)
    sum_.overflowing |= minutes >= 60 or seconds > 60
    part = Fraction(fraction) if fraction and len(fraction) > 1 else Fraction(0)
    total = hours * HOUR_US + minutes * MINUTE_US + round((seconds + part) * SECOND_US)
    sum_.microseconds += -total if found["time_sign"] == "-" else total
    return {"hour", "minute", "second"}


def _years(found: re.Match[str], sum_: _Sum) -> set[str]:
    """`years-months`, which count as months: a number of years may stand beside them."""
    months = int(found["month"])
    sum_.overflowing |= months >= MONTHS_PER_YEAR
    total = int(found["year"]) * MONTHS_PER_YEAR + months
    sum_.months += -total if found["years_sign"] == "-" else total
    return {"month"}


_ISO_NUMBER: Final = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_ISO_DATE: Final = re.compile(rf"(?P<number>{_ISO_NUMBER})(?P<unit>[ymwd])")
_ISO_TIME: Final = re.compile(rf"(?P<number>{_ISO_NUMBER})(?P<unit>[hms])")
_ISO_DATE_UNITS: Final = {"y": "year", "m": "month", "w": "week", "d": "day"}
_ISO_TIME_UNITS: Final = {"h": "hour", "m": "minute", "s": "second"}
_ISO_ALTERNATIVE: Final = re.compile(
    r"p(?:(-?[0-9]{4})-([0-9]{2})-([0-9]{2}))?(?:t([0-9]{2}):([0-9]{2}):([0-9]{2}(?:\.[0-9]+)?))?"
)


def _iso(body: str) -> _Sum | None:
    """ISO 8601 with designators, or its alternative form; None when it is neither."""
    sum_ = _Sum()
    if (alternative := _ISO_ALTERNATIVE.fullmatch(body)) and any(alternative.groups()):
        for unit, value in zip(
            ("year", "month", "day", "hour", "minute", "second"), alternative.groups(), strict=True
        ):
            _add(sum_, unit, Fraction(value or 0))
        return sum_
    date, separator, time = body[1:].partition("t")
    if not date and not separator:
        return None
    date_read = _designated(date, _ISO_DATE, _ISO_DATE_UNITS, sum_)
    time_read = _designated(time, _ISO_TIME, _ISO_TIME_UNITS, sum_)
    return sum_ if date_read and time_read else None


def _designated(text: str, pattern: re.Pattern[str], units: dict[str, str], sum_: _Sum) -> bool:
    """Add `1y2m3d`; whether all of it could be read."""
    place = 0
    while place < len(text):
        found = pattern.match(text, place)
        if found is None:
            return False
        _add(sum_, units[found["unit"]], Fraction(found["number"]))
        place = found.end()
    return True

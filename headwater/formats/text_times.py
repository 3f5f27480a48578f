"""Dates, times and timestamps as PostgreSQL writes and reads them (DateStyle ISO, MDY).

ISO text is done by Arrow a column at a time; every other spelling that
PostgreSQL takes (`Jan 5 2020`, `1/5/2020`, `20200105T101500`, `... BC`, zones by
name) goes through `parse_moment`, once per distinct value.

Years that have no stored form (core/calendar.py) and the words that mean a moment of now (`today`, `now`)
are refused.  Not here: intervals (text_intervals.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.calendar import (
    DATE_YEAR_MAX,
    DAY_INFINITE,
    DAY_MIN,
    DAY_US,
    HOUR_S,
    HOUR_US,
    MIDNIGHT_2000_US,
    MINUTE_S,
    MINUTE_US,
    MOMENT_INFINITE,
    MOMENT_MIN,
    MOMENT_YEAR_MAX,
    MONTHS,
    SECOND_US,
    WEEKDAYS,
    counted_year,
    date_of,
    days_of,
    existing,
    shown_year,
)
from headwater.core.errors import UserError
from headwater.formats import zones
from headwater.formats.abbreviations import abbreviation_offset
from headwater.formats.columns import both_ways, joined, map_distinct
from headwater.formats.zones import find_zone

_DAY_FIRST = days_of(1, 1, 1)
_DAY_LAST = days_of(9999, 12, 31)
_CLOCK_US_MAX = MOMENT_INFINITE - 2 * DAY_US  # what zones are asked about; what is beyond is out of range
_INFINITE = {"infinity": 1, "+infinity": 1, "-infinity": -1}
_SPACE = " \t\n\r\v\f"
_YEAR = r"(?:[1-9]\d{3}|0[1-9]\d\d|00[1-9]\d|000[1-9])"
_DATE = rf"{_YEAR}-\d\d-\d\d"
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?"
_OFFSET = r"(?:Z|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)"
_MONTH_NAMES = tuple(name.lower() for name in MONTHS)
_MONTHS = tuple(name[:3] for name in _MONTH_NAMES)
_WEEKDAYS = tuple(name[:3].lower() for name in WEEKDAYS)
_NO_ZONES = frozenset(
    ("ad", "am", "at", "bc", "epoch", "on", "pm", "sept", *_MONTHS, *_MONTH_NAMES, *_WEEKDAYS)
)
_NAMES = {"date": "date", "time": "time", "timestamp": "timestamp", "timestamptz": "timestamp with time zone"}


@dataclass(frozen=True, slots=True)
class Moment:
    """What a text said: days since 1970, microseconds of the day, seconds east of UTC."""

    day: int | None
    clock_us: int | None
    offset_s: int | None


# Values to text


def date_to_text(array: pa.Array) -> pa.Array:
    """ISO dates."""
    days = array.cast(pa.int32())
    plain = pc.and_(pc.greater_equal(days, _DAY_FIRST), pc.less_equal(days, _DAY_LAST))
    return both_ways(
        days,
        plain,
        lambda values: pc.cast(values.cast(pa.date32()), pa.string()),
        lambda values: map_distinct(values, lambda day: day_text(int(day)), pa.string()),
    )


def infinite_text(number: int) -> str:
    """The name of an infinite day or moment."""
    return "infinity" if number > 0 else "-infinity"


def day_text(day: int) -> str:
    """Any day."""
    return infinite_text(day) if abs(day) == DAY_INFINITE else _date_text(day)


def _date_text(day: int, clock: str = "") -> str:
    year, month, of_month = date_of(day)
    era = "" if year > 0 else " BC"
    return f"{abs(shown_year(year)):04d}-{month:02d}-{of_month:02d}{clock}{era}"


def time_to_text(array: pa.Array) -> pa.Array:
    """Times of day."""
    plain = pc.less(array, DAY_US)
    return both_ways(
        array,
        plain,
        lambda values: _trimmed(pc.cast(values.cast(pa.time64("us")), pa.string())),
        lambda values: map_distinct(values, lambda us: clock_text(int(us)), pa.string()),
    )


def clock_text(clock_us: int) -> str:
    """`04:05:06.789` of a count of microseconds that is not negative; hours may pass 24."""
    seconds, us = divmod(clock_us, SECOND_US)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    fraction = f".{us:06d}".rstrip("0") if us else ""
    return f"{hour:02d}:{minute:02d}:{second:02d}{fraction}"


def timestamp_to_text(array: pa.Array) -> pa.Array:
    """Without a zone."""
    return _clock_texts(array.cast(pa.int64()), "")


def timestamptz_to_text(array: pa.Array, zone: str = "") -> pa.Array:
    """As the clocks of a zone show them, with their offset; by default those of UTC."""
    moments = array.cast(pa.int64())
    if not zone:
        return _clock_texts(moments, "+00")
    found = zones.zone(zone)
    numbers = moments.fill_null(0).to_numpy(zero_copy_only=False)
    infinite = np.abs(numbers) == MOMENT_INFINITE
    periods = found.periods(np.where(infinite, 0, numbers))
    clocks = np.where(infinite, numbers, numbers + found.offsets[periods] * SECOND_US)
    shown = pa.array(clocks, pa.int64(), mask=moments.is_null().to_numpy(zero_copy_only=False))
    return _clock_texts(shown, _offset_texts(zone).take(pa.array(periods)))


@lru_cache(maxsize=64)
def _offset_texts(zone: str) -> pa.Array:
    """The text of the offset in each of a zone's periods."""
    return pa.array([zones.offset_text(int(offset)) for offset in zones.zone(zone).offsets], pa.string())


def _clock_texts(clocks: pa.Array, zone: str | pa.Array) -> pa.Array:
    """What clocks show, in microseconds, and the offset that each has from UTC."""
    plain = pc.and_(pc.greater_equal(clocks, _DAY_FIRST * DAY_US), pc.less(clocks, (_DAY_LAST + 1) * DAY_US))
    if isinstance(zone, pa.Array):
        return _with_offsets(clocks, plain, zone)

    def fast(values: pa.Array) -> pa.Array:
        text = _trimmed(pc.cast(values.cast(pa.timestamp("us")), pa.string()))
        return joined("", text, zone) if zone else text

    return both_ways(
        clocks,
        plain,
        fast,
        lambda values: map_distinct(values, lambda us: moment_text(int(us), zone), pa.string()),
    )


def _with_offsets(clocks: pa.Array, plain: pa.Array, offsets: pa.Array) -> pa.Array:
    """One offset a row; the few that are far away are written one by one."""
    near = pc.if_else(plain, clocks, pa.scalar(None, pa.int64())).cast(pa.timestamp("us"))
    texts = joined("", _trimmed(pc.cast(near, pa.string())), offsets)
    far = pc.fill_null(pc.invert(plain), False)
    if not pc.any(far).as_py():
        return texts
    pairs = zip(clocks.filter(far).to_pylist(), offsets.filter(far).to_pylist(), strict=True)
    return pc.replace_with_mask(
        texts, far, pa.array([moment_text(us, zone) for us, zone in pairs], pa.string())
    )


def moment_text(us: int, zone: str) -> str:
    """Any moment, by clocks with this offset."""
    if abs(us) == MOMENT_INFINITE:
        return infinite_text(us)
    day, clock_us = divmod(us, DAY_US)
    return _date_text(day, f" {clock_text(clock_us)}{zone}")


def _trimmed(text: pa.Array) -> pa.Array:
    # Arrow always prints six digits after the point, so trimming zeros stops there.
    return pc.utf8_rtrim(pc.utf8_rtrim(text, "0"), ".")


# Text to values


def date_from_text(array: pa.Array) -> pa.Array:
    """Dates as days."""

    def slow(values: pa.Array) -> pa.Array:
        return map_distinct(values, _one_date, pa.int32())

    def fast(values: pa.Array) -> pa.Array:
        try:
            return pc.cast(values, pa.date32()).cast(pa.int32())
        except pa.ArrowInvalid:
            return slow(values)

    return both_ways(array, pc.match_substring_regex(array, rf"^{_DATE}$"), fast, slow).cast(pa.date32())


def time_from_text(array: pa.Array, precision: int | None = None) -> pa.Array:
    """Times of day as microseconds; a zone is ignored."""
    plain = pc.match_substring_regex(array, rf"^{_CLOCK}$")
    parsed = both_ways(
        array,
        plain,
        # Arrow reads no times of day, but moments of the first day, which are the same number.
        lambda values: pc.cast(joined("", "1970-01-01 ", values), pa.timestamp("us")).cast(pa.int64()),
        lambda values: map_distinct(values, _one_time, pa.int64()),
    )
    return rounded(parsed, precision, 0)


def timestamp_from_text(array: pa.Array, precision: int | None = None) -> pa.Array:
    """Without a zone: one that is written is ignored, as PostgreSQL does."""

    def slow(values: pa.Array) -> pa.Array:
        return map_distinct(values, lambda text: _one_timestamp(text, "timestamp"), pa.int64())

    def fast(values: pa.Array) -> pa.Array:
        try:
            return pc.cast(values, pa.timestamp("us")).cast(pa.int64())
        except pa.ArrowInvalid:
            return slow(values)

    plain = pc.match_substring_regex(array, rf"^{_DATE}(?:[ T]{_CLOCK})?$")
    parsed = both_ways(array, plain, fast, slow)
    return rounded(parsed, precision, MIDNIGHT_2000_US).cast(pa.timestamp("us"))


def timestamptz_from_text(array: pa.Array, precision: int | None = None, zone: str = "") -> pa.Array:
    """With a zone; none written means the one given, by default UTC."""

    def slow(values: pa.Array) -> pa.Array:
        return map_distinct(values, lambda text: _one_timestamp(text, "timestamptz", zone), pa.int64())

    def bare(values: pa.Array) -> pa.Array:
        clocks = pc.cast(values, pa.timestamp("us")).cast(pa.int64())
        if not zone:
            return clocks
        numbers = clocks.fill_null(0).to_numpy(zero_copy_only=False)
        missing = clocks.is_null().to_numpy(zero_copy_only=False)
        return pa.array(zones.zone(zone).from_clock(numbers), pa.int64(), mask=missing)

    def fast(values: pa.Array) -> pa.Array:
        zoned = pc.match_substring_regex(values, rf"{_OFFSET}$")
        zoned = pc.and_(zoned, pc.match_substring(values, ":"))
        try:
            return both_ways(
                values,
                zoned,
                lambda some: pc.cast(some, pa.timestamp("us", tz="UTC")).cast(pa.int64()),
                bare,
            )
        except pa.ArrowInvalid:
            return slow(values)

    plain = pc.match_substring_regex(array, rf"^{_DATE}(?:[ T]{_CLOCK}{_OFFSET}?)?$")
    parsed = both_ways(array, plain, fast, slow)
    return rounded(parsed, precision, MIDNIGHT_2000_US).cast(pa.timestamp("us", tz="UTC"))


def rounded(moments: pa.Array, precision: int | None, zero: int) -> pa.Array:
    """Rounded to `precision` digits of a second, half away from `zero`."""
    if precision is None or precision >= 6:
        return moments
    step = 10 ** (6 - precision)
    infinite = pc.equal(pc.abs(moments), MOMENT_INFINITE)
    since = pc.subtract(pc.if_else(infinite, zero, moments), zero)
    size = pc.multiply(pc.divide(pc.add(pc.abs(since), step // 2), step), step)
    return pc.if_else(infinite, moments, pc.add(pc.multiply(size, pc.sign(since)), zero))


def _infinite(text: str) -> int:
    """1 or -1 for the name of an infinite day or moment, 0 for other text."""
    return _INFINITE.get(text.strip(_SPACE).lower(), 0)


def _one_date(text: str) -> int:
    if sign := _infinite(text):
        return sign * DAY_INFINITE
    moment = parse_moment(text, "date")
    if moment.day is None:
        raise _bad(text, "date")
    return moment.day


def _one_time(text: str) -> int:
    moment = parse_moment(text, "time")
    if moment.clock_us is None:
        raise _bad(text, "time")
    return moment.clock_us


def _one_timestamp(text: str, kind: str, zone: str = "") -> int:
    if sign := _infinite(text):
        return sign * MOMENT_INFINITE
    moment = parse_moment(text, kind)
    if moment.day is None:
        raise _bad(text, kind)
    us = moment.day * DAY_US + (moment.clock_us or 0)
    if kind == "timestamptz":
        us = _moment_of(us, moment.offset_s, zone)
    if not MOMENT_MIN <= us < MOMENT_INFINITE:
        raise UserError(f'{_NAMES[kind]} out of range: "{text}"', "22008")
    return us


def _moment_of(clock_us: int, offset_s: int | None, zone: str) -> int:
    """When a clock shows this: one with an offset from UTC, or else the zone's."""
    if offset_s is None and zone:
        return int(zones.zone(zone).from_clock(np.array([clock_us]))[0])
    return clock_us - (offset_s or 0) * SECOND_US


def _bad(text: str, kind: str) -> UserError:
    return UserError(f'invalid input syntax for type {_NAMES[kind]}: "{text}"', "22007")


def _beyond(text: str) -> UserError:
    return UserError(f'date/time field value out of range: "{text}"', "22008")


_TOKEN = re.compile(
    r"""
      (?P<clock>\d{1,2}:\d{1,2}(?::\d{1,2}(?:\.\d*)?)?)
    | (?P<iso>\d{4,7}[-/.]\d{1,2}[-/.]\d{1,2}(?![\d:]))
    | (?P<named>\d{1,4}-[a-z]{3,9}-\d{1,6}|[a-z]{3,9}-\d{1,2}-\d{1,6})
    | (?P<american>\d{1,2}[-/.]\d{1,2}[-/.]\d{1,6})
    | (?P<packed>\d{8}(?!\d)) (?:t(?P<packed_clock>\d{6}(?:\.\d*)?|\d{4})(?!\d))?
    | t?(?P<whole_clock>\d{6}(?:\.\d+)?|(?<=t)\d{4})(?![\d:])
    | (?P<offset>[+-]\d{1,2}(?::?\d{2})?(?::\d{2})?)
    | (?P<number>\d{1,6})
    | (?P<word>[a-z]+)
    | (?P<space>[\s,]+|\.(?=\s|$))
    """,
    re.VERBOSE | re.ASCII,
)
_ZONE = re.compile(r"(?P<zone>(?P<letters>[a-z]{2,})(?P<mark>[-/.+_0-9])[-+/_.:a-z0-9]*)", re.ASCII)


@dataclass(slots=True)
class _Parts:
    """The fields found so far."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    clock_us: int | None = None
    offset_s: int | None = None
    zone: str | None = None
    before_christ: bool = False
    half: str | None = None
    epoch: bool = False


def parse_moment(text: str, kind: str) -> Moment:
    """Any of PostgreSQL's spellings of a date, a time, or both."""
    lowered = text.strip(_SPACE).lower()
    parts = _Parts()
    numbers: list[str] = []
    place = 0
    while place < len(lowered):
        match = _zone_at(lowered, place, parts.day is not None or len(numbers) > 1) or _TOKEN.match(
            lowered, place
        )
        if match is None or match.end() == place:
            raise _bad(text, kind)
        place = match.end()
        _take(match, parts, numbers, text, kind)
    _take_numbers(numbers, parts, text, kind)
    return _moment(parts, text, kind)


def _zone_at(text: str, place: int, dated: bool) -> re.Match[str] | None:
    """A zone's name or POSIX specification, which stands behind a date: `europe/berlin`, `gmt-4`."""
    match = _ZONE.match(text, place) if dated else None
    if match is not None and match["mark"] in "+_0123456789" and match["letters"] in _NO_ZONES:
        return None
    return match


def _take(match: re.Match[str], parts: _Parts, numbers: list[str], text: str, kind: str) -> None:
    word = match.group()
    if match.re is _ZONE:
        parts.zone = word
        return
    match match.lastgroup:
        case "clock":
            parts.clock_us = _clock(word, text)
        case "iso":
            parts.year, parts.month, parts.day = (int(n) for n in re.split(r"[-/.]", word))
        case "american":
            month, day, year = re.split(r"[-/.]", word)
            parts.year, parts.month, parts.day = _full_year(year), int(month), int(day)
        case "named":
            first, name, last = word.split("-")
            if name.isdigit():
                first, name = name, first
            parts.month = _month(name, text, kind)
            day, year = (last, first) if len(first) > 2 else (first, last)
            parts.day, parts.year = int(day), _full_year(year)
        case "packed" | "packed_clock":
            date, _, clock = word.partition("t")
            parts.year, parts.month, parts.day = int(date[:4]), int(date[4:6]), int(date[6:8])
            if clock:
                parts.clock_us = _packed_clock(clock, text)
        case "offset":
            parts.offset_s = _offset(word, text)
        case "number":
            numbers.append(word)
        case "whole_clock":
            parts.clock_us = _packed_clock(word.removeprefix("t"), text)
        case "word":
            _take_word(word, parts, text, kind)


def _take_word(word: str, parts: _Parts, text: str, kind: str) -> None:
    if word in ("bc", "ad"):
        parts.before_christ = word == "bc"
    elif word in ("am", "pm"):
        parts.half = word
    elif word[:3] in _MONTHS and (word in _MONTHS or word in _MONTH_NAMES or word == "sept"):
        parts.month = _MONTHS.index(word[:3]) + 1
    elif word[:3] in _WEEKDAYS or (word == "t" and (parts.year is not None or kind == "time")):
        return
    elif word == "epoch" and kind != "time":
        parts.epoch = True
    elif word == "allballs":
        parts.clock_us = 0
    elif abbreviation_offset(word, 0) is not None or find_zone(word) is not None:
        parts.zone = word
    else:
        raise _bad(text, kind)


def _month(name: str, text: str, kind: str) -> int:
    if name[:3] not in _MONTHS:
        raise _bad(text, kind)
    return _MONTHS.index(name[:3]) + 1


def _full_year(digits: str) -> int:
    year = int(digits)
    return year if len(digits) > 2 else year + (2000 if year < 70 else 1900)


def _take_numbers(numbers: list[str], parts: _Parts, text: str, kind: str) -> None:
    """The loose numbers of `Jan 5 2020`, `5 January 2020`, `2020 Jan 5`."""
    if not numbers:
        return
    if kind == "time" and len(numbers) == 1 and len(numbers[0]) == 4:
        parts.clock_us = _packed_clock(numbers[0], text)
        return
    if parts.month is None or parts.day is not None or len(numbers) != 2:
        raise _bad(text, kind)
    first, second = numbers
    day, year = (second, first) if len(first) > 2 else (first, second)
    parts.day, parts.year = int(day), int(year) if parts.before_christ else _full_year(year)


def _clock(word: str, text: str) -> int:
    hour, minute, second = (*word.split(":"), "0")[:3]
    whole, _, fraction = second.partition(".")
    us = round(float(f"0.{fraction or '0'}") * SECOND_US)
    if int(minute) > 59 or int(whole) > 60 or int(hour) > 24:
        raise _beyond(text)
    total = int(hour) * HOUR_US + int(minute) * MINUTE_US + int(whole) * SECOND_US + us
    if total > DAY_US:
        raise _beyond(text)
    return total


def _packed_clock(digits: str, text: str) -> int:
    seconds = f":{digits[4:]}" if len(digits) > 4 else ""
    return _clock(f"{digits[:2]}:{digits[2:4]}{seconds}", text)


def _offset(word: str, text: str) -> int:
    digits = word[1:].replace(":", "")
    if len(digits) in (1, 3):
        digits = f"0{digits}"
    hours, minutes, seconds = int(digits[:2]), int(digits[2:4] or 0), int(digits[4:6] or 0)
    if hours > 15 or minutes > 59 or seconds > 59:
        raise UserError(f'time zone displacement out of range: "{text}"', "22009")
    size = hours * HOUR_S + minutes * MINUTE_S + seconds
    return -size if word[0] == "-" else size


def _moment(parts: _Parts, text: str, kind: str) -> Moment:
    if parts.epoch:
        return Moment(0, 0, 0)
    clock_us = parts.clock_us
    if parts.half is not None:
        if clock_us is None or not 0 < clock_us // HOUR_US <= 12:
            raise _beyond(text)
        clock_us = clock_us % (DAY_US // 2) + (DAY_US // 2 if parts.half == "pm" else 0)
    if parts.year is None:
        if kind != "time" or clock_us is None or parts.month is not None:
            raise _bad(text, kind)
        return Moment(None, clock_us, parts.offset_s)
    if parts.month is None or parts.day is None:
        raise _bad(text, kind)
    if parts.year == 0:
        raise _beyond(text)
    year = counted_year(-parts.year) if parts.before_christ else parts.year
    if not existing(year, parts.month, parts.day):
        raise _beyond(text)
    day = days_of(year, parts.month, parts.day)
    last = DATE_YEAR_MAX if kind == "date" else MOMENT_YEAR_MAX
    if day < DAY_MIN or year > last:
        raise UserError(f'{_NAMES[kind]} out of range: "{text}"', "22008")
    offset_s = parts.offset_s
    if parts.zone is not None:
        offset_s = _zone_offset(parts.zone, day, clock_us or 0)
    return Moment(day, clock_us, offset_s)


def _zone_offset(word: str, day: int, clock_us: int) -> int:
    shown = max(-_CLOCK_US_MAX, min(day * DAY_US + clock_us, _CLOCK_US_MAX))
    offset = abbreviation_offset(word, shown)
    if offset is not None:
        return offset
    found = find_zone(word)
    if found is None:
        raise UserError(f'time zone "{word}" not recognized', "22023")
    moment = found.from_clock(np.array([shown], np.int64))[0]
    return int((shown - moment) // SECOND_US)

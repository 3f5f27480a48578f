"""Time zones: what the clocks of a place show at a moment, and the reverse, a column at a time.

    Europe/Berlin      a name of the tz database, in any case
    UTC+3, <+02>-02    POSIX: the hours that UTC is ahead of it; CET-1CEST,M3.5.0,M10.5.0/3 has rules too

A zone is a table of the moments at which its clocks changed, with the offset from each on.  A rule for all
years to come is written out for some centuries, and begins again after 400 years, when the calendar does.
What clocks show twice is the later moment; what they skip is read by the offset before the change.

PostgreSQL computes the same way (its src/timezone/localtime.c), from the same files of the system.

Not here: abbreviations, which are no zones but offsets (abbreviations.py); what a session may
call its zone besides (coordinator/variables.py).
"""

from __future__ import annotations

import re
import struct
import zoneinfo
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from headwater.core.calendar import (
    DAY_S,
    DAYS_OF_400_YEARS,
    DAYS_PER_WEEK,
    HOUR_S,
    MINUTE_S,
    SECOND_US,
    days_of,
    leap,
    month_days,
    weekday,
)

Numbers: TypeAlias = "npt.NDArray[np.int64]"

UTC: Final = "UTC"
_REPEAT_S: Final = DAYS_OF_400_YEARS * DAY_S
_YEAR_FIRST: Final = 1770  # of a rule that holds in all years, written out
_YEAR_LAST: Final = 2769
_WRITTEN: Final = re.compile(r"[A-Za-z0-9_+:.,;/<> -]{1,255}")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*")
_RULES_DEFAULT: Final = (
    ",M3.2.0,M11.1.0"  # of a zone with a second name and no rules: those of the United States
)
_HOURS_MAX: Final = 167


@dataclass(frozen=True, slots=True, eq=False)
class Zone:
    """A zone's periods: one before the first change, then one from each on."""

    name: str
    starts: Numbers  # seconds since 1970 at which each period but the first begins
    offsets: Numbers  # seconds east of UTC
    abbreviations: tuple[str, ...]
    repeats_before: bool = False
    repeats_after: bool = False

    @property
    def plain(self) -> bool:
        """Whether it is UTC by this or another name."""
        return len(self.starts) == 0 and not self.offsets[0] and self.abbreviations == (UTC,)

    def periods(self, moments_us: Numbers) -> Numbers:
        """The number of the period that each moment lies in."""
        if not len(self.starts):
            return np.zeros_like(moments_us)
        seconds = moments_us // SECOND_US
        return np.searchsorted(self.starts, seconds + self._shift(seconds), side="right")

    def offsets_at(self, moments_us: Numbers) -> Numbers:
        """Seconds east of UTC at each moment."""
        return self.offsets[self.periods(moments_us)]

    def to_clock(self, moments_us: Numbers) -> Numbers:
        """What the clocks show at each moment, in microseconds."""
        return moments_us + self.offsets_at(moments_us) * SECOND_US

    def from_clock(self, clocks_us: Numbers) -> Numbers:
        """The moments at which the clocks show this."""
        return clocks_us - self._offsets_of_clock(clocks_us) * SECOND_US

    def _offsets_of_clock(self, clocks_us: Numbers) -> Numbers:
        if not len(self.starts):
            return np.full_like(clocks_us, self.offsets[0])
        clocks = clocks_us // SECOND_US
        # The one change that can matter is the first after the day before.
        clocks = clocks + self._shift(clocks - DAY_S)
        index = np.searchsorted(self.starts, clocks - DAY_S, side="right")
        change = self.starts[np.minimum(index, len(self.starts) - 1)]
        before = self.offsets[index]
        after = self.offsets[np.minimum(index + 1, len(self.offsets) - 1)]
        later = (clocks - after >= change) & ((clocks - before >= change) | (after < before))
        return np.where((index < len(self.starts)) & later, after, before)

    def _shift(self, seconds: Numbers) -> Numbers | int:
        """How far each moment has to be moved to be among those that are written out."""
        shift: Numbers | int = 0
        if self.repeats_after:
            beyond = seconds - self.starts[-1]
            shift = shift - np.where(beyond > 0, ((beyond - 1) // _REPEAT_S + 1) * _REPEAT_S, 0)
        if self.repeats_before:
            short = self.starts[0] - seconds
            shift = shift + np.where(short > 0, ((short - 1) // _REPEAT_S + 1) * _REPEAT_S, 0)
        return shift


@lru_cache(maxsize=256)
def find_zone(name: str) -> Zone | None:
    """A zone by its name, in any case, or by a POSIX specification; None if it is neither."""
    if _WRITTEN.fullmatch(name) is None:
        return None
    if _NAME.fullmatch(name) is not None:
        for spelled in (name, _spellings().get(name.lower(), name)):
            data = None if spelled.startswith("right/") else _file(spelled)
            if data is not None:
                return _from_file(spelled, data)
    return _from_posix(name.upper())


def working_zone(name: str) -> str:
    """The zone's name, empty for UTC: nothing has to be converted then."""
    return "" if zone(name).plain else name


def zone(name: str) -> Zone:
    """A zone that is known to be one."""
    found = find_zone(name)
    if found is None:
        raise ValueError(f"not a time zone: {name}")
    return found


def zone_of_offset(seconds: int) -> Zone | None:
    """The zone whose clocks are always so far ahead of UTC; None beyond a week."""
    size = abs(seconds)
    shown = f"{size // HOUR_S:02d}"
    if size % HOUR_S:
        shown += f":{size // MINUTE_S % 60:02d}"
    if size % MINUTE_S:
        shown += f":{size % MINUTE_S:02d}"
    return find_zone(f"<-{shown}>+{shown}" if seconds < 0 else f"<+{shown}>-{shown}")


def offset_text(seconds: int, minutes: bool = False) -> str:
    """`+02`, `-03:30`, `+00:53:28`; with `minutes` these are always there."""
    size = abs(seconds)
    text = f"{'-' if seconds < 0 else '+'}{size // HOUR_S:02d}"
    if size % HOUR_S or minutes:
        text += f":{size // MINUTE_S % 60:02d}"
    return f"{text}:{size % MINUTE_S:02d}" if size % MINUTE_S else text


# The tz database


@lru_cache(maxsize=1)
def _spellings() -> dict[str, str]:
    return {name.lower(): name for name in zoneinfo.available_timezones()}


def _file(name: str) -> bytes | None:
    """The compiled file of a zone."""
    for folder in zoneinfo.TZPATH:
        path = Path(folder, name)
        if path.is_file():
            data = path.read_bytes()
            return data if data.startswith(b"TZif") else None
    try:
        found = resources.files("tzdata").joinpath("zoneinfo", *name.split("/"))
        return found.read_bytes()
    except (ModuleNotFoundError, OSError):
        return None


def _from_file(name: str, data: bytes) -> Zone:
    """A zone of TZif data: its second block has 64 bits a moment, and a rule for later years behind it."""
    place = _block_size(data, 0, 4)
    times, types, kinds, texts = _block(data, place)
    rule = data[place + _block_size(data, place, 8) :].strip(b"\n").decode()
    while len(types) > 1 and types[-1] == types[-2]:
        times, types = times[:-1], types[:-1]
    first = next((i for i, kind in enumerate(kinds) if not kind[1]), 0) if 0 in types else 0
    used = [kinds[first], *(kinds[index] for index in types)]
    offsets = [offset for offset, _, _ in used]
    abbreviations = [texts[begin : texts.index(b"\0", begin)].decode() for _, _, begin in used]
    starts = list(times)
    later = _from_posix(rule) if rule else None
    if later is not None and len(later.starts):
        kept = [
            index for index, start in enumerate(later.starts.tolist()) if not starts or start > starts[-1]
        ]
        starts += [int(later.starts[index]) for index in kept]
        offsets += [int(later.offsets[index + 1]) for index in kept]
        abbreviations += [later.abbreviations[index + 1] for index in kept]
    ahead = later is not None and later.repeats_after
    return _made(name, starts, offsets, abbreviations, False, ahead)


def _made(
    name: str, starts: list[int], offsets: list[int], abbreviations: list[str], before: bool, after: bool
) -> Zone:
    return Zone(
        name, np.array(starts, np.int64), np.array(offsets, np.int64), tuple(abbreviations), before, after
    )


def _counts(data: bytes, place: int) -> tuple[int, ...]:
    return struct.unpack_from(">6l", data, place + 20)


def _block_size(data: bytes, place: int, size: int) -> int:
    utc, std, leap, time, kind, text = _counts(data, place)
    return 44 + time * (size + 1) + kind * 6 + text + leap * (size + 4) + std + utc


def _block(data: bytes, place: int) -> tuple[list[int], list[int], list[tuple[int, int, int]], bytes]:
    """(moments, the kind of time from each on, the kinds as (offset, dst, abbreviation's place), texts)."""
    _, _, _, time, kind, text = _counts(data, place)
    place += 44
    times = list(struct.unpack_from(f">{time}q", data, place))
    types = list(data[place + time * 8 : place + time * 9])
    place += time * 9
    kinds = [struct.unpack_from(">lbB", data, place + index * 6) for index in range(kind)]
    return times, types, kinds, data[place + kind * 6 : place + kind * 6 + text]


# POSIX specifications

_OFFSET: Final = r"([+-]?)(\d{1,3})(?::(\d{1,2})(?::(\d{1,2}))?)?(?![\d:])"
_STANDARD: Final = re.compile(rf"(?:<([^<>]*)>|([^\d,+<>-]*)){_OFFSET}")
_SUMMER: Final = re.compile(rf"(?:<([^<>]*)>|([^\d,+<>-]+))(?:{_OFFSET})?")
_RULE: Final = re.compile(rf"[,;](?:M(\d{{1,2}})\.(\d)\.(\d)|J(\d{{1,3}})|(\d{{1,3}}))(?:/{_OFFSET})?")


@dataclass(frozen=True, slots=True)
class _Rule:
    """A day of every year, and the second of that day."""

    month: tuple[int, int, int] | None  # the month, which of its weeks, the day of the week
    julian: int | None  # counted from 1, without February 29
    day: int | None  # counted from 0
    clock_s: int

    def seconds(self, years: Numbers) -> Numbers:
        """Since 1970, in each year, by the clock before the change."""
        january = days_of(years, 1, 1)
        if self.month is not None:
            days = _week_days(years, *self.month)
        elif self.julian is not None:
            days = january + self.julian - 1 + (leap(years) & (self.julian >= 60))
        else:
            days = january + (self.day or 0)
        return days * DAY_S + self.clock_s


def _week_days(years: Numbers, month: int, week: int, day: int) -> Numbers:
    """The day of `first Sunday in March` and the like; the fifth is the last."""
    first = days_of(years, month, 1)
    days = first + (day - weekday(first)) % DAYS_PER_WEEK + DAYS_PER_WEEK * (week - 1)
    return np.where(days < first + month_days(years, month), days, days - DAYS_PER_WEEK)


@lru_cache(maxsize=256)
def _from_posix(text: str) -> Zone | None:
    """A zone of a POSIX specification, whose offsets count west of UTC."""
    found = _STANDARD.match(text)
    standard = None if found is None else _seconds(found.groups()[2:])
    if found is None or standard is None:
        return None
    name = found[1] if found[1] is not None else found[2]
    rest = text[found.end() :]
    if not rest:
        return _made(text, [], [-standard], [name], False, False)
    found = _SUMMER.match(rest)
    if found is None:
        return None
    summer = _seconds(found.groups()[2:]) if found[4] is not None else standard - HOUR_S
    summer_name = found[1] if found[1] is not None else found[2]
    rules = _rules(rest[found.end() :] or _RULES_DEFAULT)
    if summer is None or rules is None:
        return None
    return _written_out(text, (-standard, name), (-summer, summer_name), rules)


def _seconds(parts: tuple[str | None, ...]) -> int | None:
    sign, hours, minutes, seconds = (part or "0" for part in parts)
    if int(hours) > _HOURS_MAX or int(minutes) > 59 or int(seconds) > 60:
        return None
    size = int(hours) * HOUR_S + int(minutes) * MINUTE_S + int(seconds)
    return -size if sign == "-" else size


def _rules(text: str) -> tuple[_Rule, _Rule] | None:
    """When summer time begins and when it ends."""
    made: list[_Rule] = []
    place = 0
    for _ in range(2):
        found = _RULE.match(text, place)
        if found is None:
            return None
        month, week, of_week, julian, day = (
            None if part is None else int(part) for part in found.groups()[:5]
        )
        clock = 2 * HOUR_S if found[7] is None else _seconds(found.groups()[5:])
        if month is not None and not (1 <= month <= 12 and 1 <= (week or 0) <= 5 and (of_week or 0) <= 6):
            return None
        if clock is None or not 1 <= (julian or 1) <= 365 or (day or 0) > 365:
            return None
        named = None if month is None else (month, week or 0, of_week or 0)
        made.append(_Rule(named, julian, day, clock))
        place = found.end()
    return (made[0], made[1]) if place == len(text) else None


def _written_out(
    name: str, standard: tuple[int, str], summer: tuple[int, str], rules: tuple[_Rule, _Rule]
) -> Zone:
    years = np.arange(_YEAR_FIRST, _YEAR_LAST + 1)
    begins, ends = (rule.seconds(years) for rule in rules)
    begins, ends = begins - standard[0], ends - summer[0]
    lengths = (365 + leap(years)) * DAY_S
    there = (ends < begins) | (ends - begins < lengths - (summer[0] - standard[0]))
    changes: list[tuple[int, tuple[int, str]]] = []
    for begin, end in zip(begins[there].tolist(), ends[there].tolist(), strict=True):
        changes += sorted(((begin, summer), (end, standard)))
    if not changes:  # summer time all the year
        return _made(name, [], [summer[0]], [summer[1]], False, False)
    periods = [standard, *(period for _, period in changes)]
    return _made(
        name,
        [moment for moment, _ in changes],
        [offset for offset, _ in periods],
        [text for _, text in periods],
        True,
        True,
    )

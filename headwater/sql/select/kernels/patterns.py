"""Kernels for to_char, to_date and to_timestamp over timestamps: PostgreSQL's template patterns.

A template is cut into fields, each with its modifiers (FM before, TH behind), and the text
between them.  What depends on a locale (TM) or is rare enough to be doubtful is refused.

Not here: numbers (number_patterns.py).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa

from headwater.core.calendar import (
    DAY_MIN,
    DAY_S,
    DAY_US,
    DAYS_PER_WEEK,
    HOUR_S,
    MINUTE_S,
    MOMENT_INFINITE,
    MOMENT_YEAR_MAX,
    MONTHS,
    SECOND_US,
    WEEKDAYS,
    century,
    date_of,
    day_of_year,
    days_of,
    existing,
    iso_week,
    iso_weekday,
    shown_year,
    weekday,
)
from headwater.core.errors import UserError, not_supported
from headwater.formats.zones import zone
from headwater.sql.select.kernels.columns import numbers_of
from headwater.sql.select.kernels.kernel import Interval, Kernel, check_template, row_wise

_ROMAN: Final = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
_UPPER: Final = re.findall(
    r"\S+",
    """A.D. A.M. AD AM B.C. BC CC DAY DDD DD DY D FF1 FF2 FF3 FF4 FF5 FF6 HH24 HH12 HH IDDD ID IW IYYY
    IYY IY I J MI MM MONTH MON MS OF P.M. PM Q RM SSSSS SSSS SS TZH TZM TZ US WW W Y,YYY YYYY
    YYY YY Y""",
)
_KEYWORDS: Final = sorted(
    {*_UPPER, *(word.lower() for word in _UPPER), "Month", "Mon", "Day", "Dy"}, key=len, reverse=True
)
_FIELD: Final = re.compile(f"((?:FM|fm|FX|fx|TM|tm)*)({'|'.join(map(re.escape, _KEYWORDS))})(TH|th|SP|sp)?")


@dataclass(frozen=True, slots=True)
class Field:
    """One pattern of a template, or text between patterns (then `word` is empty)."""

    word: str
    bare: bool = False  # FM: no padding
    ordinal: str = ""
    literal: str = ""


@lru_cache(maxsize=256)
def fields_of(template: str) -> tuple[Field, ...]:
    """A template cut into its fields."""
    check_template(template)
    fields: list[Field] = []
    place = 0
    while place < len(template):
        found = _FIELD.match(template, place)
        if found is not None and found.group(2):
            prefix, word, suffix = found.groups()
            zone = word.upper() in ("OF", "TZH", "TZM", "TZ") and (prefix or suffix)
            if len(prefix) > 2 or prefix.upper() in ("TM", "FX") or (suffix or "").upper() == "SP" or zone:
                raise not_supported(f'the template pattern "{found.group()}"')
            fields.append(Field(word, "FM" in prefix.upper(), suffix or ""))
            place = found.end()
            continue
        modifier = re.compile(r"FM|fm|FX|fx").match(template, place)
        if modifier is not None and modifier.group().upper() == "FX":
            raise not_supported(f'the template pattern "{modifier.group()}"')
        if modifier is not None and fields_follow(template, modifier.end()):
            place = modifier.end()
            continue
        place = _literal(template, place, fields)
    return tuple(fields)


def fields_follow(template: str, place: int) -> bool:
    """Whether a modifier at this place has nothing to modify and is dropped."""
    return _FIELD.match(template, place) is None


def _literal(template: str, place: int, fields: list[Field]) -> int:
    character = template[place]
    if character == '"':
        quoted = re.compile(r'"((?:[^"\\]|\\.)*)"?', re.DOTALL).match(template, place)
        if quoted is not None:
            fields.append(Field("", literal=re.sub(r"\\(.)", r"\1", quoted.group(1))))
            return quoted.end()
    if character == "\\" and template[place + 1 : place + 2] == '"':
        place += 1
        character = '"'
    fields.append(Field("", literal=character))
    return place + 1


def ordinal(number: str, suffix: str) -> str:
    """st, nd, rd, th in the suffix's case."""
    last = number[-1:]
    teens = len(number) > 1 and number[-2] == "1"
    word = "th" if teens else {"1": "st", "2": "nd", "3": "rd"}.get(last, "th")
    return word.upper() if suffix == "TH" else word


def _cased(name: str, word: str) -> str:
    return name.upper() if word.isupper() else name.lower() if word.islower() else name


# Timestamps to text


@dataclass(frozen=True, slots=True)
class _Clock:
    """The parts of a moment that templates name."""

    year: int
    month: int
    day: int
    days: int
    hour: int
    minute: int
    second: int
    microsecond: int
    zone: str | None
    offset_s: int = 0


def _clock_of(moment: int, zone: str | None, offset_s: int) -> _Clock:
    days, clock = divmod(moment, DAY_US)
    year, month, day = date_of(days)
    seconds, microsecond = divmod(clock, SECOND_US)
    return _Clock(
        year,
        month,
        day,
        days,
        seconds // HOUR_S,
        seconds // MINUTE_S % 60,
        seconds % 60,
        microsecond,
        zone,
        offset_s,
    )


def _padded(number: int, width: int, field: Field) -> str:
    if field.bare:
        return str(number)
    return f"-{-number:0{width}d}" if number < 0 else f"{number:0{width}d}"


def _iso(clock: _Clock) -> tuple[int, int, int]:
    """ISO year, week and day of that year."""
    year, week = iso_week(clock.days)
    return year, week, (week - 1) * DAYS_PER_WEEK + iso_weekday(clock.days)


def _time_part(word: str, clock: _Clock, field: Field) -> str | None:
    match word:
        case "HH" | "HH12":
            half = int(math.fmod(clock.hour, 12)) or 12
            return str(half) if field.bare else f"{half:0{2 if clock.hour >= 0 else 3}d}"
        case "HH24":
            return _padded(clock.hour, 2, field)
        case "MI":
            return _padded(clock.minute, 2, field)
        case "SS":
            return _padded(clock.second, 2, field)
        case "MS":
            return f"{int(clock.microsecond / 1000):03d}"
        case "US":
            return f"{clock.microsecond:06d}"
        case "SSSS" | "SSSSS":
            return str(clock.hour * HOUR_S + clock.minute * MINUTE_S + clock.second)
        case "AM" | "PM":
            return _cased("PM" if math.fmod(clock.hour, 24) >= 12 else "AM", field.word)
        case "A.M." | "P.M.":
            return _cased("P.M." if math.fmod(clock.hour, 24) >= 12 else "A.M.", field.word)
        case _ if word.startswith("FF"):
            digits = int(word[2])
            return f"{int(clock.microsecond / 10 ** (6 - digits)):0{digits}d}"
    return None


def _zone_part(word: str, clock: _Clock, field: Field) -> str | None:
    if word not in ("TZ", "TZH", "TZM", "OF"):
        return None
    if word == "TZ":
        name = clock.zone or ""
        return name if field.word.isupper() else name.lower()
    size = abs(clock.offset_s)
    minutes = f"{size // MINUTE_S % 60:02d}"
    if word == "TZM":
        return minutes
    hours = f"{'-' if clock.offset_s < 0 else '+'}{size // HOUR_S:02d}"
    return f"{hours}:{minutes}" if word == "OF" and size // MINUTE_S % 60 else hours


def _year_part(word: str, clock: _Clock, field: Field) -> str | None:
    year = clock.year
    if word.startswith("I") and word in ("IYYY", "IYY", "IY", "I"):
        year, word = _iso(clock)[0], "Y" * len(word)
    shown = abs(shown_year(year))
    match word:
        case "Y,YYY":
            return f"{shown // 1000},{shown % 1000:03d}"
        case "YYYY":
            return _padded(shown, 4, field)
        case "YYY":
            return _padded(shown % 1000, 3, field)
        case "YY":
            return _padded(shown % 100, 2, field)
        case "Y":
            return str(shown % 10)
        case "BC" | "AD":
            return _cased("BC" if year <= 0 else "AD", field.word)
        case "B.C." | "A.D.":
            return _cased("B.C." if year <= 0 else "A.D.", field.word)
        case "CC":
            number = century(year)
            return _padded(number, 2, field) if -99 <= number <= 99 else str(number)
    return None


def _day_part(word: str, clock: _Clock, field: Field) -> str:
    of_year = day_of_year(clock.days)
    match word:
        case "MONTH" | "DAY":
            name = MONTHS[clock.month - 1] if word == "MONTH" else WEEKDAYS[weekday(clock.days)]
            shown = _cased(name, field.word)
            return shown if field.bare else shown.ljust(9)
        case "MON":
            return _cased(MONTHS[clock.month - 1][:3], field.word)
        case "DY":
            return _cased(WEEKDAYS[weekday(clock.days)][:3], field.word)
        case "RM":
            roman = _cased(_ROMAN[clock.month - 1], field.word)
            return roman if field.bare else roman.ljust(4)
    number, width = {
        "MM": (clock.month, 2),
        "DD": (clock.day, 2),
        "DDD": (of_year, 3),
        "D": (weekday(clock.days) + 1, 1),
        "ID": (iso_weekday(clock.days), 1),
        "IDDD": (_iso(clock)[2], 3),
        "WW": ((of_year - 1) // 7 + 1, 2),
        "IW": (_iso(clock)[1], 2),
        "W": ((clock.day - 1) // 7 + 1, 1),
        "Q": ((clock.month - 1) // 3 + 1, 1),
        "J": (clock.days - DAY_MIN, 1),
    }[word]
    return _padded(number, width, field)


def _shown(moment: int, template: str, zone: str | None, offset_s: int = 0) -> str | None:
    """What a template makes of what a zone's clocks show."""
    if template == "" or abs(moment) == MOMENT_INFINITE:
        return None
    clock = _clock_of(moment, zone, offset_s)
    parts: list[str] = []
    for field in fields_of(template):
        if not field.word:
            parts.append(field.literal)
            continue
        word = field.word.upper()
        text: str | None = None
        for part in (_time_part, _zone_part, _year_part):
            text = part(word, clock, field) if text is None else text
        text = _day_part(word, clock, field) if text is None else text
        if field.ordinal and text[-1:].isdigit():
            text += ordinal(text, field.ordinal)
        parts.append(text)
    return "".join(parts)


def _shown_in_zone(values: pa.Array, templates: pa.Array, zones: pa.Array) -> pa.Array:
    if len(values) == 0:
        return pa.array([], pa.string())
    found = zone(zones[0].as_py())
    moments = numbers_of(values)
    finite = np.where(np.abs(moments) == MOMENT_INFINITE, 0, moments)
    periods = found.periods(finite)
    offsets = found.offsets[periods].tolist()
    clocks = np.where(finite == moments, finite + found.offsets[periods] * SECOND_US, moments).tolist()
    names = [found.abbreviations[period] for period in periods.tolist()]
    rows = zip(clocks, templates.to_pylist(), names, offsets, values.is_valid().to_pylist(), strict=True)
    shown = [
        _shown(clock, template, name, offset) if valid and template is not None else None
        for clock, template, name, offset, valid in rows
    ]
    return pa.array(shown, pa.string())


def _shown_interval(value: Interval, template: str) -> str | None:
    """Only the fields of a clock and plain counts mean something for an interval."""
    months, days, microseconds = value
    if template == "":
        return None
    # Every part has the sign of what it is a part of.
    toward, ahead = -1 if months < 0 else 1, -1 if microseconds < 0 else 1
    seconds, microsecond = divmod(abs(microseconds), SECOND_US)
    clock = _Clock(
        toward * (abs(months) // 12),
        toward * (abs(months) % 12),
        days,
        0,
        ahead * (seconds // HOUR_S),
        ahead * (seconds // MINUTE_S % 60),
        ahead * (seconds % 60),
        ahead * microsecond,
        None,
    )
    parts: list[str] = []
    for field in fields_of(template):
        word = field.word.upper()
        if not field.word:
            parts.append(field.literal)
        elif word in ("YYYY", "MM", "DD"):
            number = {"YYYY": clock.year, "MM": clock.month, "DD": clock.day}[word]
            counted = word == "DD" and not field.bare  # whose sign takes a place of the two
            parts.append(f"{number:02d}" if counted else _padded(number, len(word), field))
        else:
            text = _time_part(word, clock, field)
            if text is None or field.ordinal:
                raise not_supported(f'the template pattern "{field.word}" for intervals')
            parts.append(text)
    return "".join(parts)


# Text to timestamps

_WIDTHS: Final = {"YYYY": 4, "YYY": 3, "YY": 2, "Y": 1, "MM": 2, "DD": 2, "DDD": 3, "HH24": 2, "HH12": 2,
                  "HH": 2, "MI": 2, "SS": 2, "MS": 3, "US": 6, "SSSS": 5, "SSSSS": 5}  # fmt: skip
# Fields that are one thing in several spellings.
_TARGETS: Final = {
    word: name
    for name, words in {
        "YYYY": "YYY YY Y", "HH24": "HH12 HH", "MM": "MONTH MON", "SSSSS": "SSSS", "DAY": "DY",
        "PM": "AM A.M. P.M.", "MS": "US FF1 FF2 FF3 FF4 FF5 FF6",
    }.items()
    for word in words.split()
}  # fmt: skip
_WIDTHS_ALL: Final = {**_WIDTHS, **{f"FF{n}": n for n in range(1, 7)}}


def _read(text: str, template: str) -> dict[str, int]:
    """The values that the template's fields have in the text."""
    values: dict[str, int] = {}
    fields = fields_of(template)
    targets = [_TARGETS.get(field.word.upper(), field.word.upper()) for field in fields if field.word]
    if len(set(targets)) < len(targets) or ("DDD" in targets and not {"MM", "DD"}.isdisjoint(targets)):
        raise not_supported("a date template that names a field twice")
    place = 0
    for index, field in enumerate(fields):
        word = field.word.upper()
        if not field.word:
            place = _skip(text, place, field.literal)
            continue
        if word not in _WIDTHS_ALL:
            place = _read_word(text, place, word, field, values)
            continue
        while text[place : place + 1].isspace():
            place += 1
        following = fields[index + 1] if index + 1 < len(fields) else None
        open_ended = following is None or following.word.upper() not in _WIDTHS_ALL or field.bare
        if following is not None and not following.word and following.literal[:1].isalnum():
            open_ended = field.bare
        place = _read_number(text, place, word, field, open_ended, values)
    return values


def _skip(text: str, place: int, literal: str) -> int:
    for character in literal:
        if character.isalnum():
            place += place < len(text)
            continue
        while text[place : place + 1].isspace():
            place += 1
        if (place < len(text) and not text[place].isalnum() and text[place] not in "+-") or (
            place < len(text) and text[place] == character
        ):
            place += 1
    return place


def _read_number(
    text: str, place: int, word: str, field: Field, open_ended: bool, values: dict[str, int]
) -> int:
    width = _WIDTHS_ALL[word]
    digits = re.compile(r"\d+" if open_ended else rf"\d{{1,{width}}}").match(text, place)
    if digits is None:
        shown = text[place : place + width]
        raise UserError(
            f'invalid value "{shown}" for "{field.word}"', "22007", detail="Value must be an integer."
        )
    if (
        not open_ended
        and len(digits.group()) < width
        and word not in ("MS", "US")
        and not word.startswith("FF")
    ):
        raise UserError(
            f'source string too short for "{field.word}" formatting field',
            "22007",
            detail=f"Field requires {width} characters, but only {len(digits.group())} remain.",
            hint='If your source string is not fixed-width, try using the "FM" modifier.',
        )
    number = int(digits.group())
    if len(digits.group()) > {"MS": 3, "US": 6}.get(word, int(word[2]) if word.startswith("FF") else 99):
        raise _out_of_range(text)
    if word == "MS":
        number = int(digits.group()[:3].ljust(3, "0")) * 1000
    elif word == "US" or word.startswith("FF"):
        number = int(digits.group()[:6].ljust(6, "0"))
    elif word in ("YYY", "YY", "Y") and len(digits.group()) < 4:
        number = _full_year(number)
    key = {"YYY": "YYYY", "YY": "YYYY", "Y": "YYYY", "HH": "HH12", "MS": "US", "SSSS": "SSSSS"}.get(
        word, word
    )
    values["US" if word.startswith("FF") else key] = number
    return digits.end()


def _full_year(year: int) -> int:
    if year < 70:
        return year + 2000
    if year < 100:
        return year + 1900
    return year + 2000 if year < 520 else year + 1000


def _read_word(text: str, place: int, word: str, field: Field, values: dict[str, int]) -> int:
    while text[place : place + 1].isspace():
        place += 1
    rest = text[place:].lower()
    choices: dict[str, tuple[str, tuple[str, ...]]] = {
        "MONTH": ("MM", MONTHS),
        "MON": ("MM", tuple(name[:3] for name in MONTHS)),
        "DAY": ("", WEEKDAYS),
        "DY": ("", tuple(name[:3] for name in WEEKDAYS)),
        "AM": ("half", ("am", "pm")),
        "PM": ("half", ("am", "pm")),
        "A.M.": ("half", ("a.m.", "p.m.")),
        "P.M.": ("half", ("a.m.", "p.m.")),
    }
    if word not in choices:
        raise not_supported(f'reading the template pattern "{field.word}"')
    key, names = choices[word]
    for number, name in sorted(enumerate(names, 1), key=lambda entry: -len(entry[1])):
        if rest.startswith(name.lower()):
            if key:
                values[key] = number
            return place + len(name)
    raise UserError(
        f'invalid value "{text[place:]}" for "{field.word}"',
        "22007",
        detail="The given value did not match any of the allowed values for this field.",
    )


def _out_of_range(text: str) -> UserError:
    return UserError(f'date/time field value out of range: "{text}"', "22008")


def _moment(text: str, template: str) -> int:
    values = _read(text, template)
    if "YYYY" not in values or values["YYYY"] == 0:
        raise not_supported("to_timestamp and to_date without a year")
    year = values["YYYY"]
    if year > MOMENT_YEAR_MAX:
        raise UserError("timestamp out of range", "22008")
    month, day = values.get("MM", 1), values.get("DD", 1)
    if not existing(year, month, day):
        raise _out_of_range(text)
    days = days_of(year, month, day)
    if "DDD" in values:
        days = days_of(year, 1, values["DDD"])
        if date_of(days)[0] != year:
            raise _out_of_range(text)
    return days * DAY_US + _clock_us(values, text)


def _clock_us(values: dict[str, int], text: str) -> int:
    hour = values.get("HH24", 0)
    if "HH12" in values:
        hour = values["HH12"]
        if not 1 <= hour <= 12:
            raise UserError(
                f'hour "{hour}" is invalid for the 12-hour clock',
                "22007",
                hint="Use the 24-hour clock, or give an hour between 1 and 12.",
            )
    if "half" in values:
        hour = hour % 12 + (12 if values["half"] == 2 else 0)
    minute, second = values.get("MI", 0), values.get("SS", 0)
    if hour > 23 or minute > 59 or second > 59:
        raise _out_of_range(text)
    seconds = values.get("SSSSS", hour * HOUR_S + minute * MINUTE_S + second)
    if seconds >= DAY_S:
        raise _out_of_range(text)
    return seconds * SECOND_US + values.get("US", 0)


def _reading(finish: Callable[[int], int]) -> Callable[[str, str], int]:
    return lambda text, template: finish(_moment(text, template))


KERNELS: Final[tuple[Kernel, ...]] = (
    row_wise("hw_to_char_timestamp", ("timestamp", "text"), "text", lambda m, t: _shown(m, t, None)),
    row_wise("hw_to_char_timestamptz", ("timestamptz", "text"), "text", lambda m, t: _shown(m, t, "UTC")),
    Kernel("hw_to_char_in_zone", ("timestamptz", "text", "text"), "text", _shown_in_zone),
    row_wise("hw_to_char_interval", ("interval", "text"), "text", _shown_interval),
    row_wise("hw_text_to_moment", ("text", "text"), "timestamptz", _reading(lambda moment: moment)),
    row_wise("hw_text_to_day", ("text", "text"), "date", _reading(lambda moment: moment // DAY_US)),
)

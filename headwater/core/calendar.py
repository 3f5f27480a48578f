"""The calendar: the proleptic Gregorian one, for ever in both directions, and how long its parts are.

    days of a date     counted from 1970-01-01
    moments            microseconds from the midnight at which that day begins
    years              counted through: year 0 is 1 BC, -1 is 2 BC

What is here is arithmetic and nothing else, so that it holds for a number and for a numpy array of
numbers alike: there is no second calendar for columns.

Infinite days and moments are the outermost numbers of the stored form, as in DuckDB, so that they order as
they should: `infinity` is the greatest, and `-infinity` the same below zero.  The last 30 years that
PostgreSQL has, from the year 294247 on, have no stored form.

Not here: clocks of places (formats/zones.py), text (formats/text_times.py), timestamps of ours (time.py).
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

Whole = TypeVar("Whole", bound=Any)
"""A number or a numpy array of them."""

SECOND_US: Final = 1_000_000
MINUTE_US: Final = 60 * SECOND_US
HOUR_US: Final = 60 * MINUTE_US
DAY_US: Final = 24 * HOUR_US
MINUTE_S: Final = 60
HOUR_S: Final = 60 * MINUTE_S
DAY_S: Final = 24 * HOUR_S
HOUR_MS: Final = HOUR_S * 1_000
DAY_MS: Final = DAY_S * 1_000
MONTHS_PER_YEAR: Final = 12
DAYS_PER_WEEK: Final = 7
DAYS_PER_MONTH: Final = 30
"""Of an interval, where a month has to have a length."""
YEAR_S: Final = 31_557_600
"""Of an interval, where a year has to have one: 365.25 days."""
DAYS_OF_400_YEARS: Final = 146_097
"""After which the calendar begins again, on the same day of the week."""

MONTHS: Final = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
                 "October", "November", "December")  # fmt: skip
WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

_DAYS_0000_TO_1970: Final = 719_468  # from March 1, 1 BC: a year that begins in March ends with its leap day
_DAYS_OF_4_YEARS: Final = 1_460  # without the leap day
_DAYS_OF_100_YEARS: Final = 36_524


def leap(year: Whole) -> Whole:
    """Whether the year has a February 29."""
    found: Whole = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    return found


def month_days(year: Whole, month: Whole | int) -> Whole:
    """How many days a month has."""
    long: Any = (month + month // 8) % 2
    days: Whole = 30 + long - (month == 2) * (2 - leap(year))
    return days


def days_of(year: Whole, month: Whole | int, day: Whole | int) -> Whole:
    """The days of a date that exists."""
    year = year - (month <= 2)
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    days: Whole = (
        era * DAYS_OF_400_YEARS + of_era * 365 + of_era // 4 - of_era // 100 + of_year - _DAYS_0000_TO_1970
    )
    return days


def date_of(days: Whole) -> tuple[Whole, Whole, Whole]:
    """The reverse: (year, month, day)."""
    shifted = days + _DAYS_0000_TO_1970
    era = shifted // DAYS_OF_400_YEARS
    of_era = shifted - era * DAYS_OF_400_YEARS
    leaps = of_era // _DAYS_OF_4_YEARS - of_era // _DAYS_OF_100_YEARS + of_era // (DAYS_OF_400_YEARS - 1)
    year = (of_era - leaps) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    of_march = (5 * of_year + 2) // 153
    month = (of_march + 2) % 12 + 1
    return year + era * 400 + (month <= 2), month, of_year - (153 * of_march + 2) // 5 + 1


def existing(year: Whole, month: Whole, day: Whole) -> Whole:
    """Whether there is such a date."""
    found: Whole = (month >= 1) & (month <= 12) & (day >= 1) & (day <= month_days(year, month))
    return found


def add_months(days: Whole, months: Whole) -> Whole:
    """The same day so many months on, or the month's last."""
    year, month, day = date_of(days)
    total = year * MONTHS_PER_YEAR + month - 1 + months
    year, month = total // MONTHS_PER_YEAR, total % MONTHS_PER_YEAR + 1
    over = day - month_days(year, month)
    moved: Whole = days_of(year, month, day - over * (over > 0))
    return moved


# Days of the week, and weeks


def weekday(days: Whole) -> Whole:
    """Sunday is 0."""
    found: Whole = (days + 4) % DAYS_PER_WEEK
    return found


def iso_weekday(days: Whole) -> Whole:
    """Monday is 1, and Sunday 7."""
    found: Whole = (days + 3) % DAYS_PER_WEEK + 1
    return found


def monday_of(days: Whole) -> Whole:
    """The day on which the week began."""
    found: Whole = days - iso_weekday(days) + 1
    return found


def iso_week(days: Whole) -> tuple[Whole, Whole]:
    """ISO years and weeks: the year of a week is that of its Thursday."""
    thursday = monday_of(days) + 3
    year = date_of(thursday)[0]
    return year, (thursday - days_of(year, 1, 1)) // DAYS_PER_WEEK + 1


def day_of_year(days: Whole) -> Whole:
    """January 1 is 1."""
    found: Whole = days - days_of(date_of(days)[0], 1, 1) + 1
    return found


# Years as they are written, where none is 0


def shown_year(year: Whole) -> Whole:
    """The number of a year as it is written: years BC are below zero."""
    shown: Whole = year - (year <= 0)
    return shown


def counted_year(shown: Whole) -> Whole:
    """The reverse, of a number other than 0."""
    year: Whole = shown + (shown < 0)
    return year


def century(year: Whole, years: int = 100) -> Whole:
    """Which hundred of years, or thousand, from 1 on; there is no century zero."""
    found: Whole = -(-year // years) - (year <= 0)
    return found


# Days and moments that mean something else, and ranges

DAY_INFINITE: Final = 2**31 - 1
MOMENT_INFINITE: Final = 2**63 - 1  # in the year 294247; PostgreSQL counts from 2000 and goes on for 30 years
MOMENT_DAYS_MAX: Final = MOMENT_INFINITE // DAY_US - 1
"""So many days have microseconds that are a number."""

DAYS_1970_TO_2000: Final = days_of(2000, 1, 1)
MIDNIGHT_2000_US: Final = DAYS_1970_TO_2000 * DAY_US
"""From which PostgreSQL counts."""
DAY_MIN: Final = days_of(-4713, 11, 24)
"""Where PostgreSQL's calendar begins: a Julian day is the number of days since."""
DATE_YEAR_MAX: Final = 5_874_897
DATE_MAX: Final = days_of(DATE_YEAR_MAX, 12, 31)
MOMENT_YEAR_MAX: Final = 294_276
MOMENT_MIN: Final = DAY_MIN * DAY_US
MOMENT_MAX: Final = MOMENT_INFINITE - 1

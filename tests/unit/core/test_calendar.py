"""The calendar is that of the standard library as far as it goes, and beyond repeats itself; for columns too.

Method: hypothesis takes days within the years 1 to 9999 and compares with `datetime`;
farther ones are moved by 400 years, after which everything is as it was but the year.
"""

from __future__ import annotations

from calendar import isleap, monthrange
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core import calendar

EPOCH = date(1970, 1, 1).toordinal()
NEAR = st.dates().map(lambda day: day.toordinal() - EPOCH)
ANY = NEAR | st.integers(calendar.DAY_MIN, calendar.DATE_MAX)


@given(days=NEAR)
def test_days_are_those_of_the_standard_library(days: int) -> None:
    day = date.fromordinal(days + EPOCH)
    assert calendar.date_of(days) == (day.year, day.month, day.day)
    assert (*calendar.iso_week(days), calendar.iso_weekday(days)) == tuple(day.isocalendar())
    assert calendar.weekday(days) == day.isoweekday() % 7
    assert calendar.day_of_year(days) == day.timetuple().tm_yday
    assert calendar.month_days(day.year, day.month) == monthrange(day.year, day.month)[1]
    assert calendar.leap(day.year) == isleap(day.year)
    assert calendar.WEEKDAYS[calendar.weekday(days)] == f"{day:%A}"
    assert calendar.MONTHS[day.month - 1] == f"{day:%B}"


@given(days=ANY)
def test_a_date_has_its_days_and_after_400_years_all_is_as_it_was(days: int) -> None:
    year, month, day = calendar.date_of(days)
    assert calendar.existing(year, month, day)
    assert calendar.days_of(year, month, day) == days
    later = days + calendar.DAYS_OF_400_YEARS
    assert calendar.date_of(later) == (year + 400, month, day)
    assert calendar.weekday(later) == calendar.weekday(days)


@given(days=st.lists(ANY, min_size=1), months=st.integers(-100_000, 100_000))
def test_columns_have_the_same_calendar(days: list[int], months: int) -> None:
    column = np.array(days)
    for function in (calendar.weekday, calendar.iso_weekday, calendar.monday_of, calendar.day_of_year):
        assert function(column).tolist() == [function(day) for day in days]
    years, of_year, of_month = calendar.date_of(column)
    dates = [calendar.date_of(day) for day in days]
    assert list(zip(years.tolist(), of_year.tolist(), of_month.tolist(), strict=True)) == dates
    assert calendar.days_of(years, of_year, of_month).tolist() == days
    assert calendar.existing(years, of_year, of_month).all()
    weeks = [part.tolist() for part in calendar.iso_week(column)]
    assert list(zip(*weeks, strict=True)) == [calendar.iso_week(day) for day in days]
    for of_years in (calendar.leap, calendar.shown_year, calendar.century):
        assert of_years(years).tolist() == [of_years(year) for year, _, _ in dates]
    moved = calendar.add_months(column, np.full_like(column, months))
    assert moved.tolist() == [calendar.add_months(day, months) for day in days]


@pytest.mark.parametrize(
    ("year", "month", "day"), [(2023, 2, 29), (1900, 2, 29), (2024, 4, 31), (1, 13, 1), (1, 1, 0)]
)
def test_a_date_that_is_none_does_not_exist(year: int, month: int, day: int) -> None:
    assert not calendar.existing(year, month, day)


@pytest.mark.parametrize(
    ("year", "shown", "century", "millennium"),
    [
        (2001, 2001, 21, 3),
        (2000, 2000, 20, 2),
        (1, 1, 1, 1),
        (0, -1, -1, -1),
        (-99, -100, -1, -1),
        (-100, -101, -2, -1),
    ],
)
def test_no_year_and_no_century_is_zero(year: int, shown: int, century: int, millennium: int) -> None:
    assert calendar.shown_year(year) == shown
    assert calendar.counted_year(shown) == year
    assert calendar.century(year) == century
    assert calendar.century(year, 1000) == millennium


def test_ranges_begin_and_end_as_postgresql_says() -> None:
    assert calendar.date_of(calendar.DAY_MIN) == (-4713, 11, 24)
    assert (calendar.DAY_MIN, calendar.DATE_MAX) == (-2_440_588, 2_145_042_905)
    assert (calendar.DAYS_1970_TO_2000, calendar.MIDNIGHT_2000_US) == (10_957, 946_684_800_000_000)

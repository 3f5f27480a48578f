"""Interval text means what PostgreSQL takes it to mean.

Method: a table of texts with PostgreSQL's (months, days, microseconds); the same interval
written in several ways; texts that are none.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.calendar import DAY_US, HOUR_US, MINUTE_US, SECOND_US
from headwater.core.errors import UserError
from headwater.core.interval import Interval, parse_interval


@pytest.mark.parametrize(
    ("text", "months", "days", "microseconds"),
    [
        ("1 day 02:03:04", 0, 1, 2 * HOUR_US + 3 * MINUTE_US + 4 * SECOND_US),
        ("1 year 2 mons", 14, 0, 0),
        ("P1DT2H", 0, 1, 2 * HOUR_US),
        ("P1Y2M3W4DT5H6M7.5S", 14, 25, 5 * HOUR_US + 6 * MINUTE_US + 7_500_000),
        ("P-1Y3D", -12, 3, 0),
        ("P0001-02-03T04:05:06", 14, 3, 4 * HOUR_US + 5 * MINUTE_US + 6 * SECOND_US),
        ("PT0.5H", 0, 0, 30 * MINUTE_US),
        ("100ms", 0, 0, 100_000),
        ("1s", 0, 0, SECOND_US),
        ("30d", 0, 30, 0),
        ("1h30m", 0, 0, 90 * MINUTE_US),
        ("1.5 s", 0, 0, 1_500_000),
        (".5s", 0, 0, 500_000),
        ("7us", 0, 0, 7),
        ("2 weeks", 0, 14, 0),
        ("1 decade", 120, 0, 0),
        ("1 century", 1_200, 0, 0),
        ("1 millennium", 12_000, 0, 0),
        ("1.5 years", 18, 0, 0),
        ("1.5 months", 1, 15, 0),
        ("1.25 months", 1, 7, 12 * HOUR_US),
        ("0.5 days", 0, 0, 12 * HOUR_US),
        ("1.5 weeks", 0, 10, 12 * HOUR_US),
        ("-1 day 2 hours", 0, -1, 2 * HOUR_US),
        ("1 day -02:03", 0, 1, -(2 * HOUR_US + 3 * MINUTE_US)),
        ("1 day 2 hours ago", 0, -1, -2 * HOUR_US),
        ("@ 1 minute", 0, 0, MINUTE_US),
        ("100", 0, 0, 100 * SECOND_US),
        ("1 day 5", 0, 1, 5 * SECOND_US),
        ("3 04:05", 0, 3, 4 * HOUR_US + 5 * MINUTE_US),
        ("1-2", 14, 0, 0),
        ("-1-2", -14, 0, 0),
        ("1-2 3 4:05:06.7", 14, 3, 4 * HOUR_US + 5 * MINUTE_US + 6_700_000),
        ("02:03.5", 0, 0, 2 * MINUTE_US + 3_500_000),
        ("1 s 100 ms", 0, 0, 1_100_000),
        ("  1 DAY  ", 0, 1, 0),
        ("0.0000005 s", 0, 0, 0),
        ("0.0000015 s", 0, 0, 2),
        ("100:00:00", 0, 0, 100 * HOUR_US),
        ("001:002:003", 0, 0, HOUR_US + 2 * MINUTE_US + 3 * SECOND_US),
        ("- 1 day -  02:00", 0, -1, -2 * HOUR_US),
        ("1 @ day @", 0, 1, 0),
        ("1-2 1 year", 26, 0, 0),
        ("3:04 ago", 0, 0, -(3 * HOUR_US + 4 * MINUTE_US)),
        ("1 microsecon 2 millisecond 3 millenniums", 36_000, 0, 2_001),
        ("P1Y1Y", 24, 0, 0),
        ("P-0001-02-03", -10, 3, 0),
        ("PT04:05:06", 0, 0, 4 * HOUR_US + 5 * MINUTE_US + 6 * SECOND_US),
        ("P1YT", 12, 0, 0),
        ("PT", 0, 0, 0),
        ("-178956970 years -8 mons -2147483648 days", -(2**31), -(2**31), 0),
    ],
)
def test_an_interval_is_read(text: str, months: int, days: int, microseconds: int) -> None:
    assert parse_interval(text) == Interval(months, days, microseconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "day",
        "1 fortnight",
        "1 day 2 days",
        "1 hour 02:03",
        "1 2 3:04",
        "1,5 days",
        "1 1-2",
        "00:01 00:02",
        "1-2 1 mon",
        "1 cents",
        "1e3 s",
        "1\u00a0day",
        "ago",
        "1 ago",
        "1 day 5 ago",
        "1 day ago ago",
        "p",
        "p1",
        "p1h",
        "pt1d",
        "one day",
        "1 day ago 2 hours",
        "x" * 1_000,
        "1 day " * 1_000,
    ],
)
def test_what_is_no_interval_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="invalid input syntax for type interval") as refused:
        parse_interval(text)
    assert refused.value.sqlstate == "22007"


@pytest.mark.parametrize(
    "text",
    [
        "9999999999 years",
        "9999999999 days",
        "99999999999 hours",
        "9" * 200,
        "1-13",
        "00:60",
        "00:00:61",
        "1:200",
    ],
)
def test_an_interval_out_of_range_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="interval field value out of range") as refused:
        parse_interval(text)
    assert refused.value.sqlstate == "22015"


@given(
    months=st.integers(-100_000, 100_000),
    days=st.integers(-100_000, 100_000),
    microseconds=st.integers(-(10**15), 10**15),
)
def test_units_and_iso_8601_say_the_same(months: int, days: int, microseconds: int) -> None:
    whole, part = divmod(abs(microseconds), SECOND_US)
    seconds = f"{'-' if microseconds < 0 else ''}{whole}.{part:06}"
    expected = Interval(months, days, microseconds)
    assert parse_interval(f"{months} mons {days} days {seconds} secs") == expected
    assert parse_interval(f"P{months}M{days}DT{seconds}S") == expected
    backwards = parse_interval(f"{months} mons {days} days {seconds} secs ago")
    assert backwards == Interval(-months, -days, -microseconds)


def test_the_total_counts_a_month_as_30_days() -> None:
    assert parse_interval("1 mon 1 day 1 us").total_microseconds() == 31 * DAY_US + 1


@given(st.text("0123456789.:- +@ptdhmsyagonew", max_size=40))
def test_any_text_is_an_interval_or_refused(text: str) -> None:
    try:
        parse_interval(text)
    except UserError as error:
        assert error.sqlstate in ("22007", "22015")  # noqa: PT017

"""Time zones are PostgreSQL's: their names, and what their clocks show.

Goal: every name and POSIX specification that PostgreSQL takes is taken and spelled as there, what it refuses
is refused, and clocks show the same in both directions, at every kind of change and far from all of them.

Method: a real PostgreSQL is asked for each zone of the tz database, at moments by chance and next to changes.
"""

from __future__ import annotations

import random
import zoneinfo
from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest

from headwater.coordinator.variables import checked, find
from headwater.core.errors import UserError
from headwater.formats.abbreviations import abbreviations
from headwater.formats.zones import Zone, zone
from tests.support.postgres import running

NAMED = sorted(zoneinfo.available_timezones())
WRITTEN = (
    *("utc", "gmt", "europe/berlin", "AUSTRALIA/LORD_HOWE", "EST5EDT", "est", "posix/Europe/Berlin"),
    *("<+02>-02", "UTC+3", "+05:30", "-3", "3.5", "1e1", " 4", "X167:59", "<a b>3", "-1CET", "X1:2:3"),
    *("FOO5BAR", "foo5bar,J60/1,300/2:30", "CET-1CEST,M3.5.0,M10.5.0/3", "AEST-10AEDT,M10.1.0,M4.1.0/3"),
    *("IST-1GMT0,M10.5.0,M3.5.0/1", "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1", "A0B,0/0,J365/25"),
    *("interval '02:30'", "INTERVAL '-1:30:15'", "interval '1 day'", "interval '1 mon'"),
    *("168", "X168", "abc", "cest", "", "+", "5:", "CET-", "Nowhere/x", "right/Europe/Berlin"),
    *("x1y,M13.1.0,M3.1.0", "CET-1CEST,M3.5.0", "CET-1CEST,M3.5.0,M10.5.0/3x"),
)
SECOND_US = 1_000_000


@pytest.fixture(scope="module")
def postgres() -> Iterator[psycopg.Connection[Any]]:
    with running() as server, psycopg.connect(server.dsn(), autocommit=True) as connection:
        yield connection


def settled(postgres: psycopg.Connection[Any], name: str) -> str | None:
    """How PostgreSQL shows a zone that it was set to; None if it refuses."""
    try:
        postgres.execute("SELECT set_config('timezone', %s, false)", (name,))
    except psycopg.Error:
        return None
    row = postgres.execute("SHOW timezone").fetchone()
    return None if row is None else str(row[0])


def taken(name: str) -> str | None:
    """The same of the product."""
    try:
        return checked(find("timezone"), name)
    except UserError:
        return None


def moments(found: Zone, chance: random.Random) -> list[int]:
    """In seconds: around changes, and anywhere in PostgreSQL's calendar."""
    starts = found.starts.tolist()
    near = [start + more for start in chance.sample(starts, min(len(starts), 40)) for more in (-1, 0, 1)]
    anywhere = [chance.randrange(-30_000_000_000, 30_000_000_000) for _ in range(40)]
    far = [chance.randrange(-200_000_000_000, 9_000_000_000_000) for _ in range(20)]
    return near + anywhere + far


def clocks(found: Zone, chance: random.Random) -> list[int]:
    """What clocks show, also twice and never."""
    starts, offsets = found.starts.tolist(), found.offsets.tolist()
    return [
        starts[index] + offset + more
        for index in chance.sample(range(len(starts)), min(len(starts), 40))
        for offset in offsets[index : index + 2]
        for more in (-90_000, -3_601, -3_600, -1_800, -1, 0, 1, 1_800, 3_599, 3_600)
    ]


AT = """
SELECT array_agg(extract(epoch FROM x::timestamp)::int8 ORDER BY i), array_agg(to_char(x, 'TZ') ORDER BY i)
FROM (SELECT i, to_timestamp(x) AS x FROM unnest(%s::int8[]) WITH ORDINALITY AS u (x, i)) AS q
"""
OF = """
SELECT array_agg(extract(epoch FROM x::timestamptz)::int8 ORDER BY i) FROM (
    SELECT i, timestamp 'epoch' + x * interval '1 second' AS x
    FROM unnest(%s::int8[]) WITH ORDINALITY AS u (x, i)) AS q
"""


def test_names_and_clocks_are_those_of_postgresql(postgres: psycopg.Connection[Any]) -> None:
    chance = random.Random(7)
    for name in (*NAMED, *WRITTEN):
        shown = settled(postgres, name)
        assert taken(name) == shown, name
        if shown is None:
            continue
        found = zone(shown)
        seconds = moments(found, chance)
        row = postgres.execute(AT, (seconds,)).fetchone()
        assert row is not None
        given = np.array(seconds, np.int64) * SECOND_US
        assert (found.to_clock(given) // SECOND_US).tolist() == row[0], name
        assert [found.abbreviations[period] for period in found.periods(given).tolist()] == row[1], name
        seconds += clocks(found, chance)
        row = postgres.execute(OF, (seconds,)).fetchone()
        assert row is not None
        given = np.array(seconds, np.int64) * SECOND_US
        assert (found.from_clock(given) // SECOND_US).tolist() == row[0], name


def test_abbreviations_are_listed_as_postgresql_lists_them(postgres: psycopg.Connection[Any]) -> None:
    wanted = postgres.execute(
        "SELECT abbrev, extract(epoch FROM utc_offset)::int, is_dst, extract(epoch FROM now())::int8"
        ' FROM pg_timezone_abbrevs ORDER BY abbrev COLLATE "C"'
    ).fetchall()
    assert abbreviations(wanted[0][3] * SECOND_US) == [row[:3] for row in wanted]

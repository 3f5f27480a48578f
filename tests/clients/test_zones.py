"""Clients bring their time zone along: psql from PGTZ, drivers at start-up or in the options.

Goal: what a client asks for when it connects is the zone of its session, it is told of every change, and
moments come in it as text and in no zone as binary.

Method: the real clients against the shared server.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from datetime import UTC, datetime, timedelta

import asyncpg
import psycopg
import pytest

from tests.support.server import HeadwaterServer

MOMENT = datetime(2026, 7, 1, 10, tzinfo=UTC)


def psql(server: HeadwaterServer, zone: str, *commands: str) -> subprocess.CompletedProcess[str]:
    given = ("-Atqh", "127.0.0.1", "-p", str(server.sql_port), "-U", "materialize")
    return subprocess.run(
        ["psql", "-X", *given, *(f"-c{command}" for command in commands)],
        env={**os.environ, "PGTZ": zone},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_psql_has_the_zone_of_its_environment(server: HeadwaterServer) -> None:
    done = psql(server, "Europe/Berlin", "SHOW timezone", "SELECT timestamptz '2026-07-01 10:00+00'")
    assert done.stdout.split("\n") == ["Europe/Berlin", "2026-07-01 12:00:00+02", ""], done.stderr


def test_a_zone_that_there_is_not_is_no_reason_to_guess(server: HeadwaterServer) -> None:
    done = psql(server, "Mars/Olympus", "SELECT 1")
    assert done.returncode == 2
    assert 'FATAL:  invalid value for parameter "TimeZone": "Mars/Olympus"' in done.stderr


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
def test_psycopg_gives_it_in_the_options_and_is_told_of_changes(
    server: HeadwaterServer, binary: bool
) -> None:
    with server.connect(options="-c timezone=america/new_york") as connection:
        assert connection.info.parameter_status("TimeZone") == "America/New_York"
        cursor = connection.execute("SELECT %s::timestamptz, %s::timestamptz", (MOMENT, "2026-07-01 06:00"))
        row = connection.cursor(binary=binary).execute("SELECT timestamptz '2026-07-01 06:00'").fetchone()
        assert row == (MOMENT,)
        assert row[0].utcoffset() == timedelta(hours=-4)
        assert cursor.fetchone() == (MOMENT, MOMENT)
        connection.execute("SET TIME ZONE 'Asia/Kolkata'")
        assert connection.info.parameter_status("TimeZone") == "Asia/Kolkata"
        connection.execute("BEGIN")
        connection.execute("SET LOCAL TIME ZONE 'UTC'")
        assert connection.info.parameter_status("TimeZone") == "UTC"
        connection.execute("ROLLBACK")
        assert connection.info.parameter_status("TimeZone") == "Asia/Kolkata"


def test_a_prepared_statement_of_a_driver_follows_the_zone(server: HeadwaterServer) -> None:
    with server.connect() as connection:
        query = "SELECT %s::timestamptz::date::text, (%s::text)::timestamptz"
        for zone, day, moment in (
            ("UTC", "2026-07-01", datetime(2026, 1, 1, tzinfo=UTC)),
            ("Asia/Tokyo", "2026-07-02", datetime(2025, 12, 31, 15, tzinfo=UTC)),
            ("UTC", "2026-07-01", datetime(2026, 1, 1, tzinfo=UTC)),
        ):
            connection.execute(f"SET TIME ZONE '{zone}'".encode())
            cursor = connection.execute(query, (MOMENT + timedelta(hours=8), "2026-01-01"), prepare=True)
            assert cursor.fetchone() == (day, moment)


def test_asyncpg_brings_it_at_start_up_and_reads_moments_as_ever(server: HeadwaterServer) -> None:
    async def connected() -> None:
        connection = await asyncpg.connect(
            host="127.0.0.1",
            port=server.sql_port,
            user="materialize",
            database="materialize",
            server_settings={"timezone": "Europe/Berlin"},
        )
        try:
            assert connection.get_settings().TimeZone == "Europe/Berlin"
            row = await connection.fetchrow(
                "SELECT $1::timestamptz, $1::timestamptz::date, $1::timestamptz::text", MOMENT
            )
            assert tuple(row) == (MOMENT, MOMENT.date(), "2026-07-01 12:00:00+02")
        finally:
            await connection.close()

    asyncio.run(asyncio.wait_for(connected(), 60))


def test_a_zone_in_the_options_that_there_is_not_is_refused(server: HeadwaterServer) -> None:
    with pytest.raises(psycopg.OperationalError, match="TimeZone"):
        server.connect(options="-c timezone=Nowhere/x")

"""Settings that clients bring along when they connect, from their environment or because they always do.

Goal: nobody is kept out by what PostgreSQL takes; who does not get what it asked for is told so, and the
settings that the server reports are those that count.

Method: the real clients against the shared server.
"""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.support.server import HeadwaterServer


def psql(server: HeadwaterServer, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    given = ("-Atqh", "127.0.0.1", "-p", str(server.sql_port), "-U", "materialize")
    return subprocess.run(
        ["psql", "-X", *given, "-c", command],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("variable", "value", "setting", "kept"),
    [
        ("PGDATESTYLE", "SQL,DMY", "datestyle", "ISO, MDY"),
        ("PGDATESTYLE", "ISO, DMY", "datestyle", "ISO, MDY"),
        ("PGCLIENTENCODING", "LATIN1", "client_encoding", "UTF8"),
        ("PGOPTIONS", "-c intervalstyle=iso_8601", "intervalstyle", "postgres"),
    ],
)
def test_psql_comes_in_and_is_told_what_it_does_not_get(
    server: HeadwaterServer, variable: str, value: str, setting: str, kept: str
) -> None:
    done = psql(server, f"SHOW {setting}", **{variable: value})
    assert done.stdout == f"{kept}\n", done.stderr
    wanted = value.removeprefix("-c intervalstyle=")
    assert f'WARNING:  parameter "{setting}" cannot have value "{wanted}"' in done.stderr
    assert f'DETAIL:  The session has "{kept}".' in done.stderr
    assert "HINT:  It takes " in done.stderr


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PGDATESTYLE", "ISO"),
        ("PGCLIENTENCODING", "utf-8"),
        ("PGCLIENTENCODING", "SQL_ASCII"),
        ("PGOPTIONS", "-c extra_float_digits=2 -c datestyle=iso,mdy"),
    ],
)
def test_psql_is_told_nothing_where_it_gets_what_it_asked_for(
    server: HeadwaterServer, variable: str, value: str
) -> None:
    done = psql(server, "SELECT 'ä'", **{variable: value})
    assert (done.stdout, done.stderr) == ("ä\n", "")


def test_a_setting_that_is_not_known_is_ignored_but_not_in_silence(server: HeadwaterServer) -> None:
    done = psql(server, "SELECT 1", PGOPTIONS="-c bytea_output=escape -c Geqo=off")
    assert done.stdout == "1\n"
    for name in ("bytea_output", "geqo"):
        assert (
            f'WARNING:  unrecognized configuration parameter "{name}"\nDETAIL:  It is ignored.' in done.stderr
        )


def test_no_bytes_are_converted_for_a_client_without_a_locale(server: HeadwaterServer) -> None:
    done = psql(server, "SELECT pg_client_encoding(), length('ä')", PGCLIENTENCODING="SQL_ASCII")
    assert (done.stdout, done.stderr) == ("SQL_ASCII|1\n", "")


def test_a_style_that_there_is_not_is_refused(server: HeadwaterServer) -> None:
    done = psql(server, "SELECT 1", PGDATESTYLE="Tuesday")
    assert done.returncode == 2
    assert 'parameter "datestyle" cannot have value "Tuesday"' in done.stderr


def test_what_drivers_always_send_is_taken(server: HeadwaterServer) -> None:
    options = "-c DateStyle=ISO -c extra_float_digits=2 -c TimeZone=UTC"
    with server.connect(options=options, client_encoding="UTF8") as connection:
        assert connection.info.parameter_status("DateStyle") == "ISO, MDY"
        assert connection.execute("SHOW extra_float_digits").fetchone() == ("2",)

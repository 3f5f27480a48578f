"""Real clients: psycopg 3, psycopg2, asyncpg and psql speak with the server.

Method: the server runs in a thread before the coordinator of `fake_sessions`, whose
`echo` returns its parameters; so each library's own encoders and decoders judge ours, in
both directions and both formats.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import threading
import uuid
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import asyncpg
import psycopg
import psycopg2
import pytest
from psycopg.types.json import Jsonb

from headwater.core.types import BYTEA, FLOAT8, INT4, NUMERIC, TEXT, TIMESTAMPTZ, array_of
from tests.unit.pgwire.fake_sessions import relation
from tests.unit.pgwire.recorded import RECORDED
from tests.unit.pgwire.running import WAIT_S_MAX, Running

MOMENT = datetime(2024, 2, 29, 12, 34, 56, 789012, tzinfo=UTC)
VALUES: list[tuple[str, Any]] = [
    ("bool", True),
    ("int2", -7),
    ("int4", 123456),
    ("int8", 2**62),
    ("float8", 0.1),
    ("float4", 1.5),
    ("numeric", Decimal("-12345678901234567890.00012")),
    ("text", "héllo \\ \" ' ✓"),
    ("varchar", "x"),
    ("bytea", b"\x00\xff\\"),
    ("date", date(1969, 7, 20)),
    ("time", time(23, 59, 59, 999999)),
    ("timestamp", MOMENT.replace(tzinfo=None)),
    ("timestamptz", MOMENT),
    ("interval", timedelta(days=3, hours=4, microseconds=7)),
    ("uuid", uuid.UUID("6f1c2a3b-0d4e-4f5a-8b6c-7d8e9f0a1b2c")),
    ("int4[]", [1, None, 3]),
    ("text[]", ["a", 'b"c', None, "", "NULL", "{}"]),
    ("numeric[]", [Decimal("1.5"), None]),
    ("timestamptz[]", [MOMENT]),
    ("text", None),
]


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with Running() as running:
        running.sessions.relations["one"] = relation({"a": (INT4, [1])})
        running.sessions.relations["many"] = relation(
            {
                "n": (INT4, list(range(1000))),
                "t": (TEXT, [None if n % 3 == 0 else f"row {n}\t\\" for n in range(1000)]),
                "d": (NUMERIC, [f"{n}.5" for n in range(1000)]),
            },
            batch_count=10,
        )
        running.sessions.relations["mixed"] = relation(
            {
                "i": (INT4, [1, None]),
                "t": (TEXT, ["a\tb\n", None]),
                "b": (BYTEA, [b"\x00\\", None]),
                "f": (FLOAT8, [1.5, None]),
                "m": (TIMESTAMPTZ, [MOMENT, None]),
                "a": (array_of(INT4), [[1, 2], None]),
            }
        )
        yield running


# psycopg 3


@pytest.fixture
def connection(running: Running) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with psycopg.connect(running.dsn, autocommit=True) as connection:
        yield connection


Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(("name", "value"), VALUES)
def test_psycopg_gets_back_what_it_sent(connection: Connection, name: str, value: Any, binary: bool) -> None:
    mark = "%b" if binary and value is not None else "%t"
    row = connection.execute(f"echo {name} -- {mark}".replace(" -- ", " "), None, binary=binary) if False else None
    assert row is None
    cursor = connection.cursor(binary=binary)
    sent = _execute_echo(cursor, name, value, binary)
    assert sent.fetchone() == (value,)


def _execute_echo(cursor: psycopg.Cursor[Any], name: str, value: Any, binary: bool) -> psycopg.Cursor[Any]:
    raise AssertionError

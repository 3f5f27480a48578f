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
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import asyncpg
import psycopg
import psycopg2
import pytest
from psycopg.types.json import Jsonb

from headwater.core.types import BYTEA, FLOAT8, INT4, NUMERIC, TEXT, TIMESTAMPTZ, array_of
from tests.support.wire.fake_sessions import relation
from tests.support.wire.running import WAIT_S_MAX, Running
from tests.unit.pgwire.recorded import RECORDED

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
@pytest.mark.parametrize(("name", "value"), [*VALUES, ("jsonb", Jsonb({"a": [1, None]}))])
def test_psycopg_gets_back_what_it_sent(connection: Connection, name: str, value: Any, binary: bool) -> None:
    mark = "%b" if binary else "%t"
    cursor = connection.cursor(binary=binary).execute(f"echo {name} {mark}", [value])
    assert cursor.fetchone() == (value.obj if isinstance(value, Jsonb) else value,)


# What Python has no value for, or psycopg no decoder in one of the formats.
BEYOND_PSYCOPG = (
    "24:00:00",
    "1 2 3",
    "3.4028235e+38",
    "infinity",
    "-infinity",
    "5874897-12-31",
    "[2000-01-02,infinity]",
)


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, t, _ in RECORDED if t not in BEYOND_PSYCOPG])
def test_psycopg_understands_every_type_the_same_in_both_formats(
    connection: Connection, name: str, text: str
) -> None:
    plain = connection.cursor(binary=False).execute(f"echo {name} %s", [text]).fetchone()
    other = connection.cursor(binary=True).execute(f"echo {name} %s", [text]).fetchone()
    assert str(plain) == str(other)


def test_psycopg_prepares_and_reuses_statements(connection: Connection) -> None:
    for number in range(10):
        assert connection.execute("echo int4 %s", [number], prepare=True).fetchone() == (number,)


def test_psycopg_pipelines(connection: Connection) -> None:
    with connection.pipeline():
        cursors = [connection.execute("echo int4 %s", [number]) for number in range(100)]
    assert [cursor.fetchone() for cursor in cursors] == [(number,) for number in range(100)]


def _fail_in_a_pipeline(connection: Connection) -> None:
    with connection.pipeline():
        connection.execute("do Before")
        connection.execute("fail 22012 x")
        connection.execute("do After")


def test_a_psycopg_pipeline_fails_from_the_error_on(connection: Connection, running: Running) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        _fail_in_a_pipeline(connection)
    assert "execute do Before" in running.sessions.calls
    assert "execute do After" not in running.sessions.calls
    assert connection.execute("rows one").fetchone() == (1,)


def test_psycopg_sees_errors_notices_and_settings(connection: Connection) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable, match='relation "nix" does not exist') as raised:
        connection.execute("rows nix")
    assert raised.value.diag.statement_position == "6"
    said: list[str | None] = []
    connection.add_notice_handler(lambda diagnostic: said.append(diagnostic.message_primary))
    connection.execute("say hello")
    assert said == ["hello"]
    connection.execute("set application_name changed")
    assert connection.info.parameter_status("application_name") == "changed"


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg_reads_a_result_of_many_batches(connection: Connection, binary: bool) -> None:
    rows = connection.cursor(binary=binary).execute("rows many").fetchall()
    assert len(rows) == 10_000
    assert rows[1001] == (1, "row 1\t\\", Decimal("1.5"))
    assert rows[9] == (9, None, Decimal("9.5"))


def test_psycopg_streams(connection: Connection) -> None:
    assert sum(row[0] for row in connection.cursor().stream("rows many")) == 10 * 499_500


@pytest.mark.parametrize(("format_", "binary"), [("text", False), ("binary", True)])
def test_psycopg_copies_out(connection: Connection, format_: str, binary: bool) -> None:
    with connection.cursor().copy(f"copy out {format_} mixed") as copy:
        copy.set_types(["int4", "text", "bytea", "float8", "timestamptz", "int4[]"])
        rows = list(copy.rows())
    assert rows == [(1, "a\tb\n", b"\x00\\", 1.5, MOMENT, [1, 2]), (None,) * 6]


def test_psycopg_copies_in(connection: Connection, running: Running) -> None:
    with connection.cursor().copy("copy in text") as copy:
        for number in range(1000):
            copy.write_row((number, "a\tb"))
    data = running.sessions.copied.pop()
    assert data.count(b"\n") == 1000
    assert data.startswith(b"0\ta\\tb\n")


def test_psycopg_may_give_copying_up(connection: Connection, running: Running) -> None:
    with suppress(KeyError), connection.cursor().copy("copy in text") as copy:
        copy.write(b"1\tx\n")
        raise KeyError("enough")
    assert running.sessions.copied == []
    assert connection.execute("rows one").fetchone() == (1,)


def test_psycopg_cancels(connection: Connection, running: Running) -> None:
    def cancel() -> None:
        running.wait_until(running.sessions.waiting.is_set)
        connection.cancel_safe(timeout=WAIT_S_MAX)

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute("wait")
    thread.join(WAIT_S_MAX)
    assert connection.execute("rows one").fetchone() == (1,)


def test_psycopg_knows_the_state_of_the_transaction(running: Running) -> None:
    with psycopg.connect(running.dsn) as connection:
        connection.execute("rows one")
        assert connection.info.transaction_status.name == "INTRANS"
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.execute("fail 22012 x")
        assert connection.info.transaction_status.name == "INERROR"
        connection.rollback()


def test_a_library_that_asks_for_the_latest_protocol_is_served(running: Running) -> None:
    if psycopg.pq.version() < 180000:
        pytest.skip("this libpq knows one protocol only")
    with psycopg.connect(running.dsn + " max_protocol_version=latest") as connection:
        assert connection.execute("rows one").fetchone() == (1,)


def test_startup_errors_reach_the_client(running: Running) -> None:
    with pytest.raises(psycopg.OperationalError, match='role "nobody" does not exist'):
        psycopg.connect(running.dsn.replace("user=me", "user=nobody"))


# psycopg2


def test_psycopg2_runs_statements_and_reads_settings(running: Running) -> None:
    connection = psycopg2.connect(running.dsn, options="--welcome=on -c x=a\\ b")
    connection.autocommit = True
    assert running.sessions.opened[-1][1] == {"database": "d", "welcome": "on", "x": "a b"}
    assert connection.get_parameter_status("server_version") == "15.0"
    with connection.cursor() as cursor:
        cursor.execute("rows mixed")
        rows = cursor.fetchall()
        assert rows[0][:2] == (1, "a\tb\n")
        assert bytes(rows[0][2]) == b"\x00\\"
        assert rows[0][3:] == (1.5, MOMENT, [1, 2])
        assert [column.type_code for column in cursor.description][:2] == [23, 25]
        cursor.execute("do X; rows one")
        assert cursor.fetchone() == (1,)
        with pytest.raises(psycopg2.errors.lookup("XX000"), match="internal error"):
            cursor.execute("fail XX000 internal error")
    connection.close()


def test_psycopg2_copies_both_ways(running: Running, tmp_path: Any) -> None:
    connection = psycopg2.connect(running.dsn)
    connection.autocommit = True
    path = tmp_path / "data"
    with connection.cursor() as cursor:
        with path.open("w") as file:
            cursor.copy_expert("copy out csv many", file)
        assert path.read_text().splitlines()[:3] == ["n,t,d", "0,,0.5", "1,row 1\t\\,1.5"]
        with path.open() as file:
            cursor.copy_expert("copy in csv", file)
    assert running.sessions.copied.pop() == path.read_bytes()
    connection.close()


# asyncpg


async def _with_asyncpg(running: Running) -> None:
    connection = await asyncpg.connect(host="127.0.0.1", port=running.server.port, user="me", ssl=False)
    try:
        for name, value in VALUES:
            # Of other arrays asyncpg asks the catalog, which nobody here has.
            if not name.endswith("[]") or name == "text[]":
                assert await connection.fetchval(f"echo {name} $1", value) == value, name
        assert await connection.fetchval("echo jsonb $1", '{"a": 1}') == '{"a": 1}'
        assert len(await connection.fetch("rows many")) == 10_000
        statement = await connection.prepare("rows many")
        async with connection.transaction():
            numbers = [record["n"] async for record in statement.cursor(prefetch=97)]
        assert len(numbers) == 10_000
        assert sum(numbers) == 10 * 499_500
        await connection.executemany("echo int4 text $1 $2", [(n, str(n)) for n in range(50)])
        with pytest.raises(asyncpg.DivisionByZeroError):
            await connection.fetch("fail 22012 x")
        assert await connection.execute("do X Y") == "X Y"
        with pytest.raises(asyncio.TimeoutError):
            await connection.execute("wait", timeout=0.2)
        assert await connection.fetchval("rows one") == 1
    finally:
        await connection.close()


def test_asyncpg_speaks_binary_with_portals_and_cancels(running: Running) -> None:
    asyncio.run(asyncio.wait_for(_with_asyncpg(running), WAIT_S_MAX))


# psql


def psql(running: Running, *arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    command = ["psql", "-X", "-h", "127.0.0.1", "-p", str(running.server.port), "-U", "me", *arguments, "d"]
    environment = {**os.environ, "PGCONNECT_TIMEOUT": "10"}
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, env=environment)


@pytest.mark.skipif(shutil.which("psql") is None, reason="there is no psql here")
def test_psql_shows_results_errors_and_copies(running: Running) -> None:
    shown = psql(running, "-At", "-c", "rows one; say hello; do X")
    assert shown.stdout == "1\nX\n".replace("X", "SAY\nX")
    assert shown.stderr == "NOTICE:  hello\n"
    failed = psql(running, "-c", "  rows nix")
    assert failed.stderr.splitlines() == [
        'ERROR:  relation "nix" does not exist',
        "LINE 1:   rows nix",
        "               ^",
    ]
    script = "copy in text;\n1\tx\n2\ty\n\\.\nrows one;\n"
    copied = psql(running, "-At", given=script)
    assert copied.stdout.splitlines()[1:] == ["1"]  # psql 15 sends the end marker as a line, too
    assert running.sessions.copied.pop().startswith(b"1\tx\n2\ty\n")
    fetched = psql(running, "-At", "-v", "FETCH_COUNT=100", "-c", "rows one")
    assert fetched.stdout == "1\n"

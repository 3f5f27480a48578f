"""DuckDB in process: what is small does not wait behind what is large, and what nobody waits for ends."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import Counter
from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
import pytest
from duckdb.func import PythonUDFType
from duckdb.sqltypes import DuckDBPyType

from headwater.coordinator.engine import Engine, translate
from headwater.core.errors import UserError
from headwater.core.limits import PEEKS_CONCURRENT_MAX, RESULT_BATCH_ROWS, RESULT_WIDE_BATCH_ROWS
from tests.support.environment import Environment
from tests.support.function_answers import ANSWERS, call_text

SCHEMA = pa.schema([("n", pa.int64())])
ENDLESS = "SELECT count(*) AS n FROM range(1000000000000) WHERE range % 7 = 3"
ANSWER_S_MAX = 20.0
VALUES = (
    "hw_from_zone('Europe/Berlin', TIMESTAMP '2020-01-01')",
    "TIMESTAMPTZ '2020-01-01'",
    "TIMESTAMPTZ 'infinity'",
    "[TIMESTAMPTZ '2020-01-01']",
    "{'elements': [TIMESTAMPTZ '2020-01-01'], 'shape': [1]}",
    "TIMESTAMP '294000-01-01'",
    "DATE '-infinity'",
    "make_date(-1000000)",
    "INTERVAL '3000000 months'",
    "to_microseconds(9223372036854775807)",
    "CAST(1 AS DECIMAL(38, 0))",
    "TIME '24:00:00'",
    "BLOB '\\xFF'",
    "uuid()",
    "MAP {'a': TIMESTAMPTZ '2020-01-01'}",
)
"""Of each type that a constant may have in DuckDB, what Python might not take."""


def test_a_constant_does_not_wait_behind_as_many_reads_as_there_may_be(tmp_path: Path) -> None:
    async def all_rows(engine: Engine, sql: str, files: bool) -> list[pa.RecordBatch]:
        return [batch async for batch in engine.run(sql, SCHEMA, {}, files=files)]

    async def main() -> None:
        engine = Engine(tmp_path)
        reads = [
            asyncio.create_task(all_rows(engine, ENDLESS, True)) for _ in range(PEEKS_CONCURRENT_MAX + 1)
        ]
        await asyncio.sleep(0)  # each has asked for its thread before the constant does
        answer = await asyncio.wait_for(all_rows(engine, "SELECT 1 AS n", False), ANSWER_S_MAX)
        assert [batch.to_pylist() for batch in answer] == [[{"n": 1}]]
        assert not any(read.done() for read in reads)
        for read in reads:
            read.cancel()
        ended = asyncio.gather(*reads, return_exceptions=True)
        assert {type(end) for end in await asyncio.wait_for(ended, ANSWER_S_MAX)} == {asyncio.CancelledError}
        engine.close()

    asyncio.run(main())


def test_who_has_stopped_a_query_does_not_wait_for_a_value_that_takes_long(tmp_path: Path) -> None:
    """DuckDB hears of it when the value is made; until then the query has its thread."""
    begun, made = threading.Event(), threading.Event()

    def slow(numbers: pa.ChunkedArray) -> pa.ChunkedArray:
        begun.set()
        assert made.wait(ANSWER_S_MAX)
        return numbers

    async def all_rows(engine: Engine, sql: str) -> list[pa.RecordBatch]:
        return [batch async for batch in engine.run(sql, SCHEMA, {})]

    async def main() -> None:
        engine = Engine(tmp_path)
        bigint = DuckDBPyType("BIGINT")
        engine.databases.everybodys.create_function("slow", slow, [bigint], bigint, type=PythonUDFType.ARROW)
        read = asyncio.create_task(all_rows(engine, "SELECT slow(range) AS n FROM range(1)"))
        await asyncio.to_thread(begun.wait, ANSWER_S_MAX)
        read.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(read, ANSWER_S_MAX / 2)
        assert len(engine.left) == 1
        answer = await all_rows(engine, "SELECT 1 AS n")
        assert [batch.to_pylist() for batch in answer] == [[{"n": 1}]]
        made.set()
        await asyncio.wait_for(asyncio.gather(*engine.left), ANSWER_S_MAX)
        assert not engine.left
        engine.close()

    asyncio.run(main())


def test_rows_come_in_parts_that_are_small_although_values_may_be_large(tmp_path: Path) -> None:
    async def main() -> None:
        engine = Engine(tmp_path)
        rows = [
            batch.num_rows async for batch in engine.run("SELECT range AS n FROM range(10000)", SCHEMA, {})
        ]
        assert sum(rows) == 10_000
        assert max(rows) <= RESULT_BATCH_ROWS
        engine.close()

    asyncio.run(main())


def test_an_error_after_the_first_rows_is_what_it_would_be_before_them(tmp_path: Path) -> None:
    sql = "SELECT 10 // (range - 40000000) AS n FROM range(50000000)"

    seen: list[int] = []

    async def main() -> None:
        engine = Engine(tmp_path)
        try:
            async for batch in engine.run(sql, SCHEMA, {}):
                seen.append(batch.num_rows)
        finally:
            engine.close()

    with pytest.raises(UserError, match=r"^division by zero$") as caught:
        asyncio.run(main())
    assert caught.value.sqlstate == "22012"
    assert seen


def test_calls_with_constants_fail_in_a_check_only_where_they_fail_for_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python holds fewer values than DuckDB: moments need a package that we do not have."""
    monkeypatch.setitem(sys.modules, "pytz", None)
    calls = {
        call_text(name, arguments)[0]: expected[4:9] if str(expected).startswith("ERR ") else None
        for group in ANSWERS.values()
        for name, arguments, expected in group
    }
    calls |= dict.fromkeys(VALUES)

    async def main() -> None:
        engine = Engine(tmp_path)
        for call, expected in calls.items():
            try:
                await engine.check(f"SELECT {call}", {})
                told = None
            except UserError as error:
                told = error.sqlstate
            assert told == expected, call
        engine.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("text", "sqlstate"),
    [
        ("IO Error: Cannot open file", "58030"),
        ("[Errno 5] Input/output error", "58030"),
        ("Out of Memory Error: could not allocate block", "53200"),
        ("Invalid Input Error: Python exception occurred: KernelError: HW|2201F|no root|||", "2201F"),
    ],
)
def test_errors_by_way_of_arrow_are_told_apart(text: str, sqlstate: str) -> None:
    assert translate(OSError(text)).sqlstate == sqlstate


def test_values_that_are_too_large_together_are_not_taken_for_a_broken_file() -> None:
    met = OSError(
        "Invalid Input Error: Arrow Appender: The maximum total string size for regular string buffers is"
        " 2147483647 but the offset of 2147600000 exceeds this."
    )
    told = translate(met, RESULT_BATCH_ROWS)
    assert told.sqlstate == "54000"
    assert f"{RESULT_BATCH_ROWS} rows of a result that follow each other" in told.message
    assert "in one row" in translate(met).message


def test_rows_that_are_too_wide_to_come_together_come_a_few_at_a_time(tmp_path: Path) -> None:
    length, count = 60_000_000, 36
    sql = f"SELECT repeat('x', {length}) AS v FROM range({count})"
    seen: list[tuple[int, int]] = []

    async def main() -> None:
        engine = Engine(tmp_path)
        async for batch in engine.run(sql, pa.schema([("v", pa.string())]), {}):
            seen.append((batch.num_rows, batch.nbytes))
        engine.close()

    asyncio.run(main())
    assert sum(rows for rows, _ in seen) == count
    assert max(rows for rows, _ in seen) <= RESULT_WIDE_BATCH_ROWS
    assert sum(size for _, size in seen) >= length * count > 2**31


FOUND = (
    "(SELECT c.oid FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace"
    " WHERE c.relname = n OR s.nspname || '.' || c.relname = n ORDER BY s.nspname LIMIT 1)"
)


def test_a_query_that_meets_a_defect_of_the_engine_is_run_again_without_what_has_it(tmp_path: Path) -> None:
    with Environment(tmp_path) as environment, psycopg.connect(environment.dsn(), autocommit=True) as session:
        session.execute("CREATE TABLE names (n text)")
        session.execute("INSERT INTO names VALUES ('names'), ('pg_class'), ('mz_tables'), ('20'), (NULL)")
        once = session.execute(f"SELECT n, {FOUND} FROM names".encode()).fetchall()
        # DuckDB 2.0 loses a dictionary on the way; if it does not any more, this needs another defect.
        twice = session.execute(f"SELECT n, {FOUND}, {FOUND} FROM names".encode()).fetchall()
        assert Counter(twice) == Counter((n, oid, oid) for n, oid in once)
        assert sum(oid is not None for _, oid in once) == 3
        assert environment.coordinator.engine.databases._plain is not None, "it has met the defect"
        session.execute("CREATE ROLE bob LOGIN")
        session.execute("ALTER ROLE bob SET max_statement_memory = '64MB'")
        session.execute("GRANT SELECT ON names TO bob")
        with environment.connect("bob") as limited:
            assert Counter(limited.execute(f"SELECT n, {FOUND}, {FOUND} FROM names".encode())) == Counter(
                twice
            )


def test_a_defect_that_stays_is_one_querys_error_and_nobody_elses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    def broken(*_: object) -> None:
        nonlocal calls
        calls += 1
        raise duckdb.InternalException("INTERNAL Error: planted")

    async def main() -> None:
        engine = Engine(tmp_path)
        with monkeypatch.context() as patched:
            patched.setattr("headwater.coordinator.engine._start", broken)
            with pytest.raises(UserError, match="cannot be run on DuckDB") as raised:
                await engine.table("SELECT 1 AS n", SCHEMA, {})
        assert (raised.value.sqlstate, calls) == ("XX000", 2)
        assert (await engine.table("SELECT 1 AS n", SCHEMA, {})).to_pylist() == [{"n": 1}]
        engine.close()

    asyncio.run(main())


def test_of_what_computes_without_room_in_memory_the_slowest_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.coordinator.room.ROOM_BYTES_MAX", 0)
    monkeypatch.setattr("headwater.coordinator.room.ROOM_GROWN_BYTES", -(2**60))

    async def rows(engine: Engine, sql: str) -> list[pa.RecordBatch]:
        return [batch async for batch in engine.run(sql, SCHEMA, {})]

    async def main() -> None:
        engine = Engine(tmp_path)
        slow = asyncio.create_task(rows(engine, ENDLESS))
        await asyncio.sleep(0)  # it begins first
        assert len(await rows(engine, "SELECT 1 AS n")) == 1
        with pytest.raises(UserError, match="needs more memory than the server has for queries") as raised:
            await asyncio.wait_for(slow, ANSWER_S_MAX)
        assert raised.value.sqlstate == "53200"
        # Where the process was as large before, nobody is to blame who computes now.
        monkeypatch.setattr("headwater.coordinator.room.ROOM_GROWN_BYTES", 2**40)
        assert len(await rows(engine, "SELECT count(*) AS n FROM range(1000000000)")) == 1
        # Who rests is not looked at, nor is anybody once there is room again.
        monkeypatch.setattr("headwater.coordinator.room.ROOM_BYTES_MAX", 2**60)
        assert len(await rows(engine, "SELECT count(*) AS n FROM range(100000000)")) == 1
        engine.close()

    asyncio.run(main())

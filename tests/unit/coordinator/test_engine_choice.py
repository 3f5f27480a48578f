"""Which engine a read runs on when it turns out to need more memory than small reads may use."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pyarrow as pa
import pytest

from headwater.coordinator.read import PreparedRead
from headwater.core.errors import UserError
from tests.unit.coordinator.environment import Environment, in_environment, refused


def batch(*values: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(values, pa.int32())], ["v"])


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("engine", ["auto", "duckdb"])
def test_a_small_read_that_needs_more_memory_goes_to_spark_if_no_row_was_sent(
    tmp_path: Path, engine: str, before: int
) -> None:
    async def small(read: PreparedRead) -> AsyncIterator[pa.RecordBatch]:
        for value in range(before):
            yield batch(value)
        raise UserError("the query needs more memory than small reads may use", "53200")

    async def large(read: PreparedRead) -> AsyncIterator[pa.RecordBatch]:
        yield batch(7)

    async def story(env: Environment) -> None:
        client = await env.client(read_engine=engine)
        await client.run("CREATE TABLE t (v int)")
        await client.run("INSERT INTO t VALUES (7)")
        reads = env.coordinator.reads
        reads._on_duckdb, reads._on_spark = small, large  # type: ignore[method-assign]
        if engine == "auto" and not before:
            assert await client.run("SELECT v FROM t") == [(7,)]
        else:
            await refused(client, "SELECT v FROM t", "53200")
        # Only the server knows these: there is nowhere else to go.
        await refused(client, "SELECT count(*) FROM mz_tables", "53200")

    in_environment(tmp_path, story)


def test_rows_that_are_only_counted_do_not_make_a_read_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(env: Environment) -> None:
        client = await env.client()
        await client.run("CREATE TABLE t (v int)")
        await client.run("INSERT INTO t VALUES (7), (8), (NULL)")
        await client.run("CREATE TABLE less (v int)")
        await client.run("INSERT INTO less VALUES (7), (8)")
        # What takes rows away is matched with them by their values.
        await client.run("DELETE FROM less WHERE v = 7")
        monkeypatch.setattr("headwater.coordinator.small_reads.SMALL_READ_BYTES_MAX", 0)
        reads = env.coordinator.reads

        async def spark(read: PreparedRead) -> AsyncIterator[pa.RecordBatch]:
            yield pa.RecordBatch.from_arrays([pa.array([-1], pa.int64())], ["n"])

        reads._on_spark = spark  # type: ignore[method-assign]
        assert await client.run("SELECT count(*) AS n FROM t") == [(3,)]
        assert await client.run("SELECT count(*) AS n FROM (SELECT v FROM t) AS s") == [(3,)]
        assert await client.run("SELECT count(v) AS n FROM t") == [(-1,)]
        assert await client.run("SELECT count(*) AS n FROM t WHERE v = 7") == [(-1,)]
        assert await client.run("SELECT count(*) AS n FROM less") == [(-1,)]

    in_environment(tmp_path, story)

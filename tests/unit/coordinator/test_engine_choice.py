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

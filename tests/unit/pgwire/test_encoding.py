"""What is small is encoded where it is; what is large goes to a thread beside, if the result has one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any

import pyarrow as pa
import pytest

from headwater.coordinator.api import CopyOut, Result
from headwater.core.limits import ENCODE_AT_ONCE_BYTES_MAX
from headwater.core.relation import Column
from headwater.core.types import SqlType
from headwater.pgwire.encode import copy_rows, data_rows
from headwater.pgwire.encoding import encoded
from headwater.pgwire.steps import Await

COLUMNS = (Column("t", SqlType("text")),)


def rows(*lengths: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(["x" * length for length in lengths])], ["t"])


def taken(steps: Generator[Any, Any, bytes]) -> bytes:
    """What steps come to, with their calls made."""
    answer: Any = None
    try:
        while True:
            step = steps.send(answer)
            assert isinstance(step, Await)
            answer = asyncio.run(step.call())  # type: ignore[arg-type]
    except StopIteration as end:
        return bytes(end.value)


@pytest.mark.parametrize(("length", "beside"), [(10, 0), (ENCODE_AT_ONCE_BYTES_MAX, 1)])
def test_large_rows_are_encoded_beside(length: int, beside: int) -> None:
    asked: list[int] = []

    async def threaded(work: Callable[[], bytes]) -> bytes:
        asked.append(1)
        return work()

    result = Result(str, COLUMNS, beside=threaded)
    encode = copy_rows(CopyOut("text"), COLUMNS)
    assert taken(encoded(result, rows(length), encode)) == encode(rows(length))
    assert len(asked) == beside
    assert taken(encoded(Result(str), rows(length), encode)) == encode(rows(length))
    assert len(asked) == beside


def test_rows_with_large_values_are_framed_as_small_ones_are() -> None:
    lengths = (1, ENCODE_AT_ONCE_BYTES_MAX, 0)
    expected = b"".join(
        b"".join((b"D", (10 + size).to_bytes(4, "big"), b"\x00\x01", size.to_bytes(4, "big"), b"x" * size))
        for size in lengths
    )
    assert data_rows(rows(*lengths), COLUMNS, (0,)) == expected

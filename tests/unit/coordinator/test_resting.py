"""Results that are left half read: all rows are there when they are taken up again, wherever they were kept.

Method: results that are lists of batches, taken and left in any order by chance, against the plainest
model: a list of numbers and a place in it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headwater.coordinator import resting
from headwater.coordinator.resting import Resting, Rows, TooMuchAside
from headwater.core.errors import UserError
from headwater.core.limits import RESULTS_RESTING_MAX
from headwater.persist.layout import scratch_folder

SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.string())])


def batch(first: int, count: int, width: int = 10) -> pa.RecordBatch:
    numbers = range(first, first + count)
    return pa.RecordBatch.from_arrays([pa.array(numbers), pa.array(["x" * width] * count)], schema=SCHEMA)


class Source:
    """Rows from 0 on in batches of some size, then perhaps an error; whether somebody still holds it open."""

    def __init__(self, count: int, size: int, width: int = 10, error: Exception | None = None) -> None:
        self._count, self._size, self._width, self._error = count, size, width, error
        self.open = False

    async def batches(self) -> AsyncIterator[pa.RecordBatch]:
        self.open = True
        try:
            for first in range(0, self._count, self._size):
                yield batch(first, min(self._size, self._count - first), self._width)
            if self._error is not None:
                raise self._error
        finally:
            self.open = False


async def take(rows: Rows, count: int) -> list[int]:
    """So many rows, then leave."""
    taken: list[int] = []
    rest: list[pa.RecordBatch] = []
    while len(taken) < count:
        following = await anext(rows, None)
        if following is None:
            break
        wanted = count - len(taken)
        taken += following.column(0).slice(0, wanted).to_pylist()
        rest = [following.slice(wanted)] if following.num_rows > wanted else []
    await rows.leave(rest)
    return taken


def run(data_dir: Path, work: Callable[[Resting], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(work(Resting(scratch_folder(data_dir))))


def files(data_dir: Path) -> list[Path]:
    return list(data_dir.glob("scratch/aside/*"))


@pytest.mark.parametrize("seed", range(20))
def test_rows_come_in_order_however_results_are_left(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)

    async def work(session: Resting) -> None:
        counts = [chance.choice((0, 1, 7, 500, 3000)) for _ in range(12)]
        sources = [Source(count, chance.choice((1, 10, 2048)), chance.choice((0, 300))) for count in counts]
        results = [session.rows(source.batches()) for source in sources]
        places = [0] * len(results)
        for _ in range(150):
            i = chance.randrange(len(results))
            wanted = chance.choice((1, 2, 100, 2048))
            end = min(places[i] + wanted, counts[i])
            assert await take(results[i], wanted) == list(range(places[i], end))
            places[i] = end
            assert sum(source.open for source in sources) <= RESULTS_RESTING_MAX
        for rows in results:
            rows.close()
        assert session.aside_bytes == 0

    run(tmp_path, work)
    assert files(tmp_path) == []


def test_the_one_that_has_rested_longest_goes(tmp_path: Path) -> None:
    async def work(session: Resting) -> None:
        sources = [Source(5000, 100) for _ in range(RESULTS_RESTING_MAX + 1)]
        results = [session.rows(source.batches()) for source in sources]
        for rows in results[:-1]:
            await take(rows, 1)
        await take(results[0], 1)
        await take(results[-1], 1)
        assert [source.open for source in sources] == [True, False, *[True] * (RESULTS_RESTING_MAX - 1)]
        assert results[1].aside
        assert len(files(tmp_path)) == 1
        assert await take(results[1], 5000) == list(range(1, 5000))

    run(tmp_path, work)


def test_a_few_rows_need_no_file(tmp_path: Path) -> None:
    async def work(session: Resting) -> None:
        results = [session.rows(Source(10, 10).batches()) for _ in range(100)]
        for rows in results:
            await take(rows, 1)
        assert files(tmp_path) == []
        assert [await take(rows, 9) for rows in results] == [list(range(1, 10))] * 100

    run(tmp_path, work)


def test_what_is_closed_lets_go_of_its_engine_at_once(tmp_path: Path) -> None:
    async def work(session: Resting) -> None:
        source = Source(5000, 100)
        rows = session.rows(source.batches())
        await take(rows, 1)
        assert source.open
        rows.close()
        for _ in range(100):  # turns of the event loop, which closes a generator that nobody has any more
            await asyncio.sleep(0)
        assert not source.open

    run(tmp_path, work)


def test_an_error_is_told_to_whoever_takes_the_result_up_again(tmp_path: Path) -> None:
    async def work(session: Resting) -> None:
        broken = session.rows(Source(10, 5, error=UserError("division by zero", "22012")).batches())
        await take(broken, 1)
        others = [session.rows(Source(10, 5).batches()) for _ in range(RESULTS_RESTING_MAX)]
        for rows in others:
            assert await take(rows, 1) == [0]
        with pytest.raises(UserError, match="division by zero"):
            await take(broken, 1)

    run(tmp_path, work)
    assert files(tmp_path) == []


def test_too_much_is_refused_to_the_one_that_comes_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resting, "RESULTS_ASIDE_BYTES_MAX", 10_000)

    async def work(session: Resting) -> None:
        results = [session.rows(Source(3000, 1000, 300).batches()) for _ in range(RESULTS_RESTING_MAX + 1)]
        for rows in results[:-1]:
            await take(rows, 1)
        with pytest.raises(TooMuchAside, match="left half read") as told:
            await take(results[-1], 1)
        assert told.value.sqlstate == "53400"
        assert session.aside_bytes == 0
        with pytest.raises(TooMuchAside):
            await take(results[0], 1)
        assert await take(results[1], 2) == [1, 2]

    run(tmp_path, work)
    assert files(tmp_path) == []

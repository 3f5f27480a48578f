"""Cutting by bytes: the same rows in the same order, no part heavier than asked for unless it is one row."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from headwater.formats.batches import cut


@given(st.lists(st.one_of(st.none(), st.integers(0, 300)), max_size=40), st.integers(1, 500))
def test_parts_are_light_or_one_row(lengths: list[int | None], bytes_max: int) -> None:
    texts = [None if length is None else "x" * length for length in lengths]
    batch = pa.record_batch({"i": pa.array(range(len(texts)), pa.int64()), "t": pa.array(texts, pa.string())})
    parts = list(cut(batch, bytes_max))
    assert pa.Table.from_batches(parts, batch.schema).to_pydict() == batch.to_pydict()
    assert all(part.num_rows == 1 or part.nbytes <= bytes_max for part in parts if part.num_rows)


def test_a_light_batch_is_left_as_it_is() -> None:
    batch = pa.record_batch({"i": pa.array(range(1_000), pa.int64())})
    (part,) = cut(batch, batch.nbytes)
    assert part is batch

"""Batches of rows, cut by what they weigh.

Rows may be of any width, so that a number of them says nothing of the memory they take: what hands rows on,
to a file, an engine or a client, cuts them by bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa


def cut(batch: pa.RecordBatch, bytes_max: int) -> Iterator[pa.RecordBatch]:
    """The same rows in slices of at most so many bytes, or of one row; nothing is copied.

    By halves, because values of one batch may differ as much as they like.
    """
    if batch.num_rows < 2 or batch.nbytes <= bytes_max:
        yield batch
        return
    middle = batch.num_rows // 2
    yield from cut(batch.slice(0, middle), bytes_max)
    yield from cut(batch.slice(middle), bytes_max)

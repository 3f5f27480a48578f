"""Long columns a slice at a time.

What is made of a column is made by Arrow and numpy, a call for all of it: nobody can stop such a call, and
numpy keeps others from Python during it.  The elements of one array may be tens of millions, and are a
column too.

Not here: rows that are wide together (batches.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core import pace
from headwater.core.limits import (
    ENCODE_SLICE_VALUES_MAX,
    KERNEL_SLICE_BYTES_MAX,
    KERNEL_SLICE_CHARACTERS_MAX,
)


def by_slices(function: Callable[[pa.Array], pa.Array], values: pa.Array) -> pa.Array:
    """What a function makes of each value; between two slices the computation can be stopped."""
    if len(values) <= ENCODE_SLICE_VALUES_MAX:
        return function(values)
    starts = range(0, len(values), ENCODE_SLICE_VALUES_MAX)
    parts = [function(values.slice(start, ENCODE_SLICE_VALUES_MAX)) for start in pace.paced(starts)]
    return pa.concat_arrays(parts)


def own_values(lists: pa.ListArray) -> pa.ListArray:
    """The same lists without the values of those that they were cut from."""
    if not len(lists):
        return lists
    low, high = lists.offsets[0].as_py(), lists.offsets[-1].as_py()
    if high - low == len(lists.values):
        return lists
    offsets = pc.subtract(lists.offsets, pa.scalar(low, pa.int32()))
    mask = lists.is_null() if lists.null_count else None
    return pa.ListArray.from_arrays(offsets, lists.values.slice(low, high - low), mask=mask)


def texts_of(words: Sequence[str | None]) -> pa.Array:
    """Texts as a column."""
    starts = range(0, len(words), ENCODE_SLICE_VALUES_MAX)
    parts = [pa.array(words[at : at + ENCODE_SLICE_VALUES_MAX], pa.string()) for at in pace.paced(starts)]
    return pa.concat_arrays(parts) if parts else pa.array([], pa.string())


def split_at(texts: pa.Array, separator: str) -> pa.Array:
    """Of each text its parts: some texts at a time, and a long one piece by piece."""
    size = texts.nbytes
    if size <= KERNEL_SLICE_BYTES_MAX:
        return pc.split_pattern(texts, separator)
    if len(texts) == 1 and texts.null_count == 0:
        values = pa.concat_arrays(list(cut(texts[0].as_py(), separator)))
        return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
    step = max(len(texts) * KERNEL_SLICE_BYTES_MAX // size, 1)
    starts = pace.paced(range(0, len(texts), step))
    return pa.concat_arrays([split_at(texts.slice(start, step), separator) for start in starts])


def cut(text: str, separator: str) -> Iterator[pa.Array]:
    """The parts of a long text: what follows the last separator of a piece is the beginning of the next."""
    at, size = 0, KERNEL_SLICE_CHARACTERS_MAX
    while at + size < len(text):
        pace.look()
        parts = pc.split_pattern(pa.array([text[at : at + size]]), separator).values
        rest = len(parts[-1].as_py())
        if rest == size:
            size *= 2
            continue
        yield parts[:-1]
        at, size = at + size - rest, KERNEL_SLICE_CHARACTERS_MAX
    yield pc.split_pattern(pa.array([text[at:]]), separator).values

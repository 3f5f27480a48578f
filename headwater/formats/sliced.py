"""Long columns a slice at a time.

What is made of a column is made by Arrow and numpy, a call for all of it: nobody can stop such a call, and
numpy keeps others from Python during it.  The elements of one array may be tens of millions, and are a
column too.

Not here: rows that are wide together (batches.py).
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core import pace
from headwater.core.limits import ENCODE_SLICE_VALUES_MAX


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

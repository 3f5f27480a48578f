"""Column-wise building blocks: a fast form for most values, a slow one for the rest.

The formats between text and values all have one shape: nearly every value is
plain and Arrow does it for a whole column at once; a few (an exponent, a year
before Christ, a quoted element) need code of ours, which then runs once per
*distinct* such value and never once per row.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc


def map_distinct(array: pa.Array, convert: Callable[[str], object], type_: pa.DataType) -> pa.Array:
    """`convert` applied to each distinct value, NULL kept."""
    encoded = array.dictionary_encode()
    converted = pa.array([convert(value) for value in encoded.dictionary.to_pylist()], type_)
    return converted.take(encoded.indices)


def both_ways(
    array: pa.Array,
    plain: pa.Array,
    fast: Callable[[pa.Array], pa.Array],
    slow: Callable[[pa.Array], pa.Array],
) -> pa.Array:
    """`fast` for the values where `plain` is true, `slow` for the others; NULL stays NULL."""
    odd = pc.fill_null(pc.invert(plain), False)
    count = odd.true_count
    if count == 0:
        return fast(array)
    if count == len(array):
        return slow(array)
    done = fast(pc.if_else(odd, pa.scalar(None, array.type), array))
    return pc.replace_with_mask(done, odd, slow(array.filter(odd)))


def joined(separator: str, *parts: pa.Array | str) -> pa.Array:
    """The parts of each row put together; a row with a NULL part is NULL."""
    return pc.binary_join_element_wise(*parts, separator)


def combined(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One contiguous array, whatever came."""
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array

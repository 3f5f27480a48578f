"""SQL arrays in Arrow: all elements row by row, and the shape of those that are not ordinary.

    struct<elements: list<T>, shape: list<int32>>

An array of one dimension that counts from 1 is ordinary, and so is the empty one: its shape is NULL.  Any
other shape is [dimensions, length of each, lower bound of each].  Whoever makes an array sees to that
(`shape_of`), so that equal arrays have equal forms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import UserError

ELEMENTS: Final = "elements"
SHAPE: Final = "shape"
SHAPE_TYPE: Final = pa.list_(pa.int32())
DIMENSIONS_MAX: Final = 6


def array_form(element: pa.DataType) -> pa.DataType:
    """The Arrow type of arrays of these elements."""
    return pa.struct([(ELEMENTS, pa.list_(element)), (SHAPE, SHAPE_TYPE)])


def ordinary(lists: pa.Array) -> pa.Array:
    """Lists as arrays of one dimension."""
    return with_shapes(lists, pa.nulls(len(lists), SHAPE_TYPE))


def with_shapes(lists: pa.Array, shapes: pa.Array) -> pa.Array:
    """Lists of elements and their shapes as arrays; no list, no array."""
    mask = lists.is_null() if lists.null_count else None
    return pa.StructArray.from_arrays(
        [lists, shapes], fields=list(array_form(lists.type.value_type)), mask=mask
    )


def elements_of(array: pa.Array) -> pa.Array:
    """The elements of each array; NULL where the array is."""
    return pc.struct_field(array, ELEMENTS)


def shapes_of(array: pa.Array) -> pa.Array:
    """The shape of each array; NULL where it is ordinary."""
    return pc.struct_field(array, SHAPE)


def odd_rows(array: pa.Array) -> list[tuple[int, Sequence[int], Sequence[int]]]:
    """The arrays that are not ordinary: row, lengths and lower bounds."""
    shapes = shapes_of(array)
    if shapes.null_count == len(shapes):
        return []
    found = pc.indices_nonzero(shapes.is_valid())
    listed = zip(found.to_pylist(), shapes.take(found).to_pylist(), strict=True)
    return [(row, *parts_of(shape)) for row, shape in listed]


def parts_of(shape: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """The lengths and the lower bounds in a shape."""
    count = shape[0]
    return shape[1 : count + 1], shape[count + 1 :]


def shape_of(lengths: Sequence[int], lowers: Sequence[int]) -> list[int] | None:
    """The shape that an array of these lengths and lower bounds has; None for an ordinary one."""
    if math.prod(lengths) == 0 or (len(lengths) == 1 and lowers[0] == 1):
        return None
    return [len(lengths), *lengths, *lowers]


def too_many_dimensions(count: int) -> UserError:
    """54000."""
    message = f"number of array dimensions ({count}) exceeds the maximum allowed ({DIMENSIONS_MAX})"
    return UserError(message, "54000")

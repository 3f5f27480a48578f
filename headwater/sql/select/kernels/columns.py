"""Numbers, days, moments and intervals as columns of numpy, and kernels made of functions over them.

    Arrow arrays --columns without NULLs--> function --column--> Arrow array

Days and moments are whole numbers, an interval is three columns of them.  A function over columns sees no
NULLs, as one over a row does not (`row_wise`), and raises what the first of its rows that fails has to say.

Not here: texts (text_columns.py), numerics (numeric_columns.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import UserError
from headwater.formats.engine_types import INTERVAL_TYPE
from headwater.sql.select.kernels.kernel import Kernel, Mask, arrow_of, constant_of

Numbers: TypeAlias = "npt.NDArray[np.int64]"
Floats: TypeAlias = "npt.NDArray[np.float64]"
Parts: TypeAlias = "tuple[Numbers, Numbers, Numbers]"
"""Of intervals: months, days, microseconds."""

_PART_MAX: Final = 2**31 - 1  # of months and days


def interval_out_of_range() -> UserError:
    """The complaint about an interval no column can hold."""
    return UserError("interval out of range", "22008")


def numbers_of(array: pa.Array) -> Numbers:
    """Whole numbers, days or microseconds, 0 where there are none."""
    kind = array.type
    if pa.types.is_date32(kind):
        array = array.view(pa.int32())
    elif pa.types.is_timestamp(kind):
        array = array.view(pa.int64())
    plain = array.fill_null(0) if array.null_count else array
    return plain.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)  # type: ignore[no-any-return]


def parts_of(array: pa.Array) -> Parts:
    """Intervals, of nothing where there are none."""
    return numbers_of(array.field(0)), numbers_of(array.field(1)), numbers_of(array.field(2))


def missing_in(*arrays: pa.Array) -> Mask:
    """The rows in which one of them is NULL."""
    missing = np.zeros(len(arrays[0]), np.bool_)
    for array in arrays:
        if array.null_count:
            missing |= array.is_null().to_numpy(zero_copy_only=False)
    return missing


def array_of(numbers: Numbers | Floats, name: str, missing: Mask | None = None) -> pa.Array:
    """The reverse of `numbers_of`, for a type of the vocabulary."""
    kind = arrow_of(name)
    mask = missing if missing is not None and missing.any() else None
    if name == "date":
        return pa.array(numbers.astype(np.int32), mask=mask).view(kind)
    if name in ("timestamp", "timestamptz"):
        return pa.array(numbers, mask=mask).view(kind)
    return pa.array(numbers, kind, mask=mask)


def intervals_of(parts: Parts, missing: Mask | None = None) -> pa.Array:
    """Intervals in stored form, each part within its range."""
    months, days, microseconds = parts
    if any(((part < -_PART_MAX - 1) | (part > _PART_MAX)).any() for part in (months, days)):
        raise interval_out_of_range()
    arrays = [pa.array(months.astype(np.int32)), pa.array(days.astype(np.int32)), pa.array(microseconds)]
    mask = pa.array(missing) if missing is not None and missing.any() else None
    return pa.StructArray.from_arrays(arrays, fields=list(INTERVAL_TYPE), mask=mask)


def _column(array: pa.Array, name: str, present: Mask | None) -> Any:
    if name == "interval":
        parts = parts_of(array)
        return parts if present is None else tuple(part[present] for part in parts)
    if name == "float8":
        plain = array.fill_null(0.0) if array.null_count else array
        column = plain.to_numpy(zero_copy_only=False)
    else:
        column = numbers_of(array)
    return column if present is None else column[present]


def placed(column: Any, present: Mask) -> Any:
    """Values of the rows that have one, each at its place."""
    if isinstance(column, tuple):
        return tuple(placed(part, present) for part in column)
    whole = np.zeros(len(present), column.dtype)
    whole[present] = column
    return whole


def column_wise(
    name: str,
    arguments: tuple[str, ...],
    returns: str,
    function: Callable[..., Any],
    *,
    raises: bool = True,
) -> Kernel:
    """A strict kernel from a function over columns; rows with a NULL are kept from it."""

    def run(*arrays: pa.Array) -> pa.Array:
        missing = missing_in(*arrays)
        present = ~missing if missing.any() else None
        columns = (_column(array, kind, present) for array, kind in zip(arrays, arguments, strict=True))
        made = function(*columns)
        if present is not None:
            made = placed(made, present)
        return intervals_of(made, missing) if returns == "interval" else array_of(made, returns, missing)

    return Kernel(name, arguments, returns, run, raises)


def rows_by_name(names: pa.Array, missing: Mask) -> Iterator[tuple[str, Mask]]:
    """Every name and the rows that have it, but for those with a NULL: mostly one name and all rows."""
    name = constant_of(names)
    if name is not None:
        if not missing.all():
            yield name, ~missing
        return
    for name in pc.unique(names.filter(pa.array(~missing))).to_pylist():
        yield name, ~missing & pc.fill_null(pc.equal(names, name), False).to_numpy(zero_copy_only=False)

"""What a kernel is: a column-wise function over Arrow arrays, described without any engine.

Types are named in a small vocabulary of their own, each with one Arrow form, the stored form
of `core/types.py`:

    bool int2 int4 int8 float4 float8 text bytea date timestamp timestamptz interval, the kinds
    decimal(38,0), any of them with [] behind it for a list of the engine's, array(...) around it for an
    SQL array (formats/arrays.py), and `any` for an argument of whatever type

Nearly all kernels over SQL arrays are given the elements, as a list, or answer them: forms take arrays
apart and put them together.

`raises` says that the kernel may fail for some input.  Spark runs Python functions before it
looks at the CASE around them, so there such a kernel answers (value, error) and the form
raises the error only where the value is wanted; `spark_function` makes that pair.

Most kernels are written for one row (`row_wise`, the only way to have Python run once per row) because
they parse or print text; dates and times are numbers on the way in and out: days, microseconds,
(months, days, microseconds).  Those that ordinary queries meet do ordinary values by columns (`columnar`).

Not here: the kernels (one file a family), which functions use them (functions/).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core import pace
from headwater.core.errors import UserError
from headwater.core.limits import (
    KERNEL_BATCH_BYTES_MAX,
    KERNEL_SLICE_BYTES_MAX,
    KERNEL_SLICE_CHARACTERS_MAX,
    KERNEL_SLICE_ROWS_MAX,
    KERNEL_TEMPLATE_CHARACTERS_MAX,
    KERNEL_VALUE_BYTES_MAX,
)
from headwater.core.types import SqlType, array_of, list_of, numeric
from headwater.formats.arrow import arrow_type
from headwater.formats.engine_types import INTERVAL_TYPE, spark_type
from headwater.sql.select.kernels.errors import KernelError, marked_text
from headwater.sql.select.kernels.stops import running_for

Interval: TypeAlias = "tuple[int, int, int]"
Mask: TypeAlias = "npt.NDArray[np.bool_]"
Quick: TypeAlias = "Callable[..., tuple[pa.Array, Mask | None] | None]"

DECIMAL: Final = "decimal(38,0)"
VOCABULARY: Final = (
    *("bool", "int2", "int4", "int8", "float4", "float8", "text", "bytea"),
    *("date", "timestamp", "timestamptz", "interval", DECIMAL),
)
_PUT_BETWEEN_MAX: Final = 16
_ARRAY_ITEM_BYTES: Final = 16  # where it begins, and about as much again


@dataclass(frozen=True, slots=True)
class Kernel:
    """A named column-wise function; NULLs are its own affair."""

    name: str
    arguments: tuple[str, ...]
    returns: str
    function: Callable[..., pa.Array]
    raises: bool = True
    by_row: Callable[..., pa.Array] | None = None
    """The same, Python once per row: what `function` is for some rows, or for all."""


@lru_cache
def type_of(name: str) -> SqlType:
    """The type that a name of the vocabulary means."""
    if name.startswith("array("):
        return array_of(type_of(name[6:-1]))
    if name.endswith("[]"):
        return list_of(type_of(name[:-2]))
    return numeric(0) if name == DECIMAL else SqlType(name)


@lru_cache
def arrow_of(name: str) -> pa.DataType:
    """The Arrow form of a type of the vocabulary."""
    return arrow_type(type_of(name))


def row_wise(
    name: str,
    arguments: tuple[str, ...],
    returns: str,
    function: Callable[..., Any],
    *,
    strict: bool = True,
    raises: bool = True,
) -> Kernel:
    """A kernel from a function over one row's values; strict ones never see None."""

    def run(*arrays: pa.Array) -> pa.Array:
        columns = [values_of(array) for array in arrays]
        results: Iterable[Any]
        if strict and len(columns) == 1:
            results = (None if value is None else function(value) for value in pace.paced(columns[0]))
        elif strict:
            results = (
                None if None in row else function(*row) for row in pace.paced(zip(*columns, strict=True))
            )
        else:
            results = (function(*row) for row in pace.paced(zip(*columns, strict=True)))
        return array_of_values(results, returns)

    return Kernel(name, arguments, returns, run, raises, run)


def columnar(rows: Kernel, quick: Quick) -> Kernel:
    """A strict kernel that does ordinary rows by columns; `rows` does the others, one by one.

    `quick` gives the values of all rows and tells which are odd: theirs are still to be made.  It gives
    nothing where it cannot do any, and never raises: what must fail is odd.
    """

    def run(*arrays: pa.Array) -> pa.Array:
        made = quick(*arrays)
        if made is None:
            return rows.function(*arrays)
        values, odd = made
        if odd is None or not odd.any():
            return values
        left = pa.array(odd)
        others = rows.function(*[array.filter(left) for array in arrays])
        return with_others(values, odd, others)

    return replace(rows, function=run)


def with_others(values: pa.Array, odd: Mask, others: pa.Array) -> pa.Array:
    """Values, with others in the places of those that are odd; a few are put between slices."""
    if len(others) > _PUT_BETWEEN_MAX:
        places = np.arange(len(values))
        places[odd] = len(values) + np.arange(len(others))
        return pa.concat_arrays([values, others]).take(pa.array(places))
    parts: list[pa.Array] = []
    begin = 0
    for number, place in enumerate(np.flatnonzero(odd).tolist()):
        parts += (values.slice(begin, place - begin), others.slice(number, 1))
        begin = place + 1
    return pa.concat_arrays([*parts, values.slice(begin)])


def constant_of(array: pa.Array) -> Any:
    """The value that all rows have, or None: of arguments that are constants in most queries."""
    if not len(array) or array.null_count:
        return None
    first = array[0]
    return first.as_py() if pc.all(pc.equal(array, first)).as_py() else None


Piece = TypeVar("Piece", str, bytes)


def pieces(value: Piece) -> Iterable[Piece]:
    """A long value in pieces, for what takes its time with each character: others get turns in between."""
    step = KERNEL_SLICE_CHARACTERS_MAX
    if len(value) <= step:
        return (value,)
    return (value[at : at + step] for at in pace.paced(range(0, len(value), step)))


def check_length(size: int) -> None:
    """Refuses to make a value that would be too long."""
    if size > KERNEL_VALUE_BYTES_MAX:
        raise too_long(size)


def check_template(template: str) -> None:
    """Refuses a template that would take long to understand."""
    if len(template) > KERNEL_TEMPLATE_CHARACTERS_MAX:
        raise UserError(
            f"a template of {len(template)} characters is too long",
            "54000",
            hint=f"Use one of at most {KERNEL_TEMPLATE_CHARACTERS_MAX} characters.",
        )


def too_long(size: int) -> UserError:
    """Of a value that has more bytes than a function of ours takes or makes."""
    return UserError(
        f"a value of {size} bytes is too long for a function",
        "54000",
        detail=f"Functions take and give values of up to {KERNEL_VALUE_BYTES_MAX} bytes.",
        hint="Store shorter values, or take parts of them.",
    )


def values_of(array: pa.Array) -> list[Any]:
    """An array as Python values; dates and timestamps as numbers, intervals as triples."""
    kind = array.type
    if pa.types.is_date32(kind):
        return array.cast(pa.int32()).to_pylist()  # type: ignore[no-any-return]
    if pa.types.is_timestamp(kind):
        return array.cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]
    if kind == INTERVAL_TYPE:
        months, days, microseconds = (array.field(i).to_pylist() for i in range(3))
        present = array.is_valid().to_pylist()
        return [
            triple if valid else None
            for triple, valid in zip(zip(months, days, microseconds, strict=True), present, strict=True)
        ]
    return _plain_values(array)


def _plain_values(array: pa.Array) -> list[Any]:
    """As `to_pylist`, slice by slice: within one, nobody else gets Python's lock."""
    if pa.types.is_list(array.type) and len(array.values) > KERNEL_SLICE_ROWS_MAX:
        ends = array.offsets.to_pylist()
        inner = _plain_values(array.values.slice(ends[0], ends[-1] - ends[0]))
        return [
            inner[low - ends[0] : high - ends[0]] if valid else None
            for low, high, valid in zip(ends[:-1], ends[1:], array.is_valid().to_pylist(), strict=True)
        ]
    count, size = len(array), array.nbytes
    step = min(KERNEL_SLICE_ROWS_MAX, count * KERNEL_SLICE_BYTES_MAX // max(size, 1) or 1)
    if step >= count:
        return array.to_pylist()  # type: ignore[no-any-return]
    values: list[Any] = []
    for at in pace.paced(range(0, count, step)):
        values += array.slice(at, step).to_pylist()
    return values


def array_of_values(values: Iterable[Any], name: str) -> pa.Array:
    """The reverse of `values_of`, for a type of the vocabulary."""
    match name:
        case "text" | "bytea":
            return _text_array(values, arrow_of(name))
        case "interval":
            return interval_array(list(values))
        case "date":
            return _number_array(values, pa.int32()).cast(pa.date32())
        case "timestamp" | "timestamptz":
            return _number_array(values, pa.int64()).cast(arrow_of(name))
    if name.endswith("[]"):
        return _list_array(values, name)
    return _number_array(values, arrow_of(name))


def _number_array(values: Iterable[Any], kind: pa.DataType) -> pa.Array:
    whole = list(values)
    if len(whole) <= KERNEL_SLICE_ROWS_MAX:
        return pa.array(whole, kind)
    starts = range(0, len(whole), KERNEL_SLICE_ROWS_MAX)
    return pa.concat_arrays([pa.array(whole[at : at + KERNEL_SLICE_ROWS_MAX], kind) for at in starts])


def _text_array(values: Iterable[Any], kind: pa.DataType) -> pa.Array:
    """Texts or bytes, as long as there is room for them."""
    parts: list[pa.Array] = []
    part: list[Any] = []
    size = total = 0
    for value in values:
        part.append(value)
        if value is not None:
            size += len(value)
        if size > KERNEL_SLICE_BYTES_MAX or len(part) > KERNEL_SLICE_ROWS_MAX:
            if value is not None and len(value) > KERNEL_VALUE_BYTES_MAX:
                raise too_long(len(value))
            total += size
            if total > KERNEL_BATCH_BYTES_MAX:
                raise _too_much()
            parts.append(pa.array(part, kind))
            part, size = [], 0
    if total + size > KERNEL_BATCH_BYTES_MAX:
        raise _too_much()
    parts.append(pa.array(part, kind))
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def _list_array(values: Iterable[Any], name: str) -> pa.Array:
    lists: list[Any] = []
    left = KERNEL_BATCH_BYTES_MAX // _ARRAY_ITEM_BYTES
    for value in values:
        lists.append(value)
        left -= len(value) if value is not None else 0
        if left < 0:
            raise _too_much()
    if KERNEL_BATCH_BYTES_MAX // _ARRAY_ITEM_BYTES - left <= KERNEL_SLICE_ROWS_MAX:
        return pa.array(lists, arrow_of(name))
    ends = np.cumsum([0, *(0 if value is None else len(value) for value in lists)]).tolist()
    offsets = [None if value is None else end for value, end in zip(lists, ends[:-1], strict=True)]
    inner = array_of_values(chain.from_iterable(value for value in lists if value), name[:-2])
    return pa.ListArray.from_arrays(pa.array([*offsets, ends[-1]], pa.int32()), inner)


def _too_much() -> UserError:
    return UserError(
        f"the values of a batch of rows take more than {KERNEL_BATCH_BYTES_MAX // 2**20} MiB",
        "53200",
        hint="Ask for shorter values, or for fewer rows.",
    )


def interval_array(values: Sequence[Interval | None]) -> pa.Array:
    """Intervals in stored form, each part within its range."""
    parts = []
    for index, kind in enumerate((pa.int32(), pa.int32(), pa.int64())):
        try:
            parts.append(pa.array([0 if value is None else value[index] for value in values], kind))
        except (pa.ArrowInvalid, OverflowError) as error:
            raise UserError("interval out of range", "22008") from error
    missing = pa.array([value is None for value in values], pa.bool_())
    return pa.StructArray.from_arrays(parts, fields=list(INTERVAL_TYPE), mask=missing)


def conform(array: pa.Array | pa.ChunkedArray, name: str) -> pa.Array:
    """An engine's array as the stored form a kernel expects."""
    whole = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if isinstance(whole, pa.ChunkedArray):  # no chunk at all, or too long for one
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)
    whole = stored_form(whole)
    if name != "any":
        wanted = arrow_of(name)
        whole = whole if whole.type == wanted else whole.cast(wanted)
    _check_lengths(whole)
    return whole


def _check_lengths(array: pa.Array) -> None:
    """Refuses values that are too long for a call of their own."""
    kind = array.type
    if not (pa.types.is_string(kind) or pa.types.is_binary(kind)) or array.nbytes <= KERNEL_VALUE_BYTES_MAX:
        return
    longest = pc.max(pc.binary_length(array)).as_py()
    if longest > KERNEL_VALUE_BYTES_MAX:
        raise too_long(longest)


def stored_form(array: pa.Array) -> pa.Array:
    """Replaces what only DuckDB has (its interval, unsigned integers), at any depth."""
    kind = array.type
    if kind == pa.month_day_nano_interval():
        return _interval_from_duckdb(array)
    if pa.types.is_unsigned_integer(kind):
        wider = {1: pa.int16(), 2: pa.int32(), 4: pa.int64(), 8: pa.decimal128(20, 0)}
        return array.cast(wider[kind.byte_width])
    if pa.types.is_map(kind):
        offsets, keys, items = array.offsets, stored_form(array.keys), stored_form(array.items)
        return pa.MapArray.from_arrays(_with_nulls(array, offsets), keys, items)
    if pa.types.is_list(kind) and not _plain(kind.value_type):
        return pa.ListArray.from_arrays(_with_nulls(array, array.offsets), stored_form(array.values))
    if pa.types.is_struct(kind) and not all(_plain(field.type) for field in kind):
        parts = [stored_form(array.field(i)) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, [field.name for field in kind], mask=array.is_null())
    return array


def _plain(kind: pa.DataType) -> bool:
    nested = pa.types.is_nested(kind)
    return not nested and not pa.types.is_unsigned_integer(kind) and kind != pa.month_day_nano_interval()


def _with_nulls(array: pa.Array, offsets: pa.Array) -> pa.Array:
    """Offsets in which a missing offset marks a missing list, as from_arrays wants them."""
    if array.null_count == 0:
        return offsets
    missing = pa.concat_arrays([array.is_null(), pa.array([False])])
    return pc.if_else(missing, pa.scalar(None, offsets.type), offsets)


_MONTH_DAY_NANO: Final = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanoseconds", "<i8")])


def _interval_from_duckdb(array: pa.Array) -> pa.Array:
    buffer = array.buffers()[1]
    count = len(array)
    raw = np.zeros(0, _MONTH_DAY_NANO)
    if buffer is not None and count:
        raw = np.frombuffer(buffer, _MONTH_DAY_NANO, count=array.offset + count)[array.offset :]
    parts = [
        pa.array(np.ascontiguousarray(raw["months"])),
        pa.array(np.ascontiguousarray(raw["days"])),
        pa.array(np.ascontiguousarray(raw["nanoseconds"]) // 1000),
    ]
    return pa.StructArray.from_arrays(parts, fields=list(INTERVAL_TYPE), mask=array.is_null())


def _interval_to_duckdb(array: pa.Array) -> pa.Array:
    count = len(array)
    raw = np.zeros(count, _MONTH_DAY_NANO)
    for index, name in enumerate(("months", "days")):
        raw[name] = array.field(index).fill_null(0).to_numpy(zero_copy_only=False)
    microseconds = array.field(2).fill_null(0).to_numpy(zero_copy_only=False)
    if count and int(np.abs(microseconds).max()) > (2**63 - 1) // 1000:
        raise UserError("interval out of range", "22008")
    raw["nanoseconds"] = microseconds * 1000
    validity = None
    if array.null_count:
        validity = pa.py_buffer(
            np.packbits(array.is_valid().to_numpy(zero_copy_only=False), bitorder="little")
        )
    return pa.Array.from_buffers(pa.month_day_nano_interval(), count, [validity, pa.py_buffer(raw)])


def _in_slices(function: Callable[..., pa.Array], given: list[pa.Array]) -> pa.Array:
    """Long values a few rows at a time: between two slices the statement can be stopped."""
    count, size = len(given[0]), sum(array.nbytes for array in given)
    if size <= KERNEL_SLICE_BYTES_MAX or count == 1:
        return function(*given)
    step = max(count * KERNEL_SLICE_BYTES_MAX // size, 1)
    parts: list[pa.Array] = []
    made_bytes = 0
    for at in pace.paced(range(0, count, step)):
        parts.append(function(*[array.slice(at, step) for array in given]))
        made_bytes += parts[-1].nbytes
        if made_bytes > KERNEL_BATCH_BYTES_MAX:
            raise _too_much()
    return pa.concat_arrays(parts)


def duckdb_function(kernel: Kernel) -> Callable[..., pa.Array]:
    """The kernel as DuckDB calls it: its statement's number, arrays in DuckDB's forms, errors marked."""
    names = kernel.arguments

    def run(statements: pa.ChunkedArray, *arrays: pa.ChunkedArray) -> pa.Array:
        try:
            with running_for(statements):
                given = [conform(array, name) for array, name in zip(arrays, names, strict=True)]
                result = _in_slices(kernel.function, given)
                if result.nbytes > KERNEL_BATCH_BYTES_MAX:
                    raise _too_much()
                return _interval_to_duckdb(result) if kernel.returns == "interval" else result
        except UserError as error:
            raise KernelError(marked_text(error)) from error
        except pace.Stopped:
            raise KernelError(marked_text(UserError("canceling statement", "57014"))) from None

    if "any" not in names:  # DuckDB counts the parameters of what it is given
        parameters = [
            inspect.Parameter(f"a{i}", inspect.Parameter.POSITIONAL_ONLY) for i in range(len(names) + 1)
        ]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def spark_function(kernel: Kernel) -> tuple[Callable[..., pa.Array], str]:
    """The kernel as an Arrow function of Spark, and its return type there.

    One that may raise answers struct<value, error>.  A batch that fails is tried again in halves, and
    these too, so that only the failing rows carry an error.
    """
    names = kernel.arguments

    def plain(*arrays: pa.Array) -> pa.Array:
        return kernel.function(*[conform(array, name) for array, name in zip(arrays, names, strict=True)])

    def guarded(*arrays: pa.Array) -> pa.Array:
        given = [conform(array, name) for array, name in zip(arrays, names, strict=True)]
        parts: list[pa.Array] = []
        left = [given]
        while left:
            some = left.pop()
            count = len(some[0])
            try:
                parts.append(_checked(kernel.function(*some), pa.nulls(count, pa.string())))
            except UserError as error:
                if count > 1:
                    half = count // 2
                    left += [[array.slice(half) for array in some], [array.slice(0, half) for array in some]]
                    continue
                values = pa.nulls(count, arrow_of(kernel.returns))
                parts.append(_checked(values, pa.array([marked_text(error)] * count, pa.string())))
        return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)

    if not kernel.raises:
        return plain, spark_type(type_of(kernel.returns))
    return guarded, f"STRUCT<value: {spark_type(type_of(kernel.returns))}, error: STRING>"


def _checked(values: pa.Array, errors: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays([values, errors], ["value", "error"])

"""What a kernel is: a column-wise function over Arrow arrays, described without any engine.

Types are named in a small vocabulary of their own, each with one Arrow form, the stored form
of `core/types.py`:

    bool int2 int4 int8 float4 float8 text bytea date timestamp timestamptz interval
    decimal(38,0), any of them with [] behind it, and `any` for an argument of whatever type

`raises` says that the kernel may fail for some input.  Spark runs Python functions before it
looks at the CASE around them, so there such a kernel answers (value, error) and the form
raises the error only where the value is wanted; `spark_function` makes that pair.

Most kernels are written for one row (`row_wise`) because they parse or print text; dates and
times are numbers on the way in and out: days, microseconds, (months, days, microseconds).

Not here: the kernels (one file a family), which functions use them (functions/).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import UserError
from headwater.core.limits import KERNEL_BATCH_BYTES_MAX
from headwater.formats.arrow import INTERVAL_TYPE
from headwater.sql.select.kernels.errors import KernelError, marked_text

Interval: TypeAlias = "tuple[int, int, int]"

_ARROW: Final[dict[str, pa.DataType]] = {
    "bool": pa.bool_(),
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "text": pa.string(),
    "bytea": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", tz="UTC"),
    "interval": INTERVAL_TYPE,
    "decimal(38,0)": pa.decimal128(38, 0),
}
_DUCKDB: Final[dict[str, str]] = {
    "bool": "BOOLEAN",
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "text": "VARCHAR",
    "bytea": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
    "interval": "INTERVAL",
    "decimal(38,0)": "DECIMAL(38,0)",
}
_SPARK: Final[dict[str, str]] = {
    "bool": "boolean",
    "int2": "smallint",
    "int4": "int",
    "int8": "bigint",
    "float4": "float",
    "float8": "double",
    "text": "string",
    "bytea": "binary",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
    "interval": "struct<months:int,days:int,microseconds:bigint>",
    "decimal(38,0)": "decimal(38,0)",
}


_ITEM_BYTES: Final = {"text": 1, "bytea": 1}
_ARRAY_ITEM_BYTES: Final = 64  # of Python's, on the way


@dataclass(frozen=True, slots=True)
class Kernel:
    """A named column-wise function; NULLs are its own affair."""

    name: str
    arguments: tuple[str, ...]
    returns: str
    function: Callable[..., pa.Array]
    raises: bool = True


def arrow_of(name: str) -> pa.DataType:
    """The Arrow form of a type of the vocabulary."""
    return pa.list_(arrow_of(name[:-2])) if name.endswith("[]") else _ARROW[name]


def duckdb_of(name: str) -> str:
    """DuckDB's name of a type of the vocabulary."""
    return duckdb_of(name[:-2]) + "[]" if name.endswith("[]") else _DUCKDB[name]


def spark_of(name: str) -> str:
    """Spark's name of a type of the vocabulary."""
    return f"array<{spark_of(name[:-2])}>" if name.endswith("[]") else _SPARK[name]


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
            results = (None if value is None else function(value) for value in columns[0])
        elif strict:
            results = (
                None if any(value is None for value in row) else function(*row)
                for row in zip(*columns, strict=True)
            )
        else:
            results = (function(*row) for row in zip(*columns, strict=True))
        item_bytes = _ITEM_BYTES.get(returns, _ARRAY_ITEM_BYTES if returns.endswith("[]") else 0)
        return array_of_values(list(_bounded(results, item_bytes) if item_bytes else results), returns)

    return Kernel(name, arguments, returns, run, raises)


def _bounded(values: Iterable[Any], item_bytes: int) -> Iterator[Any]:
    """Values of many items each, as long as there is room for them."""
    left = KERNEL_BATCH_BYTES_MAX // item_bytes
    for value in values:
        if value is not None:
            left -= len(value)
            if left < 0:
                raise UserError(
                    "the values of a batch of rows take more than 1 GiB",
                    "54000",
                    hint="Ask for shorter values, or for fewer rows.",
                )
        yield value


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
    return array.to_pylist()  # type: ignore[no-any-return]


def array_of_values(values: Sequence[Any], name: str) -> pa.Array:
    """The reverse of `values_of`, for a type of the vocabulary."""
    match name:
        case "date":
            return pa.array(values, pa.int32()).cast(pa.date32())
        case "timestamp" | "timestamptz":
            return pa.array(values, pa.int64()).cast(_ARROW[name])
        case "interval":
            return interval_array(values)
    return pa.array(values, arrow_of(name))


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
    if name == "any":
        return whole
    wanted = arrow_of(name)
    return whole if whole.type == wanted else whole.cast(wanted)


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


def duckdb_function(kernel: Kernel) -> Callable[..., pa.Array]:
    """The kernel as DuckDB calls it: chunked arrays in its own forms, errors marked."""
    names = kernel.arguments

    def run(*arrays: pa.ChunkedArray) -> pa.Array:
        try:
            given = [conform(array, name) for array, name in zip(arrays, names, strict=True)]
            result = kernel.function(*given)
            return _interval_to_duckdb(result) if kernel.returns == "interval" else result
        except UserError as error:
            raise KernelError(marked_text(error)) from error

    if "any" not in names:  # DuckDB counts the parameters of what it is given
        parameters = [
            inspect.Parameter(f"a{i}", inspect.Parameter.POSITIONAL_ONLY) for i in range(len(names))
        ]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def spark_function(kernel: Kernel) -> tuple[Callable[..., pa.Array], str]:
    """The kernel as an Arrow function of Spark, and its return type there.

    One that may raise answers struct<value, error>.  A batch that fails as a whole is
    tried again row by row, so that only the failing rows carry an error.
    """
    names = kernel.arguments

    def plain(*arrays: pa.Array) -> pa.Array:
        return kernel.function(*[conform(array, name) for array, name in zip(arrays, names, strict=True)])

    def guarded(*arrays: pa.Array) -> pa.Array:
        given = [conform(array, name) for array, name in zip(arrays, names, strict=True)]
        count = len(given[0])
        try:
            return _checked(kernel.function(*given), pa.nulls(count, pa.string()))
        except UserError:
            pass
        values: list[pa.Array] = []
        errors: list[str | None] = []
        for row in range(count):
            try:
                values.append(kernel.function(*[array.slice(row, 1) for array in given]))
                errors.append(None)
            except UserError as error:
                values.append(pa.nulls(1, arrow_of(kernel.returns)))
                errors.append(marked_text(error))
        return _checked(pa.concat_arrays(values), pa.array(errors, pa.string()))

    if not kernel.raises:
        return plain, spark_of(kernel.returns)
    return guarded, f"struct<value:{spark_of(kernel.returns)},error:string>"


def _checked(values: pa.Array, errors: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays([values, errors], ["value", "error"])

"""Kernels over arrays and rows: text joined and cut, series."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core import pace
from headwater.core.calendar import DAY_US, DAYS_PER_MONTH, MOMENT_INFINITE, add_months
from headwater.core.errors import UserError, not_supported
from headwater.core.limits import KERNEL_SLICE_CHARACTERS_MAX
from headwater.core.types import type_from_json
from headwater.formats.sliced import cut, split_at
from headwater.formats.text import to_text
from headwater.formats.zones import zone
from headwater.sql.select.kernels.kernel import (
    Interval,
    Kernel,
    Mask,
    columnar,
    constant_of,
    pieces,
    row_wise,
)
from headwater.sql.select.kernels.numerics import canonical, exact_sum
from headwater.sql.select.kernels.zones import add_in_zone

Made: TypeAlias = "tuple[pa.Array, Mask | None]"

_ROWS_MAX: Final = 1_000_000
"""A series is made at once by Python, and everybody else waits for it."""


def _join(arrays: pa.Array, types: pa.Array, separators: pa.Array, nulls: pa.Array) -> pa.Array:
    """array_to_string; NULL elements are left out unless a text for them is given."""
    if len(arrays) == 0:
        return pa.array([], pa.string())
    element = type_from_json(json.loads(types[0].as_py())).element
    if element is None:
        raise UserError("array_to_string wants an array", "42804")
    texts = to_text(arrays.values, element).to_pylist()
    offsets = arrays.offsets.to_pylist()
    results: list[str | None] = []
    rows = zip(arrays.is_valid().to_pylist(), separators.to_pylist(), nulls.to_pylist(), strict=True)
    for row, (valid, separator, null) in pace.paced(enumerate(rows)):
        if not valid or separator is None:
            results.append(None)
            continue
        parts = texts[offsets[row] : offsets[row + 1]]
        shown = [null if part is None else part for part in parts]
        results.append(separator.join(part for part in shown if part is not None))
    return pa.array(results, pa.string())


def _split(text: str | None, separator: str | None, null: str | None) -> list[str | None] | None:
    """string_to_array; without a separator every character is an element."""
    if text is None:
        return None
    if text == "":
        return []
    if separator is None:
        parts: list[str] = [letter for piece in pieces(text) for letter in piece]
    else:
        parts = _parted(text, separator) if separator else [text]
    return [None if part == null else part for part in pace.paced(parts)]


def _parted(text: str, separator: str) -> list[str]:
    if len(text) <= KERNEL_SLICE_CHARACTERS_MAX:
        return text.split(separator)
    return [part for parts in cut(text, separator) for part in parts.to_pylist()]


def _split_columns(texts: pa.Array, separators: pa.Array, nulls: pa.Array) -> Made | None:
    """By one separator, without empty texts."""
    separator, null = constant_of(separators), constant_of(nulls)
    if not separator or (null is None and nulls.null_count < len(nulls)):
        return None
    lists = split_at(texts, separator)
    if null is not None:
        found = pc.equal(lists.values, null)
        values = pc.if_else(found, pa.scalar(None, pa.string()), lists.values)
        lists = pa.ListArray.from_arrays(lists.offsets, values, mask=texts.is_null())
    return lists, pc.equal(texts, "").fill_null(False).to_numpy(zero_copy_only=False)


# Series


def _zero_step() -> UserError:
    return UserError("step size cannot equal zero", "22023")


def _too_long() -> UserError:
    hint = "Make it of several shorter ones; a series of integers between constants may be of any length."
    return not_supported(f"a series of more than {_ROWS_MAX} rows", hint=hint)


def _integers(start: int, stop: int, step: int) -> list[int]:
    if step == 0:
        raise _zero_step()
    series = range(start, stop + (1 if step > 0 else -1), step)
    if len(series) > _ROWS_MAX:
        raise _too_long()
    return list(series)


def _numerics(start_text: str, stop_text: str, step_text: str) -> list[str]:
    start, stop, step = Decimal(start_text), Decimal(stop_text), Decimal(step_text)
    for name, value in (("start", start), ("stop", stop), ("step size", step)):
        if not value.is_finite():
            what = "NaN" if value.is_nan() else "infinity"
            raise UserError(f"{name}{' value' if name != 'step size' else ''} cannot be {what}", "22023")
    if step == 0:
        raise _zero_step()
    if (stop - start) / step > _ROWS_MAX:
        raise _too_long()
    values: list[str] = []
    while (start <= stop) if step > 0 else (start >= stop):
        pace.step()
        values.append(canonical(start))
        start = exact_sum((start, step))
    return values


Step: TypeAlias = "Callable[[int], int]"  # from one moment to the next


def _stepping(start: int, stop: int, step: Interval, following: Step) -> list[int]:
    """Moments that follow one another up to `stop`, by a step of about this length."""
    months, days, microseconds = step
    length = (months * DAYS_PER_MONTH + days) * DAY_US + microseconds
    if length == 0:
        raise _zero_step()
    if (stop - start) // length > _ROWS_MAX or (start == stop and abs(start) == MOMENT_INFINITE):
        raise _too_long()  # an infinite moment and a step are the same moment again
    values: list[int] = []
    while (start <= stop) if length > 0 else (start >= stop):
        pace.step()
        values.append(start)
        start = following(start)
        if len(values) > _ROWS_MAX:  # a month less 29 days may go back, and never arrive
            raise _too_long()
    return values


def _moments(start: int, stop: int, step: Interval) -> list[int]:
    months, days, microseconds = step

    def following(moment: int) -> int:
        day = add_months(moment // DAY_US, months) if months else moment // DAY_US
        return (day + days) * DAY_US + moment % DAY_US + microseconds

    return _stepping(start, stop, step, following)


def _moments_in_zone(
    start: int, stop: int, months: int, days: int, microseconds: int, name: str
) -> list[int]:
    step = (months, days, microseconds)
    if not months and not days:
        return _moments(start, stop, step)
    parts = [np.array([part]) for part in step]

    def following(moment: int) -> int:
        return int(add_in_zone(zone(name), np.array([moment]), *parts)[0])

    return _stepping(start, stop, step, following)


KERNELS: Final[tuple[Kernel, ...]] = (
    Kernel("hw_array_to_string", ("any", "text", "text", "text"), "text", _join, raises=False),
    columnar(
        row_wise("hw_string_to_array", ("text",) * 3, "text[]", _split, strict=False, raises=False),
        _split_columns,
    ),
    row_wise("hw_series_int8", ("int8",) * 3, "int8[]", _integers),
    row_wise("hw_series_numeric", ("text",) * 3, "text[]", _numerics),
    row_wise("hw_series_timestamp", ("timestamp", "timestamp", "interval"), "timestamp[]", _moments),
    row_wise("hw_series_timestamptz", ("timestamptz", "timestamptz", "interval"), "timestamptz[]", _moments),
    row_wise(
        "hw_series_in_zone",
        ("timestamptz", "timestamptz", "int8", "int8", "int8", "text"),
        "timestamptz[]",
        _moments_in_zone,
    ),
)

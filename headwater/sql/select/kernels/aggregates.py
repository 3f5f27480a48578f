"""Kernels that finish an aggregate: they take the list of a group's values.

Sums and variances of numerics are exact until the last division; those of floats follow
PostgreSQL's own updating formulas, value by value in the order of the list, so that the last
digit agrees.  NULLs in a list are skipped; a missing list (no rows) gives NULL.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core import pace
from headwater.core.errors import UserError
from headwater.core.limits import KERNEL_VALUE_BYTES_MAX
from headwater.sql.select.kernels import numeric_totals
from headwater.sql.select.kernels.columns import (
    Numbers,
    Parts,
    interval_out_of_range,
    intervals_of,
    parts_of,
    placed,
)
from headwater.sql.select.kernels.intervals import divided
from headwater.sql.select.kernels.kernel import Kernel, row_wise, too_long
from headwater.sql.select.kernels.numerics import (
    canonical,
    exact_product,
    exact_sum,
    quotient,
    quotient_scale,
    shown,
    square_root,
)


def _present(values: Iterable[Any]) -> list[Any]:
    return [value for value in pace.paced(values) if value is not None]


# Numerics


def _numeric_sum(texts: list[str | None]) -> str | None:
    values = _present(texts)
    return shown(exact_sum(map(Decimal, pace.paced(values)))) if values else None


def _numeric_once(texts: list[str | None]) -> list[str]:
    """Each number once; of equal ones, that with the most digits after the point."""
    kept: dict[str, str] = {}
    for text in pace.paced(_present(texts)):
        number = canonical(Decimal(text))
        known = kept.get(number)
        if known is None or len(text) > len(known):
            kept[number] = text
    return list(kept.values())


def _numeric_variance(sample: bool, root: bool) -> Callable[[list[str | None]], str | None]:
    def run(texts: list[str | None]) -> str | None:
        values = [Decimal(text) for text in pace.paced(_present(texts))]
        count = len(values)
        if count == 0 or (sample and count == 1):
            return None
        if not all(value.is_finite() for value in values):
            return "NaN"
        total = exact_sum(values)
        squares = exact_sum(exact_product(value, value) for value in pace.paced(values))
        top = exact_sum((exact_product(Decimal(count), squares), exact_product(total, total).copy_negate()))
        if top <= 0:
            return "0"
        bottom = Decimal(count * (count - 1) if sample else count * count)
        scale = quotient_scale(top, bottom)
        variance = quotient(top, bottom, scale)
        return shown(square_root(variance, scale) if root else variance)

    return run


# Floats


def _overflow() -> UserError:
    return UserError("value out of range: overflow", "22003")


def _float4_sum(values: list[float | None]) -> float | None:
    """Every partial sum is a float4, as PostgreSQL keeps it."""
    present = _present(values)
    if not present:
        return None
    total = np.float32(present[0])
    with np.errstate(all="ignore"):
        for value in pace.paced(present[1:]):
            before = total
            total = np.float32(total + np.float32(value))
            if np.isinf(total) and not np.isinf(before) and not math.isinf(value):
                raise _overflow()
    return float(total)


def exact_total(values: np.ndarray) -> float | None:
    """The sum, rounded once at the end, so that the order of the values does not matter; NULL of none."""
    if not len(values):
        return None
    finite = np.isfinite(values)
    if not finite.all():
        with np.errstate(all="ignore"):
            return float(values[~finite].sum())
    if not values.any():
        return -0.0 if np.signbit(values).all() else 0.0
    starts = pace.paced(range(0, len(values), _EXACT_ROWS))
    total = sum(_shifted(values[at : at + _EXACT_ROWS]) for at in starts)
    try:
        return total / (1 << _LOWEST_BIT)
    except OverflowError:
        raise _overflow() from None


_EXACT_ROWS: Final = 1 << 17  # whose parts of 27 bits add up to less than the 53 of a float
_LOWEST_BIT: Final = 1126  # a float is a whole number of 2^-1126


def _shifted(values: np.ndarray) -> int:
    """The sum in units of the lowest bit: of each exponent by itself, in two parts, shifted into place."""
    fractions, exponents = np.frexp(values)
    whole = (fractions * 2.0**53).astype(np.int64)
    places = exponents.astype(np.int64) - 53 + _LOWEST_BIT
    highs = np.bincount(places, (whole >> 26).astype(np.float64))
    lows = np.bincount(places, (whole & (1 << 26) - 1).astype(np.float64))
    used = np.flatnonzero((highs != 0) | (lows != 0)).tolist()
    return sum(((int(highs[place]) << 26) + int(lows[place])) << place for place in used)


def _float_totals(average: bool) -> Callable[[pa.Array], pa.Array]:
    """Sums or averages of a column of lists, without a Python value for each float."""

    def run(lists: pa.Array) -> pa.Array:
        ends = lists.offsets.to_numpy()
        floats = lists.values.to_numpy(zero_copy_only=False)
        there = lists.values.is_valid().to_numpy(zero_copy_only=False)
        results: list[float | None] = []
        for place in range(len(lists)):
            begin, end = ends[place], ends[place + 1]
            values = floats[begin:end][there[begin:end]]
            total = exact_total(values) if lists[place].is_valid else None
            results.append(total / len(values) if average and total is not None else total)
        return pa.array(results, pa.float64())

    return run


def _float_variance(sample: bool, root: bool) -> Callable[[list[float | None]], float | None]:
    def run(values: list[float | None]) -> float | None:
        present = _present(values)
        count = len(present)
        if count == 0 or (sample and count == 1):
            return None
        _, squares = _accumulated(present)
        variance = squares / (count - 1 if sample else count)
        return math.sqrt(variance) if root and not math.isnan(variance) else variance

    return run


def _accumulated(values: list[float]) -> tuple[float, float]:
    """The sum, and the sum of squared differences from the mean."""
    total = squares = 0.0
    for seen, value in pace.paced(enumerate(values)):
        before = total
        total += value
        if seen == 0:
            if not math.isfinite(value):
                squares = math.nan
            continue
        step = value * (seen + 1.0) - total
        squares += step * step / ((seen + 1.0) * seen)
        if math.isinf(total) or math.isinf(squares):
            if not math.isinf(before) and not math.isinf(value):
                raise _overflow()
            squares = math.nan
    return total, squares


def _regression(pairs: list[list[float | None] | None], name: str) -> float | None:
    """The two-argument statistics; a pair is (Y, X) as SQL writes them."""
    present = [
        (pair[0], pair[1])
        for pair in pace.paced(pairs)
        if pair is not None and pair[0] is not None and pair[1] is not None
    ]
    count = float(len(present))
    if count == 0 or (name == "covar_samp" and count < 2):
        return None
    sum_x = sum_y = sxx = syy = sxy = 0.0
    for seen, (y, x) in pace.paced(enumerate(present)):
        if x is None or y is None:
            continue
        sum_x += x
        sum_y += y
        if seen == 0:
            if not math.isfinite(x):
                sxx = sxy = math.nan
            if not math.isfinite(y):
                syy = sxy = math.nan
            continue
        step_x, step_y = x * (seen + 1.0) - sum_x, y * (seen + 1.0) - sum_y
        scale = 1.0 / ((seen + 1.0) * seen)
        sxx += step_x * step_x * scale
        syy += step_y * step_y * scale
        sxy += step_x * step_y * scale
        if any(map(math.isinf, (sum_x, sum_y, sxx, syy, sxy))):
            raise UserError("a statistic of infinite values not yet supported", "0A000")
    return _statistic(name, count, (sum_x, sum_y, sxx, syy, sxy))


def _statistic(name: str, count: float, sums: tuple[float, float, float, float, float]) -> float | None:
    sum_x, sum_y, sxx, syy, sxy = sums
    if name in ("regr_slope", "regr_intercept", "regr_r2", "corr") and sxx == 0:
        return None
    if name == "corr" and syy == 0:
        return None
    match name:
        case "corr":
            return sxy / math.sqrt(sxx * syy)
        case "covar_pop":
            return sxy / count
        case "covar_samp":
            return sxy / (count - 1.0)
        case "regr_slope":
            return sxy / sxx
        case "regr_intercept":
            return (sum_y - sum_x * sxy / sxx) / count
        case "regr_r2":
            return 1.0 if syy == 0 else (sxy * sxy) / (sxx * syy)
    return {
        "regr_sxx": sxx,
        "regr_syy": syy,
        "regr_sxy": sxy,
        "regr_avgx": sum_x / count,
        "regr_avgy": sum_y / count,
    }[name]


# Ordered sets


def checked_fraction(fraction: float) -> float:
    """A percentile's fraction, from 0 to 1."""
    if math.isnan(fraction) or not 0 <= fraction <= 1:
        raise UserError(f"percentile value {fraction:g} is not between 0 and 1", "22003")
    return fraction


def _percentile(fraction: float | None, values: list[float | None] | None) -> float | None:
    present = _present(values or ())
    if fraction is None or not present:
        return None
    place = checked_fraction(fraction) * (len(present) - 1)
    low, high = present[math.floor(place)], present[math.ceil(place)]
    if math.floor(place) == math.ceil(place):
        return float(low)
    return float(low + (place - math.floor(place)) * (high - low))


# Intervals and texts


def _interval_totals(average: bool) -> Callable[[pa.Array], pa.Array]:
    """The sum of each group's intervals, or that divided by how many they are."""

    def run(groups: pa.Array) -> pa.Array:
        values = groups.flatten()
        present = values.is_valid()
        rows = np.asarray(pc.list_parent_indices(groups).filter(present))
        counts = np.bincount(rows, minlength=len(groups))
        some = counts > 0
        totals = _totals(parts_of(values.filter(present)), np.flatnonzero(np.diff(rows, prepend=-1)))
        made = divided(totals, counts[some].astype(np.float64)) if average else _fitting(totals)
        return intervals_of(placed(made, some), ~some)

    return run


def _totals(parts: Parts, starts: Numbers) -> Parts:
    """The sums of groups that begin at these places; of many microseconds, as Python's numbers."""
    months, days, microseconds = parts
    sizes = np.add.reduceat(np.abs(microseconds.astype(np.float64)), starts)
    summed: Any = microseconds if sizes.max(initial=0) < 2**62 else microseconds.astype(object)
    return np.add.reduceat(months, starts), np.add.reduceat(days, starts), np.add.reduceat(summed, starts)


def _fitting(totals: Parts) -> Parts:
    months, days, microseconds = totals
    if ((microseconds < -(2**63)) | (microseconds >= 2**63)).any():
        raise interval_out_of_range()
    return months, days, microseconds.astype(np.int64)


def _together(groups: pa.Array) -> pa.Array:
    """Of each group's pairs of value and separator one text; the first value's separator is not used."""
    pairs = groups.flatten()
    kind = pairs.type.value_type
    empty = pa.scalar("" if pa.types.is_string(kind) else b"", kind)
    values = pc.list_element(pairs, 0)
    present = values.is_valid()
    rows = np.asarray(pc.list_parent_indices(groups).filter(present))
    first = np.diff(rows, prepend=-1) > 0
    separators = pc.fill_null(pc.list_element(pairs, 1).filter(present), empty)
    pieces = pc.binary_join_element_wise(
        pc.if_else(pa.array(first), empty, separators), values.filter(present), empty
    )
    lengths = np.bincount(rows, np.asarray(pc.binary_length(pieces)), len(groups))
    if lengths.max(initial=0) > KERNEL_VALUE_BYTES_MAX:
        raise too_long(int(lengths.max()))
    counts = np.bincount(rows, minlength=len(groups))
    lists = pa.ListArray.from_arrays(pa.array(np.cumsum([0, *counts]), pa.int32()), pieces)
    return pc.if_else(pa.array(counts > 0), pc.binary_join(lists, empty), pa.scalar(None, kind))


_VARIANCES: Final = {
    "var_samp": (True, False),
    "var_pop": (False, False),
    "stddev_samp": (True, True),
    "stddev_pop": (False, True),
}

KERNELS: Final[tuple[Kernel, ...]] = (
    row_wise("hw_numeric_once", ("text[]",), "text[]", _numeric_once, raises=False),
    replace(row_wise("hw_numeric_sum", ("text[]",), "text", _numeric_sum), function=numeric_totals.totals),
    *(
        row_wise(f"hw_numeric_{name}", ("text[]",), "text", _numeric_variance(*how), raises=False)
        for name, how in _VARIANCES.items()
    ),
    Kernel("hw_float8_sum", ("float8[]",), "float8", _float_totals(average=False)),
    Kernel("hw_float8_avg", ("float8[]",), "float8", _float_totals(average=True)),
    row_wise("hw_float4_sum", ("float4[]",), "float4", _float4_sum),
    *(
        row_wise(f"hw_float8_{name}", ("float8[]",), "float8", _float_variance(*how))
        for name, how in _VARIANCES.items()
    ),
    row_wise("hw_float8_regression", ("float8[][]", "text"), "float8", _regression),
    row_wise("hw_fraction", ("float8",), "float8", checked_fraction),
    row_wise("hw_percentile_cont", ("float8", "float8[]"), "float8", _percentile, strict=False),
    Kernel("hw_interval_sum", ("interval[]",), "interval", _interval_totals(average=False)),
    Kernel("hw_interval_avg", ("interval[]",), "interval", _interval_totals(average=True)),
    Kernel("hw_string_agg", ("text[][]",), "text", _together, raises=False),
    Kernel("hw_bytea_agg", ("bytea[][]",), "bytea", _together, raises=False),
)

"""Kernels over integers and floats: what IEEE and C leave to PostgreSQL to decide.

PostgreSQL raises where a float operation on finite numbers gives infinity or loses
everything, and shifts integers by the count modulo their width.  Mathematical functions use
the C library through `math`, as PostgreSQL does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.errors import UserError
from headwater.formats.spans import missing_of
from headwater.sql.select.kernels.kernel import Kernel, Mask, Quick, arrow_of, columnar, row_wise

Floats: TypeAlias = "npt.NDArray[np.float64]"

_OVERFLOW: Final = "value out of range: overflow"
_UNDERFLOW: Final = "value out of range: underflow"


def _raised(message: str, sqlstate: str = "22003") -> UserError:
    return UserError(message, sqlstate)


# Float arithmetic, column-wise


def _floats(array: pa.Array) -> npt.NDArray[Any]:
    return array.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _float_pair(name: str, kind: str, operation: Callable[..., Any]) -> Kernel:
    def run(left: pa.Array, right: pa.Array) -> pa.Array:
        missing = left.is_null().to_numpy(zero_copy_only=False) | right.is_null().to_numpy(
            zero_copy_only=False
        )
        a, b = _floats(left.fill_null(1)), _floats(right.fill_null(1))
        with np.errstate(all="ignore"):
            result = operation(a, b)
        if name == "div" and bool(np.any((b == 0) & ~np.isnan(a))):
            raise _raised("division by zero", "22012")
        if bool(np.any(np.isinf(result) & ~np.isinf(a) & ~np.isinf(b))):
            raise _raised(_OVERFLOW)
        lost = result == 0
        if name == "mul" and bool(np.any(lost & (a != 0) & (b != 0))):
            raise _raised(_UNDERFLOW)
        if name == "div" and bool(np.any(lost & (a != 0) & ~np.isinf(b))):
            raise _raised(_UNDERFLOW)
        return pa.array(result, arrow_of(kind), mask=missing)

    return Kernel(f"hw_{kind}_{name}", (kind, kind), kind, run)


# Mathematical functions


def _domain(function: Callable[..., float]) -> Callable[..., float]:
    """Errors of the C library in PostgreSQL's words."""

    def run(*values: float) -> float:
        if any(math.isnan(value) for value in values):
            return math.nan
        try:
            return function(*values)
        except ValueError:
            raise _raised("input is out of range", "22003") from None
        except OverflowError:
            raise _raised(_OVERFLOW) from None

    return run


def _square_root(value: float) -> float:
    if value < 0:
        raise _raised("cannot take square root of a negative number", "2201F")
    return math.sqrt(value)


def _exponential(value: float) -> float:
    if math.isinf(value):
        return value if value > 0 else 0.0
    result = math.exp(value)
    if result == 0:
        raise _raised(_UNDERFLOW)
    return result


def _logarithm(function: Callable[[float], float]) -> Callable[[float], float]:
    def run(value: float) -> float:
        if value == 0:
            raise _raised("cannot take logarithm of zero", "2201E")
        if value < 0:
            raise _raised("cannot take logarithm of a negative number", "2201E")
        return function(value)

    return run


def _power(base: float, exponent: float) -> float:
    if math.isnan(base) or math.isnan(exponent):
        return 1.0 if base == 1 or exponent == 0 else math.nan
    if base == 0 and exponent < 0:
        raise _raised("zero raised to a negative power is undefined", "2201F")
    if base < 0 and math.isfinite(exponent) and exponent != math.floor(exponent):
        raise _raised("a negative number raised to a non-integer power yields a complex result", "2201F")
    try:
        result = math.pow(base, exponent)
    except OverflowError:
        raise _raised(_OVERFLOW) from None
    if result == 0 and base != 0 and math.isfinite(base) and math.isfinite(exponent):
        raise _raised(_UNDERFLOW)
    return result


def _cotangent(value: float) -> float:
    tangent = math.tan(value)
    return math.copysign(math.inf, tangent) if tangent == 0 else 1.0 / tangent


def _hyperbolic(function: Callable[[float], float], odd: bool) -> Callable[[float], float]:
    """sinh and cosh answer infinity where they overflow."""

    def run(value: float) -> float:
        try:
            return function(value)
        except OverflowError:
            return -math.inf if odd and value < 0 else math.inf

    return run


def _arc_hyperbolic_tangent(value: float) -> float:
    if abs(value) > 1:
        raise _raised("input is out of range")
    return math.copysign(math.inf, value) if abs(value) == 1 else math.atanh(value)


def _sign(value: float) -> float:
    return float((value > 0) - (value < 0))


def _whole(function: Callable[[float], Any]) -> Callable[[float], float]:
    """ceil, floor, trunc and round to even; infinities, and the sign of zero, are kept."""

    def run(value: float) -> float:
        return value if math.isinf(value) else math.copysign(float(function(value)), value)

    return run


def _degrees(value: float) -> float:
    result = value / (math.pi / 180.0)
    if math.isinf(result) and not math.isinf(value):
        raise _raised(_OVERFLOW)
    return result


def _radians(value: float) -> float:
    result = value * (math.pi / 180.0)
    if result == 0 and value != 0:
        raise _raised(_UNDERFLOW)
    return result


_SINGLE: Final[dict[str, Callable[..., float]]] = {
    "ceil": _whole(math.ceil),
    "floor": _whole(math.floor),
    "trunc": _whole(math.trunc),
    "round": _whole(round),
    "sqrt": _square_root,
    "cbrt": math.cbrt,
    "exp": _exponential,
    "ln": _logarithm(math.log),
    "log": _logarithm(math.log10),
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "cot": _cotangent,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "sinh": _hyperbolic(math.sinh, True),
    "cosh": _hyperbolic(math.cosh, False),
    "tanh": math.tanh,
    "asinh": math.asinh,
    "acosh": math.acosh,
    "atanh": _arc_hyperbolic_tangent,
    "degrees": _degrees,
    "radians": _radians,
}


def _by_columns(
    operate: Callable[[Floats], Floats], wrong: Callable[[Floats, Floats], Mask] | None = None
) -> Quick:
    """What is the same in C, as it is exact or one step; `wrong` tells of values and results what fails."""

    def run(array: pa.Array) -> tuple[pa.Array, Mask | None]:
        missing = missing_of(array)
        values = _floats(array.fill_null(1.0))
        with np.errstate(all="ignore"):
            results = operate(values)
            odd = None if wrong is None else wrong(values, results) & ~missing
        return pa.array(results, mask=missing), odd

    return run


_QUICK: Final[dict[str, Quick]] = {
    "ceil": _by_columns(np.ceil),
    "floor": _by_columns(np.floor),
    "trunc": _by_columns(np.trunc),
    "round": _by_columns(np.rint),
    "sqrt": _by_columns(np.sqrt, lambda values, roots: values < 0),
    "degrees": _by_columns(
        lambda values: values / (math.pi / 180.0), lambda values, made: np.isinf(made) & ~np.isinf(values)
    ),
    "radians": _by_columns(
        lambda values: values * (math.pi / 180.0), lambda values, made: (made == 0) & (values != 0)
    ),
}


# Integers


def _shift(kind: str, bits: int, left: bool) -> Kernel:
    def run(value: int, count: int) -> int:
        count &= 63 if bits == 64 else 31
        shifted = value << count if left else value >> count
        shifted &= (1 << bits) - 1
        return shifted - (1 << bits) if shifted >> (bits - 1) else shifted

    def quick(values: pa.Array, counts: pa.Array) -> tuple[pa.Array, None]:
        missing = missing_of(values) | missing_of(counts)
        wide = values.fill_null(0).to_numpy().astype(np.int64)
        by = counts.fill_null(0).to_numpy().astype(np.int64) & (63 if bits == 64 else 31)
        shifted = wide << by if left else wide >> by
        return pa.array(shifted.astype(f"int{bits}"), mask=missing), None

    name = f"hw_{kind}_shift_{'left' if left else 'right'}"
    return columnar(row_wise(name, (kind, "int4"), kind, run, raises=False), quick)


def _bounded(function: Callable[..., int], bits: int, name: str) -> Callable[..., int]:
    def run(*values: int) -> int:
        result = function(*values)
        if result >= 2 ** (bits - 1):
            raise _raised(f"{name} out of range")
        return result

    return run


def _hexadecimal(bits: int) -> Callable[[int], str]:
    return lambda value: format(value & (2**bits - 1), "x")


def _width_bucket(value: float, low: float, high: float, count: int) -> int:
    if count <= 0:
        raise _raised("count must be greater than zero", "2201G")
    if math.isnan(value) or math.isnan(low) or math.isnan(high):
        raise _raised("operand, lower bound, and upper bound cannot be NaN", "2201G")
    if math.isinf(low) or math.isinf(high):
        raise _raised("lower and upper bounds must be finite", "2201G")
    if low == high:
        raise _raised("lower bound cannot equal upper bound", "2201G")
    before, beyond = (value < low, value >= high) if low < high else (value > low, value <= high)
    if before:
        return 0
    if beyond and count == 2**31 - 1:
        raise _raised("integer out of range")
    if beyond:
        return count + 1
    return int(count * ((value - low) / (high - low))) + 1


_BITS: Final = {"int2": 16, "int4": 32, "int8": 64}

KERNELS: Final[tuple[Kernel, ...]] = (
    *(
        _float_pair(name, kind, operation)
        for kind in ("float4", "float8")
        for name, operation in (
            ("add", np.add),
            ("sub", np.subtract),
            ("mul", np.multiply),
            ("div", np.divide),
        )
    ),
    *(
        columnar(rows, _QUICK[name]) if name in _QUICK else rows
        for name, function in _SINGLE.items()
        for rows in (row_wise(f"hw_float8_{name}", ("float8",), "float8", _domain(function)),)
    ),
    columnar(
        row_wise("hw_float8_sign", ("float8",), "float8", _sign, raises=False),
        _by_columns(lambda values: np.subtract(values > 0, values < 0, dtype=np.float64)),
    ),
    row_wise("hw_float8_power", ("float8", "float8"), "float8", _power),
    row_wise("hw_float8_atan2", ("float8", "float8"), "float8", _domain(math.atan2)),
    *(_shift(kind, bits, left) for kind, bits in _BITS.items() for left in (True, False)),
    *(
        row_wise(f"hw_{kind}_{name}", (kind, kind), kind, _bounded(function, _BITS[kind], word))
        for kind, word in (("int4", "integer"), ("int8", "bigint"))
        for name, function in (("gcd", math.gcd), ("lcm", math.lcm))
    ),
    row_wise("hw_int4_to_hex", ("int4",), "text", _hexadecimal(32), raises=False),
    row_wise("hw_int8_to_hex", ("int8",), "text", _hexadecimal(64), raises=False),
    row_wise("hw_width_bucket", ("float8", "float8", "float8", "int4"), "int4", _width_bucket),
)

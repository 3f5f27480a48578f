"""Kernels over unconstrained numerics: text in, text out, with PostgreSQL's digits after the point.

Sums, differences and products are exact.  Quotients, roots, logarithms and powers have as
many digits after the point as PostgreSQL gives them, which it decides by the numbers'
weights in base 10000 so that at least 16 digits are significant, and by how many digits the
numbers themselves have there.  So results keep their zeros, for the next kernel to count
them; forms take them away (functions/forms.py) before anybody else sees the text.

A sort key is bytes that order as the numbers do: NaN is the greatest.

Not here: numerics with a scale, which are the engines' own decimals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_DOWN,
    ROUND_FLOOR,
    ROUND_HALF_UP,
    Context,
    Decimal,
)
from functools import reduce
from typing import Final

from headwater.core.errors import UserError, not_supported
from headwater.formats.text_numbers import decimal_nan
from headwater.sql.select.kernels import (
    numeric_columns,
    numeric_floats,
    numeric_keys,
    numeric_places,
    numeric_quotients,
)
from headwater.sql.select.kernels.kernel import Kernel, Quick, arrow_of, columnar, row_wise

_DIGITS_SIGNIFICANT_MIN: Final = 16
_SCALE_MAX: Final = 1000
_WEIGHT_MAX: Final = 131_072
_EXACT: Final = Context(prec=200_000, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
_EXPONENT_MAX: Final = 6000  # PostgreSQL's bound for exp(), and with a margin for powers
_POWER_EXPONENT_MAX: Final = 6020.0
_INVERTED: Final = bytes(255 - byte for byte in range(256))
_LOG10_E: Final = 0.434294481903252
_LN_10: Final = 2.302585092994046
_NEEDLESS_MAX: Final = 40
_DIGITS_COMMON_MAX: Final = 10_000
_FACTORS_MAX: Final = 50
_ROOT_DIGITS_MAX: Final = 2_000


def shown(value: Decimal) -> str:
    """No exponent, no minus zero, all its digits after the point; NaN and infinities by name."""
    if not value.is_finite():
        return "NaN" if value.is_nan() else "Infinity" if value > 0 else "-Infinity"
    if value.adjusted() >= _WEIGHT_MAX and value:
        raise _overflow()
    return format(value if value else value.copy_abs(), "f")


def canonical(value: Decimal) -> str:
    """The same without needless zeros."""
    text = shown(value)
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text


def _overflow() -> UserError:
    return UserError("value overflows numeric format", "22003")


def _division_by_zero() -> UserError:
    return UserError("division by zero", "22012")


def exact_sum(values: Iterable[Decimal]) -> Decimal:
    """The sum of any numbers, without rounding."""
    return reduce(_EXACT.add, values, Decimal(0))


def exact_product(left: Decimal, right: Decimal) -> Decimal:
    """The product, without rounding."""
    return _EXACT.multiply(left, right)


def alike() -> UserError:
    """Of a recursion that finds values which are equal but not the same, such as 1.5 and 1.50."""
    return not_supported(
        "a recursive UNION that finds equal values in different spellings",
        hint="Use UNION ALL, or cast the column to a type with one spelling, such as numeric(38, 10).",
    )


def _found(text: str) -> str:
    """A numeric of a row that a recursion finds, whose rows are compared as texts.

    Equal numbers with more and more zeros would be found for ever.
    """
    if "." in text and len(text) - len(text.rstrip("0")) > _NEEDLESS_MAX:
        raise alike()
    return text


def _scale(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _weight(value: Decimal) -> tuple[int, int]:
    """The place of the first base-10000 digit and the digit itself; (0, 0) for zero."""
    if not value:
        return 0, 0
    place = value.adjusted()
    weight = place // 4
    shifted = value.copy_abs().scaleb(-4 * weight, _EXACT)
    return weight, int(shifted)


def _limited(scale: int, *values: Decimal) -> int:
    return min(max(scale, 0, *(_scale(value) for value in values)), _SCALE_MAX)


def _rounded(value: Decimal, scale: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-scale, _EXACT), ROUND_HALF_UP, _EXACT)


def quotient_scale(left: Decimal, right: Decimal) -> int:
    """Digits after the point of a quotient."""
    left_weight, left_digit = _weight(left)
    right_weight, right_digit = _weight(right)
    weight = left_weight - right_weight - (left_digit <= right_digit)
    return _limited(_DIGITS_SIGNIFICANT_MIN - weight * 4, left, right)


def quotient(left: Decimal, right: Decimal, scale: int) -> Decimal:
    """left / right with `scale` digits after the point, half away from zero."""
    # In Decimals: Python's integers divide in quadratic time, and so they are made of decimal digits.
    top, bottom = left.copy_abs().scaleb(scale, _EXACT), right.copy_abs()
    whole, rest = _EXACT.divmod(top, bottom)
    if _EXACT.add(rest, rest) >= bottom:
        whole = _EXACT.add(whole, 1)
    result = _EXACT.quantize(whole, Decimal(1)).scaleb(-scale, _EXACT)
    # A sign is set by copying: the operators - and abs() would round to 28 digits.
    return result.copy_negate() if (left < 0) != (right < 0) else result


def divide(left: Decimal, right: Decimal) -> Decimal:
    """A quotient with the digits PostgreSQL gives it."""
    if left.is_nan() or right.is_nan():
        return Decimal("NaN")
    if right == 0:
        raise _division_by_zero()
    if left.is_infinite():
        if right.is_infinite():
            return Decimal("NaN")
        return left if right > 0 else left.copy_negate()
    if right.is_infinite():
        return Decimal(0)
    return quotient(left, right, quotient_scale(left, right))


def remainder(left: Decimal, right: Decimal) -> Decimal:
    """What is left of a division towards zero."""
    if left.is_nan() or right.is_nan():
        return Decimal("NaN")
    if right == 0:
        raise _division_by_zero()
    if left.is_infinite():
        return Decimal("NaN")
    return left if right.is_infinite() else _EXACT.remainder(left, right)


def square_root(value: Decimal, scale: int | None = None) -> Decimal:
    """A root, with the digits PostgreSQL gives it unless `scale` says."""
    if value.is_nan() or value == Decimal("Infinity"):
        return value
    if value < 0:
        raise UserError("cannot take square root of a negative number", "2201F")
    if scale is None:
        weight, _ = _weight(value)
        scale = _limited(_DIGITS_SIGNIFICANT_MIN - ((weight + 1) * 2 - 1), value)
    # The root cut to one digit more than wanted, then rounded: exact.
    unit = Decimal(1).scaleb(-(scale + 1), _EXACT)
    root = _near_root(value, max(value.adjusted() // 2, 0) + scale + 1).quantize(unit, ROUND_DOWN, _EXACT)
    while exact_product(root, root) > value:
        root = _EXACT.subtract(root, unit)
    while exact_product(following := _EXACT.add(root, unit), following) <= value:
        root = following
    return _rounded(root, scale)


def _near_root(value: Decimal, digits: int) -> Decimal:
    """The root with about so many digits; of very many by steps of Newton's, quicker than sqrt()."""
    if digits <= _ROOT_DIGITS_MAX:
        return _precise(digits).sqrt(value)
    half, context = _near_root(value, digits // 2 + 2), _precise(digits)
    return context.multiply(context.add(half, context.divide(value, half)), Decimal("0.5"))


def _logarithm_place(value: Decimal) -> int:
    """Roughly the decimal place of ln(value)'s first digit."""
    if Decimal("0.9") <= value <= Decimal("1.1"):
        weight, digit = _weight(_EXACT.subtract(value, Decimal(1)))
        return weight * 4 + int(math.log10(digit)) if digit else 0
    weight, _ = _weight(value)
    leading = int(value.scaleb(-4 * (weight - 1), _EXACT))
    estimate = math.log(leading) + (weight - 1) * 4 * _LN_10
    return int(math.log10(abs(estimate))) if estimate else 0


def _precise(digits: int) -> Context:
    return Context(prec=max(digits, 1) + 30, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


def _check_logarithm(value: Decimal) -> None:
    if value == 0:
        raise UserError("cannot take logarithm of zero", "2201E")
    if value < 0:
        raise UserError("cannot take logarithm of a negative number", "2201E")


def natural_logarithm(value: Decimal) -> Decimal:
    """ln, with the digits PostgreSQL gives it."""
    if value.is_nan():
        return value
    _check_logarithm(value)
    if value.is_infinite():
        return value
    scale = _limited(_DIGITS_SIGNIFICANT_MIN - _logarithm_place(value), value)
    return _rounded(_precise(scale + 10).ln(value), scale)


def logarithm(base: Decimal, value: Decimal) -> Decimal:
    """The logarithm to a base."""
    if base.is_nan() or value.is_nan():
        return Decimal("NaN")
    for number in sorted((base, value)):  # a negative one is complained about first
        _check_logarithm(number)
    if base.is_infinite():
        return Decimal("NaN") if value.is_infinite() else Decimal(0)
    if value.is_infinite():
        return value
    place = _logarithm_place(value) - _logarithm_place(base)
    scale = _limited(_DIGITS_SIGNIFICANT_MIN - place, base, value)
    context = _precise(scale + 20)
    bottom = context.ln(base)
    if bottom == 0:
        raise _division_by_zero()
    return _rounded(context.divide(context.ln(value), bottom), scale)


def exponential(value: Decimal) -> Decimal:
    """e to this power."""
    if value.is_nan():
        return value
    if value.is_infinite():
        return value if value > 0 else Decimal(0)
    if value.copy_abs() >= _EXPONENT_MAX:
        if value > 0:
            raise _overflow()
        return Decimal(0)
    place = int(max(min(float(value) * _LOG10_E, 2000.0), -2000.0))
    scale = _limited(_DIGITS_SIGNIFICANT_MIN - place, value)
    return _rounded(_precise(scale + max(place, 0)).exp(value), scale)


def _special_power(base: Decimal, exponent: Decimal) -> Decimal:
    """Where one of the two is NaN or infinite."""
    one = Decimal(1)
    if base.is_nan() or exponent.is_nan():
        return one if base == one or exponent == 0 else Decimal("NaN")
    if base == 0 and exponent < 0:
        raise UserError("zero raised to a negative power is undefined", "2201F")
    if base == one or exponent == 0:
        return one
    if exponent.is_infinite():
        if base == -1:
            return one
        grows = (base.copy_abs() > 1) == (exponent > 0)
        return Decimal("Infinity") if grows else Decimal(0)
    if base > 0:
        return base if exponent > 0 else Decimal(0)
    if exponent != exponent.to_integral_value():
        raise UserError("a negative number raised to a non-integer power yields a complex result", "2201F")
    if exponent < 0:
        return Decimal(0)
    odd = int(exponent) % 2 == 1
    return base if odd else Decimal("Infinity")


def power(base: Decimal, exponent: Decimal) -> Decimal:
    """base ^ exponent."""
    if not base.is_finite() or not exponent.is_finite():
        return _special_power(base, exponent)
    if base == 0 and exponent < 0:
        raise UserError("zero raised to a negative power is undefined", "2201F")
    whole = exponent == exponent.to_integral_value()
    if base < 0 and not whole:
        raise UserError("a negative number raised to a non-integer power yields a complex result", "2201F")
    if whole and exponent.copy_abs() < 2**31:
        return _whole_power(base, int(exponent))
    if base == 0:
        return Decimal(0)
    context = _precise(60)
    exponent_of_e = float(context.multiply(context.ln(base.copy_abs()), exponent))
    if abs(exponent_of_e) > _POWER_EXPONENT_MAX:
        if exponent_of_e > 0:
            raise _overflow()
        return Decimal(0)
    estimate = exponent_of_e * _LOG10_E
    scale = _limited(_DIGITS_SIGNIFICANT_MIN - int(estimate), base, exponent)
    context = _precise(scale + max(int(estimate), 0) + 10)
    # Of more digits than count the power would take minutes.
    result = context.power(context.plus(base.copy_abs()), context.plus(exponent))
    return _rounded(result.copy_negate() if base < 0 and int(exponent) % 2 else result, scale)


def _whole_power(base: Decimal, exponent: int) -> Decimal:
    scale = _limited(_DIGITS_SIGNIFICANT_MIN, base)
    if base == 0:
        return Decimal(1 if exponent == 0 else 0)
    estimate = exponent * float(_precise(20).log10(base.copy_abs()))
    if estimate > _WEIGHT_MAX:
        raise _overflow()
    if estimate < -_SCALE_MAX - 1:
        return Decimal(0)
    result = _precise(scale + max(int(estimate), 0) + 20).power(base, Decimal(exponent))
    return _rounded(result, scale)


def _placed(rounding: str) -> Callable[[str, int], str]:
    """round, trunc: to `places` digits after the point, before it when negative."""

    def run(text: str, places: int) -> str:
        value = Decimal(text)
        places = max(min(places, 2000), -2000)
        if not value.is_finite():
            return shown(value)
        return shown(value.quantize(Decimal(1).scaleb(-places, _EXACT), rounding, _EXACT))

    return run


round_half_away: Final = _placed(ROUND_HALF_UP)


def _whole(rounding: str) -> Callable[[str], str]:
    def run(text: str) -> str:
        value = Decimal(text)
        return shown(value.to_integral_value(rounding, _EXACT) if value.is_finite() else value)

    return run


def _sign(text: str) -> str:
    value = Decimal(text)
    return "NaN" if value.is_nan() else str((value > 0) - (value < 0))


def _two(function: Callable[[Decimal, Decimal], Decimal]) -> Callable[[str, str], str]:
    return lambda left, right: shown(function(Decimal(left), Decimal(right)))


def _one(function: Callable[[Decimal], Decimal]) -> Callable[[str], str]:
    return lambda text: shown(function(Decimal(text)))


def _of_integers(function: Callable[[int, int], int]) -> Callable[[Decimal, Decimal], Decimal]:
    """gcd and lcm: of the numbers as integers of a unit that both have."""

    def run(left: Decimal, right: Decimal) -> Decimal:
        if not (left.is_finite() and right.is_finite()):
            return Decimal("NaN")
        scale = max(_scale(left), _scale(right))
        if max(left.adjusted(), right.adjusted()) + scale >= _DIGITS_COMMON_MAX:
            raise UserError(
                f"common divisors and multiples of numbers with more than {_DIGITS_COMMON_MAX} digits"
                " take too long",
                "54000",
                hint="Use shorter numbers.",
            )
        first, second = int(left.scaleb(scale, _EXACT)), int(right.scaleb(scale, _EXACT))
        return Decimal(function(first, second)).scaleb(-scale, _EXACT)

    return run


def _integer_quotient(left: Decimal, right: Decimal) -> Decimal:
    result = divide(left, right)
    if not result.is_finite() or right.is_infinite():
        return result
    return _EXACT.divide_int(left, right)


def _factorial(count: int) -> str:
    if count < 0:
        raise UserError("factorial of a negative number is undefined", "22003")
    if count > 32177:
        raise _overflow()
    return canonical(_product(1, count))


def _product(low: int, high: int) -> Decimal:
    """low * ... * high: halves of about as many digits, which are multiplied quickly."""
    if high - low < _FACTORS_MAX:
        return reduce(_EXACT.multiply, map(Decimal, range(low, high + 1)), Decimal(1))
    middle = (low + high) // 2
    return _EXACT.multiply(_product(low, middle), _product(middle + 1, high))


def _extreme(texts: list[str | None], name: str) -> str | None:
    """greatest and least, which skip NULLs."""
    present = [text for text in texts if text is not None]
    if not present:
        return None
    return max(present, key=sort_key) if name == "greatest" else min(present, key=sort_key)


def fit(text: str, scale: int) -> str:
    """A numeric rounded for a decimal(38, scale), or an overflow; NaN is what stands for it there."""
    value = Decimal(text)
    if value.is_nan():
        return format(decimal_nan(scale), "f")
    if value.is_infinite():
        detail = f"A field with precision 38, scale {scale} cannot hold an infinite value."
        raise UserError("numeric field overflow", "22003", detail)
    rounded = _rounded(value, scale)
    if rounded and (rounded.adjusted() >= 38 - scale or rounded == decimal_nan(scale)):
        limit = "1" if scale == 38 else f"10^{38 - scale}"
        detail = (
            f"A field with precision 38, scale {scale} must round to an absolute value less than {limit}."
        )
        raise UserError("numeric field overflow", "22003", detail)
    return format(rounded, "f")


def sort_key(text: str) -> bytes:
    """Bytes that order as the numbers do: -Infinity, numbers, Infinity, NaN."""
    if text == "0":
        return b"\x02"
    special = {"-Infinity": b"\x00", "Infinity": b"\x04", "NaN": b"\x05"}.get(text)
    if special is not None:
        return special
    negative = text.startswith("-")
    whole, _, fraction = text.lstrip("-").partition(".")
    if whole != "0":
        place, digits = len(whole) - 1, (whole + fraction).rstrip("0")
    else:
        rest = fraction.lstrip("0")
        place, digits = len(rest) - len(fraction) - 1, rest.rstrip("0")
    if not digits:
        return b"\x02"
    key = (place + 2**31).to_bytes(4, "big") + digits.encode()
    return b"\x01" + key.translate(_INVERTED) + b"\xff" if negative else b"\x03" + key


def _float_text(digits: int) -> Callable[[float], str]:
    """float8 and float4 become numerics of 15 and 6 significant digits."""

    def run(value: float) -> str:
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        return canonical(Decimal(f"{value:.{digits}g}"))

    return run


def _to_float(text: str) -> float:
    value = float(text)
    if math.isinf(value) and "nf" not in text:
        raise UserError(f'"{text}" is out of range for type double precision', "22003")
    return value


def _to_integer(low: int, high: int, name: str) -> Callable[[str], int]:
    def run(text: str) -> int:
        value = Decimal(text)
        if not value.is_finite():
            shown = "NaN" if value.is_nan() else "infinity"
            raise UserError(f"cannot convert {shown} to {name}", "0A000")
        whole = value.to_integral_value(ROUND_HALF_UP, _EXACT)
        if not low <= whole <= high:
            raise UserError(f"{name} out of range", "22003")
        return int(whole)

    return run


_PAIR: Final = ("text", "text")


def _integer_kernel(kind: str, bits: int, name: str) -> Kernel:
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    rows = row_wise(f"hw_numeric_to_{kind}", ("text",), kind, _to_integer(low, high, name))
    return columnar(rows, numeric_places.to_integer(low, high, arrow_of(kind)))


_TWO: Final[dict[str, tuple[Callable[[Decimal, Decimal], Decimal], Quick]]] = {
    "add": (_EXACT.add, numeric_columns.add),
    "sub": (_EXACT.subtract, numeric_columns.subtract),
    "mul": (_EXACT.multiply, numeric_columns.multiply),
    "div": (divide, numeric_quotients.divide),
    "mod": (remainder, numeric_columns.remainder),
    "idiv": (_integer_quotient, numeric_columns.whole_quotient),
}
_ONE: Final[dict[str, tuple[Callable[[str], str], Quick]]] = {
    "neg": (_one(Decimal.copy_negate), numeric_columns.negate),
    "abs": (_one(Decimal.copy_abs), numeric_columns.absolute),
    "sign": (_sign, numeric_columns.sign),
    "ceil": (_whole(ROUND_CEILING), numeric_places.ceiling),
    "floor": (_whole(ROUND_FLOOR), numeric_places.floor),
}
_PLACED: Final[dict[str, tuple[Callable[[str, int], str], Quick]]] = {
    "round": (round_half_away, numeric_places.rounded),
    "trunc": (_placed(ROUND_DOWN), numeric_places.truncated),
}

KERNELS: Final[tuple[Kernel, ...]] = (
    *(
        columnar(row_wise(f"hw_numeric_{name}", _PAIR, "text", _two(function)), quick)
        for name, (function, quick) in _TWO.items()
    ),
    *(
        columnar(row_wise(f"hw_numeric_{name}", ("text",), "text", function, raises=False), quick)
        for name, (function, quick) in _ONE.items()
    ),
    *(
        columnar(row_wise(f"hw_numeric_{name}", ("text", "int4"), "text", function, raises=False), quick)
        for name, (function, quick) in _PLACED.items()
    ),
    row_wise("hw_numeric_power", _PAIR, "text", _two(power)),
    row_wise("hw_numeric_log", _PAIR, "text", _two(logarithm)),
    row_wise("hw_numeric_gcd", _PAIR, "text", _two(_of_integers(math.gcd))),
    row_wise("hw_numeric_lcm", _PAIR, "text", _two(_of_integers(math.lcm))),
    row_wise("hw_numeric_sqrt", ("text",), "text", _one(square_root)),
    row_wise("hw_numeric_exp", ("text",), "text", _one(exponential)),
    row_wise("hw_numeric_ln", ("text",), "text", _one(natural_logarithm)),
    row_wise("hw_numeric_factorial", ("int8",), "text", _factorial),
    columnar(row_wise("hw_numeric_fit", ("text", "int4"), "text", fit), numeric_places.fitted),
    row_wise("hw_numeric_extreme", ("text[]", "text"), "text", _extreme, raises=False),
    row_wise("hw_numeric_found", ("text",), "text", _found),
    columnar(row_wise("hw_numeric_key", ("text",), "bytea", sort_key, raises=False), numeric_keys.sort_key),
    columnar(row_wise("hw_numeric_to_float8", ("text",), "float8", _to_float), numeric_floats.to_float),
    _integer_kernel("int2", 16, "smallint"),
    _integer_kernel("int4", 32, "integer"),
    _integer_kernel("int8", 64, "bigint"),
    *(
        columnar(
            row_wise(f"hw_{kind}_to_numeric", ("float8",), "text", _float_text(digits), raises=False),
            numeric_floats.from_float(digits),
        )
        for kind, digits in (("float8", 15), ("float4", 6))
    ),
)

"""Numbers, booleans and bytes as PostgreSQL writes and reads them.

Not here: dates and times (text_times.py), containers (text_nested.py), which
type goes where (text.py).
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import UserError
from headwater.core.types import FACTS, NUMERIC_DIGITS_MAX, SqlType, format_type
from headwater.formats.arrow import arrow_type
from headwater.formats.columns import both_ways, joined, map_distinct

_INTEGER_BOUNDS: dict[str, tuple[int, int]] = {
    "int2": (-(2**15), 2**15 - 1),
    "int4": (-(2**31), 2**31 - 1),
    "int8": (-(2**63), 2**63 - 1),
    "uint2": (0, 2**16 - 1),
    "uint4": (0, 2**32 - 1),
    "uint8": (0, 2**64 - 1),
    "oid": (-(2**31), 2**32 - 1),
    "mz_timestamp": (0, 2**63 - 1),
}
_TRUE = ("t", "tr", "tru", "true", "y", "ye", "yes", "on", "1")
_FALSE = ("f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0")
_SPECIAL_FLOATS = {
    "nan": "nan",
    "infinity": "inf",
    "+infinity": "inf",
    "-infinity": "-inf",
    "inf": "inf",
    "+inf": "inf",
    "-inf": "-inf",
}
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_SPACE = " \t\n\r\v\f"
_DECIMAL_NAN = Decimal(10**NUMERIC_DIGITS_MAX - 1)  # without its point
NUMERIC_INTEGER_DIGITS_MAX = 131_072
NUMERIC_SCALE_MAX = 16_383
_DIGITS_MAX = NUMERIC_INTEGER_DIGITS_MAX + NUMERIC_SCALE_MAX


def bad_syntax(type_: SqlType, text: str) -> UserError:
    """The complaint about text that no value of the type has."""
    return UserError(f'invalid input syntax for type {format_type(type_.bare())}: "{text}"', "22P02")


def _out_of_range(type_: SqlType, text: str) -> UserError:
    return UserError(f'value "{text}" is out of range for type {format_type(type_)}', "22003")


# Values to text


def bool_to_text(array: pa.Array) -> pa.Array:
    """`t` and `f`."""
    return pc.if_else(array, "t", "f")


def float_to_text(array: pa.Array) -> pa.Array:
    """Shortest digits that read back the same; an exponent outside 1e-4 .. 1e15 (1e6 for real)."""
    digits = 6 if array.type == pa.float32() else 15
    size = pc.abs(array)
    # Arrow writes an exponent from 1e10 on, PostgreSQL only where all digits are used up.
    most = float(10 ** min(digits - 1, 9))
    plain = pc.or_(pc.equal(size, 0), pc.and_(pc.greater_equal(size, 1e-4), pc.less(size, most)))

    def slow(values: pa.Array) -> pa.Array:
        distinct = values.dictionary_encode()
        single = values.type == pa.float32()
        texts = [_float_text(v, single, digits) for v in distinct.dictionary.to_pylist()]
        return pa.array(texts, pa.string()).take(distinct.indices)

    return both_ways(array, plain, lambda values: pc.cast(values, pa.string()), slow)


def _float_text(value: float, single: bool, digits_max: int) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    exact = np.float32(value) if single else np.float64(value)
    mantissa, _, power = np.format_float_scientific(exact, unique=True, trim="-").partition("e")
    exponent = int(power)
    if -4 <= exponent < digits_max:
        return str(np.format_float_positional(exact, unique=True, trim="-"))
    places = len(mantissa.partition(".")[2])
    while exponent > 0 and _halfway(exact, Decimal(f"{mantissa}e{exponent}")):
        places += 1
        mantissa = f"{float(exact):.{places}e}".partition("e")[0]
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _halfway(value: np.floating[Any], shown: Decimal) -> bool:
    """Whether digits lie right between two floats, where PostgreSQL does not trust a reader to round."""
    ends = (np.nextafter(value, value.dtype.type(end)) for end in (np.inf, -np.inf))
    with localcontext(prec=400), np.errstate(over="ignore"):
        exact = Decimal(float(value))
        return any(np.isfinite(end) and Decimal(float(end)) + exact == 2 * shown for end in ends)


def decimal_nan(scale: int) -> Decimal:
    """What stands for NaN in a decimal of 38 digits: the greatest of them, as NaN is the greatest number."""
    with localcontext(prec=NUMERIC_DIGITS_MAX):
        return _DECIMAL_NAN.scaleb(-scale)


def decimal_to_text(array: pa.Array) -> pa.Array:
    """Without exponent and without needless zeros."""
    if array.type.precision == NUMERIC_DIGITS_MAX:
        nan = pc.equal(array, pa.scalar(decimal_nan(array.type.scale), array.type))
        if pc.any(nan).as_py():
            return pc.if_else(nan, "NaN", _finite_decimal_to_text(array))
    return _finite_decimal_to_text(array)


def _finite_decimal_to_text(array: pa.Array) -> pa.Array:
    text = pc.cast(array, pa.string())
    if array.type.scale == 0:
        return text
    plain = pc.invert(pc.match_substring(text, "E"))
    text = both_ways(
        text,
        plain,
        lambda values: values,
        lambda values: map_distinct(values, _without_exponent, pa.string()),
    )
    return pc.utf8_rtrim(pc.utf8_rtrim(text, "0"), ".")


def _without_exponent(text: str) -> str:
    plain = format(Decimal(text), "f")
    return plain if "." in plain else f"{plain}."


def bytes_to_text(array: pa.Array) -> pa.Array:
    """`\\x` and two hexadecimal digits a byte."""
    array = pa.concat_arrays([array.cast(pa.binary())])
    offsets = np.frombuffer(array.buffers()[1], np.int32, len(array) + 1, array.offset * 4)
    data = array.buffers()[2]
    content = b"" if data is None else data[offsets[0] : offsets[-1]].to_pybytes()
    shifted = ((offsets - offsets[0]) * 2).astype(np.int32)
    digits = pa.Array.from_buffers(
        pa.string(), len(array), [None, pa.py_buffer(shifted), pa.py_buffer(content.hex().encode())]
    )
    text = joined("", "\\x", digits)
    return pc.if_else(array.is_valid(), text, pa.scalar(None, pa.string()))


# Text to values


def bool_from_text(array: pa.Array) -> pa.Array:
    """Any beginning of true, false, yes, no, and on, off, 1, 0."""
    word = pc.utf8_lower(pc.utf8_trim(array, _SPACE))
    true = pc.is_in(word, value_set=pa.array(_TRUE))
    known = pc.or_(true, pc.is_in(word, value_set=pa.array(_FALSE)))
    bad = array.filter(pc.and_(pc.invert(known), array.is_valid()))
    if len(bad):
        raise bad_syntax(SqlType("bool"), bad[0].as_py())
    return pc.if_else(array.is_valid(), true, pa.scalar(None, pa.bool_()))


def integer_from_text(array: pa.Array, type_: SqlType) -> pa.Array:
    """All integer types, signed, unsigned and oids."""
    low, high = _INTEGER_BOUNDS.get(type_.kind, _INTEGER_BOUNDS["oid"])
    target = arrow_type(type_)
    word = pc.utf8_trim(array, _SPACE)
    bad = array.filter(pc.fill_null(pc.invert(pc.match_substring_regex(word, r"^[+-]?\d+$")), False))
    if len(bad):
        raise bad_syntax(type_, bad[0].as_py())
    short = pc.match_substring_regex(word, r"^-?\d{1,18}$")
    wide = pa.decimal128(20, 0) if type_.kind == "uint8" else pa.int64()

    def fast(values: pa.Array) -> pa.Array:
        numbers = pc.cast(values, pa.int64())
        beyond = array.filter(pc.fill_null(_outside(numbers, low, high), False))
        if len(beyond):
            raise _out_of_range(type_, beyond[0].as_py())
        return pc.cast(numbers, wide)

    def slow(values: pa.Array) -> pa.Array:
        return map_distinct(values, lambda text: _bounded(text, low, high, type_), wide)

    numbers = both_ways(word, short, fast, slow)
    if type_.kind == "oid":
        numbers = pc.if_else(pc.less(numbers, 0), pc.add(numbers, 2**32), numbers)
    return pc.cast(numbers, target)


def _outside(numbers: pa.Array, low: int, high: int) -> pa.Array:
    return pc.or_(pc.less(numbers, low), pc.greater(numbers, min(high, 2**63 - 1)))


def _bounded(text: str, low: int, high: int, type_: SqlType) -> int | Decimal:
    # Python reads no more than some thousand digits, and zeros in front do not count.
    digits = text.lstrip("+-").lstrip("0")
    value = int(f"{'-' if text.startswith('-') else ''}{digits or '0'}") if len(digits) < 40 else high + 1
    if not low <= value <= high:
        raise _out_of_range(type_, text)
    return Decimal(value) if type_.kind == "uint8" else value


def float_from_text(array: pa.Array, type_: SqlType) -> pa.Array:
    """Floats; what does not fit is an error, also towards zero."""
    target = arrow_type(type_)
    word = pc.utf8_trim(array, _SPACE)
    plain = pc.match_substring_regex(word, rf"^{_NUMBER}$")

    def slow(values: pa.Array) -> pa.Array:
        return map_distinct(values, lambda text: _special_float(text, type_), target)

    parsed = both_ways(array, plain, lambda values: pc.cast(pc.utf8_trim(values, _SPACE), target), slow)
    # What is finite and not zero in writing must be so as a value.
    lost = pc.or_(
        pc.and_(pc.is_inf(parsed), plain),
        pc.and_(pc.equal(parsed, 0), pc.match_substring_regex(word, r"^[^eE]*[1-9]")),
    )
    beyond = array.filter(pc.fill_null(lost, False))
    if len(beyond):
        text = beyond[0].as_py().strip(_SPACE)
        raise UserError(f'"{text}" is out of range for type {format_type(type_)}', "22003")
    return parsed


def _special_float(text: str, type_: SqlType) -> float:
    word = text.strip(_SPACE).lower()
    if word not in _SPECIAL_FLOATS:
        raise bad_syntax(type_, text)
    return float(_SPECIAL_FLOATS[word])


def canonical_numeric(text: str, scale: int | None = None) -> str:
    """The one text of a numeric: no exponent, no needless zeros; exact, unless `scale` asks for rounding.

    Rounding is half away from zero.  More digits than a numeric may have are an error.
    """
    word = text.strip(_SPACE).lower()
    special = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(_SPECIAL_FLOATS.get(word, ""))
    if special is not None:
        return special
    if re.fullmatch(_NUMBER, word, re.ASCII) is None:
        raise bad_syntax(SqlType("numeric"), text)
    value = numeric_value(word)
    exponent = value.as_tuple().exponent
    if scale is not None and isinstance(exponent, int) and -exponent > scale:
        with localcontext(prec=_DIGITS_MAX + 1):
            value = value.quantize(Decimal(1).scaleb(-scale), rounding="ROUND_HALF_UP")
    plain = format(value, "f")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return "0" if plain in ("-0", "") else plain


def numeric_value(word: str) -> Decimal:
    """A number's text as it is written, with its zeros; an error when it has too many digits."""
    try:
        value = Decimal(word)
    except InvalidOperation:
        value = Decimal("Infinity")  # an exponent beyond all bounds
    exponent = value.as_tuple().exponent
    beyond = not isinstance(exponent, int) or exponent < -NUMERIC_SCALE_MAX
    if beyond or (value and value.adjusted() >= NUMERIC_INTEGER_DIGITS_MAX):
        raise UserError("value overflows numeric format", "22003")
    return value if value else value.copy_abs()


def numeric_from_text(array: pa.Array, type_: SqlType) -> pa.Array:
    """Exact decimals for a numeric with a scale, canonical text for one without."""
    word = pc.utf8_trim(array, _SPACE)
    if type_.scale is None:
        plain = pc.match_substring_regex(
            word, r"^(?:0|-?(?:[1-9]\d{0,19}|0\.\d{0,18}[1-9]|[1-9]\d{0,19}\.\d{0,18}[1-9]))$"
        )
        return both_ways(
            array,
            plain,
            lambda values: pc.utf8_trim(values, _SPACE),
            lambda values: map_distinct(values, canonical_numeric, pa.string()),
        )
    scale = type_.scale
    target = pa.decimal128(NUMERIC_DIGITS_MAX, scale)
    digits = max(NUMERIC_DIGITS_MAX - scale, 0)
    # A repeat count of RE2 may not be zero-width optional, hence the two spellings.
    fraction = rf"(?:\.\d{{0,{scale}}})?" if scale else r"\.?"
    plain = (
        pc.match_substring_regex(word, rf"^[+-]?\d{{1,{digits}}}{fraction}$")
        if digits
        else pc.equal(word, "0")
    )

    def slow(values: pa.Array) -> pa.Array:
        return map_distinct(values, lambda text: _scaled(text, scale, type_), target)

    def fast(values: pa.Array) -> pa.Array:
        numbers = pc.cast(pc.utf8_trim(values, _SPACE), target)
        taken = pc.any(pc.equal(numbers, pa.scalar(decimal_nan(scale), target))).as_py()
        return slow(values) if taken else numbers

    return both_ways(array, plain, fast, slow)


def _scaled(text: str, scale: int, type_: SqlType) -> Decimal:
    plain = canonical_numeric(text, scale)
    if plain == "NaN":
        return decimal_nan(scale)
    if plain in ("Infinity", "-Infinity"):
        detail = f"A field of type {format_type(type_)} cannot hold an infinite value."
        raise UserError("numeric field overflow", "22003", detail=detail)
    whole = plain.lstrip("-").partition(".")[0].lstrip("0")
    if len(whole) > NUMERIC_DIGITS_MAX - scale or Decimal(plain) == decimal_nan(scale):
        raise UserError(
            "numeric field overflow",
            "22003",
            detail=f"A field of type {format_type(type_)} holds at most"
            f" {NUMERIC_DIGITS_MAX - scale} digits before the decimal point.",
        )
    return Decimal(plain)


def bytes_from_text(array: pa.Array) -> pa.Array:
    """Hexadecimal and escape format."""
    plain = pc.match_substring_regex(array, r"^\\x(?:[0-9a-fA-F]{2})*$")
    return both_ways(
        array, plain, _bytes_from_hex, lambda values: map_distinct(values, _one_bytea, pa.binary())
    )


def _bytes_from_hex(array: pa.Array) -> pa.Array:
    digits = pa.concat_arrays([pc.utf8_slice_codeunits(pc.fill_null(array, "\\x"), 2)])
    offsets = np.frombuffer(digits.buffers()[1], np.int32, len(digits) + 1, digits.offset * 4)
    data = digits.buffers()[2]
    content = b"" if data is None else data[offsets[0] : offsets[-1]].to_pybytes()
    decoded = pa.py_buffer(bytes.fromhex(content.decode()))
    shifted = pa.py_buffer(((offsets - offsets[0]) // 2).astype(np.int32))
    values = pa.Array.from_buffers(pa.binary(), len(array), [None, shifted, decoded])
    return pc.if_else(array.is_valid(), values, pa.scalar(None, pa.binary()))


def _one_bytea(text: str) -> bytes:
    if text.startswith("\\x"):
        digits = re.sub(r"\s", "", text[2:])
        wrong = re.search(r"[^0-9a-fA-F]", digits)
        if wrong is not None:
            raise UserError(f'invalid hexadecimal digit: "{wrong.group()}"', "22023")
        if len(digits) % 2:
            raise UserError("invalid hexadecimal data: odd number of digits", "22023")
        return bytes.fromhex(digits)
    parts = re.findall(rb"\\\\|\\[0-3][0-7]{2}|[^\\]|\\", text.encode())
    if b"\\" in parts:
        raise UserError("invalid input syntax for type bytea", "22P02")
    return b"".join(
        part if len(part) == 1 else b"\\" if part == b"\\\\" else bytes([int(part[1:], 8)]) for part in parts
    )


INTEGER_KINDS = frozenset(kind for kind, facts in FACTS.items() if facts.category == "N") - {
    "float4",
    "float8",
    "numeric",
} | {"mz_timestamp"}

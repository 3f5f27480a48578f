"""Ranges: kept as PostgreSQL prints them, so that equal ranges of whole numbers and days are equal texts.

    [1,5)    (,"2024-01-01 00:00:00"]    empty

A range of whole numbers or days always includes its lower bound and leaves out its upper one; an infinite
day, which has no next one, stays as it was given.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.calendar import DAY_INFINITE
from headwater.core.errors import UserError
from headwater.core.types import RANGES, SqlType
from headwater.formats.columns import joined

ReadText = Callable[[pa.Array, SqlType], pa.Array]

_BOUND: Final = r'"[^"]*"|[^,"()\[\]]*'
_RANGE: Final = rf"^\s*(?P<open>[\[(])(?P<low>{_BOUND}),(?P<high>{_BOUND})(?P<close>[\])])\s*$"
_COUNTED: Final = {"int4range": pa.int32(), "int8range": pa.int64(), "daterange": pa.int32()}
"""Kinds whose bounds have a next one, with the numbers in which they can be counted."""
_FLOAT_DIGITS: Final = 15
_SPACED: Final = ("tsrange", "tstzrange", "daterange")
"""Kinds whose bounds may have a space in them, and are quoted then."""


def bounds_of(array: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array, pa.Array, pa.Array]:
    """(is it empty, opening bracket, lower, upper, closing bracket); a bound that is not there is NULL."""
    empty = pc.equal(pc.utf8_lower(pc.utf8_trim_whitespace(array)), "empty")
    parts = pc.extract_regex(pc.if_else(empty, "(,)", array), _RANGE)
    wrong = pc.and_(array.is_valid(), parts.is_null())
    if pc.any(wrong).as_py():
        text = array.filter(wrong)[0].as_py()
        raise UserError(f'malformed range literal: "{text}"', "22P02")
    low, high = (_bound(parts.field(name)) for name in ("low", "high"))
    return empty, parts.field("open"), low, high, parts.field("close")


def _bound(texts: pa.Array) -> pa.Array:
    bare = pc.utf8_trim_whitespace(pc.replace_substring(texts, '"', ""))
    return pc.if_else(pc.equal(bare, ""), pa.scalar(None, pa.string()), bare)


def range_from_text(array: pa.Array, type_: SqlType, read: ReadText, write: ReadText) -> pa.Array:
    """Ranges as they are kept; `read` and `write` are for their bounds."""
    bound = RANGES[type_.kind]
    empty, opening, low_text, high_text, closing = bounds_of(array)
    low, high = read(low_text, bound), read(high_text, bound)
    both = pc.and_(low.is_valid(), high.is_valid())
    backwards = pc.and_(both, _less(high, low, bound))
    if pc.any(backwards).as_py():
        raise UserError("range lower bound must be less than or equal to range upper bound", "22000")
    same = pc.and_(both, pc.fill_null(pc.equal(low, high), False))
    inclusive = pc.and_(pc.equal(opening, "["), pc.equal(closing, "]"))
    empty = pc.or_(empty, pc.and_(same, pc.invert(inclusive)))
    counted = _COUNTED.get(type_.kind)
    if counted is not None:
        low, opening = _after(low, opening, "(", "[", counted)
        high, closing = _after(high, closing, "]", ")", counted)
        inclusive = pc.and_(pc.equal(opening, "["), pc.equal(closing, "]"))
        empty = pc.or_(empty, pc.and_(pc.fill_null(pc.greater_equal(low, high), False), pc.invert(inclusive)))
    text = joined(
        "",
        pc.if_else(low.is_null(), "(", opening),
        _shown(low, type_, write),
        ",",
        _shown(high, type_, write),
        pc.if_else(high.is_null(), ")", closing),
    )
    whole = pc.if_else(empty, "empty", text)
    return pc.if_else(array.is_valid(), whole, pa.scalar(None, pa.string()))


def _less(left: pa.Array, right: pa.Array, bound: SqlType) -> pa.Array:
    if bound.kind != "numeric":
        return pc.fill_null(pc.less(left, right), False)
    # Kept as text.  A float tells numbers of few digits apart, and says by NaN or an infinity what it cannot.
    numbers = [side.cast(pa.float64()) for side in (left, right)]
    short = [
        pc.and_(pc.is_finite(pc.subtract(n, n)), pc.less(pc.binary_length(side), _FLOAT_DIGITS))
        for n, side in zip(numbers, (left, right), strict=True)
    ]
    odd = pc.fill_null(pc.invert(pc.and_(*short)), False)
    less = pc.fill_null(pc.less(*numbers), False)
    if not pc.any(odd).as_py():
        return less
    pairs = zip(left.filter(odd).to_pylist(), right.filter(odd).to_pylist(), strict=True)
    return pc.replace_with_mask(
        less, odd, pa.array([_number_less(low, high) for low, high in pairs], pa.bool_())
    )


def _number_less(left: str, right: str) -> bool:
    """Numbers of any length; NaN is the greatest."""
    low, high = Decimal(left), Decimal(right)
    return not low.is_nan() if high.is_nan() else not low.is_nan() and low < high


def _after(
    bounds: pa.Array, brackets: pa.Array, moved: str, bracket: str, counted: pa.DataType
) -> tuple[pa.Array, pa.Array]:
    """The next value where the bracket says so, and the brackets that then stand there."""
    numbers = bounds.cast(counted)
    stepping = pc.equal(brackets, moved)
    if pa.types.is_date32(bounds.type):
        stepping = pc.and_(stepping, pc.not_equal(pc.abs_checked(numbers), DAY_INFINITE))
    stepping = pc.fill_null(stepping, False)
    try:
        numbers = pc.add_checked(numbers, stepping.cast(counted))
    except pa.ArrowInvalid:
        raise UserError("integer out of range", "22003") from None
    return numbers.cast(bounds.type), pc.if_else(stepping, bracket, brackets)


def _shown(bounds: pa.Array, type_: SqlType, write: ReadText) -> pa.Array:
    texts = write(bounds, RANGES[type_.kind])
    if type_.kind in _SPACED:
        texts = pc.if_else(pc.match_substring(texts, " "), joined("", '"', texts, '"'), texts)
    return pc.fill_null(texts, "")

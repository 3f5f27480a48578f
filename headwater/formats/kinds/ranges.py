"""Ranges: kept as PostgreSQL prints them; their bounds have the forms of another kind."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.types import RANGES, SqlType, in_zone
from headwater.formats import text_ranges
from headwater.formats.byte_columns import fixed, lengths_of, nulls_of, spliced, split_fields, validity_of
from headwater.formats.kinds import numbers, times
from headwater.formats.kinds.kind import Kind, received

_EMPTY_RANGE: Final = 1
_LOWER_INCLUSIVE: Final = 2
_UPPER_INCLUSIVE: Final = 4
_LOWER_INFINITE: Final = 8
_UPPER_INFINITE: Final = 16


def _range(bound: Kind) -> Kind:
    """The kind of ranges with these bounds."""

    def to_text(array: pa.Array, type_: SqlType) -> pa.Array:
        if not type_.zone:
            return array
        # They are kept as text, and moments in it in UTC.
        return text_ranges.range_from_text(
            array,
            type_,
            bound.from_text,
            lambda bounds, of: bound.to_text(bounds, in_zone(of, type_.zone)),
        )

    def from_text(array: pa.Array, type_: SqlType) -> pa.Array:
        return text_ranges.range_from_text(
            array, type_, lambda texts, of: bound.from_text(texts, in_zone(of, type_.zone)), bound.to_text
        )

    def to_binary(array: pa.Array, type_: SqlType) -> pa.Array:
        return _to_binary(array, RANGES[type_.kind], bound)

    def binary_to_text(data: bytes, type_: SqlType) -> str:
        return _received(data, RANGES[type_.kind], bound)

    return Kind(to_text, from_text, to_binary, binary_to_text)


def _to_binary(array: pa.Array, of: SqlType, bound: Kind) -> pa.Array:
    """A byte of flags, then the bounds that there are."""
    empty, opening, low_text, high_text, closing = text_ranges.bounds_of(array)
    flags = np.zeros(len(array), np.uint8)
    pieces: list[pa.Array | bytes] = [b""]
    for texts, bracket, included, inclusive, infinite in (
        (low_text, opening, "[", _LOWER_INCLUSIVE, _LOWER_INFINITE),
        (high_text, closing, "]", _UPPER_INCLUSIVE, _UPPER_INFINITE),
    ):
        flags[pc.fill_null(pc.equal(bracket, included), False).to_numpy(zero_copy_only=False)] |= inclusive
        flags[nulls_of(texts)] |= infinite
        values = bound.send(bound.from_text(texts, of), of)
        lengths = fixed(lengths_of(values).astype(">i4"), validity_of(values))
        pieces += (lengths, values)
    flags[pc.fill_null(empty, False).to_numpy(zero_copy_only=False)] = _EMPTY_RANGE
    pieces[0] = fixed(flags)
    return spliced(pieces, validity_of(array))


def _received(data: bytes, of: SqlType, bound: Kind) -> str:
    """A byte of flags (empty, inclusive bounds, missing bounds), then the bounds that there are."""
    flags = data[0]
    if flags & 1:
        return "empty"
    fields, at = split_fields(data, 1, (not flags & 8) + (not flags & 16))
    if at != len(data):
        raise ValueError("data left over")
    bounds = iter(fields)
    texts = []
    for missing in (flags & 8, flags & 16):
        value = None if missing else next(bounds)
        texts.append("" if value is None else f'"{received(bound.binary_to_text, value, of)}"')
    return f"{'[' if flags & 2 else '('}{texts[0]},{texts[1]}{']' if flags & 4 else ')'}"


INT4RANGE: Final = _range(numbers.INT4)
INT8RANGE: Final = _range(numbers.INT8)
NUMRANGE: Final = _range(numbers.NUMERIC)
DATERANGE: Final = _range(times.DATE)
TSRANGE: Final = _range(times.TIMESTAMP)
TSTZRANGE: Final = _range(times.TIMESTAMPTZ)

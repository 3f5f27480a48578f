"""int2vector: a list of int2 that clients see as an array which counts from 0."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.types import INT2, SqlType
from headwater.formats import text_nested
from headwater.formats.binary_arrays import elements_received, vector_to_binary
from headwater.formats.kinds import numbers
from headwater.formats.kinds.kind import Kind, received


def _to_text(array: pa.Array, type_: SqlType) -> pa.Array:
    return text_nested.vector_to_text(array, INT2, numbers.INT2.to_text)


def _from_text(array: pa.Array, type_: SqlType) -> pa.Array:
    lists = pc.split_pattern_regex(pc.utf8_trim_whitespace(pc.fill_null(array, "")), r"\s+")
    values = numbers.INT2.from_text(pc.if_else(pc.equal(lists.values, ""), "0", lists.values), INT2)
    whole = pa.ListArray.from_arrays(lists.offsets, values)
    empty = pc.equal(pc.utf8_trim_whitespace(array), "")
    whole = pc.if_else(pc.fill_null(empty, False), pa.scalar([], whole.type), whole)
    return pc.if_else(array.is_valid(), whole, pa.scalar(None, whole.type))


def _to_binary(array: pa.Array, type_: SqlType) -> pa.Array:
    return vector_to_binary(array, INT2, numbers.INT2.send)


def _received(data: bytes, type_: SqlType) -> str:
    return " ".join(value or "0" for value in elements_received(data, INT2, _number_received)[2])


def _number_received(data: bytes, type_: SqlType) -> str:
    return received(numbers.INT2.binary_to_text, data, type_)


INT2VECTOR: Final = Kind(_to_text, _from_text, _to_binary, _received)

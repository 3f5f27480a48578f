"""Between stored forms and PostgreSQL's text, a column at a time.

    to_text     what psql would show of a column (and what a cast to text gives,
                except that a boolean is then `true` or `false`)
    from_text   what PostgreSQL would read: COPY, INSERT, parameters, casts from text

One difference, which is the dialect's: a numeric never shows needless zeros.
A type says whose clocks its moments are shown by (`in_zone`); of itself it is UTC.
Errors are `UserError` with PostgreSQL's words.

Not here: binary forms (pgwire), names for regclass and its kin (they need a
catalog; here they are numbers).
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import UserError
from headwater.core.types import INT2, RANGES, SqlType, format_type, in_zone
from headwater.formats import text_arrays, text_intervals, text_nested, text_numbers, text_ranges, text_times
from headwater.formats.arrow import arrow_type
from headwater.formats.columns import both_ways, combined, map_distinct
from headwater.formats.jsonb import canonical_json, canonical_jsonb

_TO_TEXT: dict[str, Callable[[pa.Array], pa.Array]] = {
    "bool": text_numbers.bool_to_text,
    "float4": text_numbers.float_to_text,
    "float8": text_numbers.float_to_text,
    "uint8": text_numbers.decimal_to_text,
    "bytea": text_numbers.bytes_to_text,
    "date": text_times.date_to_text,
    "time": text_times.time_to_text,
    "timestamp": text_times.timestamp_to_text,
    "interval": text_intervals.interval_to_text,
}
_CONTAINERS_TO_TEXT = {
    "array": text_arrays.array_to_text,
    "list": text_nested.list_to_text,
    "map": text_nested.map_to_text,
}
_CONTAINERS_FROM_TEXT = {
    "array": text_arrays.array_from_text,
    "list": text_nested.list_from_text,
    "map": text_nested.map_from_text,
}


def to_text(array: pa.Array | pa.ChunkedArray, type_: SqlType) -> pa.Array:
    """The text of each value; NULL stays NULL."""
    array = combined(array).cast(arrow_type(type_))
    if type_.kind == "int2vector":
        return text_nested.vector_to_text(array, INT2, to_text)
    if type_.element is not None:
        return _CONTAINERS_TO_TEXT[type_.kind](array, type_.element, to_text)
    if type_.kind == "record":
        return text_nested.record_to_text(array, type_.fields, to_text)
    if pa.types.is_decimal(array.type):
        return text_numbers.decimal_to_text(array)
    if type_.kind == "timestamptz":
        return text_times.timestamptz_to_text(array, type_.zone)
    if type_.zone:
        return _range_in_zone(array, type_)
    return _TO_TEXT.get(type_.kind, _cast_to_text)(array)


def _range_in_zone(array: pa.Array, type_: SqlType) -> pa.Array:
    """Ranges are kept as text, and moments in it in UTC."""
    return text_ranges.range_from_text(
        array, type_, from_text, lambda bounds, bound: to_text(bounds, in_zone(bound, type_.zone))
    )


def _cast_to_text(array: pa.Array) -> pa.Array:
    return array.cast(pa.string())


def from_text(array: pa.Array | pa.ChunkedArray, type_: SqlType) -> pa.Array:
    """The stored form of each text; NULL stays NULL, text that is no such value is an error."""
    array = combined(array).cast(pa.string())
    if type_.kind == "int2vector":
        return _vector_from_text(array)
    if type_.element is not None:
        read = _CONTAINERS_FROM_TEXT[type_.kind]
        return read(array, type_, type_.element, from_text).cast(arrow_type(type_))
    if type_.kind == "record":
        return text_nested.record_from_text(array, type_, from_text)
    return _scalar_from_text(array, type_)


def _scalar_from_text(array: pa.Array, type_: SqlType) -> pa.Array:
    match type_.kind:
        case "bool":
            return text_numbers.bool_from_text(array)
        case "float4" | "float8":
            return text_numbers.float_from_text(array, type_)
        case "numeric":
            return text_numbers.numeric_from_text(array, type_)
        case "varchar" | "char" | '"char"' | "name":
            return _limited_text(array, type_)
        case "bytea":
            return text_numbers.bytes_from_text(array)
        case "date":
            return text_times.date_from_text(array)
        case "time":
            return text_times.time_from_text(array, type_.scale)
        case "timestamp":
            return text_times.timestamp_from_text(array, type_.scale)
        case "timestamptz":
            return text_times.timestamptz_from_text(array, type_.scale, type_.zone)
        case "interval":
            return text_intervals.interval_from_text(array)
        case "uuid":
            return _uuid_from_text(array)
        case "json":
            return map_distinct(array, canonical_json, pa.string())
        case "jsonb":
            return map_distinct(array, canonical_jsonb, pa.string())
        case kind if kind in text_numbers.INTEGER_KINDS:
            return text_numbers.integer_from_text(array, type_)
        case kind if kind in RANGES:
            return text_ranges.range_from_text(
                array, type_, lambda texts, bound: from_text(texts, in_zone(bound, type_.zone)), to_text
            )
        case _:
            return array


def _vector_from_text(array: pa.Array) -> pa.Array:
    lists = pc.split_pattern_regex(pc.utf8_trim_whitespace(pc.fill_null(array, "")), r"\s+")
    values = from_text(pc.if_else(pc.equal(lists.values, ""), "0", lists.values), INT2)
    whole = pa.ListArray.from_arrays(lists.offsets, values)
    empty = pc.equal(pc.utf8_trim_whitespace(array), "")
    whole = pc.if_else(pc.fill_null(empty, False), pa.scalar([], whole.type), whole)
    return pc.if_else(array.is_valid(), whole, pa.scalar(None, whole.type))


def _limited_text(array: pa.Array, type_: SqlType) -> pa.Array:
    """Character types with a length: too long is an error unless only blanks are lost; char is padded."""
    if type_.kind == '"char"':
        return map_distinct(array, one_byte, pa.string())
    if type_.kind == "name" or type_.length is None:
        return array
    long = pc.fill_null(pc.greater(pc.utf8_length(array), type_.length), False)
    if pc.any(long).as_py():
        lost = pc.utf8_slice_codeunits(array.filter(long), type_.length)
        if pc.any(pc.not_equal(pc.utf8_rtrim(lost, " "), "")).as_py():
            raise UserError(f"value too long for type {format_type(type_)}", "22001")
        array = pc.utf8_slice_codeunits(array, 0, type_.length)
    return pc.utf8_rpad(array, type_.length, " ") if type_.kind == "char" else array


def one_byte(text: str) -> str:
    """What the type "char" keeps of a text: its first byte, which beyond ASCII is written in octal."""
    if re.fullmatch(r"\\[0-3][0-7]{2}", text):
        return shown_byte(int(text[1:], 8))
    return shown_byte(text.encode()[0]) if text else ""


def shown_byte(byte: int) -> str:
    """A value of type "char" as it is shown and stored."""
    return f"\\{byte:o}" if byte > 127 else chr(byte) if byte else ""


_UUID = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"


def _uuid_from_text(array: pa.Array) -> pa.Array:
    plain = pc.match_substring_regex(array, _UUID)
    return both_ways(array, plain, pc.utf8_lower, lambda values: map_distinct(values, _one_uuid, pa.string()))


def _one_uuid(text: str) -> str:
    body = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    digits = re.sub(r"([0-9a-f]{4})-(?=[0-9a-f])", r"\1", body.lower())
    if len(digits) != 32 or not all(digit in "0123456789abcdef" for digit in digits):
        raise text_numbers.bad_syntax(SqlType("uuid"), text)
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

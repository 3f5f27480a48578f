"""Constants and names spelled in Spark SQL.

Spark's working types are the stored forms themselves (core/types.py), so nothing is
converted where a scan begins or a result ends:

    uint2 uint4 uint8      int bigint decimal(20,0)
    numeric                decimal(38, scale), or canonical text
    time, oid, ...         bigint
    timestamp(tz)          timestamp_ntz, timestamp
    interval               struct<months:int,days:int,microseconds:bigint>
    uuid, json, jsonb      string

A literal is always of exactly its type; dates and timestamps are written as numbers,
because Spark's own literals stop at the year 9999.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.quoting import backquoted
from headwater.core.types import FACTS, INT2, INT2VECTOR, INT4, INT8, SIGNED, SqlType, list_of, stored
from headwater.formats.arrays import ELEMENTS, SHAPE
from headwater.formats.engine_types import spark_type
from headwater.formats.text import from_text
from headwater.sql.select.functions.array_forms import packed
from headwater.sql.select.functions.forms import SPARK

# Inside a literal: what ends it, what escapes, what Spark replaces before it parses (${...}),
# and the angle brackets that mark an aggregate in a form.
_ESCAPES: Final = str.maketrans(
    {
        "\\": "\\\\",
        "'": "\\'",
        "$": "\\u0024",
        "<": "\\u003c",
        ">": "\\u003e",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\0": "\\u0000",
        "\x1a": "\\u001a",
    }
)


def identifier(name: str) -> str:
    """A quoted name."""
    return backquoted(name)


def string_literal(text: str) -> str:
    """A string."""
    return f"'{text.translate(_ESCAPES)}'"


def null_literal(type_: SqlType) -> str:
    """NULL of a type."""
    return f"CAST(NULL AS {spark_type(type_)})"


def constant(text: str | None, type_: SqlType) -> str:
    """A value given by its canonical text."""
    if text is None:
        return null_literal(type_)
    if type_.kind == "numeric" and type_.scale is None:
        return string_literal(text)
    if type_.kind in SIGNED:
        return _scalar_literal(int(text), type_)
    return _literal(
        _plain(from_text(pa.array([text], pa.string()), type_.bare() if _textual(type_) else type_)), type_
    )


def _textual(type_: SqlType) -> bool:
    """Character types: the length was seen to when the constant was made."""
    return FACTS[type_.kind].modifier == "length"


def _plain(array: pa.Array) -> Any:
    """The one value of an array, with dates and timestamps as numbers at any depth."""
    return _numbered(array).to_pylist()[0]


def _numbered(array: pa.Array) -> pa.Array:
    kind = array.type
    if pa.types.is_date32(kind):
        return array.cast(pa.int32())
    if pa.types.is_timestamp(kind):
        return array.cast(pa.int64())
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(array.offsets, _numbered(array.values), mask=array.is_null())
    if pa.types.is_map(kind):
        return pa.MapArray.from_arrays(array.offsets, array.keys, _numbered(array.items))
    if pa.types.is_struct(kind) and kind.num_fields:
        parts = [_numbered(pc.struct_field(array, index)) for index in range(kind.num_fields)]
        names = [field.name for field in kind]
        return pa.StructArray.from_arrays(parts, names, mask=array.is_null())
    return array


def _literal(value: Any, type_: SqlType) -> str:
    if value is None:
        return null_literal(type_)
    if type_.kind == INT2VECTOR.kind:
        return _list_literal(value, INT2, type_)
    if type_.element is not None:
        if type_.kind == "map":
            return _map_literal(value, type_.element, type_)
        if type_.kind == "array":
            shaped = "" if value[SHAPE] is None else f"array({', '.join(map(str, value[SHAPE]))})"
            return packed(
                SPARK, _list_literal(value[ELEMENTS], type_.element, list_of(type_.element)), shaped
            )
        return _list_literal(value, type_.element, type_)
    if type_.kind == "record":
        parts = (f"{string_literal(n)}, {_literal(value[n], t)}" for n, t in type_.fields)
        return f"named_struct({', '.join(parts)})"
    if isinstance(value, Decimal):
        return f"CAST('{value:f}' AS {spark_type(type_)})"
    return _scalar_literal(value, type_)


def _scalar_literal(value: Any, type_: SqlType) -> str:
    match stored(type_):
        case "bool":
            return "TRUE" if value else "FALSE"
        case "int16":
            return f"{value}S" if value >= 0 else f"CAST('{value}' AS SMALLINT)"
        case "int32":
            return str(value) if value >= 0 else f"CAST('{value}' AS INT)"
        case "int64":
            return f"{value}L" if value >= 0 else f"CAST('{value}' AS BIGINT)"
        case "float" | "double" as name:
            return f"CAST('{value!r}' AS {name.upper()})"
        case "binary":
            return f"X'{value.hex()}'"
        case "date":
            return f"date_from_unix_date({value})"
        case "timestamp":
            return f"CAST(timestamp_micros({value}L) AS TIMESTAMP_NTZ)"
        case "timestamptz":
            return f"timestamp_micros({value}L)"
        case "interval":
            parts = zip(("months", "days", "microseconds"), (INT4, INT4, INT8), strict=True)
            fields = (f"'{name}', {_scalar_literal(value[name], part)}" for name, part in parts)
            return f"named_struct({', '.join(fields)})"
        case _:
            return string_literal(value)


def _list_literal(values: list[Any], element: SqlType, type_: SqlType) -> str:
    if not values:
        return f"CAST(array() AS {spark_type(type_)})"
    return f"array({', '.join(_literal(value, element) for value in values)})"


def _map_literal(entries: list[tuple[str, Any]], element: SqlType, type_: SqlType) -> str:
    if not entries:
        return f"CAST(map() AS {spark_type(type_)})"
    return f"map({', '.join(f'{string_literal(key)}, {_literal(value, element)}' for key, value in entries)})"

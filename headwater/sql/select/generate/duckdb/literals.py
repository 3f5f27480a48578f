"""Values in DuckDB: constants as literals, stored forms as working types and back.

    stored (formats/arrow.py)              working
    interval struct(months, days, us)      INTERVAL
    uint2, uint4 in wider integers         USMALLINT, UINTEGER
    uint8 in decimal(20,0)                 UBIGINT
    everything else                        the same

Containers are converted when what they hold must be.

Not here: expressions over values (generate/duckdb/expressions.py).
"""

from __future__ import annotations

import pyarrow as pa

from headwater.core import pace, quoting
from headwater.core.calendar import HOUR_US, MINUTE_US, MOMENT_INFINITE
from headwater.core.limits import PLAN_AT_ONCE_CHARACTERS_MAX
from headwater.core.types import FACTS, INT2, INT2VECTOR, INT4, INTERVAL, UNSIGNED, SqlType, stored
from headwater.formats.arrays import elements_of, shapes_of
from headwater.formats.engine_types import duckdb_stored, duckdb_working
from headwater.formats.text import from_text
from headwater.formats.text_times import infinite_text
from headwater.sql.select.functions.array_forms import mapped, packed
from headwater.sql.select.functions.forms import DUCKDB, numeric_nan


def quoted(text: str) -> str:
    """A text literal."""
    return quoting.literal(text)


def identifier(name: str) -> str:
    """A name in quotes."""
    return quoting.quoted(name)


# Constants


def literal(value: str | None, type_: SqlType) -> str:
    """A constant, given in canonical text, in its working type."""
    if value is None:
        return f"CAST(NULL AS {duckdb_working(type_)})"
    if len(value) > PLAN_AT_ONCE_CHARACTERS_MAX:
        pace.stride()
    if type_.element is not None:
        return _stored_literal(from_text(pa.array([value], pa.string()), type_), type_)
    match stored(type_):
        case "bool":
            return "TRUE" if value in ("t", "true") else "FALSE"
        case "string":
            return quoted(value)
        case "int32" if type_.kind == INT4.kind and not value.startswith("-"):
            return value
        case "binary":
            return f"unhex({quoted(value.removeprefix(chr(92) + 'x'))})"
        case "float" | "double":
            return f"CAST({quoted(value)} AS {duckdb_working(type_)})"
    if type_.kind == "numeric":
        if value == "NaN" and type_.scale is not None:
            return numeric_nan(type_.scale)
        return f"CAST({quoted(value)} AS {duckdb_working(type_)})"
    if FACTS[type_.kind].bounds is not None:
        return f"CAST({value} AS {duckdb_working(type_)})"
    return _stored_literal(from_text(pa.array([value], pa.string()), type_), type_)


def _stored_literal(array: pa.Array, type_: SqlType) -> str:
    """The one value of an array in stored form, as a literal."""
    if not array[0].is_valid:
        return f"CAST(NULL AS {duckdb_working(type_)})"
    match "" if type_.element is not None else stored(type_):
        case "date":
            return f"make_date({array.cast(pa.int32())[0].as_py()})"
        case "timestamp" | "timestamptz" as form:
            maker = f"make_{form}"
            moment = array.cast(pa.int64())[0].as_py()
            if abs(moment) == MOMENT_INFINITE:
                return f"CAST('{infinite_text(moment)}' AS {duckdb_working(type_)})"
            return f"{maker}(CAST({moment} AS BIGINT))"
        case "interval":
            months, days, micros = (array.field(i)[0].as_py() for i in range(3))
            return f"(to_months({months}) + to_days({days}) + to_microseconds({micros}))"
        case "struct":
            fields = [
                f"{quoted(name)}: {_stored_literal(array.field(i), field)}"
                for i, (name, field) in enumerate(type_.fields)
            ]
            return "{" + ", ".join(fields) + "}"
    if type_.kind == "map":
        return _map_literal(array, type_)
    if type_.kind == "array" and type_.element is not None:
        shaped = _list_literal(shapes_of(array)[0].values, INT4) if shapes_of(array)[0].is_valid else ""
        return packed(DUCKDB, _list_literal(elements_of(array)[0].values, type_.element), shaped)
    if type_.element is not None or type_ == INT2VECTOR:
        return _list_literal(array[0].values, type_.element or INT2)
    value = array[0].as_py()
    if isinstance(value, bytes):
        return f"unhex({quoted(value.hex())})"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    shown = str(value)
    return f"CAST({quoted(shown)} AS {duckdb_working(type_)})"


def _list_literal(values: pa.Array, element: SqlType) -> str:
    items = [_stored_literal(values.slice(i, 1), element) for i in range(len(values))]
    return f"CAST([{', '.join(items)}] AS {duckdb_working(element)}[])"


def _map_literal(array: pa.Array, type_: SqlType) -> str:
    entries = array[0].values
    if type_.element is None:
        raise ValueError("a map has an element type")
    keys = ", ".join(quoted(str(key.as_py())) for key in entries.field(0))
    values = _list_literal(entries.field(1), type_.element)
    return f"map(CAST([{keys}] AS VARCHAR[]), {values})"


# Stored and working


def differs(type_: SqlType) -> bool:
    """Whether the stored form is not the working one."""
    if FACTS[type_.kind].duckdb:
        return True
    if type_.element is not None:
        return differs(type_.element)
    return any(differs(field) for _, field in type_.fields)


def is_unsigned(type_: SqlType) -> bool:
    """Stored in a wider signed form, with the same order."""
    return type_.kind in UNSIGNED


def to_working(text: str, type_: SqlType) -> str:
    """What a scan puts out, as a working value."""
    return _converted(text, type_, working=True) if differs(type_) else text


def to_stored(text: str, type_: SqlType) -> str:
    """A working value in the form a result has."""
    return _converted(text, type_, working=False) if differs(type_) else text


def _converted(text: str, type_: SqlType, working: bool) -> str:
    if not differs(type_):
        return text
    if type_ == INTERVAL:
        return _interval_to_working(text) if working else _interval_to_stored(text)
    if type_.kind in UNSIGNED:
        target = duckdb_working(type_) if working else duckdb_stored(type_)
        return f"CAST({text} AS {target})"
    if type_.kind == "map" and type_.element is not None:
        values = f"list_transform(map_values({text}), lambda e: {_converted('e', type_.element, working)})"
        return f"CASE WHEN {text} IS NOT NULL THEN map(map_keys({text}), {values}) END"
    if type_.element is not None:
        body = _converted("e", type_.element, working)
        if type_.kind != "array":
            return mapped(DUCKDB, text, "e", body)
        made = mapped(DUCKDB, f"struct_extract({text}, 'elements')", "e", body)
        whole = packed(DUCKDB, made, f"struct_extract({text}, 'shape')")
        return f"CASE WHEN {text} IS NOT NULL THEN {whole} END"
    fields = ", ".join(
        f"{quoted(name)}: {_converted(f'struct_extract({text}, {quoted(name)})', field, working)}"
        for name, field in type_.fields
    )
    return f"CASE WHEN {text} IS NOT NULL THEN {{{fields}}} END"


def _interval_to_working(text: str) -> str:
    return f"(to_months({text}.months) + to_days({text}.days) + to_microseconds({text}.microseconds))"


def _interval_to_stored(text: str) -> str:
    months = f"CAST(datepart('year', {text}) * 12 + datepart('month', {text}) AS INTEGER)"
    days = f"CAST(datepart('day', {text}) AS INTEGER)"
    clock = (
        f"datepart('hour', {text}) * {HOUR_US} + datepart('minute', {text}) * {MINUTE_US}"
        f" + datepart('microsecond', {text})"
    )
    made = f"{{'months': {months}, 'days': {days}, 'microseconds': CAST({clock} AS BIGINT)}}"
    return f"CASE WHEN {text} IS NOT NULL THEN {made} END"

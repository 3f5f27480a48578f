"""Building blocks for the families: forms that call kernels, and forms that check a result.

Both engines evaluate a native CASE lazily, but Spark runs Python functions before it, so in
Spark a kernel that may raise answers (value, error) and the form unwraps it.  A value that is
needed twice is bound by a lambda over a list of one, so that texts never grow with depth.

Not here: any particular function.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, TypeAlias

from headwater.core.errors import UserError
from headwater.core.types import BOOL, SqlType, format_type, type_to_json
from headwater.sql.select.functions.entry import Form, Function, Shape, TypeRule, Wanted
from headwater.sql.select.kernels import KERNELS_BY_NAME
from headwater.sql.select.kernels.errors import marked_text

Texts: TypeAlias = "tuple[str, ...]"
Types: TypeAlias = "tuple[SqlType, ...]"

DUCKDB: Final = "duckdb"
SPARK: Final = "spark"


def quoted(text: str, engine: str) -> str:
    """A text constant."""
    if engine == SPARK:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return "'" + text.replace("'", "''") + "'"


def call(engine: str, kernel: str, *arguments: str) -> str:
    """A kernel's call, unwrapped where the engine needs that."""
    text = f"{kernel}({', '.join(arguments)})"
    if engine == SPARK and KERNELS_BY_NAME[kernel].raises:
        return (
            f"transform(array({text}), r -> CASE WHEN r.error IS NULL THEN r.value"
            " ELSE raise_error(r.error) END)[0]"
        )
    return text


def type_text(type_: SqlType, engine: str) -> str:
    """A type as the constant that kernels over any type want."""
    return quoted(json.dumps(type_to_json(type_)), engine)


def bound(engine: str, value: str, body: str) -> str:
    """`body` with `r` standing for the value, which is written once."""
    if engine == SPARK:
        return f"transform(array({value}), r -> {body})[0]"
    return f"list_transform([{value}], lambda r: {body})[1]"


def failure(engine: str, message: str, sqlstate: str, hint: str | None = None) -> str:
    """An expression that raises."""
    name = "raise_error" if engine == SPARK else "error"
    return f"{name}({quoted(marked_text(UserError(message, sqlstate, hint=hint)), engine)})"


_DAYS: Final = (-2_440_588, 2_145_042_905)  # 4714-11-24 BC and 5874897-12-31, from 1970
_DAY_US: Final = 86_400_000_000


def within_range(engine: str, text: str, type_: SqlType) -> str:
    """A computed date or timestamp that PostgreSQL has too, or an error; `text` is a column's name.

    The engines' calendars are longer.  It is looked at where a result leaves, because a check in
    the sum itself would keep an engine from seeing what a filter compares with.
    """
    if type_.kind == "date":
        first, last = (
            f"date_from_unix_date({day})" if engine == SPARK else f"make_date({day})" for day in _DAYS
        )
        beyond = f"{text} < {first} OR {text} > {last}"
    elif type_.kind in ("timestamp", "timestamptz"):
        moment = f"{_DAYS[0] * _DAY_US}"
        if engine == SPARK:
            first = f"timestamp_micros({moment}L)"
            first = first if type_.kind == "timestamptz" else f"CAST({first} AS TIMESTAMP_NTZ)"
        else:
            first = f"make_{type_.kind}({moment})"
        beyond = f"{text} < {first}"
    else:
        return text
    word = "date" if type_.kind == "date" else "timestamp"
    return f"CASE WHEN {beyond} THEN {failure(engine, f'{word} out of range', '22008')} ELSE {text} END"


def by_kernel(kernel: str, *arguments: str) -> tuple[Form, Form]:
    """Both engines' templates for a kernel; arguments default to the function's own."""
    places = arguments or tuple(f"{{{i}}}" for i in range(len(KERNELS_BY_NAME[kernel].arguments)))
    return call(DUCKDB, kernel, *places), call(SPARK, kernel, *places)


def both(make: Callable[[str, Texts, Types], str]) -> tuple[Form, Form]:
    """Forms from one function that is told the engine."""
    return (
        lambda texts, types: make(DUCKDB, texts, types),
        lambda texts, types: make(SPARK, texts, types),
    )


def kernel_function(
    name: str,
    arguments: tuple[Wanted, ...],
    returns: TypeRule,
    kernel: str,
    *places: str,
    shape: Shape = "scalar",
) -> Function:
    """A function that is a kernel in both engines."""
    duckdb, spark = by_kernel(kernel, *places)
    return Function(name, arguments, returns, duckdb, spark, shape)


def native(
    name: str,
    arguments: tuple[Wanted, ...],
    returns: TypeRule,
    duckdb: Form | None,
    spark: Form | None = "",
    shape: Shape = "scalar",
) -> Function:
    """A function both engines have themselves; Spark's form is DuckDB's unless given."""
    return Function(name, arguments, returns, duckdb, duckdb if spark == "" else spark, shape)


def operator(
    name: str, arguments: tuple[Wanted, ...], returns: TypeRule, duckdb: Form | None, spark: Form | None = ""
) -> Function:
    """The same for an operator."""
    return native(name, arguments, returns, duckdb, spark, "operator")


def comparison(name: str, arguments: tuple[Wanted, ...], duckdb: Form, spark: Form | None = "") -> Function:
    """The same for an operator that answers a boolean."""
    return operator(name, arguments, BOOL, duckdb, spark)


def first(types: Types) -> SqlType:
    """The type rule `as the first argument`."""
    return types[0]


def undefined(name: str, types: Types) -> UserError:
    """A function that these types do not have (42883)."""
    shown = ", ".join(format_type(type_) for type_ in types)
    return UserError(f"function {name}({shown}) does not exist", "42883")


def constant(type_: SqlType) -> TypeRule:
    """A rule for a fixed type."""
    return type_


def duckdb_type(type_: SqlType) -> str:
    """DuckDB's working type."""
    simple = {
        "bool": "BOOLEAN", "int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT",
        "uint2": "USMALLINT", "uint4": "UINTEGER", "uint8": "UBIGINT", "float4": "FLOAT",
        "float8": "DOUBLE", "bytea": "BLOB", "date": "DATE", "timestamp": "TIMESTAMP",
        "timestamptz": "TIMESTAMPTZ", "interval": "INTERVAL", "time": "BIGINT", "mz_timestamp": "BIGINT",
        "oid": "BIGINT", "regclass": "BIGINT", "regtype": "BIGINT", "regproc": "BIGINT",
        "regnamespace": "BIGINT", "int2vector": "SMALLINT[]",
    }  # fmt: skip
    if type_.kind == "numeric" and type_.scale is not None:
        return f"DECIMAL(38,{type_.scale})"
    if type_.element is not None:
        inner = duckdb_type(type_.element)
        return f"MAP(VARCHAR, {inner})" if type_.kind == "map" else f"{inner}[]"
    if type_.kind == "record":
        fields = ", ".join(f'"{name}" {duckdb_type(field)}' for name, field in type_.fields)
        return f"STRUCT({fields})"
    return simple.get(type_.kind, "VARCHAR")


def spark_type(type_: SqlType) -> str:
    """Spark's working type."""
    simple = {
        "bool": "BOOLEAN", "int2": "SMALLINT", "int4": "INT", "int8": "BIGINT",
        "uint2": "INT", "uint4": "BIGINT", "uint8": "DECIMAL(20,0)", "float4": "FLOAT",
        "float8": "DOUBLE", "bytea": "BINARY", "date": "DATE", "timestamp": "TIMESTAMP_NTZ",
        "timestamptz": "TIMESTAMP", "interval": "STRUCT<months: INT, days: INT, microseconds: BIGINT>",
        "time": "BIGINT", "mz_timestamp": "BIGINT", "oid": "BIGINT", "regclass": "BIGINT",
        "regtype": "BIGINT", "regproc": "BIGINT", "regnamespace": "BIGINT", "int2vector": "ARRAY<SMALLINT>",
    }  # fmt: skip
    if type_.kind == "numeric" and type_.scale is not None:
        return f"DECIMAL(38,{type_.scale})"
    if type_.element is not None:
        inner = spark_type(type_.element)
        return f"MAP<STRING, {inner}>" if type_.kind == "map" else f"ARRAY<{inner}>"
    if type_.kind == "record":
        return f"STRUCT<{', '.join(f'`{name}`: {spark_type(field)}' for name, field in type_.fields)}>"
    return simple.get(type_.kind, "STRING")


def working_type(engine: str, type_: SqlType) -> str:
    """An engine's working type."""
    return spark_type(type_) if engine == SPARK else duckdb_type(type_)


def cast_to(engine: str, text: str, type_: SqlType) -> str:
    """A native cast to a working type."""
    return f"CAST({text} AS {working_type(engine, type_)})"


# A kernel's numeric has all the digits after the point that PostgreSQL would show, because the
# next kernel must count them; everybody else gets it in one of these, as canonical text.
_TRIMS: Final = {
    DUCKDB: (
        ("rtrim(regexp_replace(", ", '([.][0-9]*?)0+$', '\\1'), '.')"),
        ("rtrim(rtrim(", ", '0'), '.')"),
    ),
    SPARK: (
        ("rtrim('.', regexp_replace(", ", '([.][0-9]*?)0+$', '$1'))"),
        ("rtrim('.', rtrim('0', ", "))"),
    ),
}


def trimmed(engine: str, text: str) -> str:
    """A numeric's text without needless zeros."""
    before, behind = _TRIMS[engine][0]
    return f"{before}{text}{behind}"


def untrimmed(engine: str, text: str) -> str:
    """The text of a numeric with the zeros that were about to be taken away.

    Every text is an atom, so one that begins as ours do is ours to its end.
    """
    for before, behind in _TRIMS[engine]:
        if text.startswith(before) and text.endswith(behind):
            return text[len(before) : -len(behind)]
    return text


def retrimmed(engine: str, text: str) -> str:
    """Without needless zeros, and not twice."""
    return text if untrimmed(engine, text) != text else trimmed(engine, text)


def numeric_text(engine: str, text: str, type_: SqlType) -> str:
    """A numeric as text for a kernel, with its zeros."""
    if type_.scale is None:
        return untrimmed(engine, text)
    return f"CAST({text} AS {'STRING' if engine == SPARK else 'VARCHAR'})"


def numeric_call(engine: str, kernel: str, *arguments: str) -> str:
    """The call of a kernel that answers a numeric with its zeros, as canonical text."""
    return trimmed(engine, call(engine, kernel, *arguments))


def numeric_bare(engine: str, text: str, type_: SqlType) -> str:
    """A numeric as the canonical text of an unconstrained one."""
    if type_.scale is None:
        return text
    shown = numeric_text(engine, text, type_)
    if type_.scale == 0:
        return shown
    before, behind = _TRIMS[engine][1]
    return f"{before}{shown}{behind}"

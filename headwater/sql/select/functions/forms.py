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

from headwater.core.calendar import DATE_MAX, DAY_INFINITE, DAY_MIN, MOMENT_INFINITE, MOMENT_MIN
from headwater.core.errors import UserError
from headwater.core.quoting import literal
from headwater.core.types import BOOL, SqlType, format_type, type_to_json
from headwater.formats.engine_types import duckdb_working, spark_type
from headwater.formats.text_numbers import decimal_nan
from headwater.sql.select.functions import written
from headwater.sql.select.functions.entry import Form, Function, Shape, TypeRule, Wanted
from headwater.sql.select.functions.written import (
    Guarded,
    Literal,
    Simple,
    Trimmed,
    guarded,
    simple,
    trimming,
    untrimmed,
)
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
    return literal(text)


def call(engine: str, kernel: str, *arguments: str) -> str:
    """A kernel's call, unwrapped where the engine needs that."""
    written.note(kernel)
    text = f"{kernel}({', '.join(arguments)})"
    if engine == SPARK and KERNELS_BY_NAME[kernel].raises:
        return (
            f"transform(array({text}), r -> CASE WHEN r.error IS NULL THEN r.value"
            " ELSE raise_error(r.error) END)[0]"
        )
    return text


def type_text(type_: SqlType, engine: str) -> str:
    """A type as the constant that kernels over any type want."""
    text = json.dumps(type_to_json(type_))
    for mark in "<>$":  # what marks an aggregate in a form, and what Spark would replace
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return quoted(text, engine)


def bound(engine: str, value: str, body: str) -> str:
    """`body` with `r` standing for the value, which is written once."""
    if engine == SPARK:
        return f"transform(array({value}), r -> {body})[0]"
    return f"list_transform([{value}], lambda r: {body})[1]"


def bound_pair(engine: str, left: str, right: str, make: Callable[[str, str], str]) -> str:
    """What `make` makes of two values, each of which it may write several times.

    Simple ones are written as they are, which is seven times as fast in DuckDB; others are bound.
    """
    if isinstance(left, Simple) and isinstance(right, Simple):
        return make(left, right)
    if engine == SPARK:
        return bound(engine, f"named_struct('a', {left}, 'b', {right})", make(simple("r.a"), simple("r.b")))
    return bound(engine, f"struct_pack(a := {left}, b := {right})", make(simple("r.a"), simple("r.b")))


def failure(
    engine: str, message: str, sqlstate: str, hint: str | None = None, detail: str | None = None
) -> str:
    """An expression that raises."""
    name = "raise_error" if engine == SPARK else "error"
    return f"{name}({quoted(marked_text(UserError(message, sqlstate, detail, hint)), engine)})"


def infinities(engine: str, type_: SqlType) -> tuple[str, str]:
    """-infinity and infinity of dates or timestamps, as constants."""
    if engine == DUCKDB:
        return f"CAST('-infinity' AS {duckdb_working(type_)})", f"CAST('infinity' AS {duckdb_working(type_)})"
    if type_.kind == "date":
        return f"date_from_unix_date(-{DAY_INFINITE})", f"date_from_unix_date({DAY_INFINITE})"
    low, high = f"timestamp_micros(-{MOMENT_INFINITE}L)", f"timestamp_micros({MOMENT_INFINITE}L)"
    if type_.kind == "timestamptz":
        return low, high
    return f"CAST({low} AS TIMESTAMP_NTZ)", f"CAST({high} AS TIMESTAMP_NTZ)"


def infinite(engine: str, text: str, type_: SqlType) -> str:
    """Whether a date or timestamp is infinite."""
    low, high = infinities(engine, type_)
    return f"({text} IN ({low}, {high}))"


def day_cast(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    """A date as a timestamp, or the reverse; Spark would take an infinite one for a number of days."""
    if engine == DUCKDB:
        return cast_to(engine, text, target)
    (low, high), (made_low, made_high) = infinities(engine, source), infinities(engine, target)
    made = f"WHEN {low} THEN {made_low} WHEN {high} THEN {made_high} ELSE {cast_to(engine, 'r', target)}"
    return bound(engine, text, f"CASE r {made} END")


def within_range(engine: str, text: str, type_: SqlType) -> str:
    """A computed date or timestamp that PostgreSQL has too, or an error; `text` is a column's name.

    The engines' calendars are longer.  It is looked at where a result leaves, because a check in
    the sum itself would keep an engine from seeing what a filter compares with.
    """
    if type_.kind == "date":
        first, last = (
            f"date_from_unix_date({day})" if engine == SPARK else f"make_date({day})"
            for day in (DAY_MIN, DATE_MAX)
        )
        beyond = f"({text} < {first} OR {text} > {last})"
    elif type_.kind in ("timestamp", "timestamptz"):
        moment = f"{MOMENT_MIN}"
        if engine == SPARK:
            first = f"timestamp_micros({moment}L)"
            first = first if type_.kind == "timestamptz" else f"CAST({first} AS TIMESTAMP_NTZ)"
        else:
            first = f"make_{type_.kind}({moment})"
        beyond = f"{text} < {first}"
    else:
        return text
    word = "date" if type_.kind == "date" else "timestamp"
    beyond = f"{beyond} AND NOT {infinite(engine, text, type_)}"
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


def zone_of(types: Types) -> str:
    """The zone that a form is to compute for; empty is UTC."""
    return next((type_.zone for type_ in types if type_.zone), "")


def in_zones(forms: tuple[Form, Form], make: Callable[[str, Texts, str], str]) -> tuple[Form, Form]:
    """These forms in UTC, and what `make` makes of the engine, the arguments and the zone elsewhere."""

    def form(engine: str, plain: Form) -> Form:
        def run(texts: Texts, types: Types) -> str:
            zone = zone_of(types)
            if zone:
                return make(engine, texts, quoted(zone, engine))
            return written.used(plain).format(*texts) if isinstance(plain, str) else plain(texts, types)

        return run

    return form(DUCKDB, forms[0]), form(SPARK, forms[1])


def kernel_function(
    name: str,
    arguments: tuple[Wanted, ...],
    returns: TypeRule,
    kernel: str,
    *places: str,
    shape: Shape = "scalar",
) -> Function:
    """A function that is a kernel in both engines.

    Kernels know lists: they are given the elements of arrays, and the list that they answer is an array here.
    """
    given = places or tuple(f"{{{i}}}" for i in range(len(KERNELS_BY_NAME[kernel].arguments)))
    duckdb = _kernel_form(DUCKDB, kernel, given, arguments, returns)
    spark = _kernel_form(SPARK, kernel, given, arguments, returns)
    return Function(name, arguments, returns, duckdb, spark, shape)


def _kernel_form(
    engine: str, kernel: str, places: tuple[str, ...], arguments: tuple[Wanted, ...], returns: TypeRule
) -> str:
    arrays = {
        f"{{{i}}}": want.element
        for i, want in enumerate(arguments)
        if isinstance(want, SqlType) and want.kind == "array" and want.element is not None
    }

    def given(place: str) -> str:
        if place not in arrays:
            return place
        if engine == SPARK:
            return f"{place}.elements"
        return f"CAST(struct_extract({place}, 'elements') AS {duckdb_working(arrays[place])}[])"

    made = call(engine, kernel, *map(given, places))
    if not isinstance(returns, SqlType) or returns.kind != "array":
        return made
    packed = "struct_pack(elements := r, shape := CAST(NULL AS INTEGER[]))"
    if engine == SPARK:
        packed = "named_struct('elements', r, 'shape', CAST(NULL AS ARRAY<INT>))"
    return bound(engine, made, f"CASE WHEN r IS NOT NULL THEN {packed} END")


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


def working_type(engine: str, type_: SqlType) -> str:
    """An engine's working type."""
    return spark_type(type_) if engine == SPARK else duckdb_working(type_)


def cast_to(engine: str, text: str, type_: SqlType) -> str:
    """A native cast to a working type."""
    return written.native(f"CAST({text} AS {working_type(engine, type_)})", text)


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
    """A numeric's text without needless zeros; not twice."""
    return text if isinstance(text, Trimmed) else trimming(text, _TRIMS[engine][0])


def numeric_text(engine: str, text: str, type_: SqlType) -> str:
    """A numeric as text for a kernel, with its zeros."""
    if type_.scale is None:
        return untrimmed(text)
    shown = f"CAST({text} AS {'STRING' if engine == SPARK else 'VARCHAR'})"
    nan = _nan_digits(type_.scale)
    # The same number below zero is a number.
    return f"replace(replace({shown}, '{nan}', 'NaN'), '-NaN', '-{nan}')"


def _nan_digits(scale: int) -> str:
    """As the engines print them."""
    return format(decimal_nan(scale), "f")


def numeric_nan(scale: int) -> str:
    """NaN among decimals: a number of their own, which must not be computed with."""
    return f"CAST('{_nan_digits(scale)}' AS DECIMAL(38,{scale}))"


def decimal_of_text(engine: str, text: str, scale: int) -> str:
    """A kernel's numeric, which may be NaN, as a decimal."""
    return cast_to(engine, f"replace({text}, 'NaN', '{_nan_digits(scale)}')", SqlType("numeric", scale=scale))


def unless_nan(engine: str, texts: Texts, types: Types, otherwise: str, make: Callable[[Texts], str]) -> str:
    """What `make` computes of decimals, and `otherwise` where one of them is NaN and none is NULL."""
    inputs: list[tuple[str, int]] = []
    computed: list[str] = []
    for text, type_ in zip(texts, types, strict=True):
        if isinstance(text, Guarded):
            inputs += text.inputs
            computed.append(text.computed)
            continue
        computed.append(text)
        if not (isinstance(text, Literal) and text.value not in (None, "NaN")):
            inputs.append((text, type_.scale or 0))
    if not inputs:
        return make(texts)
    if not all(isinstance(text, Simple) for text, _ in inputs):
        names = tuple(simple(f"r.a{index}") for index in range(len(texts)))
        fields = ", ".join(
            f"'a{index}', {text}" if engine == SPARK else f"a{index} := {text}"
            for index, text in enumerate(texts)
        )
        body = unless_nan(engine, names, types, otherwise, make)
        return bound(engine, f"{'named_struct' if engine == SPARK else 'struct_pack'}({fields})", body)
    inputs = list(dict.fromkeys(inputs))
    asked = " OR ".join(f"{text} = {numeric_nan(scale)}" for text, scale in inputs)
    if len(inputs) > 1:
        present = " AND ".join(f"{text} IS NOT NULL" for text, _ in inputs)
        otherwise = f"CASE WHEN {present} THEN {otherwise} END"
    result = make(tuple(computed))
    return guarded(f"(CASE WHEN {asked} THEN {otherwise} ELSE {result} END)", tuple(inputs), result)


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
    return trimming(shown, _TRIMS[engine][1])

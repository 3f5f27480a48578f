"""Casts: from which type to which, in which context, and how.

    implicit     anywhere a value of the target type is wanted
    assignment   into a column, and explicitly
    explicit     only where CAST or :: is written

The contexts are PostgreSQL's.  Anything can be printed to text (assignment) and read from
text (explicit); a modifier (numeric(2), varchar(3), timestamp(0)) is applied by the same
form as the cast itself, so a cast of a type to itself with another modifier is a cast too.

Not here: names to regclass and back, which need the catalog (the binder's).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from headwater.core.errors import not_supported
from headwater.core.limits import NAME_BYTES_MAX
from headwater.core.types import (
    FACTS,
    FLOATS,
    INT2,
    INT2VECTOR,
    OID,
    REGISTERED,
    SIGNED,
    TEXT,
    TEXTS,
    TIMESTAMP,
    UNSIGNED,
    SqlType,
    array_of,
    bounds_of,
    format_type,
    numeric,
    stored,
)
from headwater.sql.select.functions.array_forms import (
    each,
    flat,
    listed,
    mapped,
    named,
    of_list,
    packed,
    size,
)
from headwater.sql.select.functions.entry import Form
from headwater.sql.select.functions.forms import (
    DUCKDB,
    SPARK,
    Texts,
    Types,
    bound,
    call,
    cast_to,
    day_cast,
    failure,
    numeric_bare,
    numeric_nan,
    numeric_text,
    quoted,
    trimmed,
    type_text,
    unless_nan,
)
from headwater.sql.select.functions.written import calling, untrimmed
from headwater.sql.select.kernels.casts import ARRAYS_READ, READ_AS

Context = Literal["implicit", "assignment", "explicit"]
Make = Callable[[str, str, SqlType, SqlType], str]


@dataclass(frozen=True, slots=True)
class CastEntry:
    """A cast: forms are handed (argument,) and (source, target)."""

    context: Context
    duckdb: Form | None
    spark: Form | None


_INTEGERS: Final = (*SIGNED, *UNSIGNED)
_OIDS: Final = (OID.kind, *REGISTERED)


# Integers


def _checked(engine: str, text: str, target: SqlType, kind: str) -> str:
    """A cast after a check of the range, with PostgreSQL's words."""
    low, high = bounds_of(kind)
    name = FACTS[kind].name if kind in _INTEGERS else "OID"
    body = (
        f"CASE WHEN r IS NULL OR r BETWEEN {low} AND {high} THEN r"
        f" ELSE {failure(engine, f'{name} out of range', '22003')} END"
    )
    return cast_to(engine, bound(engine, text, body), target)


def _between_integers(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    low, high = bounds_of(target.kind)
    source_low, source_high = bounds_of(source.kind)
    if low <= source_low and source_high <= high:
        return cast_to(engine, text, target)
    native = target.kind in SIGNED if engine == SPARK else target.kind in _INTEGERS
    if native:  # the engine's own check raises, and is translated
        return cast_to(engine, text, target)
    wide = cast_to(engine, text, numeric(0)) if engine == SPARK else text
    return _checked(engine, wide, target, target.kind)


def _integer_to_oid(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    if source.kind == "int8":
        return _checked(engine, text, target, OID.kind)
    return f"(CAST({text} AS BIGINT) & 4294967295)"  # the same bits


def _float_to_integer(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    if engine == DUCKDB:
        return cast_to(engine, text, target)
    if target.kind in SIGNED:
        return cast_to(engine, f"rint({text})", target)
    return _checked(engine, f"CAST(rint({text}) AS DECIMAL(38,0))", target, target.kind)


def _numeric_to_integer(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    if source.scale is None:
        if target.kind in SIGNED:
            return call(engine, f"hw_numeric_to_{target.kind}", untrimmed(text))
        text, source = _fitted(engine, text, numeric(0)), numeric(0)

    def make(values: Texts) -> str:
        if engine == DUCKDB and target.kind in _INTEGERS:
            return cast_to(engine, values[0], target)
        rounded = values[0] if source.scale == 0 else f"round({values[0]}, 0)"
        if target.kind in SIGNED:
            return cast_to(engine, rounded, target)
        return _checked(engine, rounded, target, target.kind)

    nan = failure(engine, f"cannot convert NaN to {FACTS[target.kind].name}", "0A000")
    # Opaque to what computes with it: an integer is never NaN.
    return str(unless_nan(engine, (text,), (source,), nan, make))


# Numerics


def _to_numeric(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    """From numeric, integers and floats."""
    if source.kind in _INTEGERS:
        if target.scale is not None:
            return cast_to(engine, text, target)
        return f"CAST({text} AS {'STRING' if engine == SPARK else 'VARCHAR'})"
    if source.kind in FLOATS:
        text = call(engine, f"hw_{source.kind}_to_numeric", cast_to(engine, text, SqlType("float8")))
        source = numeric()
    if target.scale is None:
        return numeric_bare(engine, text, source)
    if source.scale is None:
        return _fitted(engine, text, target)
    if source.scale == target.scale:
        return text
    nan = numeric_nan(target.scale)
    return unless_nan(engine, (text,), (source,), nan, lambda values: cast_to(engine, values[0], target))


def _fitted(engine: str, text: str, target: SqlType) -> str:
    """An unconstrained numeric as a decimal."""
    fit = call(engine, "hw_numeric_fit", untrimmed(text), str(target.scale))
    return cast_to(engine, fit, target)


def _numeric_to_float(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    # Through text, because the engines' own conversion is not correctly rounded.
    if source.scale is None:
        double = call(engine, "hw_numeric_to_float8", untrimmed(text))
    else:
        double = f"CAST({numeric_text(engine, text, source)} AS DOUBLE)"
    if target.kind == "float8":
        return double
    return _float8_to_float4(engine, double, SqlType("float8"), target)


def _float8_to_float4(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    underflow = failure(engine, "value out of range: underflow", "22003")
    checks = f"WHEN CAST(r AS FLOAT) = 0 AND r <> 0 THEN {underflow}"
    if engine == SPARK:  # DuckDB checks this itself
        overflow = failure(engine, "value out of range: overflow", "22003")
        infinite = "abs(CAST(r AS FLOAT)) = CAST('Infinity' AS FLOAT) AND abs(r) < CAST('Infinity' AS DOUBLE)"
        checks += f" WHEN {infinite} THEN {overflow}"
    return bound(engine, text, f"CASE {checks} ELSE CAST(r AS FLOAT) END")


# Text


def _to_text(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    """Anything's text, without a length."""
    string = "STRING" if engine == SPARK else "VARCHAR"
    match source.kind:
        case "char":
            return f"rtrim({text})" if engine == SPARK else f"rtrim({text}, ' ')"
        case "numeric":
            return numeric_bare(engine, text, source)
        case _ if stored(source) == "string" and not source.zone:
            return text
        case kind if kind == "bool" or FACTS[kind].bounds is not None:
            return f"CAST({text} AS {string})"
        case "bytea":
            return (
                f"concat('\\\\x', lower(hex({text})))"
                if engine == SPARK
                else f"('\\x' || lower(hex({text})))"
            )
        case _:
            return call(engine, "hw_to_text", text, type_text(source, engine))


def _limited(engine: str, text: str, target: SqlType, assignment: bool) -> str:
    """Cut or refuse what is longer than the type allows, pad char."""
    if target.kind == '"char"':
        return call(engine, "hw_text_to_byte", text)
    if target.kind == "name":
        return _cut_name(engine, text)
    if target.length is None:
        return text
    kernel = "hw_text_fit" if assignment else "hw_text_cut"
    kind = "'char'" if target.kind == "char" else "'varchar'"
    return call(engine, kernel, text, str(target.length), kind)


def _cut_name(engine: str, text: str) -> str:
    length = "octet_length" if engine == SPARK else "strlen"

    def make(texts: Texts) -> str:
        cut = call(engine, "hw_text_to_name", texts[0])
        return f"(CASE WHEN {length}({texts[0]}) > {NAME_BYTES_MAX} THEN {cut} ELSE {texts[0]} END)"

    return named(engine, (text,), make)


def _text_cast(assignment: bool) -> Make:
    def make(engine: str, text: str, source: SqlType, target: SqlType) -> str:
        if source.kind == "char" and target.kind == "char":
            return text if source.length == target.length else _limited(engine, text, target, assignment)
        printed = _to_text(engine, text, source, target)
        if source.kind == "varchar" and target.kind == "varchar" and source.length == target.length:
            return printed
        if source.kind == "name" and target.kind == "name":
            return printed
        return _limited(engine, printed, target, assignment)

    return make


def _from_text(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    if target.kind in REGISTERED:
        return call(engine, "hw_text_to_oid", text)
    read = _read(engine, f"hw_text_to_{target.kind}", text, target)
    if target.kind == "numeric":
        return _modified(engine, trimmed(engine, read), target)
    if target.kind in UNSIGNED:
        return cast_to(engine, read, target)
    return _modified(engine, read, target)


def _read(engine: str, kernel: str, text: str, type_: SqlType) -> str:
    """What a kernel reads in a text, where it matters by whose clocks."""
    if not type_.zone:
        return call(engine, kernel, text)
    return call(engine, f"{kernel}_in_zone", text, quoted(type_.zone, engine))


def _modified(engine: str, text: str, target: SqlType) -> str:
    """The target's modifier applied to a value of its bare type."""
    if target.scale is None:
        return text
    if target.kind == "numeric":
        return _fitted(engine, text, target)
    if FACTS[target.kind].modifier == "precision" and target.scale < 6:
        return call(engine, f"hw_{target.kind}_scale", text, str(target.scale))
    return text


# Times


def _same(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    return text


def _rescaled(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    """A time or timestamp with another precision."""
    if target.scale is None or (source.scale is not None and source.scale <= target.scale):
        return text
    return _modified(engine, text, target)


def _native(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    return cast_to(engine, text, target)


def _between_days(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    if target.zone:
        return _of_clock(engine, day_cast(engine, text, source, TIMESTAMP), target)
    if source.zone:
        return day_cast(engine, _clock(engine, text, source), TIMESTAMP, target)
    return day_cast(engine, text, source, target)


def _between_times(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    # Both engines run in UTC, where a change between what has a zone and what has none is one of type.
    if target.zone:
        made = _of_clock(engine, text, target)
    elif source.zone:
        made = _clock(engine, text, source)
    else:
        made = cast_to(engine, text, target)
    return _rescaled(engine, made, source, target)


def _clock(engine: str, text: str, source: SqlType) -> str:
    """What the clocks of a moment's zone show, as a timestamp without a zone."""
    return call(engine, "hw_clock", text, quoted(source.zone, engine))


def _of_clock(engine: str, text: str, target: SqlType) -> str:
    """The moment at which the clocks of its zone show a timestamp."""
    return call(engine, "hw_of_clock", text, quoted(target.zone, engine))


def _time_of_day(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    if source.zone:
        return _modified(engine, call(engine, "hw_timestamp_to_time", _clock(engine, text, source)), target)
    return _modified(engine, call(engine, f"hw_{source.kind}_to_time", text), target)


def _kernel(name: str) -> Make:
    return lambda engine, text, source, target: call(engine, name, text)


def _to_mz_timestamp(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    return call(engine, f"hw_{source.kind}_to_mz_timestamp", text)


def _moment_of_timestamp(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    return call(engine, f"hw_mz_timestamp_to_{target.kind}", text)


# Booleans, documents


def _bool_to_integer(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    return cast_to(engine, text, target)


def _integer_to_bool(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    return f"({text} <> 0)"


def _from_jsonb(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    if target.kind == "bool":
        return call(engine, "hw_jsonb_to_bool", text)
    number = call(engine, "hw_jsonb_to_numeric", text, f"'{format_type(target.bare())}'")
    if target.kind == "numeric":
        return _to_numeric(engine, number, numeric(), target)
    if target.kind in FLOATS:
        return _numeric_to_float(engine, number, numeric(), target)
    return _numeric_to_integer(engine, number, numeric(), target)


def _table() -> dict[tuple[str, str], tuple[Context, Make]]:
    table: dict[tuple[str, str], tuple[Context, Make]] = {}

    def add(sources: tuple[str, ...], targets: tuple[str, ...], context: Context, make: Make) -> None:
        for source in sources:
            for target in targets:
                table[source, target] = (context, make)

    add(_INTEGERS, _INTEGERS, "assignment", _between_integers)
    for source, targets in (
        ("int2", ("int4", "int8")),
        ("int4", ("int8",)),
        ("uint2", ("uint4", "uint8", "int4", "int8")),
        ("uint4", ("uint8", "int8")),
    ):
        add((source,), targets, "implicit", _between_integers)
    add(_INTEGERS, FLOATS, "implicit", _native)
    add(_INTEGERS, ("numeric",), "implicit", _to_numeric)
    add(("numeric",), ("numeric",), "implicit", _to_numeric)
    add(FLOATS, ("numeric",), "assignment", _to_numeric)
    add(("numeric",), FLOATS, "implicit", _numeric_to_float)
    add(("numeric",), _INTEGERS, "assignment", _numeric_to_integer)
    add(("float4",), ("float8",), "implicit", _native)
    add(("float8",), ("float4",), "assignment", _float8_to_float4)
    add(FLOATS, _INTEGERS, "assignment", _float_to_integer)
    add(SIGNED, _OIDS, "implicit", _integer_to_oid)
    add(_OIDS, ("int4", "int8"), "assignment", _between_integers)
    add(_OIDS, _OIDS, "implicit", _same)
    add(("int4",), ("bool",), "explicit", _integer_to_bool)
    add(("bool",), ("int4",), "explicit", _bool_to_integer)
    _add_times(add)
    _add_texts(add)
    add(
        ("json",),
        ("jsonb",),
        "assignment",
        lambda engine, text, source, target: call(engine, "hw_text_to_jsonb", text),
    )
    add(("jsonb",), ("json",), "assignment", _same)
    add(("jsonb",), ("bool", "numeric", *SIGNED, *FLOATS), "explicit", _from_jsonb)
    return table


Add = Callable[[tuple[str, ...], tuple[str, ...], Context, Make], None]


def _add_times(add: Add) -> None:
    add(("date",), ("timestamp", "timestamptz"), "implicit", _between_days)
    add(("timestamp",), ("timestamptz",), "implicit", _between_times)
    add(("timestamptz",), ("timestamp",), "assignment", _between_times)
    for kind in ("timestamp", "timestamptz", "time"):
        add((kind,), (kind,), "implicit", _rescaled)
    add(("timestamp", "timestamptz"), ("date",), "assignment", _between_days)
    add(("timestamp", "timestamptz", "interval"), ("time",), "assignment", _time_of_day)
    add(("time",), ("interval",), "implicit", _kernel("hw_time_to_interval"))
    add(SIGNED, ("mz_timestamp",), "implicit", _native)
    add(UNSIGNED, ("mz_timestamp",), "implicit", _native)
    add(("numeric",), ("mz_timestamp",), "implicit", lambda engine, text, source, target: _numeric_to_integer(
        engine, text, source, SqlType("int8")))  # fmt: skip
    add(("timestamp", "timestamptz", "date"), ("mz_timestamp",), "implicit", _to_mz_timestamp)
    add(("mz_timestamp",), ("timestamp", "timestamptz"), "assignment", _moment_of_timestamp)
    add(("mz_timestamp",), ("numeric",), "assignment", lambda engine, text, source, target: _to_numeric(
        engine, text, SqlType("int8"), target))  # fmt: skip


def _add_texts(add: Add) -> None:
    printable = tuple(kind for kind in FACTS if kind not in ("void", *TEXTS))
    add(printable, TEXTS, "assignment", _text_cast(assignment=False))
    add(TEXTS, (*(kind for kind in READ_AS), *REGISTERED), "explicit", _from_text)
    cut = _text_cast(assignment=False)
    add(TEXTS, ("text", "varchar"), "implicit", cut)
    add(("text", "varchar", "char"), ("char",), "implicit", cut)
    add(("text", "varchar", "char"), ("name",), "implicit", cut)
    add(("name",), ("name",), "implicit", cut)
    add(("name",), ("char",), "assignment", cut)
    add(TEXTS, ('"char"',), "assignment", cut)
    add(('"char"',), ("text",), "implicit", cut)
    add(('"char"',), ("int4",), "explicit", _kernel("hw_byte_to_int4"))
    add(("int4",), ('"char"',), "explicit", _kernel("hw_int4_to_byte"))


_CASTS: Final = _table()


def find_cast(source: SqlType, target: SqlType) -> CastEntry | None:
    """The cast between two types, or None where PostgreSQL has none."""
    if source.element is not None or target.element is not None:
        return _container_cast(source, target)
    if source.kind == "record" or target.kind == "record":
        return _record_cast(source, target)
    found = _CASTS.get((source.kind, target.kind))
    if found is not None:
        return _entry(*found)
    return _entry("implicit", _same) if source.kind == target.kind else None


def assignment_cast(source: SqlType, target: SqlType) -> CastEntry | None:
    """As `find_cast`, where a text that is too long is an error instead of being cut."""
    entry = find_cast(source, target)
    if entry is None or target.kind not in ("varchar", "char") or target.element is not None:
        return entry
    return _entry(entry.context, _text_cast(assignment=True))


def _entry(context: Context, make: Make) -> CastEntry:
    def form(engine: str) -> Callable[[Texts, Types], str]:
        return lambda texts, types: make(engine, texts[0], types[0], types[1])

    return CastEntry(context, form(DUCKDB), form(SPARK))


def _container_cast(source: SqlType, target: SqlType) -> CastEntry | None:
    if source.element is not None and target.kind in TEXTS:
        return _entry("assignment", _text_cast(assignment=False))
    if target.element is not None and source.kind in TEXTS:
        readable = target.kind == "array" and target.element.kind in ARRAYS_READ
        return _entry("explicit", _array_from_text) if readable and target.element.element is None else None
    if source == INT2VECTOR and target == array_of(INT2):
        return _entry("implicit", _vector_to_array)
    if source.element is None or target.element is None:
        return None
    if "map" in (source.kind, target.kind) and source.kind != target.kind:
        return None
    inner = find_cast(source.element, target.element)
    if inner is None or source.kind == "map":
        return _entry("implicit", _same) if source == target else None
    context: Context = inner.context if source.kind == target.kind else "explicit"
    return CastEntry(context, _each(inner.duckdb, DUCKDB), _each(inner.spark, SPARK))


def _each(inner: Form | None, engine: str) -> Form | None:
    """The cast of every element; Spark's lambdas cannot call kernels, so there texts are read as one."""
    if inner is None or isinstance(inner, str):
        return inner

    def body_of(source: SqlType, target: SqlType, types: Types) -> str:
        with calling() as kernels:
            body = "e" if source == target else inner(("e",), (source, target))
        if engine == SPARK and kernels:
            raise not_supported(f"a cast from {format_type(types[0])} to {format_type(types[1])}")
        return body

    def form(texts: Texts, types: Types) -> str:
        source, target = types[0].element, types[1].element
        if source is None or target is None:
            return texts[0]
        if engine == SPARK and _read_at_once(*types):
            printed = call(engine, "hw_to_text", texts[0], type_text(types[0], engine))
            return _array_from_text(engine, printed, TEXT, types[1])
        body = body_of(source, target, types)
        match types[0].kind, types[1].kind:
            case "array", "array":
                return each(engine, texts[0], types[0], body) if body != "e" else texts[0]
            case "list", "array":
                return of_list(engine, mapped(engine, texts[0], "e", body))
            case "array", _:
                message = "a list of an array of several dimensions not yet supported"
                return mapped(engine, flat(engine, texts[0], types[0], message, "0A000"), "e", body)
        return mapped(engine, texts[0], "e", body) if body != "e" else texts[0]

    return form


def _read_at_once(source: SqlType, target: SqlType) -> bool:
    """Whether elements are texts and an array of what they say can be read from the array's text."""
    if source.kind != "array" or target.kind != "array" or source.element is None or target.element is None:
        return False
    return (
        source.element.kind in TEXTS and target.element.kind in READ_AS and target.element.kind in ARRAYS_READ
    )


def _vector_to_array(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    """An int2vector counts from 0."""

    def make(texts: Texts) -> str:
        count = size(engine, texts[0])
        shaped = f"CASE WHEN {count} > 0 THEN {listed(engine, f'1, {count}, 0')} END"
        return f"(CASE WHEN {texts[0]} IS NOT NULL THEN {packed(engine, texts[0], shaped)} END)"

    return named(engine, (text,), make)


def _array_from_text(engine: str, text: str, source: SqlType, target: SqlType) -> str:
    element = target.element
    if element is None:
        return text
    read = _read(engine, f"hw_text_to_{element.kind}_array", text, element)
    bare = array_of(element.bare())
    if bare == target:
        return read
    form = _container_cast(bare, target)
    made = None if form is None else (form.spark if engine == SPARK else form.duckdb)
    return read if made is None or isinstance(made, str) else made((read,), (bare, target))


def _record_cast(source: SqlType, target: SqlType) -> CastEntry | None:
    if source.kind == "record" and target.kind in TEXTS:
        return _entry("assignment", _text_cast(assignment=False))
    if source.kind == target.kind and source.fields == target.fields:
        return _entry("implicit", _same)
    return None

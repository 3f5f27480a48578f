"""Comparisons, and the keys by which values are sorted, grouped and joined.

Most types compare in the engines as they do in PostgreSQL (text by bytes, NaN equal to
itself and greatest).  The others are compared by a key:

    unconstrained numeric   equal texts are equal numbers; order by the kernel's bytes
    interval                DuckDB's own; in Spark its length in microseconds, a month being 30 days
    char(n)                 without trailing blanks
    array, record           element by element, where those have keys; arrays then by their shape
    jsonb                   equal texts are equal values; order by a kernel's bytes

Not here: IN, BETWEEN, NULLIF, which the binder writes with these; LIKE (strings.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headwater.core.calendar import DAY_US, DAYS_PER_MONTH
from headwater.core.errors import UserError, not_supported
from headwater.core.types import BOOL, FACTS, INT4, INTERVAL, JSONB, SqlType, format_type, unconstrained
from headwater.sql.select.functions.array_forms import each, elements, mapped, named, whole_shape
from headwater.sql.select.functions.entry import Form, Function, Wanted
from headwater.sql.select.functions.forms import (
    SPARK,
    Texts,
    Types,
    both,
    call,
    cast_to,
    numeric_bare,
    numeric_call,
    numeric_text,
    trimmed,
)
from headwater.sql.select.functions.written import native, untrimmed

_PLAIN: Final = tuple(
    SqlType(kind) for kind, facts in FACTS.items() if facts.compared in ("plainly", "as float", "as byte")
)
_BEYOND_ASCII: Final = "\u0080"
_SYMBOLS: Final = ("=", "<>", "<", "<=", ">", ">=")


def equality_key(engine: str, text: str, type_: SqlType) -> str:
    """An expression whose values are equal just when the typed values are."""
    match FACTS[type_.kind].compared:
        case "as interval" if engine == SPARK:
            return _interval_key(text)
        case "as char":
            return f"rtrim({text})" if engine == SPARK else f"rtrim({text}, ' ')"
        case "never":
            raise _no_operator("=", type_)
        case "not yet":
            raise not_supported(f"comparing values of type {type_.kind}")
    if type_.element is not None and type_.kind != "map":
        return _element_keys(engine, text, type_)
    if type_.fields:
        return _field_keys(engine, text, type_, equality_key)
    return text


def _element_keys(engine: str, text: str, type_: SqlType) -> str:
    key = "e" if type_.element is None else equality_key(engine, "e", type_.element)
    if key == "e":
        return text
    return each(engine, text, type_, key) if type_.kind == "array" else mapped(engine, text, "e", key)


def _field_keys(engine: str, text: str, type_: SqlType, key_of: Callable[[str, str, SqlType], str]) -> str:
    texts = [f"{text}.`{name}`" if engine == SPARK else f'{text}."{name}"' for name, _ in type_.fields]
    keys = [key_of(engine, field, kind) for field, (_, kind) in zip(texts, type_.fields, strict=True)]
    if keys == texts:
        return text
    if engine == SPARK:
        made = "named_struct(" + ", ".join(f"'f{i}', {key}" for i, key in enumerate(keys)) + ")"
    else:
        made = "{" + ", ".join(f"'f{i}': {key}" for i, key in enumerate(keys)) + "}"
    return f"(CASE WHEN {text} IS NOT NULL THEN {made} END)"


def sort_key(engine: str, text: str, type_: SqlType) -> str:
    """An expression whose values order as the typed values do."""
    match FACTS[type_.kind].compared:
        case "as numeric" if type_.scale is None:
            return call(engine, "hw_numeric_key", untrimmed(text))
        case "as jsonb":
            return call(engine, "hw_jsonb_key", text)
        case "as byte":  # those beyond ASCII are stored in octal, and come last
            return f"(CASE WHEN length({text}) > 1 THEN concat('{_BEYOND_ASCII}', {text}) ELSE {text} END)"
        case "never" | "by text":
            raise _no_operator("<", type_)
        case "not yet":
            raise not_supported(f"comparing values of type {type_.kind}")
    if type_.kind == "map":
        raise not_supported(f"ordering by {format_type(type_)}")
    _check_nested(type_)
    if type_.kind == "array":
        return _array_key(engine, text, type_)
    if engine == SPARK and (type_.element is not None or type_.kind == "record"):
        return _nulls_last(text, type_)
    if _holds_arrays(type_):
        return _keys_within(engine, text, type_)
    return equality_key(engine, text, type_)


def _holds_arrays(type_: SqlType) -> bool:
    parts = (*(field for _, field in type_.fields), *((type_.element,) if type_.element else ()))
    return type_.kind == "array" or any(map(_holds_arrays, parts))


def _keys_within(engine: str, text: str, type_: SqlType) -> str:
    """A list or record in DuckDB that has arrays in it, which order by their keys."""
    if type_.element is None:
        return _field_keys(engine, text, type_, sort_key)
    name = "o" * _depth(type_)  # lists within have another one
    return mapped(engine, text, name, sort_key(engine, name, type_.element))


def _depth(type_: SqlType) -> int:
    parts = (*(field for _, field in type_.fields), *((type_.element,) if type_.element else ()))
    return (type_.element is not None) + max(map(_depth, parts), default=0)


def _array_key(engine: str, text: str, type_: SqlType) -> str:
    """Elements first, then the shape: dimensions, their lengths, their lower bounds."""

    def make(texts: Texts) -> str:
        items = elements(engine, texts[0], type_)
        if engine == SPARK:
            items = _nulls_last(items, type_)
        key = f"{items}, {whole_shape(engine, texts[0], type_)}"
        made = f"struct({key})" if engine == SPARK else f"row({key})"
        return f"(CASE WHEN {texts[0]} IS NOT NULL THEN {made} END)"

    return named(engine, (text,), make)


def _nulls_last(text: str, type_: SqlType) -> str:
    """A list whose missing elements are the greatest, in Spark, where they are the least."""
    inner = type_.element
    if inner is None or inner.element is not None or inner.kind == "record":
        raise not_supported(f"ordering by {format_type(type_)}")
    return f"transform({text}, e -> named_struct('missing', e IS NULL, 'value', e))"


def _check_nested(type_: SqlType) -> None:
    """Elements inside a container have no key of their own, so they must order natively."""
    inner = [field for _, field in type_.fields] if type_.element is None else [type_.element]
    for part in inner:
        odd = (
            part.kind == "map"
            or FACTS[part.kind].compared in ("as jsonb", "as interval", "as char")
            or unconstrained(part)
        )
        if odd:
            raise not_supported(f"ordering by {format_type(type_)}")
        _check_nested(part)


def _no_operator(symbol: str, type_: SqlType) -> UserError:
    name = format_type(type_)
    return UserError(f"operator does not exist: {name} {symbol} {name}", "42883")


def _interval_key(text: str) -> str:
    day = f"CAST({DAY_US} AS DECIMAL(38,0))"
    days = f"CAST({text}.months AS DECIMAL(38,0)) * {DAYS_PER_MONTH} + {text}.days"
    return f"(({days}) * {day} + {text}.microseconds)"


def _forms(symbol: str) -> tuple[Form, Form]:
    def make(engine: str, texts: Texts, types: Types) -> str:
        left, right = _comparable(engine, symbol, texts, types)
        if symbol == "is distinct from":
            return f"(NOT ({left} <=> {right}))" if engine == SPARK else f"({left} IS DISTINCT FROM {right})"
        made = f"({left} {symbol} {right})"
        if engine != SPARK and types[0].element is not None and symbol not in ("=", "<>"):
            # Of two such DuckDB makes a BETWEEN, and then has none for lists.
            return f"CAST(CAST({made} AS TINYINT) AS BOOLEAN)"
        return made

    return both(make)


def _comparable(engine: str, symbol: str, texts: Texts, types: Types) -> tuple[str, str]:
    kind = types[0].kind
    if kind == "numeric" and any(type_.scale is None for type_ in types):
        texts = tuple(numeric_bare(engine, text, type_) for text, type_ in zip(texts, types, strict=True))
        types = tuple(type_.bare() for type_ in types)
    if symbol in ("=", "<>", "is distinct from"):
        keys = [equality_key(engine, text, type_) for text, type_ in zip(texts, types, strict=True)]
    else:
        keys = [sort_key(engine, text, type_) for text, type_ in zip(texts, types, strict=True)]
    return keys[0], keys[1]


def _entries() -> list[Function]:
    wanted: list[Wanted] = [*_PLAIN, "numeric", INTERVAL, SqlType("char"), JSONB, "anyarray", "anylist"]
    entries = []
    for symbol in (*_SYMBOLS, "is distinct from"):
        duckdb, spark = _forms(symbol)
        for want in wanted:
            entries.append(Function(symbol, (want, want), BOOL, duckdb, spark, "operator"))
    return entries


def _extreme(name: str) -> tuple[Form, Form]:
    """greatest and least, which skip NULLs in PostgreSQL and in both engines."""

    def make(engine: str, texts: Texts, types: Types) -> str:
        if len(texts) == 1:
            return texts[0]
        if types[0].kind == "numeric" and any(type_.scale is None for type_ in types):
            values = ", ".join(
                numeric_text(engine, text, type_) for text, type_ in zip(texts, types, strict=True)
            )
            listed = f"array({values})" if engine == SPARK else f"[{values}]"
            return numeric_call(engine, "hw_numeric_extreme", listed, f"'{name}'")
        # DuckDB's own takes 31 days for a month, and of 0 and -0 not always the first.
        if FACTS[types[0].kind].compared in ("as interval", "as float") and engine != SPARK:
            better = f"CASE WHEN p IS NULL OR q {'>' if name == 'greatest' else '<'} p THEN q ELSE p END"
            return f"list_reduce([{', '.join(texts)}], lambda p, q: {better})"
        if types[0].kind == "array":
            return _extreme_array(engine, name, texts, types[0])
        if sort_key(engine, "x", types[0]) != "x":
            raise not_supported(f"{name} of {format_type(types[0])}")
        return f"{name}({', '.join(texts)})"

    return both(make)


def _extreme_array(engine: str, name: str, texts: Texts, type_: SqlType) -> str:
    left, right = (sort_key(engine, side, type_) for side in "qp")
    better = f"CASE WHEN p IS NULL OR {left} {'>' if name == 'greatest' else '<'} {right} THEN q ELSE p END"
    if engine == SPARK:
        nothing = cast_to(engine, "NULL", type_)
        return f"aggregate(array({', '.join(texts)}), {nothing}, (p, q) -> {better})"
    return f"list_reduce([{', '.join(texts)}], lambda p, q: {better})"


def _coalesce(engine: str, texts: Texts, types: Types) -> str:
    bare = [untrimmed(text) for text in texts]
    if types[0].kind != "numeric" or bare == list(texts):
        return native(f"coalesce({', '.join(texts)})", *texts)
    return trimmed(engine, f"coalesce({', '.join(bare)})")


def _counting(test: str) -> tuple[Form, Form]:
    """How many arguments are NULL, or are not."""

    def make(engine: str, texts: Texts, types: Types) -> str:
        return "(" + " + ".join(f"CASE WHEN {text} {test} THEN 1 ELSE 0 END" for text in texts) + ")"

    return both(make)


def _same(types: Types) -> SqlType:
    """The type that all arguments have; numerics take the greatest scale."""
    if types[0].kind == "numeric" and any(type_ != types[0] for type_ in types):
        scales = [type_.scale for type_ in types]
        return types[scales.index(None)] if None in scales else max(types, key=lambda type_: type_.scale or 0)
    return types[0]


def _variadic(name: str, forms: tuple[Form, Form]) -> Function:
    return Function(name, ("anyelement",), _same, *forms, variadic=True)


FUNCTIONS: Final[tuple[Function, ...]] = (
    *_entries(),
    _variadic("greatest", _extreme("greatest")),
    _variadic("least", _extreme("least")),
    _variadic("coalesce", both(_coalesce)),
    Function("num_nulls", ("any",), INT4, *_counting("IS NULL"), variadic=True),
    Function("num_nonnulls", ("any",), INT4, *_counting("IS NOT NULL"), variadic=True),
)

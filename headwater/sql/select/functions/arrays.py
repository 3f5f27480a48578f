"""Functions and operators over arrays, lists and maps.

Arrays have one dimension and count from 1.  Elements are compared by the engines, so those
whose equality is not the engine's own (intervals in Spark, char) are refused here.

Not here: comparisons of whole arrays (comparisons.py), unnest (tables.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headwater.core.errors import UserError, not_supported
from headwater.core.types import BOOL, INT4, TEXT, SqlType, array_of, format_type, map_of
from headwater.sql.select.functions.comparisons import equality_key
from headwater.sql.select.functions.entry import Form, Function, TypeRule, Wanted
from headwater.sql.select.functions.forms import (
    SPARK,
    Texts,
    Types,
    both,
    bound,
    call,
    cast_to,
    first,
    kernel_function,
    native,
    type_text,
)


def element(types: Types) -> SqlType:
    """The type rule `an element of the first argument`."""
    if types[0].element is None:
        raise UserError(f"cannot subscript type {format_type(types[0])}", "42804")
    return types[0].element


def _second(types: Types) -> SqlType:
    return types[1]


def _comparable(engine: str, type_: SqlType) -> None:
    inner = type_.element if type_.element is not None else type_
    if equality_key(engine, "x", inner) != "x":
        raise not_supported(f"looking for {format_type(inner)} in an array")


def _guarded(
    name: str, arguments: tuple[Wanted, ...], returns: TypeRule, forms: tuple[Form, Form]
) -> Function:
    shape = "operator" if not name[0].isalpha() else "scalar"
    return Function(name, arguments, returns, *forms, shape, null_guard=True)  # type: ignore[arg-type]


# Parts


def _slice(engine: str, texts: Texts, types: Types) -> str:
    array, low, high = texts
    start = f"greatest({low}, 1)"
    if engine == SPARK:
        return f"slice({array}, {start}, greatest(least({high}, size({array})) - {start} + 1, 0))"
    return f"list_slice({array}, {start}, greatest({high}, 0))"


def _parts() -> list[Function]:
    at = ("(CASE WHEN {1} >= 1 THEN list_extract({0}, {1}) END)", "get({0}, {1} - 1)")
    value = ("map_extract_value({0}, {1})", "element_at({0}, {1})")
    return [
        Function("[]", ("anyarray", INT4), element, *at, "operator"),
        Function("[]", ("anylist", INT4), element, *at, "operator"),
        Function("[]", ("anymap", TEXT), element, *value, "operator"),
        Function("->", ("anymap", TEXT), element, *value, "operator"),
        _guarded("[:]", ("anyarray", INT4, INT4), first, both(_slice)),
        _guarded("[:]", ("anylist", INT4, INT4), first, both(_slice)),
        Function(
            "?", ("anymap", TEXT), BOOL, "map_contains({0}, {1})", "map_contains_key({0}, {1})", "operator"
        ),
        native("map_length", ("anymap",), INT4, "CAST(cardinality({0}) AS INTEGER)", "cardinality({0})"),
    ]


# Sizes


def _sizes() -> list[Function]:
    duckdb, spark = "CAST(len({0}) AS INTEGER)", "size({0})"

    def sized(name: str, form: str, *more: SqlType, whole: str = "anyarray") -> Function:
        """`@` in the form stands for the number of elements."""
        return native(name, (whole, *more), INT4, form.replace("@", duckdb), form.replace("@", spark))

    return [
        sized("cardinality", "@"),
        sized("list_length", "@", whole="anylist"),
        sized("array_length", "(CASE WHEN {1} = 1 THEN nullif(@, 0) END)", INT4),
        sized("array_upper", "(CASE WHEN {1} = 1 THEN nullif(@, 0) END)", INT4),
        sized("array_lower", "(CASE WHEN {1} = 1 AND @ > 0 THEN 1 END)", INT4),
        sized("array_ndims", "(CASE WHEN @ > 0 THEN 1 END)"),
        native(
            "array_dims",
            ("anyarray",),
            TEXT,
            f"('[1:' || CAST(nullif({duckdb}, 0) AS VARCHAR) || ']')",
            f"concat('[1:', CAST(nullif({spark}, 0) AS STRING), ']')",
        ),
    ]


# Putting together


def _joined(engine: str, texts: Texts, types: Types) -> str:
    """A missing array is the same as none."""
    left, right = texts
    name = "concat" if engine == SPARK else "list_concat"
    both_there = f"{name}({left}, {right})"
    return f"(CASE WHEN {left} IS NULL THEN {right} WHEN {right} IS NULL THEN {left} ELSE {both_there} END)"


def _appended(engine: str, texts: Texts, types: Types) -> str:
    if engine == SPARK:
        return f"concat(coalesce({texts[0]}, {cast_to(engine, 'array()', types[0])}), array({texts[1]}))"
    return f"list_append({texts[0]}, {texts[1]})"


def _prepended(engine: str, texts: Texts, types: Types) -> str:
    if engine == SPARK:
        return f"concat(array({texts[0]}), coalesce({texts[1]}, {cast_to(engine, 'array()', types[1])}))"
    return f"list_prepend({texts[0]}, {texts[1]})"


def _building() -> list[Function]:
    entries = []
    for whole, prefix in (("anyarray", "array"), ("anylist", "list")):
        entries += [
            Function("||", (whole, whole), first, *both(_joined), "operator"),
            Function("||", (whole, "anyelement"), first, *both(_appended), "operator"),
            Function("||", ("anyelement", whole), _second, *both(_prepended), "operator"),
            Function(f"{prefix}_cat", (whole, whole), first, *both(_joined)),
            Function(f"{prefix}_append", (whole, "anyelement"), first, *both(_appended)),
            Function(f"{prefix}_prepend", ("anyelement", whole), _second, *both(_prepended)),
        ]
    return entries


# Looking


def _checked(make: Callable[[str, Texts], str]) -> tuple[Form, Form]:
    def form(engine: str, texts: Texts, types: Types) -> str:
        _comparable(engine, types[0])
        if engine == SPARK:  # its lambdas may not hold kernels, so arguments are bound outside them
            fields = ", ".join(f"'a{index}', {text}" for index, text in enumerate(texts))
            names = tuple(f"r.a{index}" for index in range(len(texts)))
            return bound(engine, f"named_struct({fields})", make(engine, names))
        return make(engine, texts)

    return both(form)


def _contains(engine: str, texts: Texts) -> str:
    whole, part = texts
    if engine == SPARK:
        return f"forall({part}, x -> coalesce(array_contains({whole}, x), FALSE))"
    return f"(len(list_filter({part}, lambda x: NOT coalesce(list_contains({whole}, x), FALSE))) = 0)"


def _overlaps(engine: str, texts: Texts) -> str:
    left, right = texts
    if engine == SPARK:
        return f"exists({right}, x -> coalesce(array_contains({left}, x), FALSE))"
    return f"(len(list_filter({right}, lambda x: coalesce(list_contains({left}, x), FALSE))) > 0)"


def _position(engine: str, texts: Texts) -> str:
    if engine == SPARK:
        where = f"transform({texts[0]}, x -> x <=> {texts[1]})"
        return f"CAST(nullif(array_position({where}, TRUE), 0) AS INT)"
    return f"CAST(list_position({texts[0]}, {texts[1]}) AS INTEGER)"


def _positions(engine: str, texts: Texts) -> str:
    if engine == SPARK:
        kept = f"transform({texts[0]}, (x, i) -> CASE WHEN x <=> {texts[1]} THEN i + 1 END)"
        return f"filter({kept}, x -> x IS NOT NULL)"
    place = f"CASE WHEN x IS NOT DISTINCT FROM {texts[1]} THEN CAST(i AS INTEGER) END"
    return f"list_filter(list_transform({texts[0]}, lambda x, i: {place}), lambda x: x IS NOT NULL)"


def _removed(engine: str, texts: Texts) -> str:
    if engine == SPARK:
        return f"filter({texts[0]}, x -> NOT (x <=> {texts[1]}))"
    return f"list_filter({texts[0]}, lambda x: x IS DISTINCT FROM {texts[1]})"


def _replaced(engine: str, texts: Texts) -> str:
    if engine == SPARK:
        return f"transform({texts[0]}, x -> CASE WHEN x <=> {texts[1]} THEN {texts[2]} ELSE x END)"
    return (
        f"list_transform({texts[0]}, lambda x: CASE WHEN x IS NOT DISTINCT FROM {texts[1]}"
        f" THEN {texts[2]} ELSE x END)"
    )


def _looking() -> list[Function]:
    def turned(engine: str, texts: Texts) -> str:
        return _contains(engine, (texts[1], texts[0]))

    entries = []
    for whole in ("anyarray", "anylist"):
        entries += [
            _guarded("@>", (whole, whole), BOOL, _checked(_contains)),
            _guarded("<@", (whole, whole), BOOL, _checked(turned)),
        ]
    entries += [
        _guarded("&&", ("anyarray", "anyarray"), BOOL, _checked(_overlaps)),
        Function("array_position", ("anyarray", "anyelement"), INT4, *_checked(_position)),
        Function("array_positions", ("anyarray", "anyelement"), array_of(INT4), *_checked(_positions)),
        Function("array_remove", ("anyarray", "anyelement"), first, *_checked(_removed)),
        Function("list_remove", ("anylist", "anyelement"), first, *_checked(_removed)),
        Function("array_replace", ("anyarray", "anyelement", "anyelement"), first, *_checked(_replaced)),
    ]
    return entries


# Text


def _to_string(engine: str, texts: Texts, types: Types) -> str:
    nulls = texts[2] if len(texts) == 3 else f"CAST(NULL AS {'STRING' if engine == SPARK else 'VARCHAR'})"
    return call(engine, "hw_array_to_string", texts[0], type_text(types[0], engine), texts[1], nulls)


def _map_build(engine: str, texts: Texts, types: Types) -> str:
    keys, values = ", ".join(texts[::2]), ", ".join(texts[1::2])
    if engine == SPARK:
        return f"map_from_arrays(array({keys}), array({values}))"
    return f"map([{keys}], [{values}])"


def _map_type(types: Types) -> SqlType:
    return map_of(types[1])


FUNCTIONS: Final[tuple[Function, ...]] = (
    *_parts(),
    *_sizes(),
    *_building(),
    *_looking(),
    Function("array_to_string", ("anyarray", TEXT), TEXT, *both(_to_string)),
    Function("array_to_string", ("anyarray", TEXT, TEXT), TEXT, *both(_to_string)),
    kernel_function(
        "string_to_array", (TEXT, TEXT), array_of(TEXT), "hw_string_to_array", "{0}", "{1}", "NULL"
    ),
    kernel_function("string_to_array", (TEXT, TEXT, TEXT), array_of(TEXT), "hw_string_to_array"),
    Function("map_build", ("any",), _map_type, *both(_map_build), variadic=True),
)

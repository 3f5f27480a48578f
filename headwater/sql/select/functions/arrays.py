"""Functions and operators over arrays, lists and maps.

Arrays have up to six dimensions, each with its own lower bound; lists have one and count from 1.  Forms look
at an array's shape only where it matters, and take the short way for ordinary arrays, which nearly all are.
Elements are compared by the engines, so those whose equality is not the engine's own (intervals in Spark,
char) are refused here.

Not here: comparisons of whole arrays (comparisons.py), unnest (tables.py), what forms are made of
(array_forms.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headwater.core.errors import UserError, not_supported
from headwater.core.types import BOOL, INT4, TEXT, SqlType, array_of, format_type, map_of
from headwater.sql.select.functions.array_forms import (
    chained,
    each,
    elements,
    item,
    kept,
    listed,
    mapped,
    named,
    packed,
    part,
    shape,
    size,
    whole_shape,
)
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
    failure,
    first,
    kernel_function,
    native,
    type_text,
)
from headwater.sql.select.functions.written import simple


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
    kind = "operator" if not name[0].isalpha() else "scalar"
    return Function(name, arguments, returns, *forms, kind, null_guard=True)  # type: ignore[arg-type]


def _wide(engine: str, text: str) -> str:
    """A subscript that may be computed with: bounds lie anywhere among the integers."""
    return f"CAST({text} AS BIGINT)"


def _narrow(engine: str, text: str) -> str:
    return cast_to(engine, text, INT4)


# Parts


def _at(engine: str, texts: Texts, types: Types) -> str:
    """`a[i]`, `a[i][j]`: NULL beyond the bounds, and where there are not as many dimensions."""

    def make(given: Texts) -> str:
        array, subscripts = given[0], given[1:]
        shaped, count = shape(engine, array), len(given) - 1
        tests, offset = [], "0"
        for number, subscript in enumerate(subscripts, 1):
            length = item(engine, shaped, str(number + 1))
            low = item(engine, shaped, str(number + 1 + count))
            if count == 1:
                length = size(engine, elements(engine, array, types[0]))
                low = f"coalesce({low}, 1)"
            place = f"({_wide(engine, subscript)} - {low})"
            tests.append(f"{place} >= 0 AND {place} < {length}")
            offset = f"({offset} * {length} + {place})"
        fitting = f"coalesce({item(engine, shaped, '1')}, 1) = {count}"
        found = item(engine, elements(engine, array, types[0]), _narrow(engine, f"({offset} + 1)"))
        return f"(CASE WHEN {fitting} AND {' AND '.join(tests)} THEN {found} END)"

    return named(engine, texts, make)


def _list_slice(engine: str, texts: Texts, types: Types) -> str:
    array, low, high = texts
    start = f"greatest({low}, 1)"
    if engine == SPARK:
        return f"slice({array}, {start}, greatest(least({high}, size({array})) - {start} + 1, 0))"
    return f"list_slice({array}, {start}, greatest({high}, 0))"


def _slice(engine: str, texts: Texts, types: Types) -> str:
    """`a[low:high]`, `a[low:high][low:high]`: all of the dimensions behind; what comes out begins at 1."""

    def make(given: Texts) -> str:
        array, bounds = given[0], list(zip(given[1::2], given[2::2], strict=True))
        shaped = shape(engine, array)
        all_elements = elements(engine, array, types[0])
        nothing = packed(engine, part(engine, all_elements, "1", "0"))
        if len(bounds) == 1:
            plain = packed(engine, _list_slice(engine, (all_elements, *bounds[0]), types))
        else:
            plain = nothing
        ranges = [_cut(engine, shaped, place, *pair) for place, pair in enumerate(bounds, 1)]
        lengths = [length for _, length in ranges]
        cut = " OR ".join(f"{length} <= 0" for length in lengths)
        picked = _picked(engine, array, types, ranges)
        total = item(engine, shaped, "1")
        left = part(engine, shaped, str(len(bounds) + 2), f"{total} - {len(bounds)}")
        ones = mapped(engine, part(engine, shaped, "2", total), "o", "1")
        made = listed(engine, ", ".join((total, *(_narrow(engine, length) for length in lengths))))
        grown = f"CASE WHEN {total} > 1 THEN {chained(engine, made, left, ones)} END"
        return (
            f"(CASE WHEN {shaped} IS NULL THEN {plain}"
            f" WHEN {len(bounds)} > {total} OR {cut} THEN {nothing} ELSE {packed(engine, picked, grown)} END)"
        )

    return named(engine, texts, make)


def _cut(engine: str, shaped: str, place: int, low: str, high: str) -> tuple[str, str]:
    """How far behind its lower bound a dimension is cut, and how much of it is left."""
    lower = item(engine, shaped, f"({item(engine, shaped, '1')} + {place + 1})")
    upper = f"({_wide(engine, lower)} + {item(engine, shaped, str(place + 1))} - 1)"
    start = f"greatest({_wide(engine, low)}, {lower})"
    return f"({start} - {lower})", f"(least({_wide(engine, high)}, {upper}) - {start} + 1)"


def _picked(engine: str, array: str, types: Types, ranges: list[tuple[str, str]]) -> str:
    """The elements whose place in each dimension is within its range."""
    shaped = shape(engine, array)
    count = size(engine, elements(engine, array, types[0]))
    places = f"sequence(0, {count} - 1)" if engine == SPARK else f"range({count})"
    tests = []
    for number, (low, length) in enumerate(ranges, 1):
        behind = part(engine, shaped, str(number + 2), f"{item(engine, shaped, '1')} - {number}")
        if engine == SPARK:
            stride = f"aggregate({behind}, 1, (s, t) -> s * t)"
            along = f"((p div {stride}) % {item(engine, shaped, str(number + 1))})"
        else:
            stride = f"CAST(coalesce(list_product({behind}), 1) AS BIGINT)"
            along = f"((p // {stride}) % {item(engine, shaped, str(number + 1))})"
        tests.append(f"{along} >= {low} AND {along} < {low} + {length}")
    chosen = kept(engine, places, "p", " AND ".join(tests))
    return mapped(engine, chosen, "p", item(engine, elements(engine, array, types[0]), "(p + 1)"))


def _parts() -> list[Function]:
    at = ("(CASE WHEN {1} >= 1 THEN list_extract({0}, {1}) END)", "get({0}, {1} - 1)")
    value = ("map_extract_value({0}, {1})", "element_at({0}, {1})")
    return [
        Function("[]", ("anyarray", INT4), element, *both(_at), "operator", variadic=True),
        Function("[]", ("anylist", INT4), element, *at, "operator"),
        Function("[]", ("anymap", TEXT), element, *value, "operator"),
        Function("->", ("anymap", TEXT), element, *value, "operator"),
        Function(
            "[:]", ("anyarray", INT4, INT4), first, *both(_slice), "operator", variadic=True, null_guard=True
        ),
        _guarded("[:]", ("anylist", INT4, INT4), first, both(_list_slice)),
        Function(
            "?", ("anymap", TEXT), BOOL, "map_contains({0}, {1})", "map_contains_key({0}, {1})", "operator"
        ),
        native("map_length", ("anymap",), INT4, "CAST(cardinality({0}) AS INTEGER)", "cardinality({0})"),
    ]


# Sizes


def length_of(engine: str, types: Types, array: str, dimension: str) -> str:
    """How long a dimension is; NULL if there is no such one."""
    shaped, count = shape(engine, array), size(engine, elements(engine, array, types[0]))
    plain = f"CASE WHEN {dimension} = 1 THEN nullif({count}, 0) END"
    found = item(engine, shaped, f"({dimension} + 1)")
    exists = f"{dimension} BETWEEN 1 AND {item(engine, shaped, '1')}"
    return f"(CASE WHEN {shaped} IS NULL THEN {plain} WHEN {exists} THEN {found} END)"


def lower_of(engine: str, types: Types, array: str, dimension: str) -> str:
    """Where a dimension begins; NULL if there is no such one."""
    shaped, count = shape(engine, array), size(engine, elements(engine, array, types[0]))
    plain = f"CASE WHEN {dimension} = 1 AND {count} > 0 THEN 1 END"
    found = item(engine, shaped, f"({item(engine, shaped, '1')} + {dimension} + 1)")
    exists = f"{dimension} BETWEEN 1 AND {item(engine, shaped, '1')}"
    return f"(CASE WHEN {shaped} IS NULL THEN {plain} WHEN {exists} THEN {found} END)"


def _length(engine: str, texts: Texts, types: Types) -> str:
    return named(engine, texts, lambda given: length_of(engine, types, *given))


def _lower(engine: str, texts: Texts, types: Types) -> str:
    return named(engine, texts, lambda given: lower_of(engine, types, *given))


def _upper(engine: str, texts: Texts, types: Types) -> str:
    return named(
        engine,
        texts,
        lambda given: f"({lower_of(engine, types, *given)} - 1 + {length_of(engine, types, *given)})",
    )


def _dimensions(engine: str, texts: Texts, types: Types) -> str:
    def make(given: Texts) -> str:
        plain = f"CASE WHEN {size(engine, elements(engine, given[0], types[0]))} > 0 THEN 1 END"
        return f"coalesce({item(engine, shape(engine, given[0]), '1')}, {plain})"

    return named(engine, texts, make)


def _bounds(engine: str, texts: Texts, types: Types) -> str:
    """`[1:2][0:5]`."""

    def make(given: Texts) -> str:
        full = whole_shape(engine, given[0], types[0])
        count = item(engine, full, "1")
        low = item(engine, full, f"({count} + 1 + d)")
        high = f"({low} - 1 + {item(engine, full, '(d + 1)')})"
        if engine == SPARK:
            each_one = f"concat('[', CAST({low} AS STRING), ':', CAST({high} AS STRING), ']')"
            shown = f"array_join(transform(sequence(1, {count}), d -> {each_one}), '')"
        else:
            each_one = f"'[' || CAST({low} AS VARCHAR) || ':' || CAST({high} AS VARCHAR) || ']'"
            shown = f"array_to_string(list_transform(range(1, {count} + 1), lambda d: {each_one}), '')"
        return f"(CASE WHEN {size(engine, elements(engine, given[0], types[0]))} > 0 THEN {shown} END)"

    return named(engine, texts, make)


def _sizes() -> list[Function]:
    def count(engine: str, texts: Texts, types: Types) -> str:
        return size(engine, elements(engine, texts[0], types[0]))

    return [
        Function("cardinality", ("anyarray",), INT4, *both(count)),
        native("list_length", ("anylist",), INT4, size("duckdb", "{0}"), size(SPARK, "{0}")),
        Function("array_length", ("anyarray", INT4), INT4, *both(_length)),
        Function("array_upper", ("anyarray", INT4), INT4, *both(_upper)),
        Function("array_lower", ("anyarray", INT4), INT4, *both(_lower)),
        Function("array_ndims", ("anyarray",), INT4, *both(_dimensions)),
        Function("array_dims", ("anyarray",), TEXT, *both(_bounds)),
    ]


# Putting together

_INCOMPATIBLE: Final = "cannot concatenate incompatible arrays"


def _list_joined(engine: str, texts: Texts, types: Types) -> str:
    """A missing list is the same as none."""
    left, right = texts
    both_there = chained(engine, left, right)
    return f"(CASE WHEN {left} IS NULL THEN {right} WHEN {right} IS NULL THEN {left} ELSE {both_there} END)"


def _joined(engine: str, texts: Texts, types: Types) -> str:
    """Two of as many dimensions, or an array and one more of what its outermost dimension holds."""

    def make(given: Texts) -> str:
        left, right = given
        sides = [elements(engine, side, types[0]) for side in given]
        together = chained(engine, *sides)
        shapes = [whole_shape(engine, side, types[0]) for side in given]
        counts = [item(engine, full, "1") for full in shapes]
        outer = [item(engine, full, "2") for full in shapes]
        inner = [_inner(engine, full, count) for full, count in zip(shapes, counts, strict=True)]
        whole = [part(engine, full, "2", f"2 * {count}") for full, count in zip(shapes, counts, strict=True)]

        def grown(full: str, count: str, length: str) -> str:
            made = chained(
                engine,
                listed(engine, f"{count}, {length}"),
                part(engine, full, "3", f"2 * {count} - 1"),
            )
            low = item(engine, full, "3")
            return f"CASE WHEN {count} > 1 OR {low} <> 1 THEN {made} END"

        def refused(detail: str) -> str:
            return failure(engine, _INCOMPATIBLE, "2202E", detail=f"Arrays {detail} for concatenation.")

        plain = f"{shape(engine, left)} IS NULL AND {shape(engine, right)} IS NULL"
        alike = packed(engine, together, grown(shapes[0], counts[0], f"{outer[0]} + {outer[1]}"))
        into_right = packed(engine, together, grown(shapes[1], counts[1], f"{outer[1]} + 1"))
        into_left = packed(engine, together, grown(shapes[0], counts[0], f"{outer[0]} + 1"))
        unlike = refused("with differing dimensions are not compatible")
        return (
            f"(CASE WHEN {left} IS NULL THEN {right} WHEN {right} IS NULL THEN {left}"
            f" WHEN {plain} THEN {packed(engine, together)}"
            f" WHEN {size(engine, sides[0])} = 0 THEN {right} WHEN {size(engine, sides[1])} = 0 THEN {left}"
            f" WHEN {counts[0]} = {counts[1]} THEN CASE WHEN {inner[0]} = {inner[1]} THEN {alike}"
            f" ELSE {refused('with differing element dimensions are not compatible')} END"
            f" WHEN {counts[0]} + 1 = {counts[1]} THEN CASE WHEN {whole[0]} = {inner[1]} THEN {into_right}"
            f" ELSE {unlike} END"
            f" WHEN {counts[1]} + 1 = {counts[0]} THEN CASE WHEN {inner[0]} = {whole[1]} THEN {into_left}"
            f" ELSE {unlike} END"
            f" ELSE {refused('of so different numbers of dimensions are not compatible')} END)"
        )

    return named(engine, texts, make)


def _inner(engine: str, full: str, count: str) -> str:
    """The lengths and lower bounds of all dimensions but the outermost."""
    lengths = part(engine, full, "3", f"{count} - 1")
    return chained(engine, lengths, part(engine, full, f"{count} + 3", f"{count} - 1"))


def _list_appended(engine: str, texts: Texts, types: Types) -> str:
    if engine == SPARK:
        return f"concat(coalesce({texts[0]}, {cast_to(engine, 'array()', types[0])}), array({texts[1]}))"
    return f"list_append({texts[0]}, {texts[1]})"


def _list_prepended(engine: str, texts: Texts, types: Types) -> str:
    if engine == SPARK:
        return f"concat(array({texts[0]}), coalesce({texts[1]}, {cast_to(engine, 'array()', types[1])}))"
    return f"list_prepend({texts[0]}, {texts[1]})"


def _with_one(before: bool) -> Callable[[str, Texts, Types], str]:
    """array_append and array_prepend: lower bounds stay what they are."""

    def form(engine: str, texts: Texts, types: Types) -> str:
        def make(given: Texts) -> str:
            array, value = (given[1], given[0]) if before else given
            alone = listed(engine, value)
            present = elements(engine, array, types[1 if before else 0])
            longer = chained(engine, alone, present) if before else chained(engine, present, alone)
            shaped = shape(engine, array)
            low = item(engine, shaped, "3")
            made = listed(engine, f"1, {size(engine, present)} + 1, {low}")
            deep = failure(engine, "argument must be empty or one-dimensional array", "22000")
            return (
                f"(CASE WHEN {array} IS NULL THEN {packed(engine, alone)}"
                f" WHEN {shaped} IS NULL THEN {packed(engine, longer)}"
                f" WHEN {item(engine, shaped, '1')} = 1 THEN {packed(engine, longer, made)} ELSE {deep} END)"
            )

        return named(engine, texts, make)

    return form


def _building() -> list[Function]:
    appended, prepended = _with_one(before=False), _with_one(before=True)
    entries = []
    for whole, prefix, join, append, prepend in (
        ("anyarray", "array", _joined, appended, prepended),
        ("anylist", "list", _list_joined, _list_appended, _list_prepended),
    ):
        entries += [
            Function("||", (whole, whole), first, *both(join), "operator"),
            Function("||", (whole, "anyelement"), first, *both(append), "operator"),
            Function("||", ("anyelement", whole), _second, *both(prepend), "operator"),
            Function(f"{prefix}_cat", (whole, whole), first, *both(join)),
            Function(f"{prefix}_append", (whole, "anyelement"), first, *both(append)),
            Function(f"{prefix}_prepend", ("anyelement", whole), _second, *both(prepend)),
        ]
    return entries


# Looking


def _checked(make: Callable[[str, Texts], str], whole: str = "anylist") -> tuple[Form, Form]:
    """Forms over lists, or over the elements of arrays."""

    def form(engine: str, texts: Texts, types: Types) -> str:
        _comparable(engine, types[0])
        if whole == "anyarray":
            texts = tuple(
                elements(engine, text, type_) if type_.kind == "array" else text
                for text, type_ in zip(texts, types, strict=True)
            )
        return _lifted(engine, texts, make)

    return both(form)


def _lifted(engine: str, texts: Texts, make: Callable[[str, Texts], str]) -> str:
    if engine == SPARK:  # its lambdas may not hold kernels, so arguments are bound outside them
        fields = ", ".join(f"'a{index}', {text}" for index, text in enumerate(texts))
        names = tuple(simple(f"r.a{index}") for index in range(len(texts)))
        return bound(engine, f"named_struct({fields})", make(engine, names))
    return make(engine, texts)


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


def _one_dimension(make: Callable[[str, Types, str, str], str], what: str) -> tuple[Form, Form]:
    """Forms over the array and the value to look for, which refuse more dimensions than one."""
    message = f"{what} multidimensional arrays is not supported"

    def form(engine: str, texts: Texts, types: Types) -> str:
        _comparable(engine, types[0])

        def checked(engine: str, given: Texts) -> str:
            deep = f"{item(engine, shape(engine, given[0]), '1')} > 1"
            made = make(engine, types, *given)
            return f"(CASE WHEN {deep} THEN {failure(engine, message, '0A000')} ELSE {made} END)"

        if engine == SPARK:
            return _lifted(engine, texts, checked)
        return named(engine, texts, lambda given: checked(engine, given))

    return both(form)


def _low(engine: str, array: str) -> str:
    """What is before the first subscript of an array of one dimension."""
    return f"(coalesce({item(engine, shape(engine, array), '3')}, 1) - 1)"


def _position(engine: str, types: Types, array: str, value: str) -> str:
    present = elements(engine, array, types[0])
    if engine == SPARK:
        where = f"transform({present}, x -> x <=> {value})"
        found = f"CAST(nullif(array_position({where}, TRUE), 0) AS INT)"
    else:
        found = f"CAST(list_position({present}, {value}) AS INTEGER)"
    return f"({found} + {_low(engine, array)})"


def _positions(engine: str, types: Types, array: str, value: str) -> str:
    present, low = elements(engine, array, types[0]), _low(engine, array)
    if engine == SPARK:
        places = f"transform({present}, (x, i) -> CASE WHEN x <=> {value} THEN i + 1 + {low} END)"
    else:
        place = f"CASE WHEN x IS NOT DISTINCT FROM {value} THEN CAST(i AS INTEGER) + {low} END"
        places = f"list_transform({present}, lambda x, i: {place})"
    found = packed(engine, kept(engine, places, "x", "x IS NOT NULL"))
    return f"CASE WHEN {array} IS NOT NULL THEN {found} END"


def _list_removed(engine: str, texts: Texts) -> str:
    if engine == SPARK:
        return f"filter({texts[0]}, x -> NOT (x <=> {texts[1]}))"
    return f"list_filter({texts[0]}, lambda x: x IS DISTINCT FROM {texts[1]})"


def _removed(engine: str, types: Types, array: str, value: str) -> str:
    left = _list_removed(engine, (elements(engine, array, types[0]), value))
    count = size(engine, left)
    shaped = shape(engine, array)
    made = listed(engine, f"1, {count}, {item(engine, shaped, '3')}")
    some = f"CASE WHEN {shaped} IS NOT NULL AND {count} > 0 THEN {made} END"
    return f"CASE WHEN {array} IS NOT NULL THEN {packed(engine, left, some)} END"


def _replaced(engine: str, texts: Texts, types: Types) -> str:
    _comparable(engine, types[0])

    def make(engine: str, given: Texts) -> str:
        array, old, new = given
        test = f"e <=> {old}" if engine == SPARK else f"e IS NOT DISTINCT FROM {old}"
        return each(engine, array, types[0], f"CASE WHEN {test} THEN {new} ELSE e END")

    return _lifted(engine, texts, make)


def _looking() -> list[Function]:
    def turned(engine: str, texts: Texts) -> str:
        return _contains(engine, (texts[1], texts[0]))

    entries = []
    for whole in ("anyarray", "anylist"):
        entries += [
            _guarded("@>", (whole, whole), BOOL, _checked(_contains, whole)),
            _guarded("<@", (whole, whole), BOOL, _checked(turned, whole)),
        ]
    searching = "searching for elements in"
    entries += [
        _guarded("&&", ("anyarray", "anyarray"), BOOL, _checked(_overlaps, "anyarray")),
        Function("array_position", ("anyarray", "anyelement"), INT4, *_one_dimension(_position, searching)),
        Function(
            "array_positions",
            ("anyarray", "anyelement"),
            array_of(INT4),
            *_one_dimension(_positions, searching),
        ),
        Function(
            "array_remove",
            ("anyarray", "anyelement"),
            first,
            *_one_dimension(_removed, "removing elements from"),
        ),
        Function("list_remove", ("anylist", "anyelement"), first, *_checked(_list_removed)),
        Function("array_replace", ("anyarray", "anyelement", "anyelement"), first, *both(_replaced)),
    ]
    return entries


# Text


def _to_string(engine: str, texts: Texts, types: Types) -> str:
    nulls = texts[2] if len(texts) == 3 else f"CAST(NULL AS {'STRING' if engine == SPARK else 'VARCHAR'})"
    flat = elements(engine, texts[0], types[0])
    return call(engine, "hw_array_to_string", flat, type_text(types[0], engine), texts[1], nulls)


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
    Function("array_to_string", ("anyarray", TEXT), TEXT, *both(_to_string), zoned=True),
    Function("array_to_string", ("anyarray", TEXT, TEXT), TEXT, *both(_to_string), zoned=True),
    kernel_function(
        "string_to_array", (TEXT, TEXT), array_of(TEXT), "hw_string_to_array", "{0}", "{1}", "NULL"
    ),
    kernel_function("string_to_array", (TEXT, TEXT, TEXT), array_of(TEXT), "hw_string_to_array"),
    Function("map_build", ("any",), _map_type, *both(_map_build), variadic=True),
)

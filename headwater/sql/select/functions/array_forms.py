"""Arrays in the engines: what forms over them are made of.

An array is in both engines what it is in files (formats/arrays.py): a struct of its elements and, unless it
is ordinary, its shape.  A list of the engine is something else: elements alone.  Here one becomes the other:

    elements, shape      the parts of an array, given by its text
    packed, of_list      an array of its parts; of a list, which may be NULL
    each                 an array of the same shape, with other elements
    stacked              several arrays of one shape as one of one more dimension

Not here: the functions (arrays.py), which types of elements engines have (forms.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headwater.core.types import SqlType, list_of
from headwater.formats.arrays import DIMENSIONS_MAX
from headwater.sql.select.functions.forms import (
    DUCKDB,
    SPARK,
    Texts,
    bound,
    cast_to,
    failure,
    working_type,
)
from headwater.sql.select.functions.written import Simple, simple

MISMATCHED: Final = "multidimensional arrays must have array expressions with matching dimensions"
# Of the characters of what is written several times: constants may be long.
_REPEATED_MAX: Final = 32
TOO_DEEP: Final = (
    f"number of array dimensions ({DIMENSIONS_MAX + 1}) exceeds the maximum allowed ({DIMENSIONS_MAX})"
)


def elements(engine: str, text: str, type_: SqlType) -> str:
    """The list of the elements of an array of this type."""
    if engine == SPARK:
        return f"{text}.elements"
    inner = SqlType("int4") if type_.element is None else type_.element
    return _field(text, "elements", list_of(inner))


def shape(engine: str, text: str) -> str:
    """An array's shape; NULL if it is ordinary."""
    return f"{text}.shape" if engine == SPARK else _field(text, "shape", _SHAPE)


_SHAPE: Final = list_of(SqlType("int4"))


def _field(text: str, name: str, type_: SqlType) -> str:
    """A part of an array in DuckDB, which forgets the type of what a constant NULL consists of."""
    return cast_to(DUCKDB, f"struct_extract({text}, '{name}')", type_)


def no_shape(engine: str) -> str:
    """The shape of ordinary arrays."""
    return "CAST(NULL AS ARRAY<INT>)" if engine == SPARK else "CAST(NULL AS INTEGER[])"


def packed(engine: str, elements_text: str, shape_text: str = "") -> str:
    """An array of its parts, none of which is NULL but the shape of an ordinary one."""
    made = shape_text or no_shape(engine)
    if engine == SPARK:
        return f"named_struct('elements', {elements_text}, 'shape', {made})"
    return f"struct_pack(elements := {elements_text}, shape := {made})"


def of_list(engine: str, text: str) -> str:
    """A list as an ordinary array; NULL stays NULL."""
    return bound(engine, text, f"CASE WHEN r IS NOT NULL THEN {packed(engine, 'r')} END")


def listed(engine: str, items: str) -> str:
    """A list of these items."""
    return f"array({items})" if engine == SPARK else f"[{items}]"


def empty(engine: str, type_: SqlType) -> str:
    """The array without elements."""
    return cast_to(engine, packed(engine, listed(engine, "")), type_)


def size(engine: str, list_text: str) -> str:
    """The number of a list's items."""
    return f"size({list_text})" if engine == SPARK else f"CAST(len({list_text}) AS INTEGER)"


def item(engine: str, list_text: str, place: str) -> str:
    """An item of a list by its place, from 1; NULL beyond the end.  Nobody asks for places below 1."""
    return f"get({list_text}, {place} - 1)" if engine == SPARK else f"list_extract({list_text}, {place})"


def part(engine: str, list_text: str, first: str, count: str) -> str:
    """As many items of a list, from a place on."""
    if engine == SPARK:
        return f"slice({list_text}, {first}, {count})"
    return f"list_slice({list_text}, {first}, {first} + {count} - 1)"


def chained(engine: str, *lists: str) -> str:
    """Lists one after the other."""
    if engine == SPARK:
        return f"concat({', '.join(lists)})"
    made = lists[0]
    for text in lists[1:]:
        made = f"list_concat({made}, {text})"
    return made


def mapped(engine: str, list_text: str, name: str, body: str) -> str:
    """A list of what `body` makes of each item, which is called `name` in it."""
    if engine == SPARK:
        return f"transform({list_text}, {name} -> {body})"
    return f"list_transform({list_text}, lambda {name}: {body})"


def kept(engine: str, list_text: str, name: str, test: str) -> str:
    """The items for which a test is true."""
    if engine == SPARK:
        return f"filter({list_text}, {name} -> {test})"
    return f"list_filter({list_text}, lambda {name}: {test})"


def whole_shape(engine: str, text: str, type_: SqlType) -> str:
    """The shape that an array has, whether it is ordinary or not."""
    ones = listed(engine, f"1, {size(engine, elements(engine, text, type_))}, 1")
    return f"coalesce({shape(engine, text)}, {ones})"


def named(engine: str, texts: Texts, make: Callable[[Texts], str]) -> str:
    """What `make` makes of values that it may write several times: computed once unless simple and short."""
    if all(isinstance(text, Simple) and len(text) <= _REPEATED_MAX for text in texts):
        return make(texts)
    fields = ", ".join(
        f"'a{index}', {text}" if engine == SPARK else f"a{index} := {text}"
        for index, text in enumerate(texts)
    )
    names = tuple(simple(f"r.a{index}") for index in range(len(texts)))
    return bound(engine, f"{'named_struct' if engine == SPARK else 'struct_pack'}({fields})", make(names))


def flat(engine: str, text: str, type_: SqlType, message: str, sqlstate: str) -> str:
    """The elements of an array that has no more than one dimension, or an error."""

    def make(texts: Texts) -> str:
        deep = f"{item(engine, shape(engine, texts[0]), '1')} > 1"
        refused = failure(engine, message, sqlstate)
        return f"(CASE WHEN {deep} THEN {refused} ELSE {elements(engine, texts[0], type_)} END)"

    return named(engine, (text,), make)


def each(engine: str, text: str, type_: SqlType, body: str) -> str:
    """An array of the same shape as one of this type: `body` makes the elements, out of `e`."""

    def make(texts: Texts) -> str:
        made = mapped(engine, elements(engine, texts[0], type_), "e", body)
        return f"(CASE WHEN {texts[0]} IS NOT NULL THEN {packed(engine, made, shape(engine, texts[0]))} END)"

    return named(engine, (text,), make)


def stacked(engine: str, arrays: str, type_: SqlType, accumulated: bool) -> str:
    """A list of arrays of one shape as one array of one more dimension; NULL stays NULL.

    `accumulated` are the arrays of several rows, none of which may be NULL or empty.  Of those that are
    written side by side all may be, and then there are no elements.
    """
    first = item(engine, "r", "1")
    nothing = f"(x IS NULL OR {size(engine, elements(engine, 'x', type_))} = 0)"
    blanks = size(engine, kept(engine, "r", "x", nothing))
    unlike = f"NOT {nothing} AND {whole_shape(engine, 'x', type_)} <> {whole_shape(engine, first, type_)}"
    differing = f"{size(engine, kept(engine, 'r', 'x', unlike))} > 0"
    if accumulated:
        nulls = size(engine, kept(engine, "r", "x", "x IS NULL"))
        checks = (
            f"WHEN {nulls} > 0 THEN {failure(engine, 'cannot accumulate null arrays', '22004')}"
            f" WHEN {blanks} > 0 THEN {failure(engine, 'cannot accumulate empty arrays', '2202E')}"
        )
        nobody = f" OR {size(engine, 'r')} = 0"
        message = "cannot accumulate arrays of different dimensionality"
    else:
        checks = f"WHEN {blanks} = {size(engine, 'r')} THEN {empty(engine, type_)}"
        nobody, differing = "", f"{blanks} > 0 OR {differing}"
        message = MISMATCHED
    full = whole_shape(engine, first, type_)
    count = item(engine, full, "1")
    grown = chained(
        engine,
        listed(engine, f"{count} + 1, {size(engine, 'r')}"),
        part(engine, full, "2", count),
        listed(engine, "1"),
        part(engine, full, f"2 + {count}", count),
    )
    all_elements = f"flatten({mapped(engine, 'r', 'x', elements(engine, 'x', type_))})"
    body = (
        f"CASE WHEN r IS NULL{nobody} THEN NULL {checks}"
        f" WHEN {differing} THEN {failure(engine, message, '2202E')}"
        f" WHEN {count} = {DIMENSIONS_MAX} THEN {failure(engine, TOO_DEEP, '54000')}"
        f" ELSE {packed(engine, all_elements, grown)} END"
    )
    return f"CAST({bound(engine, arrays, body)} AS {working_type(engine, type_)})"

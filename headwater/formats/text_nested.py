"""Lists, maps and records as text: quoting, and taking apart.

    list          {1,NULL,"a b"}      inner lists are not quoted: {{1},{2,3}}
    map           {a=>1,"b c"=>NULL}
    record        (1,,"a b")          an empty place is NULL

The elements' own text is made and read by whoever calls (text.py), column-wise:
a column of lists is flattened, its elements converted at once, and cut again.

Not here: arrays, which have a shape (text_arrays.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import UserError
from headwater.core.types import SqlType
from headwater.formats.arrow import arrow_type
from headwater.formats.sliced import by_slices, own_values, split_at, texts_of

ToText = Callable[[pa.Array, SqlType], pa.Array]
FromText = Callable[[pa.Array, SqlType], pa.Array]

SPACE = " \t\n\r\v\f"
# `[` and `]` never need quotes; vertical tab is not a space to RE2's \s.
_ARRAY_SPECIAL = r'^$|[{}",\\\s\v]|^(?i:null)$'
_MAP_SPECIAL = r'^$|[{}",\\\s\v]|=>|^(?i:null)$'
_RECORD_SPECIAL = r'^$|[()",\\\s\v]'


# Values to text


def list_to_text(array: pa.Array, element: SqlType, to_text: ToText) -> pa.Array:
    """`{...}` of each list."""
    array = own_values(array)

    def words(values: pa.Array) -> pa.Array:
        texts = to_text(values, element)
        if element.kind not in ("array", "list"):
            texts = _quoted(texts, _ARRAY_SPECIAL)
        return pc.fill_null(texts, "NULL")

    return _braced(array, by_slices(words, array.values))


def vector_to_text(array: pa.Array, element: SqlType, to_text: ToText) -> pa.Array:
    """int2vector: the numbers with spaces between."""
    lists = pa.ListArray.from_arrays(array.offsets, to_text(array.values, element))
    return _only_valid(array, pc.binary_join(lists, " "))


def map_to_text(array: pa.Array, element: SqlType, to_text: ToText) -> pa.Array:
    """Entries in order of their keys."""
    keys = _quoted(array.keys, _MAP_SPECIAL)
    values = pc.fill_null(_quoted(to_text(array.items, element), _MAP_SPECIAL), "NULL")
    rows = np.repeat(np.arange(len(array)), np.diff(np.asarray(array.offsets)))
    start, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
    entries = pc.binary_join_element_wise(keys, values, "=>")
    table = pa.table({"row": rows, "key": array.keys[start:end]})
    order = pc.sort_indices(table, sort_keys=[("row", "ascending"), ("key", "ascending")])
    ordered = entries[start:end].take(order)
    offsets = pc.subtract(array.offsets, start).cast(pa.int32())
    lists = pa.ListArray.from_arrays(offsets, ordered)
    return _only_valid(array, pc.binary_join_element_wise("{", pc.binary_join(lists, ","), "}", ""))


def record_to_text(array: pa.Array, fields: tuple[tuple[str, SqlType], ...], to_text: ToText) -> pa.Array:
    """`(...)` of each record."""
    parts = [
        pc.fill_null(
            _quoted(to_text(pc.struct_field(array, index), field), _RECORD_SPECIAL, doubling=True), ""
        )
        for index, (_, field) in enumerate(fields)
    ]
    if not parts:
        return _only_valid(array, pa.array(["()"] * len(array), pa.string()))
    inner = pc.binary_join_element_wise(*parts, ",")
    return _only_valid(array, pc.binary_join_element_wise("(", inner, ")", ""))


def _quoted(texts: pa.Array, special: str, doubling: bool = False) -> pa.Array:
    odd = pc.match_substring_regex(texts, special)
    if not pc.any(odd).as_py():
        return texts
    escaped = pc.replace_substring(texts, "\\", "\\\\")
    escaped = pc.replace_substring(escaped, '"', '""' if doubling else '\\"')
    return pc.if_else(odd, pc.binary_join_element_wise('"', escaped, '"', ""), texts)


def _braced(array: pa.Array, values: pa.Array) -> pa.Array:
    inner = pc.binary_join(pa.ListArray.from_arrays(array.offsets, values), ",")
    return _only_valid(array, pc.binary_join_element_wise("{", inner, "}", ""))


def _only_valid(array: pa.Array, text: pa.Array) -> pa.Array:
    return pc.if_else(array.is_valid(), text, pa.scalar(None, pa.string()))


# Text to values


def list_from_text(array: pa.Array, type_: SqlType, element: SqlType, from_text: FromText) -> pa.Array:
    """Lists of their texts."""
    plain = pc.match_substring_regex(array, r'^\{[^{}"\\\s\v]+\}$')
    if pc.all(plain).as_py() and not pc.any(pc.match_substring_regex(array, r"[{,][,}]")).as_py():
        return list_of_words(array, element, from_text)
    nested = element.kind in ("array", "list")
    rows = [None if text is None else _split_list(text, type_, nested) for text in array.to_pylist()]
    return _rebuilt(rows, element, from_text)


def list_of_words(array: pa.Array, element: SqlType, from_text: FromText) -> pa.Array:
    """Lists of texts with nothing quoted or nested anywhere: cut at the commas, all rows at once."""
    inner = pc.utf8_slice_codeunits(pc.fill_null(array, "{null}"), 1, -1)
    lists = split_at(inner, ",")

    def converted(words: pa.Array) -> pa.Array:
        null = pc.equal(pc.utf8_lower(words), "null")
        return from_text(pc.if_else(null, pa.scalar(None, pa.string()), words), element)

    values, offsets = by_slices(converted, lists.values), lists.offsets
    if not array.null_count:
        return pa.ListArray.from_arrays(offsets, values)
    return pa.ListArray.from_arrays(offsets, values, mask=array.is_null())


def _rebuilt(rows: list[list[str | None] | None], element: SqlType, from_text: FromText) -> pa.Array:
    lengths = [0 if row is None else len(row) for row in rows]
    words = texts_of([word for row in rows if row is not None for word in row])
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths, dtype=np.int32))), pa.int32())
    mask = pa.array([row is None for row in rows], pa.bool_())
    values = by_slices(lambda some: from_text(some, element), words)
    return pa.ListArray.from_arrays(offsets, values, mask=mask)


def map_from_text(array: pa.Array, type_: SqlType, element: SqlType, from_text: FromText) -> pa.Array:
    """Maps of their texts."""
    rows = [None if text is None else _split_map(text) for text in array.to_pylist()]
    lengths = [0 if row is None else len(row) for row in rows]
    entries = [entry for row in rows if row is not None for entry in row.items()]
    values = from_text(pa.array([value for _, value in entries], pa.string()), element)
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths, dtype=np.int32))), pa.int32())
    keys = pa.array([key for key, _ in entries], pa.string())
    mask = pa.array([row is None for row in rows], pa.bool_())
    return pa.MapArray.from_arrays(offsets, keys, values, type=arrow_type(type_), mask=mask)


def record_from_text(array: pa.Array, type_: SqlType, from_text: FromText) -> pa.Array:
    """Records of their texts."""
    rows = [None if text is None else _split_record(text, len(type_.fields)) for text in array.to_pylist()]
    columns = [
        from_text(pa.array([None if row is None else row[index] for row in rows], pa.string()), field)
        for index, (_, field) in enumerate(type_.fields)
    ]
    mask = pa.array([row is None for row in rows], pa.bool_())
    return pa.StructArray.from_arrays(columns, fields=list(arrow_type(type_)), mask=mask)


_QUOTED = r'"(?:[^"\\]|\\.)*"'
_ELEMENT = re.compile(rf'\s*({_QUOTED}|(?:[^{{}}",\\]|\\.)+?)\s*(?=[,}}])', re.DOTALL | re.ASCII)


def malformed(kind: str, text: str, detail: str | None = None) -> UserError:
    """22P02."""
    return UserError(f'malformed {kind} literal: "{text}"', "22P02", detail=detail)


def unescaped(word: str) -> str:
    """Without the backslashes that take the meaning from what follows."""
    return re.sub(r"\\(.)", r"\1", word, flags=re.DOTALL)


def _plain_or_null(word: str) -> str | None:
    if word.startswith('"'):
        return unescaped(word[1:-1])
    return None if word.lower() == "null" else unescaped(word)


def _split_list(text: str, type_: SqlType, nested: bool) -> list[str | None]:
    """The elements' texts; those of a nested list are its inner lists, braces and all."""
    kind = "list" if type_.kind == "list" else "array"
    body = text.strip(SPACE)
    if len(body) < 2 or body[0] != "{" or body[-1] != "}":
        detail = 'Array value must start with "{" or dimension information.' if body[:1] != "{" else None
        raise malformed(kind, text, detail)
    if not body[1:-1].strip(SPACE):
        return []
    items: list[str | None] = []
    place = 1
    while True:
        if body[place:].lstrip(SPACE).startswith("{"):
            if not nested:
                raise malformed(kind, text, 'Unexpected "{" character.')
            place = body.index("{", place)
            end = _closing(body, place)
            if end is None:
                raise malformed(kind, text)
            items.append(body[place:end])
            place = end + len(body[end:]) - len(body[end:].lstrip(SPACE))
        else:
            match = _ELEMENT.match(body, place)
            if match is None:
                raise malformed(kind, text)
            items.append(_plain_or_null(match.group(1)))
            place = match.end()
        if body[place] == "}":
            if place != len(body) - 1:
                raise malformed(kind, text, "Junk after closing right brace.")
            return items
        place += 1


def _closing(body: str, place: int) -> int | None:
    """Just after the brace that closes the one at `place`."""
    depth = 0
    for match in re.finditer(rf"{_QUOTED}|\\.|[{{}}]", body[place:], re.DOTALL):
        depth += {"{": 1, "}": -1}.get(match.group(), 0)
        if depth == 0:
            return place + match.end()
    return None


_ENTRY = re.compile(
    rf"\s*({_QUOTED}|(?:(?!=>)[^{{}}\",\\])+?)\s*=>\s*({_QUOTED}|\{{.*?\}}|[^{{}}\",\\]+?)\s*(,|$)",
    re.DOTALL | re.ASCII,
)


def _split_map(text: str) -> dict[str, str | None]:
    body = text.strip(SPACE)
    if len(body) < 2 or body[0] != "{" or body[-1] != "}":
        raise UserError(f'invalid input syntax for type map: "{text}"', "22P02")
    inner = body[1:-1]
    entries: dict[str, str | None] = {}
    place = 0
    while inner[place:].strip(SPACE):
        match = _ENTRY.match(inner, place)
        if match is None:
            raise UserError(f'invalid input syntax for type map: "{text}"', "22P02")
        key = _plain_or_null(match.group(1))
        entries["NULL" if key is None else key] = _plain_or_null(match.group(2))
        place = match.end()
    return entries


_FIELD = re.compile(r'(?:"(?:[^"\\]|""|\\.)*"|[^",()\\]|\\.)*', re.DOTALL)


def _split_record(text: str, count: int) -> list[str | None]:
    body = text.strip(SPACE)
    if len(body) < 2 or body[0] != "(" or body[-1] != ")":
        raise malformed("record", text, "Missing left parenthesis." if body[:1] != "(" else None)
    fields: list[str | None] = []
    place = 1
    while place < len(body):
        match = _FIELD.match(body, place)
        end = place if match is None else match.end()
        if end >= len(body) or body[end] not in ",)":
            raise malformed("record", text)
        word = body[place:end]
        fields.append(None if word == "" else _record_field(word))
        place = end + 1
    if len(fields) != count and not (count == 0 and fields == [None]):
        raise malformed("record", text, "Too many columns." if len(fields) > count else "Too few columns.")
    return fields


def _record_field(word: str) -> str:
    def piece(match: re.Match[str]) -> str:
        inside = match.group()
        if inside.startswith("\\"):
            return inside[1:]
        return re.sub(r'""|\\(.)', lambda m: m.group(1) or '"', inside[1:-1], flags=re.DOTALL)

    return re.sub(r'"(?:[^"\\]|""|\\.)*"|\\.', piece, word, flags=re.DOTALL)

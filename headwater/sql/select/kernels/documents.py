"""Kernels over json and jsonb, which are canonical texts (formats/jsonb.py).

A value of any SQL type becomes a document by its type: numbers stay numbers, NaN and
infinities become strings, times take ISO form with a T, containers become arrays and objects,
everything else is its text.

`sort_key` gives bytes that order as PostgreSQL orders jsonb: kinds first (null, string,
number, boolean, array, object), arrays and objects by their number of entries.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from headwater.core import pace
from headwater.core.errors import UserError
from headwater.core.types import NUMBERS, SqlType, list_of, type_from_json
from headwater.formats.arrays import elements_of, odd_rows
from headwater.formats.jsonb import Number, parse, print_string, print_value
from headwater.formats.text import to_text
from headwater.sql.select.kernels import document_columns
from headwater.sql.select.kernels.kernel import Kernel, columnar, row_wise, values_of
from headwater.sql.select.kernels.numerics import sort_key as number_key

# From SQL values


def documents_of(array: pa.Array, type_: SqlType) -> list[Any]:
    """SQL values as documents, column-wise; NULL becomes None, JSON's null."""
    if type_.kind == "record":
        present = array.is_valid().to_pylist()
        columns = [
            (name, documents_of(array.field(index), field))
            for index, (name, field) in enumerate(type_.fields)
        ]
        return [
            {name: values[row] for name, values in columns} if valid else None
            for row, valid in pace.paced(enumerate(present))
        ]
    if type_.kind == "map" and type_.element is not None:
        return _map_documents(array, type_.element)
    if type_.kind == "array" and type_.element is not None:
        return _array_documents(array, type_.element)
    if type_.element is not None:
        offsets = array.offsets.to_pylist()
        first = offsets[0]
        inner = documents_of(array.values.slice(first, offsets[-1] - first), type_.element)
        return [
            inner[offsets[row] - first : offsets[row + 1] - first] if valid else None
            for row, valid in pace.paced(enumerate(array.is_valid().to_pylist()))
        ]
    texts = values_of(array if type_.kind in ("json", "jsonb") else to_text(array, type_))
    convert = _scalar(type_)
    return [None if text is None else convert(text) for text in pace.paced(texts)]


def _array_documents(array: pa.Array, element: SqlType) -> list[Any]:
    """One list in another for each dimension; bounds are not told."""
    rows = documents_of(elements_of(array), list_of(element))
    for row, lengths, _ in odd_rows(array):
        for length in reversed(lengths[1:]):
            flat = rows[row]
            rows[row] = [flat[at : at + length] for at in range(0, len(flat), length)]
    return rows


def _map_documents(array: pa.Array, element: SqlType) -> list[Any]:
    keys, inner = values_of(array.keys), documents_of(array.items, element)
    offsets = array.offsets.to_pylist()
    return [
        dict(zip(keys[low:high], inner[low:high], strict=True)) if valid else None
        for low, high, valid in zip(offsets[:-1], offsets[1:], array.is_valid().to_pylist(), strict=True)
    ]


def _scalar(type_: SqlType) -> Callable[[str], Any]:
    if type_.kind in ("json", "jsonb"):
        return parse
    if type_.kind == "bool":
        return lambda text: text == "t"
    if type_.kind in NUMBERS:
        return _number
    if type_.kind in ("timestamp", "timestamptz"):
        return lambda text: _iso(text)
    return str


def _number(text: str) -> Any:
    if text in ("NaN", "Infinity", "-Infinity"):
        return text
    return parse(text)


def _iso(text: str) -> str:
    whole, _, era = text.replace(" ", "T", 1).partition(" ")
    zoned = f"{whole}:00" if whole[-3:-2] in ("+", "-") and "T" in whole else whole
    return f"{zoned} {era}" if era else zoned


def _type_of(types: pa.Array) -> SqlType:
    return type_from_json(json.loads(types[0].as_py()))


def _to_jsonb(values: pa.Array, types: pa.Array) -> pa.Array:
    if len(values) == 0:
        return pa.array([], pa.string())
    documents = documents_of(values, _type_of(types))
    valid = values.is_valid().to_pylist()
    return pa.array(
        [print_value(document) if there else None for document, there in zip(documents, valid, strict=True)],
        pa.string(),
    )


def _aggregated(finish: Callable[[list[Any]], Any]) -> Callable[[pa.Array, pa.Array], pa.Array]:
    """Over the list of a group's values; no list, no document."""

    def run(lists: pa.Array, types: pa.Array) -> pa.Array:
        if len(lists) == 0:
            return pa.array([], pa.string())
        rows = documents_of(lists, _type_of(types))
        return pa.array([None if row is None else print_value(finish(row)) for row in rows], pa.string())

    return run


def _array(lists: pa.Array, types: pa.Array) -> pa.Array:
    element = _type_of(types).element if len(lists) else None
    made = None if element is None else document_columns.gathered(lists, element.kind)
    return _aggregated(lambda row: row)(lists, types) if made is None else made


def _object(pairs: list[dict[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for pair in pace.paced(pairs):
        if pair["k"] is None:
            raise UserError("field name must not be null", "22023")
        result[_key(pair["k"])] = pair["v"]
    return result


def _key(value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    raise UserError("key value must be scalar, not array, composite, or json", "22023")


def _build_object(parts: pa.Array, types: pa.Array) -> pa.Array:
    """Fields come as one record, keys and values in turn."""
    if len(parts) == 0:
        return pa.array([], pa.string())
    results = []
    for row in documents_of(parts, _type_of(types)):
        values = list(row.values())
        entries: dict[str, Any] = {}
        for position in range(0, len(values), 2):
            if values[position] is None:
                raise UserError(f"argument {position + 1}: key must not be null", "22023")
            entries[_key(values[position])] = values[position + 1]
        results.append(print_value(entries))
    return pa.array(results, pa.string())


def _build_array(parts: pa.Array, types: pa.Array) -> pa.Array:
    if len(parts) == 0:
        return pa.array([], pa.string())
    rows = documents_of(parts, _type_of(types))
    return pa.array([print_value(list(row.values())) for row in rows], pa.string())


# Access


_REMEMBERED_CHARACTERS_MAX: Final = 1024


def _read(text: str) -> Any:
    """The document of a text; short ones are remembered, since constants come again with every row."""
    return _remembered(text) if len(text) <= _REMEMBERED_CHARACTERS_MAX else parse(text)


@lru_cache(maxsize=4096)
def _remembered(text: str) -> Any:
    return parse(text)


def _member(document: Any, key: str) -> tuple[bool, Any]:
    if isinstance(document, dict):
        return key in document, document.get(key)
    return False, None


def _element(document: Any, index: int) -> tuple[bool, Any]:
    """An item by number; a scalar counts as an array of itself."""
    return _item(document if isinstance(document, dict | list) else [document], index)


def _item(document: Any, index: int) -> tuple[bool, Any]:
    if isinstance(document, list) and -len(document) <= index < len(document):
        return True, document[index]
    return False, None


def _walk(document: Any, path: list[str | None]) -> tuple[bool, Any]:
    found = True
    for step in path:
        if step is None:
            return False, None
        if isinstance(document, list):
            try:
                index = int(step)
            except ValueError:
                return False, None
            found, document = _item(document, index)
        else:
            found, document = _member(document, step)
        if not found:
            return False, None
    return True, document


def as_text(document: Any) -> str | None:
    """A document as ->> gives it: a string bare, null as NULL."""
    if document is None:
        return None
    return str(document) if isinstance(document, str) else print_value(document)


def _getting(
    step: Callable[[Any, Any], tuple[bool, Any]], finish: Callable[[Any], str | None]
) -> Callable[[str, Any], str | None]:
    def run(text: str, key: Any) -> str | None:
        found, document = step(_read(text), key)
        return finish(document) if found else None

    return run


# Containment and existence


def contains(left: Any, right: Any) -> bool:
    """left @> right."""
    if isinstance(right, dict):
        return isinstance(left, dict) and all(
            key in left and _part_contains(left[key], value) for key, value in right.items()
        )
    if isinstance(right, list):
        return isinstance(left, list) and all(
            any(_part_contains(item, wanted) for item in left) for wanted in right
        )
    if isinstance(left, list):  # an array may contain a bare scalar, at the top only
        return any(_same(item, right) for item in left)
    return _same(left, right)


def _part_contains(left: Any, right: Any) -> bool:
    if isinstance(right, dict | list):
        return contains(left, right)
    return not isinstance(left, dict | list) and _same(left, right)


def _same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and bool(left == right)


def _exists(text: str, key: str) -> bool:
    document = _read(text)
    if isinstance(document, dict):
        return key in document
    items = document if isinstance(document, list) else [document]
    return any(type(item) is str and item == key for item in items)


# Changes


def _concatenated(left_text: str, right_text: str) -> str:
    left, right = _read(left_text), _read(right_text)
    if isinstance(left, dict) and isinstance(right, dict):
        return print_value({**left, **right})
    first = left if isinstance(left, list) else [left]
    second = right if isinstance(right, list) else [right]
    return print_value([*first, *second])


def _without_key(text: str, key: str) -> str:
    document = _read(text)
    if isinstance(document, dict):
        return print_value({name: value for name, value in document.items() if name != key})
    if isinstance(document, list):
        return print_value([item for item in document if not (type(item) is str and item == key)])
    raise UserError("cannot delete from scalar", "22023")


def _without_keys(text: str, keys: list[str | None]) -> str:
    for key in keys:
        if key is not None:
            text = _without_key(text, key)
    if not keys and not isinstance(_read(text), dict | list):
        raise UserError("cannot delete from scalar", "22023")
    return text


def _without_index(text: str, index: int) -> str:
    document = _read(text)
    if isinstance(document, dict):
        raise UserError("cannot delete from object using integer index", "22023")
    if not isinstance(document, list):
        raise UserError("cannot delete from scalar", "22023")
    if not -len(document) <= index < len(document):
        return text
    place = index % len(document)
    return print_value(document[:place] + document[place + 1 :])


def _without_path(text: str, path: list[str | None]) -> str:
    document = _read(text)
    if not isinstance(document, dict | list):
        raise UserError("cannot delete path in scalar", "22023")
    return print_value(_replaced(document, path, lambda old: (False, None), create=False))


def _set(text: str, path: list[str | None], new_text: str, create: bool) -> str:
    document = _read(text)
    if not isinstance(document, dict | list):
        raise UserError("cannot set path in scalar", "22023")
    new = _read(new_text)
    return print_value(_replaced(document, path, lambda old: (True, new), create))


def _replaced(
    document: Any,
    path: list[str | None],
    change: Callable[[Any], tuple[bool, Any]],
    create: bool,
    depth: int = 1,
) -> Any:
    """The document with what stands at the path kept, changed or removed."""
    if not path:
        return document
    step, rest = path[0], path[1:]
    if step is None:
        raise UserError(f"path element at position {depth} is null", "22004")
    if isinstance(document, dict):
        return _replaced_member(document, step, rest, change, create, depth)
    if isinstance(document, list) and (document or create):
        return _replaced_item(document, step, rest, change, create, depth)
    return document


def _replaced_member(
    document: dict[str, Any], step: str, rest: list[str | None], change: Callable[[Any], tuple[bool, Any]],
    create: bool, depth: int,
) -> dict[str, Any]:  # fmt: skip
    result = dict(document)
    if step in result and rest:
        result[step] = _replaced(result[step], rest, change, create, depth + 1)
    elif (step in result or create) and not rest:
        kept, new = change(result.get(step))
        if kept:
            result[step] = new
        else:
            result.pop(step, None)
    return result


def _replaced_item(
    document: list[Any], step: str, rest: list[str | None], change: Callable[[Any], tuple[bool, Any]],
    create: bool, depth: int,
) -> list[Any]:  # fmt: skip
    try:
        index = int(step)
    except ValueError:
        raise UserError(f'path element at position {depth} is not an integer: "{step}"', "22P02") from None
    result = list(document)
    if -len(result) <= index < len(result):
        if rest:
            result[index] = _replaced(result[index], rest, change, create, depth + 1)
            return result
        kept, new = change(result[index])
        place = index % len(result)
        return [*result[:place], *([new] if kept else []), *result[place + 1 :]]
    if create and not rest:
        _, new = change(None)
        return [*result, new] if index >= 0 else [new, *result]
    return result


# Other functions


def _kind(text: str) -> str:
    document = _read(text)
    if isinstance(document, Number):
        return "number"
    kinds: dict[type, str] = {dict: "object", list: "array", str: "string", bool: "boolean"}
    return "null" if document is None else kinds[type(document)]


def _length(text: str) -> int:
    document = _read(text)
    if isinstance(document, list):
        return len(document)
    what = "a non-array" if isinstance(document, dict) else "a scalar"
    raise UserError(f"cannot get array length of {what}", "22023")


def _strip_nulls(document: Any) -> Any:
    if isinstance(document, dict):
        return {key: _strip_nulls(value) for key, value in document.items() if value is not None}
    return [_strip_nulls(item) for item in document] if isinstance(document, list) else document


def _pretty(document: Any, depth: int = 0) -> str:
    pad = " " * 4
    if isinstance(document, dict):
        ordered = _ordered(document)
        if not ordered:
            return "{\n" + pad * depth + "}"
        inside = [
            f"{pad * (depth + 1)}{print_string(key)}: {_pretty(value, depth + 1)}" for key, value in ordered
        ]
        return "{\n" + ",\n".join(inside) + "\n" + pad * depth + "}"
    if isinstance(document, list):
        if not document:
            return "[\n" + pad * depth + "]"
        inside = [f"{pad * (depth + 1)}{_pretty(item, depth + 1)}" for item in document]
        return "[\n" + ",\n".join(inside) + "\n" + pad * depth + "]"
    return print_value(document)


def _ordered(document: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(document.items(), key=lambda entry: (len(entry[0].encode()), entry[0].encode()))


def _elements(text: str) -> list[Any]:
    document = _read(text)
    if isinstance(document, list):
        return document
    if isinstance(document, dict):
        raise UserError("cannot extract elements from an object", "22023")
    raise UserError("cannot extract elements from a scalar", "22023")


def _entries(text: str, function: str) -> list[tuple[str, Any]]:
    document = _read(text)
    if isinstance(document, dict):
        return _ordered(document)
    if function == "jsonb_object_keys":
        what = "an array" if isinstance(document, list) else "a scalar"
        raise UserError(f"cannot call jsonb_object_keys on {what}", "22023")
    raise UserError(f"cannot call {function} on a non-object", "22023")


def _to_bool(text: str) -> bool:
    document = _read(text)
    if isinstance(document, bool):
        return document
    raise UserError(f"cannot cast jsonb {_kind(text)} to type boolean", "22023")


def _to_numeric(text: str, target: str) -> str:
    document = _read(text)
    if isinstance(document, Number):
        return str(document)
    raise UserError(f"cannot cast jsonb {_kind(text)} to type {target}", "22023")


# Order


def sort_key(text: str) -> bytes:
    """Bytes that order as jsonb values do."""
    document = _read(text)
    if document == [] and isinstance(document, list):  # an empty array comes before everything
        return b"\x00"
    return _part_key(document)


def _part_key(document: Any) -> bytes:
    match document:
        case None:
            return b"\x01"
        case bool():
            return b"\x04\x01" if document else b"\x04\x00"
        case Number():
            return b"\x03" + _escaped(number_key(str(document)))
        case str():
            return b"\x02" + _escaped(document.encode())
        case list():
            return b"\x05" + len(document).to_bytes(4, "big") + b"".join(map(_part_key, document))
    entries = _ordered(document)
    keys = b"".join(_escaped(key.encode()) + _part_key(value) for key, value in entries)
    return b"\x06" + len(entries).to_bytes(4, "big") + keys


def _escaped(data: bytes) -> bytes:
    return data.replace(b"\x00", b"\x00\xff") + b"\x00\x00"


_JT: Final = ("text", "text")
_JP: Final = ("text", "text[]")

KERNELS: Final[tuple[Kernel, ...]] = (
    Kernel("hw_to_jsonb", ("any", "text"), "text", _to_jsonb),
    Kernel("hw_jsonb_agg", ("any", "text"), "text", _array),
    Kernel("hw_jsonb_object_agg", ("any", "text"), "text", _aggregated(_object)),
    Kernel("hw_jsonb_build_object", ("any", "text"), "text", _build_object),
    Kernel("hw_jsonb_build_array", ("any", "text"), "text", _build_array),
    columnar(
        row_wise("hw_jsonb_get", _JT, "text", _getting(_member, print_value), raises=False),
        document_columns.member(bare=False),
    ),
    columnar(
        row_wise("hw_jsonb_get_text", _JT, "text", _getting(_member, as_text), raises=False),
        document_columns.member(bare=True),
    ),
    row_wise("hw_jsonb_item", ("text", "int4"), "text", _getting(_element, print_value), raises=False),
    row_wise("hw_jsonb_item_text", ("text", "int4"), "text", _getting(_element, as_text), raises=False),
    row_wise("hw_jsonb_path", _JP, "text", _getting(_walk, print_value), raises=False),
    row_wise("hw_jsonb_path_text", _JP, "text", _getting(_walk, as_text), raises=False),
    row_wise("hw_jsonb_contains", _JT, "bool", lambda a, b: contains(_read(a), _read(b)), raises=False),
    row_wise("hw_jsonb_exists", _JT, "bool", _exists, raises=False),
    row_wise(
        "hw_jsonb_exists_any",
        _JP,
        "bool",
        lambda t, ks: any(k is not None and _exists(t, k) for k in ks),
        raises=False,
    ),
    row_wise(
        "hw_jsonb_exists_all",
        _JP,
        "bool",
        lambda t, ks: all(k is None or _exists(t, k) for k in ks),
        raises=False,
    ),
    row_wise("hw_jsonb_concat", _JT, "text", _concatenated),
    row_wise("hw_jsonb_delete", _JT, "text", _without_key),
    row_wise("hw_jsonb_delete_keys", _JP, "text", _without_keys),
    row_wise("hw_jsonb_delete_item", ("text", "int4"), "text", _without_index),
    row_wise("hw_jsonb_delete_path", _JP, "text", _without_path),
    row_wise("hw_jsonb_set", ("text", "text[]", "text", "bool"), "text", _set),
    columnar(row_wise("hw_jsonb_typeof", ("text",), "text", _kind, raises=False), document_columns.kinds),
    row_wise("hw_jsonb_array_length", ("text",), "int4", _length),
    row_wise(
        "hw_jsonb_strip_nulls", ("text",), "text", lambda t: print_value(_strip_nulls(_read(t))), raises=False
    ),
    row_wise("hw_jsonb_pretty", ("text",), "text", lambda t: _pretty(_read(t)), raises=False),
    row_wise("hw_jsonb_elements", ("text",), "text[]", lambda t: [print_value(i) for i in _elements(t)]),
    row_wise("hw_jsonb_elements_text", ("text",), "text[]", lambda t: [as_text(i) for i in _elements(t)]),
    row_wise(
        "hw_jsonb_keys", ("text",), "text[]", lambda t: [k for k, _ in _entries(t, "jsonb_object_keys")]
    ),
    row_wise(
        "hw_jsonb_values",
        ("text",),
        "text[]",
        lambda t: [print_value(v) for _, v in _entries(t, "jsonb_each")],
    ),
    row_wise(
        "hw_jsonb_values_text",
        ("text",),
        "text[]",
        lambda t: [as_text(v) for _, v in _entries(t, "jsonb_each_text")],
    ),
    row_wise("hw_jsonb_to_bool", ("text",), "bool", _to_bool),
    row_wise("hw_jsonb_to_numeric", _JT, "text", _to_numeric),
    row_wise("hw_jsonb_key", ("text",), "bytea", sort_key, raises=False),
)

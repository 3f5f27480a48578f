"""Values as JSON, a column at a time: what HTTP answers with.

    true, false           booleans
    null                  NULL, whatever the type
    JSON itself           json and jsonb: numbers with all of their digits, however many
    [...]                 arrays and lists; arrays of several dimensions are lists of lists
    {"key": ...}          maps and records
    "text"                everything else: numbers, bytea, dates, intervals, ..., as `text.py` has them

Numbers are texts because a reader's numbers have 53 bits, and no NaN.  Where an array's bounds begin is
left out.

Not here: how values become documents inside SQL, `to_jsonb` (sql/select/kernels/documents.py).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.types import SqlType
from headwater.formats.arrays import elements_of, odd_rows
from headwater.formats.arrow import arrow_type
from headwater.formats.byte_columns import offsets_of
from headwater.formats.columns import combined
from headwater.formats.text import to_text

NULL = "null"
_DOCUMENTS = ("json", "jsonb")
_CONTROL = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"}


def to_json(array: pa.Array | pa.ChunkedArray, type_: SqlType) -> pa.Array:
    """The JSON of each value, on one line; never NULL."""
    array = combined(array).cast(arrow_type(type_))
    if type_.kind == "record":
        made = _records(array, type_.fields)
    elif type_.kind == "map" and type_.element is not None:
        made = _maps(array, type_.element)
    elif type_.kind == "array" and type_.element is not None:
        made = _arrays(array, type_.element)
    elif type_.element is not None:
        made = _lists(array, to_json(array.values, type_.element))
    elif pa.types.is_boolean(array.type):
        made = pc.if_else(array, "true", "false")
    elif type_.kind in _DOCUMENTS:
        made = _on_one_line(array)
    else:
        return quoted(to_text(array, type_))
    return pc.fill_null(pc.if_else(array.is_valid(), made, pa.scalar(None, pa.string())), NULL)


def quoted(texts: pa.Array) -> pa.Array:
    """Texts as JSON strings; NULL becomes null."""
    present = _present(texts)
    if present[0x5C]:
        texts = pc.replace_substring(texts, "\\", "\\\\")
    if present[0x22]:
        texts = pc.replace_substring(texts, '"', '\\"')
    for code in np.flatnonzero(present[:0x20]).tolist():
        texts = pc.replace_substring(texts, chr(code), _CONTROL.get(code, f"\\u{code:04x}"))
    return pc.fill_null(pc.binary_join_element_wise('"', texts, '"', ""), NULL)


def _present(texts: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which bytes there are in any of the texts."""
    found = np.zeros(256, np.bool_)
    data = texts.buffers()[2]
    if data is not None and len(texts):
        offsets = offsets_of(texts)
        found[np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]]] = True
    return found


def _on_one_line(texts: pa.Array) -> pa.Array:
    """Documents as they were written, but that json may have line ends between its tokens."""
    present = _present(texts)
    for code in (9, 10, 13):
        if present[code]:
            texts = pc.replace_substring(texts, chr(code), " ")
    return texts


def _lists(array: pa.Array, elements: pa.Array) -> pa.Array:
    lists = pa.ListArray.from_arrays(array.offsets, elements)
    return pc.binary_join_element_wise("[", pc.binary_join(lists, ","), "]", "")


def _arrays(array: pa.Array, element: SqlType) -> pa.Array:
    lists = elements_of(array)
    words = to_json(lists.values, element)
    made = _lists(lists, words)
    odd = odd_rows(array)
    if not odd:
        return made
    offsets = lists.offsets.to_numpy()
    shown = []
    for row, lengths, _ in odd:
        some = words.slice(int(offsets[row]), int(offsets[row + 1] - offsets[row])).to_pylist()
        for length in reversed(lengths[1:]):
            some = [f"[{','.join(some[at : at + length])}]" for at in range(0, len(some), length)]
        shown.append(f"[{','.join(some)}]")
    mask = np.zeros(len(array), np.bool_)
    mask[[row for row, _, _ in odd]] = True
    return pc.replace_with_mask(made, pa.array(mask), pa.array(shown, pa.string()))


def _maps(array: pa.Array, element: SqlType) -> pa.Array:
    entries = pc.binary_join_element_wise(quoted(array.keys), to_json(array.items, element), ":")
    lists = pa.ListArray.from_arrays(array.offsets, entries)
    return pc.binary_join_element_wise("{", pc.binary_join(lists, ","), "}", "")


def _records(array: pa.Array, fields: tuple[tuple[str, SqlType], ...]) -> pa.Array:
    if not fields:
        return pa.array(["{}"] * len(array), pa.string())
    parts = []
    for index, (name, field) in enumerate(fields):
        key = quoted(pa.array([name])).to_pylist()[0]
        value = to_json(pc.struct_field(array, index), field)
        parts.append(pc.binary_join_element_wise(key, value, ":"))
    return pc.binary_join_element_wise("{", pc.binary_join_element_wise(*parts, ","), "}", "")

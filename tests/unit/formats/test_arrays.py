"""Arrays of any shape: text and binary both ways.

Method: a model in plain Python, nested lists and lower bounds, writes the text and the bytes that PostgreSQL
would; what it wrote is read, stored, and must come out the same.  Columns mix ordinary and odd ones and NULL.
"""

from __future__ import annotations

import struct
from itertools import chain
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import UserError
from headwater.core.types import DATE, INT4, NUMERIC, TEXT, SqlType, array_of
from headwater.formats.arrays import shape_of
from headwater.formats.binary import binary_to_text, to_binary
from headwater.formats.text import from_text, to_text

Array = tuple[Any, list[int]]  # nested lists of words, and the lower bounds

WORDS = st.none() | st.text(alphabet='aN"\\{}, \t=[]', max_size=4) | st.just("NULL")
NUMBERS = st.none() | st.integers(-(2**31), 2**31 - 1).map(str)


@st.composite
def arrays(draw: st.DrawFn, words: st.SearchStrategy[str | None]) -> Array:
    lengths = draw(st.lists(st.integers(1, 3), max_size=4))
    lowers = draw(st.just([1] * len(lengths)) | st.tuples(*[st.integers(-5, 5)] * len(lengths)).map(list))

    def filled(left: list[int]) -> Any:
        return [filled(left[1:]) for _ in range(left[0])] if left else draw(words)

    return (filled(lengths) if lengths else []), lowers


def columns(words: st.SearchStrategy[str | None]) -> st.SearchStrategy[list[Array | None]]:
    return st.lists(st.none() | arrays(words), max_size=6)


def lengths_of(nested: Any) -> list[int]:
    return [len(nested), *lengths_of(nested[0])] if isinstance(nested, list) and nested else []


def flat(nested: Any) -> list[str | None]:
    return list(chain.from_iterable(map(flat, nested))) if isinstance(nested, list) else [nested]


def written(nested: Any) -> str:
    if isinstance(nested, list):
        return "{" + ",".join(map(written, nested)) + "}"
    if nested is None:
        return "NULL"
    if nested and nested.upper() != "NULL" and not set(nested) & set('"\\{}, \t'):
        return str(nested)
    return '"' + str(nested).replace("\\", "\\\\").replace('"', '\\"') + '"'


def text_of(array: Array) -> str:
    nested, lowers = array
    bounds = zip(lowers, lengths_of(nested), strict=True)
    shown = "".join(f"[{low}:{low + length - 1}]" for low, length in bounds) + "="
    return (shown if any(low != 1 for low in lowers) else "") + written(nested)


def bytes_of(array: Array, oid: int) -> bytes:
    nested, lowers = array
    words, lengths = flat(nested), lengths_of(nested)
    sent = [
        None if word is None else struct.pack(">i", int(word)) if oid == 23 else word.encode()
        for word in words
    ]
    header = struct.pack(">iiI", len(lengths), None in words, oid)
    sizes = b"".join(struct.pack(">ii", length, low) for length, low in zip(lengths, lowers, strict=True))
    return (
        header
        + sizes
        + b"".join(
            struct.pack(">i", -1) if one is None else struct.pack(">i", len(one)) + one for one in sent
        )
    )


def stored_of(array: Array | None) -> dict[str, Any] | None:
    if array is None:
        return None
    nested, lowers = array
    return {"elements": flat(nested), "shape": shape_of(lengths_of(nested), lowers) if lowers else None}


@given(columns(WORDS))
def test_texts_are_read_and_written_as_they_were(given_arrays: list[Array | None]) -> None:
    texts = pa.array([None if one is None else text_of(one) for one in given_arrays], pa.string())
    stored = from_text(texts, array_of(TEXT))
    assert stored.to_pylist() == [stored_of(one) for one in given_arrays]
    assert to_text(stored, array_of(TEXT)).equals(texts)
    assert to_text(stored.slice(1), array_of(TEXT)).equals(texts.slice(1))


@pytest.mark.parametrize(
    ("type_", "oid", "words"), [(TEXT, 25, WORDS), (INT4, 23, NUMBERS)], ids=["text", "int4"]
)
@given(data=st.data())
def test_binary_forms_are_postgresqls_both_ways(
    type_: SqlType, oid: int, words: st.SearchStrategy[str | None], data: st.DataObject
) -> None:
    given_arrays = data.draw(columns(words))
    texts = [None if one is None else text_of(one) for one in given_arrays]
    stored = from_text(pa.array(texts, pa.string()), array_of(type_))
    sent = to_binary(stored, array_of(type_)).to_pylist()
    assert sent == [None if one is None else bytes_of(one, oid) for one in given_arrays]
    assert [None if one is None else binary_to_text(one, array_of(type_)) for one in sent] == texts
    assert to_binary(stored.slice(1), array_of(type_)).to_pylist() == sent[1:]


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (DATE, "[0:1][1:1]={{infinity},{2024-02-29}}"),
        (NUMERIC, "{{1.5,NaN},{NULL,-Infinity}}"),
        (SqlType("interval"), '{{"1 year 2 mons",-01:00:00}}'),
        (SqlType("bytea"), '{{"\\\\x00ff"},{"\\\\x"}}'),
    ],
    ids=str,
)
def test_elements_are_what_they_are_alone(type_: SqlType, text: str) -> None:
    stored = from_text(pa.array([text, None, "{}"]), array_of(type_))
    assert to_text(stored, array_of(type_)).to_pylist() == [text, None, "{}"]


def test_an_ordinary_array_has_no_shape_however_it_is_written() -> None:
    texts = ["{1,2}", "[1:2]={1,2}", "[2]={1,2}", " [1:2] = { 1 , 2 } "]
    stored = from_text(pa.array(texts), array_of(INT4)).to_pylist()
    assert stored == [{"elements": [1, 2], "shape": None}] * 3 + stored[3:]
    assert stored[3] == stored[0]


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("{{1,2},{3}}", "Multidimensional arrays must have sub-arrays with matching dimensions."),
        ("[0:2]={1,2}", "Specified array dimensions do not match array contents."),
        ("[1:1]={}", "Specified array dimensions do not match array contents."),
        ("[0:1]{1,2}", 'Missing "=" after array dimensions.'),
        ("[0:]={1}", "Missing array dimension value."),
        ("[0:1={1}", 'Missing "]" after array dimensions.'),
        ("[a]={1}", '"[" must introduce explicitly-specified array dimensions.'),
        ("[1]=1", 'Array contents must start with "{".'),
        ("1", 'Array value must start with "{" or dimension information.'),
        ("{{1},2}", "Unexpected array element."),
        ("{1,{2}}", 'Unexpected "{" character.'),
        ("{{1},{}}", 'Unexpected "}" character.'),
        ("{1,}", 'Unexpected "}" character.'),
        ("{,1}", 'Unexpected "," character.'),
        ("{1} 2", "Junk after closing right brace."),
        ("{1", "Unexpected end of input."),
        ('{"1}', "Unexpected end of input."),
    ],
)
def test_what_is_no_array_is_refused_in_postgresqls_words(text: str, detail: str) -> None:
    with pytest.raises(UserError, match="malformed array literal") as raised:
        from_text(pa.array(["{1}", text]), array_of(INT4))
    assert (raised.value.sqlstate, raised.value.detail) == ("22P02", detail)


@pytest.mark.parametrize(
    ("text", "sqlstate"),
    [("[2:1]={1}", "2202E"), ("{{{{{{{1}}}}}}}", "54000"), ("[2147483647:2147483647]={1}", "54000")],
)
def test_shapes_that_cannot_be_are_refused(text: str, sqlstate: str) -> None:
    with pytest.raises(UserError) as raised:
        from_text(pa.array([text]), array_of(INT4))
    assert raised.value.sqlstate == sqlstate

"""JSON: any batch becomes what canonical_jsonb makes of each message, and a bad one harms no other.

Method: random documents in random spelling, some cut, changed or put together, are decoded as one batch
and compared with the function over one text; what is easily forgotten is listed.
"""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.core.errors import UserError
from headwater.decode.json import JSON
from headwater.formats.jsonb import canonical_jsonb
from tests.unit.decode.batches import corrupted, decode

_NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=4).map(lambda number: f"{number:f}"),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(
        ("0", "-0", "0.0", "-0.0", "-0.50", "1.", "01", ".5", "1e3", "1E-2", "100.00", "NaN", "+1")
    ),
)
_STRINGS = st.one_of(
    st.text(max_size=6).map(json.dumps),
    st.text(max_size=6).map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.sampled_from(('"\\/"', '"a\\\\"', '"\\"', '"\\x"', '"\\ud800"', '"\\u0000"', '"a\tb"', '":"', '"{}"')),
)
_BLANK = st.sampled_from(("", "", "", " ", "\n", " \t\r"))
_SCALARS = st.one_of(_NUMBERS, _STRINGS, st.sampled_from(("true", "false", "null", "True", "nul")))


def _containers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    keys = st.one_of(st.sampled_from(('"a"', '"b"', '"bb"', '"\\u0061"')), _STRINGS)
    member = st.tuples(keys, _BLANK, _BLANK, inner).map(lambda m: f"{m[0]}{m[1]}:{m[2]}{m[3]}")
    separator = _BLANK.map(lambda blank: f"{blank},")
    return st.one_of(
        st.tuples(separator, st.lists(inner, max_size=4)).map(lambda a: f"[{a[0].join(a[1])}]"),
        st.tuples(separator, st.lists(member, max_size=4)).map(lambda o: f"{{{o[0].join(o[1])}}}"),
    )


_DOCUMENTS = st.recursive(_SCALARS, _containers, max_leaves=12)
_MESSAGES = st.one_of(
    _DOCUMENTS.map(str.encode), corrupted(_DOCUMENTS.map(lambda text: text.encode())), st.binary(max_size=8)
)


def _expected(message: bytes) -> tuple[str | None, bool]:
    try:
        return canonical_jsonb(message.decode()), True
    except (UserError, UnicodeDecodeError):
        return None, False


@settings(max_examples=250, deadline=None)
@given(st.lists(_MESSAGES, max_size=8))
def test_a_batch_is_what_its_messages_are_alone(messages: list[bytes]) -> None:
    (documents,), errors = decode(JSON, {}, messages)
    assert documents == [_expected(message)[0] for message in messages]
    assert [error is None for error in errors] == [_expected(message)[1] for message in messages]


@pytest.mark.parametrize(
    ("message", "document"),
    [
        ('{"b":1,"a":"x"}', '{"a": "x", "b": 1}'),
        ('{"bb":1,"a":{"d":[1 , 2.50],"c":null}}', '{"a": {"c": null, "d": [1, 2.5]}, "bb": 1}'),
        ('{"a":1,"a":2}', '{"a": 2}'),
        ('{"a":' * 256 + "1" + "}" * 256, '{"a": ' * 256 + "1" + "}" * 256),
        ('  "caf\\u00e9"  ', '"café"'),
        ('{"a\\"b" : "c\\\\"}', '{"a\\"b": "c\\\\"}'),
        ("[1e2,-0,1.0,-0.10]", "[100, 0, 1, -0.1]"),
        ("[[],{},[{}]]", "[[], {}, [{}]]"),
        ("true", "true"),
    ],
)
def test_documents_are_canonical(message: str, document: str) -> None:
    assert decode(JSON, {}, [message.encode()]) == ([[document]], [None])


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", "JSON: invalid input syntax for type json"),
        (b"{", "JSON: invalid input syntax for type json"),
        (b'{"a" 1}', "JSON: invalid input syntax for type json"),
        (b'{"a":01}', "JSON: invalid input syntax for type json"),
        (b'[0, 1"x"]', "JSON: invalid input syntax for type json"),
        (b'[0, 1, 2"x", 4]', "JSON: invalid input syntax for type json"),
        (f'[0, 1"x", {", ".join(map(str, range(20)))}]'.encode(), "JSON: invalid input syntax for type json"),
        (b'["\\u0000"]', "JSON: unsupported Unicode escape sequence"),
        (b'"\xff"', 'JSON: invalid byte sequence for encoding "UTF8"'),
        (b"[" * 100_000 + b"]" * 100_000, "JSON: stack depth limit exceeded"),
        (b'{"a":' * 257 + b"1" + b"}" * 257, "JSON: stack depth limit exceeded"),
        (b'[{"a":1},' * 257 + b"1" + b"]" * 257, "JSON: stack depth limit exceeded"),
    ],
)
def test_a_bad_document_is_an_error_and_its_neighbours_are_not(message: bytes, reason: str) -> None:
    (documents,), errors = decode(JSON, {}, [b'{"a":1}', message, b'{"a":2}'])
    assert documents == ['{"a": 1}', None, '{"a": 2}']
    assert errors == [None, reason, None]


def test_a_batch_of_many_slices_keeps_its_order() -> None:
    messages = [json.dumps({"number": number, "text": "x" * 100}) for number in range(20_000)]
    decoded = JSON.decoder({}, lambda _: "")(pa.array([text.encode() for text in messages], pa.binary()))
    assert decoded.errors is None
    assert decoded.columns[0].to_pylist() == [canonical_jsonb(text) for text in messages]

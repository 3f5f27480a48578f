"""TEXT and BYTES: what is in a message, and nothing that is no text.

Method: any bytes are decoded in one batch and compared with Python's own decoder.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headwater.decode.text import BYTES, TEXT
from tests.unit.decode.batches import decode


def _text(message: bytes) -> str | None:
    try:
        return None if b"\0" in message else message.decode()
    except UnicodeDecodeError:
        return None


@given(st.lists(st.one_of(st.binary(max_size=4), st.text(max_size=5).map(str.encode))))
def test_text_is_utf8(messages: list[bytes]) -> None:
    (texts,), errors = decode(TEXT, {}, messages)
    assert texts == [_text(message) for message in messages]
    assert [error is None for error in errors] == [text is not None for text in texts]


def test_what_is_no_text_says_so() -> None:
    _, errors = decode(TEXT, {}, [b"a", b"\xff", b"a\0b"])
    invalid = 'TEXT: invalid byte sequence for encoding "UTF8"'
    assert errors == [None, invalid, f"{invalid}: 0x00"]


@given(st.lists(st.binary()))
def test_bytes_are_kept(messages: list[bytes]) -> None:
    assert decode(BYTES, {}, messages) == ([messages], [None] * len(messages))

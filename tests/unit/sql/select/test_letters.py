"""Letters and LIKE: one character for one, and PostgreSQL's way through a pattern.

Goal: case mappings never change a text's length, initcap refuses what it cannot know, and LIKE raises
for a last escape exactly when it is reached.
Method: hypothesis over any text; patterns without a last escape against a plain backtracking matcher.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import UserError
from headwater.sql.select.kernels import KERNELS_BY_NAME, letters, regex
from headwater.sql.select.kernels.kernel import arrow_of


def run(name: str, text: str) -> object:
    return KERNELS_BY_NAME[name].function(pa.array([text], arrow_of("text"))).to_pylist()[0]


@given(st.text())
def test_a_case_mapping_keeps_the_length_and_is_final(text: str) -> None:
    for mapping in (letters.lower, letters.upper):
        assert len(mapping(text)) == len(text)
        assert mapping(mapping(text)) == mapping(text)


@given(st.text())
def test_a_column_of_one_text_is_mapped_as_the_text(text: str) -> None:
    assert run("hw_lower", text) == letters.lower(text)
    assert run("hw_upper", text) == letters.upper(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("straße", "Straße"),
        ("ΑΣ", "Ασ"),
        ("éLAN-vital", "Élan-Vital"),
        ("²x", "²X"),
        ("", ""),
    ],
)
def test_initcap_begins_words_after_what_is_no_letter(text: str, expected: str) -> None:
    assert run("hw_initcap", text) == expected


def test_initcap_refuses_a_letter_behind_a_mark_it_cannot_class() -> None:
    with pytest.raises(UserError) as raised:
        run("hw_initcap", "कािx")
    assert raised.value.sqlstate == "0A000"
    assert run("hw_initcap", "कािक") == "कािक"


def plain_like(text: str, pattern: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(plain_like(text[place:], pattern[1:]) for place in range(len(text) + 1))
    if pattern[0] == "\\":
        return bool(text) and text[0] == pattern[1] and plain_like(text[1:], pattern[2:])
    return bool(text) and pattern[0] in ("_", text[0]) and plain_like(text[1:], pattern[1:])


PIECES = st.lists(st.sampled_from(["a", "b", "%", "_", "\\%", "\\a", "\\\\", "é", "\n"]), max_size=6)


@given(st.text("ab%\\é\n", max_size=7), PIECES.map("".join))
def test_like_matches_as_its_definition_says(text: str, pattern: str) -> None:
    assert letters.like(text, pattern) is plain_like(text, pattern)


@pytest.mark.parametrize(
    ("text", "pattern"), [("", "\\"), ("a", "a\\"), ("", "%\\"), ("abc", "%c\\"), ("a", "b\\")]
)
def test_an_escape_at_the_end_that_is_not_reached_is_no_error(text: str, pattern: str) -> None:
    assert letters.like(text, pattern) is False


@pytest.mark.parametrize(("text", "pattern"), [("\\", "\\"), ("ab", "a\\"), ("a", "%\\"), ("abc", "%b\\")])
def test_an_escape_at_the_end_that_is_reached_is_an_error(text: str, pattern: str) -> None:
    with pytest.raises(UserError) as raised:
        letters.like(text, pattern)
    assert raised.value.sqlstate == "22025"


@pytest.mark.parametrize(
    ("pattern", "text", "flags", "expected"),
    [
        (r"^\w+$", "été", "", True),
        (r"^[[:alpha:]x-]+$", "é-x", "", True),
        (r"[^[:alpha:]]", "été", "", False),
        ("É", "é", "i", True),
        ("[É]", "é", "i", True),
        ("[a-c]", "B", "i", True),
        ("k", "\u212a", "i", False),
        ("s", "ſ", "i", False),
        (r"\s", "\u2003", "", True),
        (r"\s", "\u00a0", "", False),
        (r"\d", "٣", "", False),
        (r"\w", "²", "", False),
    ],
)
def test_expressions_know_letters_beyond_ascii(pattern: str, text: str, flags: str, expected: bool) -> None:
    assert regex.matches(pattern, text, flags) is expected


@pytest.mark.parametrize(("pattern", "text"), [("[[:upper:]]", "É"), (r"\y", "क\u093f")])
def test_expressions_refuse_what_they_cannot_class(pattern: str, text: str) -> None:
    with pytest.raises(UserError) as raised:
        regex.matches(pattern, text)
    assert raised.value.sqlstate == "0A000"
